# SPDX-License-Identifier: Apache-2.0
"""Adam over many small parameters, one by one; then fused."""

from typing import Any

import torch

RULE = "single_tensor_optimizer"


def prepare(scale: float) -> dict[str, Any]:
    """Return two models that differ in the optimizer."""
    work: dict[str, Any] = {"x": torch.randn(32, 64), "steps": int(12 * scale) + 1}
    for name, more in (("single", {"foreach": False, "fused": False}), ("fused", {"fused": True})):
        torch.manual_seed(0)
        model = torch.nn.Sequential(*(torch.nn.Linear(64, 64) for _ in range(50)))
        work[name] = model, torch.optim.Adam(model.parameters(), lr=1e-4, **more)
    return work


def train(work: dict[str, Any], name: str) -> None:
    """Train for some steps."""
    model, optimizer = work[name]
    for _ in range(work["steps"]):
        optimizer.zero_grad()
        model(work["x"]).square().mean().backward()
        optimizer.step()


def before(work: dict[str, Any]) -> None:
    """Update one tensor after the other."""
    train(work, "single")


def after(work: dict[str, Any]) -> None:
    """Update all of them in one operator."""
    train(work, "fused")
