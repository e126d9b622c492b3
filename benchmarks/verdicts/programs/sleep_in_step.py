# SPDX-License-Identifier: Apache-2.0
"""Cause: sleep. A pause in each step."""

import time

import torch
from torch import nn

model = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
inputs, labels = torch.randn(64, 256), torch.randint(0, 10, (64,))
for _ in range(120):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(inputs), labels).backward()
    optimizer.step()
    time.sleep(0.02)
