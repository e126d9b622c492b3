# SPDX-License-Identifier: Apache-2.0
"""Attention as two products around a softmax; then as one operator. Inference."""

from typing import Any

import torch

RULE = "attention_math"


def prepare(scale: float) -> dict[str, Any]:
    """Return queries, keys and values of 16 heads."""
    torch.manual_seed(0)
    heads = [torch.randn(1, 16, 512, 64) for _ in range(3)]
    return {"heads": heads, "steps": int(8 * scale) + 1, "out": torch.nn.Linear(1024, 1024)}


def project(work: dict[str, Any], mixed: torch.Tensor) -> torch.Tensor:
    """Return what follows the attention."""
    return work["out"](mixed.transpose(1, 2).reshape(1, 512, 1024))


@torch.no_grad()
def before(work: dict[str, Any]) -> None:
    """Write the weights to memory and read them again."""
    q, k, v = work["heads"]
    for _ in range(work["steps"]):
        weights = torch.softmax(torch.matmul(q, k.transpose(-2, -1)) / 8.0, -1)
        project(work, torch.matmul(weights, v))


@torch.no_grad()
def after(work: dict[str, Any]) -> None:
    """Let one operator keep them in caches."""
    q, k, v = work["heads"]
    for _ in range(work["steps"]):
        project(work, torch.nn.functional.scaled_dot_product_attention(q, k, v))
