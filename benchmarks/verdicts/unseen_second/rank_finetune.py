# SPDX-License-Identifier: Apache-2.0
"""Cause: optimizer. The network is a small MLP on batches of 32 rows, but the Kronecker-preconditioned optimizer takes an eigendecomposition of two statistics per weight matrix in every step.

Fine-tunes a pairwise ranking model on synthetic click features.
"""

import argparse
import logging
import sys
from dataclasses import dataclass

import torch
from torch import nn

log = logging.getLogger("rank")


@dataclass
class Settings:
    features: int = 192
    hidden: int = 256
    batch: int = 32
    steps: int = 320
    lr: float = 0.02
    seed: int = 13


class Kron(torch.optim.Optimizer):
    """Shampoo-like: L^(-1/4) G R^(-1/4) for matrices, plain SGD for vectors."""

    def __init__(self, params, lr=0.01, decay=0.95, eps=1e-4):
        super().__init__(params, {"lr": lr, "decay": decay, "eps": eps})

    @staticmethod
    def _root(stat, eps):
        values, vectors = torch.linalg.eigh(stat)
        scale = (values.clamp_min(0) + eps).pow(-0.25)
        return (vectors * scale) @ vectors.T

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for param in group["params"]:
                if param.grad is None:
                    continue
                if param.ndim < 2:
                    param.add_(param.grad, alpha=-group["lr"])
                    continue
                state = self.state[param]
                if not state:
                    rows, cols = param.shape
                    state["left"] = torch.eye(rows) * group["eps"]
                    state["right"] = torch.eye(cols) * group["eps"]
                grad = param.grad
                mix = 1 - group["decay"]
                state["left"].lerp_(grad @ grad.T, mix)
                state["right"].lerp_(grad.T @ grad, mix)
                left = self._root(state["left"], group["eps"])
                right = self._root(state["right"], group["eps"])
                update = left @ grad @ right
                update.mul_(grad.norm() / (update.norm() + 1e-12))
                param.add_(update, alpha=-group["lr"])
        return loss


class Ranker(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(features, hidden),
            nn.GELU(),
            nn.Linear(hidden, hidden),
            nn.GELU(),
            nn.LayerNorm(hidden),
        )
        self.score = nn.Linear(hidden, 1)

    def forward(self, rows):
        return self.score(self.body(rows)).squeeze(-1)


class Clicks:
    """Pairs of a clicked and a skipped item, from a hidden linear taste."""

    def __init__(self, settings):
        self.generator = torch.Generator().manual_seed(settings.seed)
        self.settings = settings
        self.taste = torch.randn(settings.features, generator=self.generator)

    def batch(self):
        shape = (2, self.settings.batch, self.settings.features)
        pair = torch.randn(shape, generator=self.generator)
        swap = (pair[0] @ self.taste) < (pair[1] @ self.taste)
        clicked = torch.where(swap[:, None], pair[1], pair[0])
        skipped = torch.where(swap[:, None], pair[0], pair[1])
        return clicked, skipped


def train(settings):
    torch.manual_seed(settings.seed)
    clicks = Clicks(settings)
    model = Ranker(settings.features, settings.hidden)
    optimizer = Kron(model.parameters(), lr=settings.lr)
    for step in range(settings.steps):
        clicked, skipped = clicks.batch()
        optimizer.zero_grad(set_to_none=True)
        margin = model(clicked) - model(skipped)
        loss = nn.functional.softplus(-margin).mean()
        loss.backward()
        optimizer.step()
        if step % 40 == 0:
            log.info("step %d loss %.4f", step, loss.item())
    return model, clicks


@torch.no_grad()
def evaluate(model, clicks, rounds=10):
    model.eval()
    right = 0
    for _ in range(rounds):
        clicked, skipped = clicks.batch()
        right += int((model(clicked) > model(skipped)).sum())
    return right / (rounds * clicks.settings.batch)


def main(argv=None):
    parser = argparse.ArgumentParser(description="ranking fine-tune")
    for name, value in vars(Settings()).items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    settings = Settings(**vars(parser.parse_args(argv)))
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    torch.set_num_threads(1)
    model, clicks = train(settings)
    print(f"pair accuracy {evaluate(model, clicks):.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
