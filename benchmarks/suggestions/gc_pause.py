# SPDX-License-Identifier: Apache-2.0
"""Every step collects garbage over a large heap; then the heap is frozen after the setup."""

import gc
from typing import Any

import torch

RULE = "gc_pause"
RECORD = "stacks"


def prepare(scale: float) -> dict[str, Any]:
    """Return a heap of many objects, and a model."""
    heap = [[i] for i in range(int(100_000 * scale) + 20_000)]
    return {"heap": heap, "model": torch.nn.Linear(512, 512), "x": torch.randn(256, 512), "steps": 6}


@torch.no_grad()
def steps(work: dict[str, Any]) -> None:
    """Collect after each step, as programs do that were once out of memory."""
    for _ in range(work["steps"]):
        for _ in range(30):
            work["model"](work["x"])
        gc.collect()


def before(work: dict[str, Any]) -> None:
    """Look at every object of the setup again and again."""
    steps(work)


def after(work: dict[str, Any]) -> None:
    """Leave them out."""
    steps(work)


def reset(work: dict[str, Any], side: str) -> None:
    """Freeze the heap, or not; this belongs to the setup."""
    gc.unfreeze()
    if side == "after":
        gc.freeze()
