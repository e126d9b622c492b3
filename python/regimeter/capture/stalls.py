# SPDX-License-Identifier: Apache-2.0
"""Samples of why kernels stall in a recording: what is asked for, and what a run says of them."""

import warnings
from typing import Any

from .. import _core
from ..system import libraries
from .rates import STALL_PERIODS

OFF = "stalls is off"
FORKED = "this process was forked from one whose kernels were sampled, which a driver does not support; use spawn"
WAITING = "the program has made no context of CUDA"
FIGURES = (
    "samples", "not_issued", "total", "dropped", "no_record", "lines", "full", "failures", "devices", "missed",
    "binaries", "binaries_with_lines", "binaries_left_out",
)  # fmt: skip


def period_of(asked: bool | int) -> int:
    """Return the exponent of the period in cycles, 0 for CUPTI's own; ValueError for one that no device takes."""
    if asked is True:
        return 0
    if asked in STALL_PERIODS:
        return int(asked)
    first, last = STALL_PERIODS[0], STALL_PERIODS[-1]
    raise ValueError(
        f"stalls is True, or {first} to {last} for a sample every 2^{first} to 2^{last} cycles, not {asked!r}"
    )


def start(profiler: _core.Profiler, asked: bool | int) -> str:
    """Start what is asked for; return the reason why there is nothing, which is a warning and no error, or ''."""
    if asked is False:
        return OFF
    period = period_of(asked)
    libraries.search_wheels()
    reason = profiler._stalls_start(period)
    if reason:
        warnings.warn(f"stalls of kernels are not sampled: {reason}", RuntimeWarning, stacklevel=4)
    return reason


def stop(profiler: _core.Profiler) -> None:
    """End the samples, when the device has ended the scopes; what it refused is a warning."""
    if profiler._stalls_state() is None:
        return
    profiler._device_drain()
    profiler._stalls_stop()
    state = profiler._stalls_state()
    if state and state["reason"] and not state["forked"]:
        warnings.warn(f"stalls of kernels were not sampled: {state['reason']}", RuntimeWarning, stacklevel=4)


def service_cpu_ns(profiler: _core.Profiler) -> int:
    """Return the processor time of the thread that collects."""
    state = profiler._stalls_state()
    return int(state["service_cpu_ns"]) if state else 0


def describe(profiler: _core.Profiler, reason: str) -> dict[str, Any]:
    """Return what a run's environment says of them: the reason why there are none, else what they came to."""
    state = profiler._stalls_state()
    if state is None or state["forked"]:
        return {"stalls_reason": reason if state is None else FORKED}
    return {
        "stalls_reason": state["reason"] or ("" if state["devices"] else WAITING),
        "stalls": {
            "cupti": state["path"],
            "period_cycles": 1 << state["period"] if state["period"] else None,
            **{name: state[name] for name in FIGURES},
            "lines_reason": _why_no_lines(state),
        },
    }


def _why_no_lines(state: dict[str, Any]) -> str:
    """Return why samples have no line of source, '' where some have."""
    if state["lines"] or not state["samples"]:
        return ""
    if not state["asks_for_cubins"]:
        return "this CUPTI does not tell lines of source (cuptiGetSassToSourceCorrelation)"
    if not state["binaries"]:
        return "CUPTI told of no binary that was loaded while stalls were sampled"
    if not state["binaries_with_lines"]:
        return "no binary has line information: compile with -lineinfo (nvcc) or --generate-line-info (NVRTC)"
    return "the kernels that were sampled are not in a binary with line information"
