# SPDX-License-Identifier: Apache-2.0
"""Cause: memory_growth. Every output is kept, with its graph."""

import torch
from torch import nn

model = nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 512))
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
history = []
for _ in range(60):
    inputs = torch.randn(256, 512)
    optimizer.zero_grad()
    loss = (model(inputs) - inputs).square()
    loss.mean().backward()
    optimizer.step()
    history.append(model(inputs))
