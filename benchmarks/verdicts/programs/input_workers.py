# SPDX-License-Identifier: Apache-2.0
"""Cause: input. One worker that takes longer for a batch than the model does."""

import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Remote(Dataset):
    def __len__(self):
        return 480

    def __getitem__(self, index):
        time.sleep(0.004)
        return torch.randn(256), index % 10


model = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for inputs, labels in DataLoader(Remote(), batch_size=16, num_workers=1):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(inputs), labels).backward()
    optimizer.step()
