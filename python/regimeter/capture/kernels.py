# SPDX-License-Identifier: Apache-2.0
"""Tracing of kernels: where CUPTI is looked for, what its absence means to a user, and what a run says of it."""

import os
import sys
import warnings
import weakref
from collections.abc import Mapping
from typing import Any, Literal

from .. import _core
from ..system import gpus, libraries
from ..system.text import duration
from . import kernels_awaited
from .recording import AWAITED

Asked = bool | Literal["auto"] | Mapping[str, int]
OFF = "profile_kernels is off"
UNUSED = "the program has not used CUDA"
BAD_ENDS = ("stuck", "abandoned", "lost_by_fork")
KERNEL_KIND = "10"  # CUPTI's number
LATE = (
    "CUPTI took no times of queues: its header wants it asked before the program's first use of CUDA; record it with"
    " `regimeter record --queue-times`, or make the profiler before anything uses CUDA"
)
COUNTS = ("calls", "records", "invalid", "untimed", "dropped", "kinds", "buffers", "declined", "foreign")
PARTS = ("green_contexts", "green_multiprocessors")

AT_ONCE = "`--kernels` traces from the start"

# NVTX loads the library that this names at a program's first range, and tells it of all ranges.
INJECTION = "NVTX_INJECTION64_PATH"


def beside_stalls(asked: Asked) -> Asked:
    """Return what is asked for where stalls are sampled: at once what would begin at the program's first use of CUDA.

    The callbacks that tell of contexts must be there before the first context is.
    """
    return True if asked == AWAITED and gpus.possible() else asked


class Tracing:
    """What one profiler does about kernels. asked: True or options begin at once, "auto" when the program uses CUDA."""

    def __init__(self, profiler: _core.Profiler, asked: Asked) -> None:
        self._profiler: _core.Profiler = weakref.proxy(profiler)  # which holds this
        self._awaits = asked == AWAITED and gpus.possible()
        self._refused = OFF if asked is False else gpus.reason() if asked == AWAITED else ""
        if self._awaits:
            libraries.search_wheels()
            kernels_awaited.begin(profiler, {})
        elif not self._refused:
            assert not isinstance(asked, str)
            self._start(asked)

    def _start(self, asked: bool | Mapping[str, int]) -> None:
        libraries.search_wheels()
        reason = self._profiler._kernels_start(options(asked))
        if reason:
            self._refused = explain(reason)
            warnings.warn(f"kernels are not traced: {self._refused}", RuntimeWarning, stacklevel=5)
        else:
            hear_ranges(asked, self._profiler._kernels_state()["path"])

    @property
    def reason(self) -> str:
        """Why kernels are not traced, '' where they are, or were until the profiler was closed."""
        return awaited_reason(self._profiler._kernels_watch()) if self._awaits else self._refused

    @property
    def has_run(self) -> bool:
        """Whether there may be kernels in the recording."""
        return self._profiler._kernels_watch()["started_ns"] >= 0 if self._awaits else not self._refused

    @property
    def may_run(self) -> bool:
        """Whether kernels are traced, or would be when the program uses CUDA."""
        return self._awaits or not self._refused

    def look(self) -> None:
        """Begin where the program uses CUDA by now."""
        if self._awaits:
            self._profiler._kernels_begin()

    def stop(self, profiler: _core.Profiler) -> None:
        """End it, of the same profiler."""
        kernels_awaited.end(profiler)
        profiler._kernels_stop()

    def service_cpu_ns(self) -> int:
        """Return the processor time of the threads that serve it."""
        used = self._profiler._kernels_state()["service_cpu_ns"] if self.has_run else 0
        return int(used) + (self._profiler._kernels_watch()["cpu_ns"] if self._awaits else 0)

    def describe(self) -> dict[str, Any]:
        """Return what a run's environment says of kernels."""
        described = describe(self.reason, self.has_run, self._profiler._kernels_state())
        if self._awaits:
            watch = self._profiler._kernels_watch()
            described["kernels_awaited"] = watch
            described["kernels_late"] = late(watch)
        return described


def awaited_reason(watch: Mapping[str, Any]) -> str:
    """Return why kernels are not traced where that was to begin by itself, '' where it has."""
    match watch["phase"]:
        case "waiting" | "unused":
            return UNUSED
        case "missed":
            within = duration(watch["late_ns"] / 1e6)
            return f"the program ended within {within} of its first use of CUDA, before tracing had begun; {AT_ONCE}"
        case "refused":
            return explain(str(watch["reason"]))
    return str(watch["reason"])


def late(watch: Mapping[str, Any]) -> str:
    """Say which kernels were not seen because tracing began after the program's first use of CUDA; '' for none."""
    if not watch["context_before"]:
        return ""
    most = duration(watch["late_ns"] / 1e6)
    return f"those of the first {most} of CUDA, at most, were not seen; {AT_ONCE}"


def options(asked: bool | Mapping[str, int]) -> dict[str, int]:
    """Return the options of tracing as numbers; `nvtx` is none of the core's."""
    if isinstance(asked, Mapping):
        return {str(name): int(value) for name, value in asked.items() if name != "nvtx"}
    return {}


def hear_ranges(asked: bool | Mapping[str, int], cupti: str) -> None:
    """Let NVTX find CUPTI where the option `nvtx` asks for it; another tool's library stays."""
    if isinstance(asked, Mapping) and asked.get("nvtx"):
        os.environ.setdefault(INJECTION, cupti)


def explain(reason: str) -> str:
    """Add to a conflict what the program itself can see of the other tool."""
    if "one tool at a time" not in reason:
        return reason
    torch = sys.modules.get("torch")
    running = getattr(getattr(torch, "_C", None), "_autograd", None)
    try:
        if running is not None and running._profiler_enabled():
            return f"torch.profiler is running. {reason}"
    except Exception:  # a torch without this function, or one that is half imported
        pass
    if "NSYS_PROFILING_SESSION_ID" in os.environ:
        return f"Nsight Systems is running. {reason}"
    return reason


def queue_times_reason(state: Mapping[str, Any]) -> str:
    """Return why queue times that were asked for are not in the run, '' where they are or were not asked for."""
    if state["queue_times_reason"] or not state["queue_times"] or state["queue_times_known"]:
        return str(state["queue_times_reason"])
    return LATE if state["kinds"].get(KERNEL_KIND) else "no kernel was traced"


def describe(reason: str, has_run: bool, state: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a run's environment says of kernels: the reason, and what was counted where they were traced."""
    ended_badly = state["meaning"] if state["state"] in BAD_ENDS else ""
    described: dict[str, Any] = {"kernels_reason": reason or state["conflict"] or ended_badly}
    if has_run:
        described["kernels"] = {
            "state": state["state"],
            "meaning": state["meaning"],
            "cupti": state["path"],
            "origin": state["origin"],
            "version": state["version"],
            "clock": state["clock"],
            "several": state["several"],
            "graph_nodes": state["graph_nodes"],
            "memory": state["memory"],
            "queue_times": state["queue_times"],
            "queue_times_reason": queue_times_reason(state),
            **{name: state[name] for name in (*COUNTS, *PARTS)},
        }
    return described
