# SPDX-License-Identifier: Apache-2.0
"""The first call of a compiled function is among those that are measured; then it was warmed up."""

from typing import Any

import torch

RULE = "compile_in_window"


def network(x: torch.Tensor) -> torch.Tensor:
    """Apply some operators."""
    for i in range(12):
        x = torch.relu(x @ x.T @ x) / (i + 1.0) / x.abs().max().clamp_min(1.0)
    return x


def prepare(scale: float) -> dict[str, Any]:
    """Return data, and the function compiled."""
    torch.manual_seed(0)
    work: dict[str, Any] = {"x": torch.randn(128, 128), "steps": int(100 * scale) + 1}
    after(work)
    return work


@torch.no_grad()
def after(work: dict[str, Any]) -> None:
    """Call what is compiled already."""
    compiled = torch.compile(network, backend="eager")
    for _ in range(work["steps"]):
        compiled(work["x"])


def before(work: dict[str, Any]) -> None:
    """Compile in the first call."""
    after(work)


def reset(work: dict[str, Any], side: str) -> None:
    """Forget what was compiled, as a new process has; or have it compiled."""
    torch.compiler.reset()
    if side == "after":
        after(work)
