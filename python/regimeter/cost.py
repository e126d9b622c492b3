# SPDX-License-Identifier: Apache-2.0
"""What the profiler itself costs, measured on this machine when the first profiler of a process starts."""

import functools
import gc
from time import perf_counter_ns
from typing import Any

from . import _core

BURST = 200
BURSTS = 12
BASIS = f"calibrated at start: minimum of {BURSTS} bursts of {BURST} empty scopes, warm caches"


@functools.cache
def scope_cost_ns(host_memory: bool = False) -> float:
    """Return the cost of one enabled scope in nanoseconds, with warm caches.

    host_memory: with the resident set read at begin and end.

    It is the least time per scope over short bursts, less that of the empty loop. Right after a large
    computation has emptied the caches a scope can cost several times as much.
    """
    profiler = _core.Profiler()
    profiler._open(None, {})
    profiler._set_probes(None, None, host_memory)
    profiler._warm(BURST * BURSTS)
    profiler.enabled = True
    collecting = gc.isenabled()
    gc.disable()
    try:
        scopes = min(_burst_scopes(profiler) for _ in range(BURSTS))
        empty = min(_burst_empty() for _ in range(BURSTS))
    finally:
        if collecting:
            gc.enable()
        profiler._stop()
    return max(0.0, (scopes - empty) / BURST)


def _burst_scopes(profiler: _core.Profiler) -> int:
    begin = perf_counter_ns()
    for _ in range(BURST):
        with profiler.profile("calibration", device="cpu"):
            pass
    return perf_counter_ns() - begin


def _burst_empty() -> int:
    begin = perf_counter_ns()
    for _ in range(BURST):
        pass
    return perf_counter_ns() - begin


def describe(
    per_scope_ns: float,
    scopes: int,
    duration_ns: int,
    service_cpu_ns: int | None = None,
    device_ns: float | None = None,
) -> dict[str, Any]:
    """Return the cost of a run: scopes, per scope, in total and as a share of the run's duration.

    device_ns: what recording events took, measured while it happened on one scope in 32.
    """
    total = per_scope_ns * scopes + (service_cpu_ns or 0) + (device_ns or 0)
    return {
        "scopes": scopes,
        "per_scope_ns": per_scope_ns,
        "service_cpu_ns": service_cpu_ns,
        "device_ns": device_ns,
        "total_ns": total,
        "share": total / duration_ns if duration_ns > 0 else None,
        "basis": BASIS,
    }
