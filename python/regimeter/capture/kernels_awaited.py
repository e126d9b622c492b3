# SPDX-License-Identifier: Apache-2.0
"""Tracing of kernels that begins when the program first uses CUDA: what torch tells of that, beside the core's looks.

The core asks the driver a hundred times a second. torch says it at once, and it says when torch.profiler is about to
record the device, which CUPTI can serve for one tool of a process only: then tracing makes room before that.
"""

import weakref
from types import ModuleType
from typing import Any

from .. import _core
from .structure.arrival import Arrival
from .structure.patches import Patches

YIELDED = (
    "torch.profiler began to record the device, and CUPTI serves one tool at a time: kernels from then on are in its"
    " trace alone, which `regimeter show` reads"
)

_profilers: "weakref.WeakSet[_core.Profiler]" = weakref.WeakSet()
_arrival: Arrival | None = None
_initialising, _profiling = Patches(), Patches()


def begin(profiler: _core.Profiler, options: dict[str, int]) -> None:
    """Let the profiler trace kernels from the program's first use of CUDA on."""
    global _arrival
    profiler._kernels_await(options)
    _profilers.add(profiler)
    if _arrival is None:
        _arrival = Arrival("torch", _torch)
        _arrival.wait()


def end(profiler: _core.Profiler) -> None:
    """Wait no longer for it; with the last one everything of torch is put back."""
    global _arrival
    _profilers.discard(profiler)
    if not _profilers and _arrival is not None:
        _arrival.stop()
        _arrival = None
        _initialising.undo()
        _profiling.undo()


def _torch(torch: ModuleType) -> None:
    cuda, recorder = getattr(torch, "cuda", None), getattr(getattr(torch, "autograd", None), "profiler", None)
    initialise = getattr(cuda, "_lazy_init", None)
    prepare = getattr(recorder, "_prepare_profiler", None)
    if initialise is not None:
        _initialising.replace(cuda, "_lazy_init", _told_of_cuda(initialise, cuda))
    if prepare is not None:
        _profiling.replace(recorder, "_prepare_profiler", _told_of_torch_profiler(prepare, torch))


def _told_of_cuda(initialise: Any, cuda: Any) -> Any:
    def _lazy_init() -> Any:
        result = initialise()
        if getattr(cuda, "_initialized", False):
            _initialising.undo()  # it has nothing more to tell
            for profiler in list(_profilers):
                profiler._kernels_begin()
        return result

    return _lazy_init


def _told_of_torch_profiler(prepare: Any, torch: Any) -> Any:
    def _prepare_profiler(*arguments: Any, **named: Any) -> Any:
        activities = named.get("activities", arguments[1] if len(arguments) > 1 else ())
        if torch.autograd.ProfilerActivity.CUDA in activities:
            for profiler in list(_profilers):
                profiler._kernels_yield(YIELDED)
        return prepare(*arguments, **named)

    return _prepare_profiler
