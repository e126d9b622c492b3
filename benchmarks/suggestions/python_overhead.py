# SPDX-License-Identifier: Apache-2.0
"""Positions are computed in Python for every batch; then once."""

from typing import Any

import torch

RULE = "python_overhead"
RECORD = "stacks"


def positions(length: int) -> list[float]:
    """Return positions, the slow way."""
    found = [0.0] * length
    for i in range(length):
        value, n = 0.0, i
        while n:
            value = value * 0.5 + (n & 1)
            n >>= 1
        found[i] = value
    return found


def prepare(scale: float) -> dict[str, Any]:
    """Return a model."""
    torch.manual_seed(0)
    return {"model": torch.nn.Linear(512, 512), "x": torch.randn(128, 512), "steps": int(12 * scale) + 1}


@torch.no_grad()
def before(work: dict[str, Any]) -> None:
    """Compute them for each step."""
    for _ in range(work["steps"]):
        for _ in range(4):
            work["model"](work["x"])
        torch.tensor(positions(4096)).sum()


@torch.no_grad()
def after(work: dict[str, Any]) -> None:
    """Keep them."""
    kept = torch.tensor(positions(4096))
    for _ in range(work["steps"]):
        for _ in range(4):
            work["model"](work["x"])
        kept.sum()
