# SPDX-License-Identifier: Apache-2.0
"""Rows are scaled and summed in a Python loop; then with one operation."""

from typing import Any

import torch

RULE = "loop_indexing"


def prepare(scale: float) -> dict[str, Any]:
    """Return rows and their weights."""
    torch.manual_seed(0)
    return {"rows": torch.randn(int(6000 * scale) + 20, 256), "weights": torch.rand(int(6000 * scale) + 20)}


@torch.no_grad()
def before(work: dict[str, Any]) -> Any:
    """Take one row after the other."""
    total = torch.zeros(256)
    for i in range(len(work["rows"])):
        total += work["rows"][i] * work["weights"][i]
    return total, torch.linalg.matrix_norm(work["rows"].T @ work["rows"])


@torch.no_grad()
def after(work: dict[str, Any]) -> Any:
    """Take all rows at a time."""
    total = (work["rows"] * work["weights"][:, None]).sum(0)
    return total, torch.linalg.matrix_norm(work["rows"].T @ work["rows"])
