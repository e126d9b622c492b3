# SPDX-License-Identifier: Apache-2.0
"""Every sixteenth of 200 steps evaluates the model; then only the last does."""

from typing import Any

import torch

RULE = "step_outliers"
STEPS, EVERY = 200, 16


def prepare(scale: float) -> dict[str, Any]:
    """Return a model, a batch, and what it is evaluated with."""
    torch.manual_seed(0)
    return {"model": torch.nn.Linear(256, 256), "x": torch.randn(512, 256), "all": torch.randn(12288, 256)}


@torch.no_grad()
def steps(work: dict[str, Any], every: int) -> None:
    """Take all steps."""
    for i in range(1, STEPS + 1):
        with torch.profiler.record_function(f"ProfilerStep#{i}"):
            work["model"](work["x"]).sum()
            if i % every == 0:
                work["model"](work["all"]).sum()


def before(work: dict[str, Any]) -> None:
    """Evaluate often."""
    steps(work, EVERY)


def after(work: dict[str, Any]) -> None:
    """Evaluate once."""
    steps(work, STEPS)
