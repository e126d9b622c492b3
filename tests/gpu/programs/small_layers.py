# SPDX-License-Identifier: Apache-2.0
"""Cause: launches. A model of many small layers sees one row at a time."""

import torch
from torch import nn

layers = [layer for _ in range(24) for layer in (nn.Linear(64, 64), nn.LayerNorm(64), nn.GELU())]
model = nn.Sequential(*layers, nn.Linear(64, 1)).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for row in torch.randn(400, 1, 64, device="cuda"):
    optimizer.zero_grad()
    model(row).mean().backward()
    optimizer.step()
