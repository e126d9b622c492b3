# SPDX-License-Identifier: Apache-2.0
"""Cause: device. A wide model in bfloat16 sees large batches that are on the device already."""

import torch
from torch import nn

model = nn.Sequential(*(nn.Linear(4096, 4096) for _ in range(6))).to("cuda", torch.bfloat16)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
inputs = torch.randn(16384, 4096, device="cuda", dtype=torch.bfloat16)
for step in range(150):
    optimizer.zero_grad()
    loss = model(inputs).float().square().mean()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(loss.item())
