# SPDX-License-Identifier: Apache-2.0
"""Cause: checkpoint. All weights are written in each step."""

import os
import tempfile

import torch
from torch import nn

folder = tempfile.mkdtemp()
model = nn.Sequential(nn.Linear(2048, 4096), nn.ReLU(), nn.Linear(4096, 64))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(15):
    optimizer.zero_grad()
    model(torch.randn(2, 2048)).mean().backward()
    optimizer.step()
    torch.save(model.state_dict(), os.path.join(folder, "last.pt"))
os.remove(os.path.join(folder, "last.pt"))
os.rmdir(folder)
