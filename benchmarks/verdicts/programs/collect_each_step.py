# SPDX-License-Identifier: Apache-2.0
"""Cause: garbage_collection. A full collection in each step, over many objects."""

import gc

import torch
from torch import nn

kept = [{"row": index, "words": [str(index)]} for index in range(60_000)]
model = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
inputs, labels = torch.randn(64, 256), torch.randint(0, 10, (64,))
for _ in range(40):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(inputs), labels).backward()
    optimizer.step()
    gc.collect()
