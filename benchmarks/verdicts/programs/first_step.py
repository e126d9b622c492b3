# SPDX-License-Identifier: Apache-2.0
"""Cause: first_step. The first step builds a table that all others use."""

import torch
from torch import nn

table = {}


def features(inputs):
    if not table:
        for word in range(700_000):
            table[str(word)] = (word * 2654435761) % 1000
    return inputs + float(table["7"])


model = nn.Sequential(nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
labels = torch.randint(0, 10, (32,))
for _ in range(80):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(features(torch.randn(32, 128))), labels).backward()
    optimizer.step()
