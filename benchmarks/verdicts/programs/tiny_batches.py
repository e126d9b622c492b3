# SPDX-License-Identifier: Apache-2.0
"""Cause: small_work. A model of many small layers sees one row at a time."""

import torch
from torch import nn

layers = [layer for _ in range(24) for layer in (nn.Linear(16, 16), nn.LayerNorm(16), nn.GELU())]
model = nn.Sequential(*layers, nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for row in torch.randn(400, 1, 16):
    optimizer.zero_grad()
    model(row).mean().backward()
    optimizer.step()
