# SPDX-License-Identifier: Apache-2.0
"""Cause: gradient_clipping. clip_grad_norm_ is called for each of hundreds of small heads after a tiny batch.

Forecasts what the shops of a bakery chain will sell tomorrow. All shops share one body, which reads weekday, weather
and last week's sales; each shop has a small head of its own. One wild shop must not hold back the others, so each
head's gradient is clipped by itself.
"""

import argparse
import time

import torch
from torch import nn


class ShopHead(nn.Module):
    """From the shared description of the day to one shop's sales of each kind of bread."""

    def __init__(self, width, goods):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width, goods) / width**0.5)
        self.offset = nn.Parameter(torch.zeros(goods))


class ChainForecast(nn.Module):
    def __init__(self, shops, inputs, width, goods):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(inputs, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.heads = nn.ModuleList(ShopHead(width, goods) for _ in range(shops))

    def forward(self, days):
        """days: shops x batch x inputs."""
        weight = torch.stack([head.weight for head in self.heads])
        offset = torch.stack([head.offset for head in self.heads])
        return torch.baddbmm(offset[:, None, :], self.body(days), weight)


class SalesBook:
    """What the shops sold: a mood of each shop, the weekday, and noise with a few wild days."""

    def __init__(self, shops, inputs, goods, seed):
        self.generator = torch.Generator().manual_seed(seed)
        self.taste = torch.randn(shops, inputs, goods, generator=self.generator) / inputs**0.5
        self.inputs = inputs

    def draw(self, batch):
        shops, inputs, goods = self.taste.shape
        days = torch.randn(shops, batch, inputs, generator=self.generator)
        sold = torch.tanh(torch.bmm(days, self.taste))
        wild = torch.rand(shops, 1, 1, generator=self.generator) < 0.03
        noise = torch.randn(shops, batch, goods, generator=self.generator)
        return days, sold + torch.where(wild, 4.0, 0.05) * noise


def clip_gradients(model, limit):
    """Clips body and heads each for itself; returns how many were too long. A broken till's sales are an error."""
    parts = [model.body, *model.heads]
    norms = [nn.utils.clip_grad_norm_(part.parameters(), limit, error_if_nonfinite=True) for part in parts]
    return int((torch.stack(norms) > limit).sum())


def train(model, book, optimizer, steps, batch, limit):
    losses, clipped = [], 0
    for _ in range(steps):
        days, sold = book.draw(batch)
        error = (model(days) - sold) ** 2
        loss = error.mean(dim=(1, 2)).sum()
        optimizer.zero_grad()
        loss.backward()
        clipped += clip_gradients(model, limit)
        optimizer.step()
        losses.append(loss.item() / len(model.heads))
    return losses, clipped


def main():
    parser = argparse.ArgumentParser(description="forecast the sales of a bakery chain")
    parser.add_argument("--shops", type=int, default=400)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--batch", type=int, default=3, help="days of each shop in a step")
    parser.add_argument("--inputs", type=int, default=14)
    parser.add_argument("--width", type=int, default=24)
    parser.add_argument("--goods", type=int, default=8)
    parser.add_argument("--limit", type=float, default=1.0)
    parser.add_argument("--threads", type=int, default=1, help="of torch; the tensors are small")
    args = parser.parse_args()

    torch.set_num_threads(args.threads)
    torch.manual_seed(31)
    model = ChainForecast(args.shops, args.inputs, args.width, args.goods)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, fused=True)
    book = SalesBook(args.shops, args.inputs, args.goods, seed=32)
    began = time.perf_counter()
    losses, clipped = train(model, book, optimizer, args.steps, args.batch, args.limit)
    took = time.perf_counter() - began
    print(f"error {losses[0]:.3f} -> {losses[-1]:.3f}; {clipped} gradients were too long")
    print(f"{args.steps} steps in {took:.1f} s, {1000 * took / args.steps:.0f} ms each")


if __name__ == "__main__":
    main()
