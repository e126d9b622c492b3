# SPDX-License-Identifier: Apache-2.0
"""Cause: input. Two worker processes make spectrograms of long recordings; the loop waits for them."""

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
        tone = numpy.sin(numpy.arange(self.samples) * (index % 10 + 1) / 100)
        sound = source.standard_normal(self.samples) + tone
        frames = numpy.lib.stride_tricks.sliding_window_view(sound, 1024)[::256] * numpy.hanning(1024)
        strength = numpy.log1p(numpy.abs(numpy.fft.rfft(frames)))
        hidden = source.integers(480)
        strength[:, hidden : hidden + 32] = 0
        return strength[:, :512].astype(numpy.float32), index % 10


model = nn.Sequential(nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10)).to("cuda")
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
batches = DataLoader(Recordings(800), batch_size=16, shuffle=True, num_workers=2, pin_memory=True)
for inputs, labels in batches:
    inputs, labels = inputs.to("cuda", non_blocking=True), labels.to("cuda", non_blocking=True)
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(inputs).mean(1), labels).backward()
    optimizer.step()
