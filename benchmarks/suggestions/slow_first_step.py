# SPDX-License-Identifier: Apache-2.0
"""The first step builds a table that the others use; then it is read from a file."""

import io
from typing import Any

import torch

RULE = "slow_first_step"


def prepare(scale: float) -> dict[str, Any]:
    """Return a model and how many steps it takes."""
    torch.manual_seed(0)
    return {"table": None, "file": None, "x": torch.randn(384, 384), "steps": int(12 * scale) + 4}


def table(work: dict[str, Any]) -> torch.Tensor:
    """Return the table, which is read or built where there is none."""
    if work["table"] is None:
        kept = work["file"]
        work["table"] = torch.load(kept) if kept else torch.linalg.svd(work["x"])[0]
    return work["table"]


@torch.no_grad()
def steps(work: dict[str, Any]) -> None:
    """Take the steps."""
    for i in range(work["steps"]):
        with torch.profiler.record_function(f"ProfilerStep#{i}"):
            for _ in range(3):
                (table(work) @ work["x"]).relu().sum()


def before(work: dict[str, Any]) -> None:
    """Begin without it."""
    steps(work)


def after(work: dict[str, Any]) -> None:
    """Begin with what an earlier process kept."""
    steps(work)


def reset(work: dict[str, Any], side: str) -> None:
    """Forget the table; have the file, or not."""
    work["table"] = work["file"] = None
    if side == "after":
        file = io.BytesIO()
        torch.save(table(work), file)
        file.seek(0)
        work["table"], work["file"] = None, file
