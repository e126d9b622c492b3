# SPDX-License-Identifier: Apache-2.0
"""A small function is asked the same questions again and again; then it keeps its answers."""

import functools
from typing import Any

import numpy as np

RULE = "cacheable_scope"
RECORD = "scopes"


def window(size: int) -> np.ndarray:
    """Return a window function."""
    return np.hanning(size) / np.hanning(size).sum()


def prepare(scale: float) -> dict[str, Any]:
    """Return a signal."""
    return {"signal": np.random.default_rng(0).normal(size=16384), "calls": int(800 * scale) + 200}


def smooth(work: dict[str, Any], make: Any, scope: Any) -> float:
    """Return a sum over windows of 64 sizes."""
    total = 0.0
    for i in range(work["calls"]):
        with scope("window"):
            found = make(4096 + 64 * (i % 64))
        total += float(np.convolve(work["signal"][:2048], found[:64])[0])
    return total


def before(work: dict[str, Any], scope: Any) -> float:
    """Compute each window anew."""
    return smooth(work, window, scope)


def after(work: dict[str, Any], scope: Any) -> float:
    """Keep them."""
    return smooth(work, functools.cache(window), scope)
