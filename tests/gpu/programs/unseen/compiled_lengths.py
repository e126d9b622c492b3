# SPDX-License-Identifier: Apache-2.0
"""Cause: compile. A model that is compiled for fixed shapes is given a batch of another length at each step."""

import torch
import torch._dynamo
from torch import nn

torch._dynamo.config.recompile_limit = 64

layer = nn.TransformerEncoderLayer(128, 4, 256, dropout=0.0, batch_first=True, device="cuda")
model = nn.TransformerEncoder(layer, 6)
compiled = torch.compile(model, backend="aot_eager", dynamic=False)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
compiled(torch.randn(8, 16, 128, device="cuda")).square().mean().backward()
for length in range(20, 40):
    inputs = torch.randn(8, length, 128, device="cuda")
    optimizer.zero_grad()
    loss = (compiled(inputs) - inputs).square().mean()
    loss.backward()
    optimizer.step()
print(loss.item())
