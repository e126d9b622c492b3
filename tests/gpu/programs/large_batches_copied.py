# SPDX-License-Identifier: Apache-2.0
"""Cause: device_copies. Batches that lie in pageable memory are copied one by one, and little is done with them."""

import torch
from torch import nn

model = nn.Linear(4096, 8).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
batches = [torch.randn(16384, 4096) for _ in range(4)]
for step in range(120):
    inputs = batches[step % len(batches)].to("cuda")
    optimizer.zero_grad()
    model(inputs).mean().backward()
    optimizer.step()
