# SPDX-License-Identifier: Apache-2.0
"""Cause: device_idle. Between the steps of a model on the device, its choices are put together in Python."""

import torch
from torch import nn

model = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 4096)).to("cuda")
state = torch.randn(64, 512, device="cuda")
words = [f"word{index}" for index in range(4096)]


def told(rows):
    counts = {}
    for row in rows:
        for place, choice in enumerate(row):
            word = words[choice]
            counts[word] = counts.get(word, 0) + place
    return sorted(counts)


with torch.no_grad():
    for _ in range(60):
        best = model(state).topk(1024).indices
        told(best.tolist())
