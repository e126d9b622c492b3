# SPDX-License-Identifier: Apache-2.0
"""NumPy prepares each batch between operators of PyTorch, where a trace shows nothing; then it was prepared before."""

from typing import Any

import numpy as np
import torch

RULE = "unrecorded_host"


def augment(values: np.ndarray) -> np.ndarray:
    """Return the values, sorted and normalised."""
    ordered = np.sort(values, axis=1)
    return ((ordered - ordered.mean()) / ordered.std()).astype(np.float32)


def prepare(scale: float) -> dict[str, Any]:
    """Return raw and prepared data."""
    torch.manual_seed(0)
    raw = [np.random.default_rng(i).normal(size=(64, 512)) for i in range(int(100 * scale) + 4)]
    return {"raw": raw, "ready": [augment(one) for one in raw], "model": torch.nn.Linear(512, 512)}


@torch.no_grad()
def before(work: dict[str, Any]) -> None:
    """Prepare in the loop."""
    for one in work["raw"]:
        work["model"](torch.from_numpy(augment(one))).sum()


@torch.no_grad()
def after(work: dict[str, Any]) -> None:
    """Use what was prepared."""
    for one in work["ready"]:
        work["model"](torch.from_numpy(one)).sum()
