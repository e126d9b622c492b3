# SPDX-License-Identifier: Apache-2.0
"""Cause: input. The collate function pads in plain Python."""

import torch
from torch import nn
from torch.utils.data import DataLoader


def pad(rows):
    longest = max(len(row) for row in rows)
    padded = []
    for row in rows:
        filled = []
        for place in range(longest):
            filled.append(float(row[place]) if place < len(row) else 0.0)  # noqa: PERF401  # as a beginner does
        padded.append(filled[:64])
    return torch.tensor(padded)


data = [list(range(index % 400 + 1600)) for index in range(480)]
model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)
for batch in DataLoader(data, batch_size=16, collate_fn=pad):
    optimizer.zero_grad()
    model(batch).mean().backward()
    optimizer.step()
