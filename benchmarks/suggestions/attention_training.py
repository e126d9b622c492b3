# SPDX-License-Identifier: Apache-2.0
"""The same with a backward pass."""

from typing import Any

import torch

RULE = "attention_math"


def prepare(scale: float) -> dict[str, Any]:
    """Return queries, keys and values of 16 heads, which are trained."""
    torch.manual_seed(0)
    return {"heads": [torch.randn(1, 16, 512, 64, requires_grad=True) for _ in range(3)], "steps": int(4 * scale) + 1}


def before(work: dict[str, Any]) -> None:
    """Keep the weights for the backward pass."""
    q, k, v = work["heads"]
    for _ in range(work["steps"]):
        weights = torch.softmax(torch.matmul(q, k.transpose(-2, -1)) / 8.0, -1)
        torch.matmul(weights, v).mean().backward()


def after(work: dict[str, Any]) -> None:
    """Let one operator make them again."""
    q, k, v = work["heads"]
    for _ in range(work["steps"]):
        torch.nn.functional.scaled_dot_product_attention(q, k, v).mean().backward()
