# SPDX-License-Identifier: Apache-2.0
"""Cause: uneven_steps. One recording in forty is some sixty times longer, and their training steps take most time.

Trains a classifier of bird songs on sequences of spectrogram frames, one recording per step. Most recordings hold one
strophe; a few are of a nightingale that sang for minutes, and nobody cut them.
"""

import argparse
import random
import time

import torch
from torch import nn

SPECIES = 6
BANDS = 32


class SongNet(nn.Module):
    def __init__(self, width, heads, layers):
        super().__init__()
        self.enter = nn.Linear(BANDS, width)
        layer = nn.TransformerEncoderLayer(width, heads, 2 * width, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.leave = nn.Linear(width, SPECIES)

    def forward(self, frames):
        return self.leave(self.encoder(self.enter(frames)).mean(dim=1))


class Archive:
    """Recordings made up on demand: a species and its number of frames."""

    def __init__(self, recordings, strophe, marathon, every, seed):
        chance = random.Random(seed)
        self.items = []
        for index in range(recordings):
            species = chance.randrange(SPECIES)
            frames = chance.randint(strophe // 2, strophe)
            if index % every == every // 2:
                frames = chance.randint(marathon * 9 // 10, marathon)
            self.items.append((species, frames))
        chance.shuffle(self.items)

    def __len__(self):
        return len(self.items)

    def load(self, index):
        species, frames = self.items[index]
        beat = torch.arange(frames)[:, None] * (0.1 + 0.05 * species)
        pitch = torch.arange(BANDS)[None, :] * 0.2
        song = torch.sin(beat + pitch) + 0.3 * torch.randn(frames, BANDS)
        return song[None], torch.tensor([species])


def train(model, archive, rate):
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    loss_of = nn.CrossEntropyLoss()
    losses, times = [], []
    for index in range(len(archive)):
        began = time.perf_counter()
        frames, species = archive.load(index)
        optimizer.zero_grad()
        loss = loss_of(model(frames), species)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        times.append(time.perf_counter() - began)
    return losses, times


def main():
    parser = argparse.ArgumentParser(description="train a classifier of bird songs")
    parser.add_argument("--recordings", type=int, default=240)
    parser.add_argument("--strophe", type=int, default=120, help="frames of a usual recording at most")
    parser.add_argument("--marathon", type=int, default=5600, help="frames of a long recording at most")
    parser.add_argument("--every", type=int, default=40, help="one recording in so many is long")
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--rate", type=float, default=0.01)
    parser.add_argument("--threads", type=int, default=1, help="of torch; the other core is left to others")
    args = parser.parse_args()

    torch.set_num_threads(args.threads)
    torch.manual_seed(2)
    archive = Archive(args.recordings, args.strophe, args.marathon, args.every, seed=23)
    model = SongNet(args.width, args.heads, args.layers)
    losses, times = train(model, archive, args.rate)
    tenth = max(1, len(losses) // 10)
    print(f"loss {sum(losses[:tenth]) / tenth:.3f} -> {sum(losses[-tenth:]) / tenth:.3f}")
    frames = sum(frames for _, frames in archive.items)
    print(f"{len(times)} recordings, {frames} frames in {sum(times):.1f} s")


if __name__ == "__main__":
    main()
