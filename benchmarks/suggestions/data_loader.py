# SPDX-License-Identifier: Apache-2.0
"""One worker cannot keep up with the model; then four."""

from typing import Any

import torch
from torch.utils.data import DataLoader

from .loader_without_workers import Samples, train

RULE = "data_loader"


def prepare(scale: float) -> dict[str, Any]:
    """Return both loaders, whose workers are running."""
    torch.manual_seed(0)
    work: dict[str, Any] = {"model": torch.nn.Linear(512, 256)}
    samples = Samples(int(16 * scale + 1) * 16)
    for name, workers in (("one", 1), ("four", 4)):
        work[name] = DataLoader(samples, batch_size=16, num_workers=workers, persistent_workers=True)
        for _ in work[name]:
            pass
    return work


def before(work: dict[str, Any]) -> None:
    """Wait for the only worker."""
    train(work, "one")


def after(work: dict[str, Any]) -> None:
    """Have four of them."""
    train(work, "four")
