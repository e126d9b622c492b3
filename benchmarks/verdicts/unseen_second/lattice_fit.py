# SPDX-License-Identifier: Apache-2.0
"""Cause: compile. The energy function is compiled with dynamic=False and every work item has another chain length, so torch.compile traces and compiles it anew for nearly every call while the arithmetic itself is tiny.

Relaxes polymer chains of many lengths on a spring lattice.
"""

import argparse
import logging
import random
import sys
from dataclasses import dataclass

import torch
import torch._dynamo

log = logging.getLogger("lattice")


@dataclass
class Chain:
    name: str
    points: torch.Tensor
    stiffness: torch.Tensor

    @property
    def length(self):
        return len(self.points)


def make_chains(count, seed):
    """Chains of distinct lengths, in random order, as they come from the queue."""
    rng = random.Random(seed)
    generator = torch.Generator().manual_seed(seed)
    lengths = rng.sample(range(40, 40 + 4 * count), count)
    return [
        Chain(
            f"chain-{number:03d}",
            torch.randn(length, 3, generator=generator),
            torch.rand(length - 1, generator=generator) + 0.5,
        )
        for number, length in enumerate(lengths)
    ]


def bond_energy(points, stiffness):
    steps = points[1:] - points[:-1]
    lengths = torch.sqrt((steps * steps).sum(-1) + 1e-6)
    return (stiffness * (lengths - 1.0) ** 2).sum()


def bend_energy(points):
    first = points[1:-1] - points[:-2]
    second = points[2:] - points[1:-1]
    cosine = (first * second).sum(-1) / (first.norm(dim=-1) * second.norm(dim=-1) + 1e-6)
    return (1.0 - cosine).sum()


def repulsion(points):
    gaps = points[:, None, :] - points[None, :, :]
    squared = (gaps * gaps).sum(-1) + 0.1
    return torch.triu(torch.exp(-squared), diagonal=2).sum()


def energy(points, stiffness):
    total = bond_energy(points, stiffness) + 0.3 * bend_energy(points)
    return total + 0.5 * repulsion(points)


class Relaxer:
    def __init__(self, backend, iterations, rate):
        self.energy = torch.compile(energy, backend=backend, dynamic=False)
        self.iterations = iterations
        self.rate = rate

    def relax(self, chain):
        points = chain.points.clone().requires_grad_(True)
        value = None
        for _ in range(self.iterations):
            value = self.energy(points, chain.stiffness)
            (slope,) = torch.autograd.grad(value, points)
            with torch.no_grad():
                points -= self.rate * slope.clamp(-1, 1)
        return float(value.detach())


def main(argv=None):
    parser = argparse.ArgumentParser(description="relax polymer chains")
    parser.add_argument("--chains", type=int, default=20)
    parser.add_argument("--iterations", type=int, default=6)
    parser.add_argument("--rate", type=float, default=0.05)
    parser.add_argument("--backend", default="aot_eager", help="aot_eager needs no C++ toolchain on the workers")
    parser.add_argument("--seed", type=int, default=17)
    args = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch._dynamo.config.recompile_limit = 256
    torch.set_num_threads(1)

    chains = make_chains(args.chains, args.seed)
    relaxer = Relaxer(args.backend, args.iterations, args.rate)
    energies = {}
    for number, chain in enumerate(chains):
        energies[chain.name] = relaxer.relax(chain)
        if number % 5 == 0:
            log.info("%s of %d points: energy %.3f", chain.name, chain.length, energies[chain.name])
    best = min(energies, key=energies.get)
    print(f"{len(energies)} chains relaxed, lowest {best} at {energies[best]:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
