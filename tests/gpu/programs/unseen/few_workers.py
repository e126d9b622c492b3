# SPDX-License-Identifier: Apache-2.0
"""Cause: input. Two worker processes make spectrograms of long recordings, and the training loop waits for them."""

import numpy
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Recordings(Dataset):
    def __init__(self, count, seconds=10, rate=16000):
        self.count, self.samples = count, seconds * rate

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        source = numpy.random.default_rng(index)
        sound = source.standard_normal(self.samples) + numpy.sin(numpy.arange(self.samples) * (index % 10 + 1) / 100)
        frames = numpy.lib.stride_tricks.sliding_window_view(sound, 1024)[::256] * numpy.hanning(1024)
        strength = numpy.log1p(numpy.abs(numpy.fft.rfft(frames)))
        strength[:, source.integers(512) :][:, :20] = 0
        return strength[:512, :512].astype(numpy.float32), index % 10


model = nn.Sequential(
    nn.Flatten(0, 1), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 64), nn.Unflatten(0, (16, -1)), nn.Flatten(1)
).to("cuda")
head = nn.LazyLinear(10).to("cuda")
recordings = Recordings(640)
head(model(torch.zeros(16, *recordings[0][0].shape, device="cuda")))
optimizer = torch.optim.AdamW([*model.parameters(), *head.parameters()], lr=1e-4)
batches = DataLoader(recordings, batch_size=16, shuffle=True, num_workers=2, pin_memory=True)
for inputs, labels in batches:
    inputs, labels = inputs.to("cuda", non_blocking=True), labels.to("cuda", non_blocking=True)
    optimizer.zero_grad()
    nn.functional.cross_entropy(head(model(inputs)), labels).backward()
    optimizer.step()
