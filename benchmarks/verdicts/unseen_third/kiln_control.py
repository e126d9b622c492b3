# SPDX-License-Identifier: Apache-2.0
"""Cause: optimizer. Muon orthogonalizes wide matrices every step, after a backward pass of only sixteen samples.

Learns a surrogate of a tunnel kiln: from the burner settings of the zones to the temperature profile along the kiln.
The net is wide, the batches are what one shift measures.
"""

import argparse
import time

import torch
from torch import nn


class KilnSurrogate(nn.Module):
    def __init__(self, zones, width, depth, points):
        super().__init__()
        self.enter = nn.Linear(zones, width)
        self.hidden = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(depth))
        self.leave = nn.Linear(width, points)

    def forward(self, settings):
        state = torch.tanh(self.enter(settings))
        for layer in self.hidden:
            state = state + torch.tanh(layer(state))
        return self.leave(state)


def kiln_profile(settings, points):
    """The temperature along the kiln: each burner heats its surroundings, downstream more than upstream."""
    zones = settings.shape[1]
    along = torch.linspace(0, 1, points)
    centres = torch.linspace(0.1, 0.9, zones)
    distance = along[None, :] - centres[:, None]
    spread = torch.where(distance > 0, 0.15, 0.05)
    influence = torch.exp(-((distance / spread) ** 2))
    return torch.tanh(settings @ influence)


def make_optimizers(model, rate):
    """Muon for the square matrices, AdamW for all else."""
    square = [layer.weight for layer in model.hidden]
    chosen = {id(weight) for weight in square}
    others = [parameter for parameter in model.parameters() if id(parameter) not in chosen]
    return [
        torch.optim.Muon(square, lr=rate, weight_decay=0.01),
        torch.optim.AdamW(others, lr=rate),
    ]


def train(model, optimizers, steps, batch, zones, points):
    loss_of = nn.MSELoss()
    losses = []
    for _ in range(steps):
        settings = torch.rand(batch, zones)
        loss = loss_of(model(settings), kiln_profile(settings, points))
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
        losses.append(loss.item())
    return losses


def main():
    parser = argparse.ArgumentParser(description="train a kiln surrogate")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--width", type=int, default=640)
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("--zones", type=int, default=12)
    parser.add_argument("--points", type=int, default=96)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--threads", type=int, default=1, help="of torch; the other core is left to others")
    args = parser.parse_args()

    torch.set_num_threads(args.threads)
    torch.manual_seed(11)
    model = KilnSurrogate(args.zones, args.width, args.depth, args.points)
    optimizers = make_optimizers(model, args.rate)
    print(f"{sum(parameter.numel() for parameter in model.parameters()) / 1e6:.1f} million parameters")
    began = time.perf_counter()
    losses = train(model, optimizers, args.steps, args.batch, args.zones, args.points)
    took = time.perf_counter() - began
    print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f}")
    print(f"{args.steps} steps in {took:.1f} s, {1000 * took / args.steps:.0f} ms each")


if __name__ == "__main__":
    main()
