# SPDX-License-Identifier: Apache-2.0
"""A callback of Lightning that measures training steps and says what limits them. Lightning is imported by its user."""

import sys
from typing import Any

from .blocks import GPUProfilerContext, log


def _base() -> type:
    for name in ("lightning.pytorch", "pytorch_lightning"):
        module = sys.modules.get(name)
        if module is not None:
            found: type = module.Callback
            return found
    return object


class _Steps:
    """The hooks; what is measured is the time from the begin of a batch to its end, with the work of its operators."""

    def __init__(self, device_id: int = 0, log_to_tensorboard: bool = True, every: int = 100) -> None:
        if every < 1:
            raise ValueError(f"every must be at least 1, got {every!r}")
        self.device_id = device_id
        self.log_to_tensorboard = log_to_tensorboard
        self.every = every
        self.profiles: list[dict[str, Any]] = []
        self._block: GPUProfilerContext | None = None

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        """Begin to measure every `every`-th step; the others run untouched."""
        if batch_idx % self.every == 0:
            device = str(getattr(pl_module, "device", "cpu"))
            self._block = GPUProfilerContext(f"step {batch_idx}", device=device)
            self._block.__enter__()

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """End the measurement and log it."""
        block, self._block = self._block, None
        if block is None:
            return
        block.__exit__(None, None, None)
        assert block.analysis is not None
        self.profiles.append(block.analysis)
        experiment = getattr(getattr(trainer, "logger", None), "experiment", None)
        if self.log_to_tensorboard and experiment is not None:
            log(experiment, "regime", block.analysis, int(getattr(trainer, "global_step", batch_idx)))

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """End a measurement that a failed step has left open."""
        block, self._block = self._block, None
        if block is not None:
            block.__exit__(type(exception), exception, None)

    def summary(self) -> dict[str, float]:
        """Return the part of the measured time by regime, 0 to 1; {} before the first measured step."""
        total = sum(profile["runtime_ms"] for profile in self.profiles)
        shares: dict[str, float] = {}
        for profile in self.profiles:
            shares[profile["regime"]] = shares.get(profile["regime"], 0.0) + profile["runtime_ms"] / total
        return shares


def GPURegimeProfiler(device_id: int = 0, log_to_tensorboard: bool = True, *, every: int = 100) -> Any:
    """Return a callback for a Lightning Trainer that measures every `every`-th training step.

    Import lightning or pytorch_lightning before, so that the callback is one of theirs. `profiles` holds what was
    measured, `summary()` the part of the time by regime. ValueError for an `every` below 1.
    """
    kind = type("GPURegimeProfiler", (_Steps, _base()) if _base() is not object else (_Steps,), {})
    return kind(device_id, log_to_tensorboard, every)
