# SPDX-License-Identifier: Apache-2.0
"""Cause: input. Samples are decoded in the training thread."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Decoded(Dataset):
    def __len__(self):
        return 320

    def __getitem__(self, index):
        text = " ".join(str((index * 7919 + k) % 1000) for k in range(6000))
        values = [float(word) for word in text.split()]
        return torch.tensor(values[:256]), index % 10


model = nn.Sequential(nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for inputs, labels in DataLoader(Decoded(), batch_size=16):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(inputs), labels).backward()
    optimizer.step()
