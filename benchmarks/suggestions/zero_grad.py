# SPDX-License-Identifier: Apache-2.0
"""Gradients of a wide model are cleared and added to; then they are replaced."""

from typing import Any

import torch

RULE = "zero_grad"


def prepare(scale: float) -> dict[str, Any]:
    """Return a model with many parameters for each sample."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(*(torch.nn.Linear(512, 512) for _ in range(8)))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, foreach=True)
    return {"model": model, "optimizer": optimizer, "x": torch.randn(8, 512), "steps": int(20 * scale) + 1}


def train(work: dict[str, Any], set_to_none: bool) -> None:
    """Train for some steps."""
    for _ in range(work["steps"]):
        work["optimizer"].zero_grad(set_to_none=set_to_none)
        work["model"](work["x"]).square().mean().backward()
        work["optimizer"].step()


def before(work: dict[str, Any]) -> None:
    """Set gradients to zero."""
    train(work, False)


def after(work: dict[str, Any]) -> None:
    """Set them to None."""
    train(work, True)
