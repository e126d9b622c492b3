# SPDX-License-Identifier: Apache-2.0
"""An activation written as pointwise operators; then the fused operator."""

from typing import Any

import torch

RULE = "pointwise_chain"


def prepare(scale: float) -> dict[str, Any]:
    """Return a model and what it is applied to."""
    torch.manual_seed(0)
    return {"x": torch.randn(512, 256), "model": torch.nn.Linear(256, 2048), "steps": int(20 * scale) + 1}


@torch.no_grad()
def before(work: dict[str, Any]) -> None:
    """Compute the approximate GELU operator by operator."""
    for _ in range(work["steps"]):
        x = work["model"](work["x"])
        inner = 0.7978845608 * (x + 0.044715 * x * x * x)
        (0.5 * x * (1 + torch.tanh(inner))).sum()


@torch.no_grad()
def after(work: dict[str, Any]) -> None:
    """Compute it in one pass."""
    for _ in range(work["steps"]):
        torch.nn.functional.gelu(work["model"](work["x"]), approximate="tanh").sum()
