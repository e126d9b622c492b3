# SPDX-License-Identifier: Apache-2.0
"""Tracing of kernels: where CUPTI is looked for, what its absence means to a user, and what a run says of it."""

import os
import sys
from collections.abc import Mapping
from typing import Any

OFF = "profile_kernels is off"
BAD_ENDS = ("stuck", "abandoned", "lost_by_fork")
KERNEL_KIND = "10"  # CUPTI's number
LATE = (
    "CUPTI took no times of queues: it wants to be asked before the program's first use of CUDA; record it with"
    " `regimeter record --queue-times`, or make the profiler before anything uses CUDA"
)
COUNTS = ("calls", "records", "invalid", "dropped", "buffers", "declined", "foreign")


# NVTX loads the library that this names at a program's first range, and tells it of all ranges.
INJECTION = "NVTX_INJECTION64_PATH"


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


def describe(reason: str, state: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a run's environment says of kernels: the reason, and what was counted."""
    ended_badly = state["meaning"] if state["state"] in BAD_ENDS else ""
    described: dict[str, Any] = {"kernels_reason": reason or state["conflict"] or ended_badly}
    if not reason:
        described["kernels"] = {
            "state": state["state"],
            "meaning": state["meaning"],
            "cupti": state["path"],
            "origin": state["origin"],
            "version": state["version"],
            "clock": state["clock"],
            "graph_nodes": state["graph_nodes"],
            "memory": state["memory"],
            "queue_times": state["queue_times"],
            "queue_times_reason": queue_times_reason(state),
            **{name: state[name] for name in COUNTS},
        }
    return described
