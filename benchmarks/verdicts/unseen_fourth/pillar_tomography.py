# SPDX-License-Identifier: Apache-2.0
"""Cause: first_step. The first forward pass builds the table of all ultrasound rays; later steps only look it up.

Looks into a stone pillar of a church with ultrasound: senders and receivers stand around it, and from the travel
times of the sound a picture of the slowness inside is learned, which shows cracks and hollows.
"""

import argparse
import math
import time
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Survey:
    """Where senders and receivers stand (in radii of the pillar), and what they measured."""

    senders: torch.Tensor
    receivers: torch.Tensor
    times: torch.Tensor

    def pairs(self):
        for sender in self.senders:
            for receiver in self.receivers:
                yield sender, receiver


def ring(count, turn):
    angle = torch.arange(count) * (2 * math.pi / count) + turn
    return torch.stack([angle.cos(), angle.sin()], dim=1)


def ray_lengths(sender, receiver, cells, samples):
    """How far the ray runs in each cell of the picture."""
    along = torch.linspace(0, 1, samples)[:, None]
    points = sender + along * (receiver - sender)
    column, row = ((points + 1) * 0.5 * cells).long().clamp_(0, cells - 1).unbind(1)
    hits = torch.bincount(row * cells + column, minlength=cells * cells)
    return hits * (torch.dist(sender, receiver) / samples)


class RayTable:
    """The lengths of all rays in all cells, made when first asked for."""

    def __init__(self, survey, cells, samples):
        self.survey = survey
        self.cells = cells
        self.samples = samples
        self._lengths = None

    @property
    def lengths(self):
        if self._lengths is None:
            self._lengths = torch.stack([ray_lengths(*pair, self.cells, self.samples) for pair in self.survey.pairs()])
        return self._lengths


class Pillar(nn.Module):
    """A picture of the slowness, from a small net over the place."""

    def __init__(self, table, width):
        super().__init__()
        self.table = table
        cells = table.cells
        axis = torch.linspace(-1, 1, cells)
        place = torch.cartesian_prod(axis, axis)
        waves = torch.randn(2, width // 2) * 3
        self.register_buffer("features", torch.cat([(place @ waves).sin(), (place @ waves).cos()], dim=1))
        self.net = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))

    def picture(self):
        return 1 + 0.5 * torch.tanh(self.net(self.features)).squeeze(1)

    def forward(self):
        return self.table.lengths @ self.picture()


def measure(senders, receivers, source):
    """Travel times through a pillar with a hollow, which slows down the rays that pass near its middle."""
    hollow = torch.tensor([0.25, -0.2])
    times = []
    for sender in senders:
        path = receivers - sender
        length = path.norm(dim=1)
        nearest = sender + path * ((hollow - sender) @ path.T / length.clamp(min=1e-3) ** 2).clamp(0, 1)[:, None]
        miss = (nearest - hollow).norm(dim=1)
        times.append(length + 0.15 * torch.exp(-((miss / 0.2) ** 2)))
    times = torch.cat(times)
    return Survey(senders, receivers, times + 0.002 * torch.randn(times.shape, generator=source))


def train(pillar, survey, steps, rate):
    optimizer = torch.optim.Adam(pillar.parameters(), lr=rate)
    losses = []
    for _ in range(steps):
        loss = nn.functional.mse_loss(pillar(), survey.times)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main():
    parser = argparse.ArgumentParser(description="look into a pillar")
    parser.add_argument("--posts", type=int, default=68, help="senders, and as many receivers")
    parser.add_argument("--cells", type=int, default=64)
    parser.add_argument("--samples", type=int, default=40_000, help="points along a ray")
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--steps", type=int, default=80)
    parser.add_argument("--rate", type=float, default=5e-3)
    parser.add_argument("--threads", type=int, default=1, help="of torch")
    args = parser.parse_args()

    torch.set_num_threads(args.threads)
    torch.manual_seed(17)
    survey = measure(ring(args.posts, 0.0), ring(args.posts, 0.03), torch.Generator().manual_seed(18))
    pillar = Pillar(RayTable(survey, args.cells, args.samples), args.width)
    began = time.perf_counter()
    losses = train(pillar, survey, args.steps, args.rate)
    took = time.perf_counter() - began
    print(f"error {losses[0]:.5f} -> {losses[-1]:.5f}, slowest cell {pillar.picture().max().item():.2f}")
    print(f"{len(survey.times)} rays, {args.steps} steps in {took:.1f} s")


if __name__ == "__main__":
    main()
