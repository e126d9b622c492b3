# SPDX-License-Identifier: Apache-2.0
"""Double-precision data, as NumPy makes it, is converted for each batch; then once, before the loop."""

from typing import Any

import torch

RULE = "casts"


def prepare(scale: float) -> dict[str, Any]:
    """Return the data in both types, and a model."""
    torch.manual_seed(0)
    data = torch.randn(int(60 * scale) + 1, 2048, 256, dtype=torch.float64)
    return {"data": data, "converted": data.float(), "model": torch.nn.Linear(256, 16)}


@torch.no_grad()
def before(work: dict[str, Any]) -> Any:
    """Convert each batch when it is used."""
    return sum(work["model"](batch.float()).sum() for batch in work["data"].unbind())


@torch.no_grad()
def after(work: dict[str, Any]) -> Any:
    """Use what was converted before."""
    return sum(work["model"](batch).sum() for batch in work["converted"].unbind())
