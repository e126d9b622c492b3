# SPDX-License-Identifier: Apache-2.0
"""Cause: memory_growth. The running control error is summed as a tensor, so each step's control graph stays alive.

Learns to count fish on pictures of a reef, for divers who would rather dive than count. The pictures are drawn: fish
as bright ellipses before a mottled ground. Beside each training batch a control batch shows how well it counts.
"""

import argparse
import time
from dataclasses import dataclass, field

import torch
from torch import nn


@dataclass
class Camera:
    """Draws pictures of a reef, with up to so many fish on each."""

    size: int
    most: int
    generator: torch.Generator
    rows: torch.Tensor = field(init=False)
    columns: torch.Tensor = field(init=False)

    def __post_init__(self):
        axis = torch.linspace(0, 1, self.size)
        self.rows, self.columns = torch.meshgrid(axis, axis, indexing="ij")

    def picture(self):
        ground = 0.2 * torch.rand(self.size, self.size, generator=self.generator)
        fish = int(torch.randint(0, self.most + 1, (), generator=self.generator))
        for _ in range(fish):
            row, column, length, bright = torch.rand(4, generator=self.generator).tolist()
            far = ((self.rows - row) / 0.05) ** 2 + ((self.columns - column) / (0.08 + 0.05 * length)) ** 2
            ground += (0.5 + 0.5 * bright) * torch.exp(-far)
        return ground, fish

    def batch(self, count):
        drawn = [self.picture() for _ in range(count)]
        pictures = torch.stack([picture for picture, _ in drawn])[:, None]
        return pictures, torch.tensor([float(fish) for _, fish in drawn])


class Counter(nn.Module):
    """Finds how much fish there is at each place, and sums."""

    def __init__(self, channels):
        super().__init__()
        self.see = nn.Conv2d(1, channels, 5, padding=2)
        self.know = nn.Conv2d(channels, channels, 3, padding=1, stride=2)
        self.place = nn.Conv2d(channels, 1, 1)

    def forward(self, pictures):
        seen = torch.tanh(self.see(pictures))
        known = torch.nn.functional.softplus(self.know(seen))
        return self.place(known).sum(dim=(1, 2, 3)) / 16


@dataclass
class Progress:
    """The figures of the run so far."""

    steps: int = 0
    training: float = 0.0
    control: float = 0.0

    def add(self, training, control):
        self.steps += 1
        self.training += training
        self.control += control

    def line(self):
        training, control = self.training / self.steps, self.control / self.steps
        return f"step {self.steps}: mean error {training:.2f}, control {control:.2f}"


def train(counter, camera, optimizer, steps, batch, control_batch):
    loss_of = nn.SmoothL1Loss()
    progress = Progress()
    for step in range(1, steps + 1):
        pictures, fish = camera.batch(batch)
        loss = loss_of(counter(pictures), fish)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        pictures, fish = camera.batch(control_batch)
        control = loss_of(counter(pictures), fish)
        progress.add(loss.item(), control)
        if step % 23 == 0:
            print(progress.line())
    return progress


def main():
    parser = argparse.ArgumentParser(description="learn to count fish")
    parser.add_argument("--steps", type=int, default=115)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--control", type=int, default=12, help="pictures in a control batch")
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--most", type=int, default=14, help="fish on a picture at most")
    parser.add_argument("--channels", type=int, default=16)
    parser.add_argument("--threads", type=int, default=1, help="of torch")
    args = parser.parse_args()

    torch.set_num_threads(args.threads)
    torch.manual_seed(41)
    camera = Camera(args.size, args.most, torch.Generator().manual_seed(42))
    counter = Counter(args.channels)
    optimizer = torch.optim.Adam(counter.parameters(), lr=3e-3)
    began = time.perf_counter()
    progress = train(counter, camera, optimizer, args.steps, args.batch, args.control)
    took = time.perf_counter() - began
    print(progress.line())
    print(f"{args.steps} steps in {took:.1f} s")


if __name__ == "__main__":
    main()
