# SPDX-License-Identifier: Apache-2.0
"""Samples come from a storage with latency and are decoded in the training thread; then by two workers."""

import time
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

RULE = "loader_without_workers"
LATENCY_S = 0.0015  # of one sample


class Samples(Dataset[torch.Tensor]):
    """Samples that take a while to arrive."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, i: int) -> torch.Tensor:
        time.sleep(LATENCY_S)
        return torch.full((512,), float(i % 7))


def prepare(scale: float) -> dict[str, Any]:
    """Return both loaders; the workers are running."""
    torch.manual_seed(0)
    samples = Samples(int(16 * scale + 1) * 16)
    workers = DataLoader(samples, batch_size=16, num_workers=2, persistent_workers=True)
    for _ in workers:
        pass
    model = torch.nn.Sequential(torch.nn.Linear(512, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 512))
    return {"alone": DataLoader(samples, batch_size=16, num_workers=0), "workers": workers, "model": model}


def train(work: dict[str, Any], name: str) -> None:
    """Do the work of an epoch."""
    for batch in work[name]:
        for _ in range(2):
            work["model"](batch).square().mean().backward()


def before(work: dict[str, Any]) -> None:
    """Load in the training thread."""
    train(work, "alone")


def after(work: dict[str, Any]) -> None:
    """Load beside it."""
    train(work, "workers")
