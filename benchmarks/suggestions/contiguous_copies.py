# SPDX-License-Identifier: Apache-2.0
"""A transposed operand is copied before a product that would take it as it is."""

from typing import Any

import torch

RULE = "contiguous_copies"


def prepare(scale: float) -> dict[str, Any]:
    """Return keys and queries."""
    torch.manual_seed(0)
    return {"keys": torch.randn(16, 2048, 128), "queries": torch.randn(16, 8, 128), "steps": int(20 * scale) + 1}


@torch.no_grad()
def before(work: dict[str, Any]) -> Any:
    """Make the transposed keys contiguous."""
    return sum(
        torch.bmm(work["queries"], work["keys"].transpose(1, 2).contiguous()).sum() for _ in range(work["steps"])
    )


@torch.no_grad()
def after(work: dict[str, Any]) -> Any:
    """Leave them a view."""
    return sum(torch.bmm(work["queries"], work["keys"].transpose(1, 2)).sum() for _ in range(work["steps"]))
