# SPDX-License-Identifier: Apache-2.0
"""The device side of a benchmark: waiting for it, device time of rounds, and what one traced call launched."""

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..._core import SPAN_KINDS
from ...profiler import GPUProfiler
from ...system import gpus
from .memory import torch_cuda

OPERATION = "round"


def waiter() -> Callable[[], object] | None:
    """Return what waits for the device that the program uses, None when it uses none."""
    cuda = torch_cuda()
    if cuda is not None:
        return cuda.synchronize  # type: ignore[no-any-return]
    cupy = sys.modules.get("cupy")
    try:
        if cupy is not None and "cupy_backends.cuda.stream" in sys.modules:
            return cupy.cuda.Device().synchronize  # type: ignore[no-any-return]
    except Exception:  # CuPy without a device
        return None
    return None


def present() -> bool:
    """Tell whether a device could do work here: the program uses one already, or a GPU can turn up."""
    return waiter() is not None or gpus.possible()


class DeviceClock:
    """Device time of rounds, each a scope of a profiler of its own.

    reason: why there is none, '' while there may be.
    """

    def __init__(self) -> None:
        self.reason = ""
        self._profiler: Any = None
        if not present():
            self.reason = gpus.reason()
            return
        self._profiler = GPUProfiler(enable_detailed_metrics=False)

    def scope(self) -> Any:
        """Return a scope for one round, None when there is no device time."""
        return None if self._profiler is None else self._profiler.profile(OPERATION, device="gpu")

    def read(self, iterations: int) -> list[float]:
        """Return the device time of each round, in seconds for each call, and end the recording."""
        if self._profiler is None:
            return []
        try:
            run = self._profiler.run()
            lengths = [int(length) for length in run.tables.intervals.duration_ns if length >= 0]
            if not lengths:
                device = run.environment.get("device") or {}
                self.reason = str(device.get("reason") or "no device work was timed in the rounds")
            return [length * 1e-9 / iterations for length in lengths]
        finally:
            self.close()

    def close(self) -> None:
        """End the recording."""
        if self._profiler is not None:
            self._profiler.close()
            self._profiler = None


@dataclass(frozen=True, slots=True)
class Trace:
    """What one traced call did: kernels, copies and fills that it launched, times the host waited for the device."""

    launches: int = 0
    syncs: int = 0
    waits: tuple[str, ...] = ()
    reason: str = ""


def trace(call: Callable[[], object]) -> tuple[Trace, Any]:
    """Run the code once with kernels traced; return what it did, and what it returned."""
    reason = _tracing_reason()
    if reason:
        return Trace(reason=reason), call()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        options: dict[str, Any] = {"enable_detailed_metrics": False, "profile_kernels": True}
        profiler: Any = GPUProfiler(**options)
    try:
        reason = str(profiler.kernels_reason)
        with profiler.profile("traced", device="gpu"):
            result = call()
        wait = waiter()
        if wait is not None:
            wait()
        return (Trace(reason=reason) if reason else count(profiler.run())), result
    finally:
        profiler.close()


def count(run: Any) -> Trace:
    """Return what the run's one outermost scope launched and waited for; what began after its end is not its own."""
    kinds, starts = run.spans.kind, run.spans.start_ns
    scopes = kinds == SPAN_KINDS.index("scope")
    ends = starts + run.spans.duration_ns
    end = int(ends[scopes].max()) if scopes.any() else 0
    work = [SPAN_KINDS.index(kind) for kind in ("kernel", "memcpy", "memset")]
    launches = sum(int((kinds == kind).sum()) for kind in work)
    waits = (kinds == SPAN_KINDS.index("sync")) & (starts < end)
    names = tuple(dict.fromkeys(run.strings[int(name)] for name in run.spans.name[waits]))
    return Trace(launches, int(waits.sum()), names)


def _tracing_reason() -> str:
    if not present():
        return gpus.reason()
    return ""
