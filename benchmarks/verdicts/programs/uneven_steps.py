# SPDX-License-Identifier: Apache-2.0
"""Cause: uneven_steps. One batch in twelve has sequences sixty times as long."""

import torch
from torch import nn

model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64))
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
for step in range(120):
    length = 120_000 if step % 12 == 7 else 1500
    inputs = torch.ones(length, 64)
    optimizer.zero_grad()
    (model(inputs) - inputs).square().mean().backward()
    optimizer.step()
