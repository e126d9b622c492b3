# SPDX-License-Identifier: Apache-2.0
"""Cause: input. Samples are decoded in the training thread."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Decoded(Dataset):
    def __len__(self):
        return 1280

    def __getitem__(self, index):
        text = " ".join(str((index * 7919 + k) % 1000) for k in range(6000))
        values = [float(word) for word in text.split()]
        return torch.tensor(values[:1024]), index % 10


model = nn.Sequential(nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10)).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for inputs, labels in DataLoader(Decoded(), batch_size=16):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(inputs.to("cuda")), labels.to("cuda")).backward()
    optimizer.step()
