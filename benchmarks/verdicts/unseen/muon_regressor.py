# SPDX-License-Identifier: Apache-2.0
"""Cause: optimizer. A residual MLP is trained on small batches with an optimizer that orthogonalises every matrix update by matrix products."""

import torch
from torch import nn


class Muon(torch.optim.Optimizer):
    def __init__(self, params, lr=0.01, momentum=0.9, rounds=5):
        super().__init__(params, dict(lr=lr, momentum=momentum, rounds=rounds))

    @staticmethod
    def orthogonal(m, rounds):
        a, b, c = 3.4445, -4.7750, 2.0315
        m = m / (m.norm() + 1e-7)
        for _ in range(rounds):
            gram = m @ m.T
            m = a * m + (b * gram + c * gram @ gram) @ m
        return m

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                slot = self.state[p].setdefault("momentum", torch.zeros_like(p))
                slot.mul_(group["momentum"]).add_(p.grad)
                update = self.orthogonal(slot, group["rounds"]) if p.ndim == 2 else slot
                p.add_(update, alpha=-group["lr"])


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.mix = nn.LayerNorm(width), nn.Linear(width, width)

    def forward(self, x):
        return x + torch.relu(self.mix(self.norm(x)))


def train(width=288, blocks=4, steps=64):
    torch.set_num_threads(1)  # the host is shared
    torch.manual_seed(0)
    net = nn.Sequential(*[Block(width) for _ in range(blocks)])
    optim = Muon(net.parameters())
    source = torch.randn(steps, 48, width)
    for i, x in enumerate(source):
        optim.zero_grad()
        loss = (net(x) - x.roll(1, dims=1)).square().mean()
        loss.backward()
        optim.step()
        if i % 20 == 0:
            print(f"step {i} loss {loss.item():.3f}")


if __name__ == "__main__":
    train()
