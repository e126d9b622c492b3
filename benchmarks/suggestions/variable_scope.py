# SPDX-License-Identifier: Apache-2.0
"""Every eighth call sorts what came since the last; then only the last call sorts."""

from typing import Any

import numpy as np

RULE = "variable_scope"
RECORD = "scopes"


def prepare(scale: float) -> dict[str, Any]:
    """Return blocks of values."""
    return {"blocks": np.random.default_rng(0).normal(size=(int(200 * scale) + 40, 20_000))}


def add(work: dict[str, Any], every: int, scope: Any) -> float:
    """Add blocks; sort what there is every so often."""
    kept: list[np.ndarray] = []
    total = 0.0
    for i, block in enumerate(work["blocks"], 1):
        with scope("add"):
            kept.append(block)
            total += float(np.exp(block).sum())
            if i % every == 0 or i == len(work["blocks"]):
                total += float(np.sort(np.concatenate(kept[-8:]))[0])
    return total


def before(work: dict[str, Any], scope: Any) -> float:
    """Sort after every eighth block."""
    return add(work, 8, scope)


def after(work: dict[str, Any], scope: Any) -> float:
    """Sort only the last."""
    return add(work, len(work["blocks"]) + 1, scope)
