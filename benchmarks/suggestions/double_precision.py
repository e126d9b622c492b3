# SPDX-License-Identifier: Apache-2.0
"""Weights made by NumPy leave a model in double precision; then in single."""

from typing import Any

import numpy as np
import torch

RULE = "double_precision"


def prepare(scale: float) -> dict[str, Any]:
    """Return weights and data in both types."""
    weights = [torch.from_numpy(np.random.default_rng(i).normal(size=(512, 512)) / 23) for i in range(4)]
    x = torch.from_numpy(np.random.default_rng(9).normal(size=(256, 512)))
    return {"double": (x, weights), "float": (x.float(), [w.float() for w in weights]), "steps": int(12 * scale) + 1}


@torch.no_grad()
def run(work: dict[str, Any], name: str) -> None:
    """Apply the layers."""
    data, weights = work[name]
    for _ in range(work["steps"]):
        x = data
        for w in weights:
            x = torch.relu(x @ w)
        x.sum()


def before(work: dict[str, Any]) -> None:
    """Compute in float64."""
    run(work, "double")


def after(work: dict[str, Any]) -> None:
    """Compute in float32."""
    run(work, "float")
