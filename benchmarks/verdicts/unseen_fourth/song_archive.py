# SPDX-License-Identifier: Apache-2.0
"""Cause: checkpoint. After every step torch.save writes all of model and Adam state, far more work than the step.

Learns to tell the songs of birds apart, on a field station whose power fails often, so that the state is kept on disk
all the time. A song is a chirp of a few syllables, seen as a spectrogram. The ear of the net comes from an older
study and is not trained any more.
"""

import argparse
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn


class SongNet(nn.Module):
    def __init__(self, bands, frames, width, species):
        super().__init__()
        listen = nn.Conv1d(bands, 48, kernel_size=5, padding=2)
        describe = nn.Linear(48 * (frames // 2), width)
        self.ear = nn.Sequential(listen, nn.ReLU(), nn.AvgPool1d(2), nn.Flatten(), describe, nn.ReLU())
        self.ear.requires_grad_(False)
        self.mind = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, species))

    def forward(self, spectrogram):
        return self.mind(self.ear(spectrogram))


class Recordings:
    """Makes spectrograms: each species has its own course of the pitch."""

    def __init__(self, bands, frames, species, seed):
        self.generator = torch.Generator().manual_seed(seed)
        self.bands = torch.arange(bands, dtype=torch.float32)[None, :, None]
        self.when = torch.linspace(0, 1, frames)[None, :]
        self.pitch = torch.rand(species, 1, generator=self.generator) * bands * 0.5 + bands * 0.25
        self.swing = torch.rand(species, 1, generator=self.generator) * bands * 0.2
        self.tempo = torch.rand(species, 1, generator=self.generator) * 6 + 2

    def batch(self, count):
        species = torch.randint(len(self.pitch), (count,), generator=self.generator)
        phase = torch.rand(count, 1, generator=self.generator)
        course = self.pitch[species] + self.swing[species] * torch.sin(
            6.283 * (self.tempo[species] * self.when + phase)
        )
        sound = torch.exp(-0.5 * (self.bands - course[:, None, :]) ** 2)
        return sound + 0.1 * torch.rand(sound.shape, generator=self.generator), species


@dataclass
class Keeper:
    """Keeps the newest states on disk; one is written over the oldest, so that always a whole one is left."""

    folder: Path
    most: int = 2
    kept: int = 0

    def keep(self, model, optimizer, step, loss):
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step, "loss": loss}
        torch.save(state, self.folder / f"state_{self.kept % self.most}.pt")
        self.kept += 1


def train(model, optimizer, recordings, keeper, steps, batch, every):
    loss_of = nn.CrossEntropyLoss()
    losses = []
    for step in range(1, steps + 1):
        sounds, species = recordings.batch(batch)
        loss = loss_of(model(sounds), species)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % every == 0:
            keeper.keep(model, optimizer, step, losses[-1])
    return losses


def main():
    parser = argparse.ArgumentParser(description="learn the songs of birds")
    parser.add_argument("--steps", type=int, default=80)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--width", type=int, default=1536)
    parser.add_argument("--bands", type=int, default=64)
    parser.add_argument("--frames", type=int, default=160)
    parser.add_argument("--species", type=int, default=30)
    parser.add_argument("--every", type=int, default=1, help="steps between two states on disk")
    parser.add_argument("--threads", type=int, default=1, help="of torch")
    args = parser.parse_args()

    torch.set_num_threads(args.threads)
    torch.manual_seed(5)
    model = SongNet(args.bands, args.frames, args.width, args.species)
    optimizer = torch.optim.Adam(model.mind.parameters(), lr=1e-3, fused=True)
    recordings = Recordings(args.bands, args.frames, args.species, seed=6)
    print(f"{sum(parameter.numel() for parameter in model.parameters()) / 1e6:.1f} million parameters")
    with tempfile.TemporaryDirectory(prefix="bird_songs_") as folder:
        keeper = Keeper(Path(folder))
        began = time.perf_counter()
        losses = train(model, optimizer, recordings, keeper, args.steps, args.batch, args.every)
        took = time.perf_counter() - began
        size = (keeper.folder / "state_0.pt").stat().st_size
    print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}, state kept {keeper.kept} times, {size / 1e6:.0f} MB each")
    print(f"{args.steps} steps in {took:.1f} s")


if __name__ == "__main__":
    main()
