# SPDX-License-Identifier: Apache-2.0
"""What the profiler itself costs, measured on this machine when the first profiler of a process starts."""

import functools
import gc
from collections.abc import Mapping
from time import perf_counter_ns
from typing import Any

from .. import _core

OWN_COST = "budget/own_cost_share"  # a series of counters: of each second, where there is a budget
BURST = 200
MOST_NS = 1e18  # more than thirty years: what a file states beyond is damage
BURSTS = 12
BASIS = (
    f"a scope calibrated at start: minimum of {BURSTS} bursts of {BURST} empty scopes, warm caches; the rest measured"
)
# Parts of the cost that are measured where they happen -> what a reader is told that they are. All but the last two
# are those of csrc/capture/own_cost.h.
WORDS = {
    "names": "finding names",
    "looks": "looking at backends",
    "memory": "reading memory",
    "threads": "first scopes of threads",
    "blocks": "making room",
    "witness": "looking at the machine",
    "forks": "forks",
    "collecting": "collecting and writing",
    "starting": "starting",
}


@functools.cache
def scope_cost_ns() -> float:
    """Return the cost of one enabled scope in nanoseconds, with warm caches.

    What a scope does beyond that, such as reading memory, is measured in each scope (csrc/capture/own_cost.h).
    It is the least time per scope over short bursts, less that of the empty loop. Right after a large
    computation has emptied the caches a scope can cost several times as much.
    """
    profiler = _core.Profiler()
    profiler._open(None, {"witness_interval_ns": 0})
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


def describe(stated: Mapping[str, Any], scopes: int, skipped: int, duration_ns: int) -> dict[str, Any]:
    """Return the cost of a run: what was stated while it was recorded, with its sum and its share of the run.

    stated: per_scope_ns, and where they are known service_cpu_ns (processor time of the profiler's own threads),
    device_ns (recording events, measured on one scope in 32) and parts_ns by the names of WORDS (measured where they
    happened, in the program's threads). skipped: scopes that a sample rate left out, which cost about as much.
    total_ns is all of it; share is that of total_ns without "starting", which is before the run.
    """
    parts = _amounts(stated.get("parts_ns"))
    scopes_ns = float(stated["per_scope_ns"]) * (scopes + skipped)
    service, device = _amount(stated.get("service_cpu_ns")), _amount(stated.get("device_ns"))
    total = scopes_ns + (service or 0) + (device or 0) + sum(parts.values())
    inside = total - parts.get("starting", 0.0)
    return {
        "scopes": scopes,
        "per_scope_ns": stated["per_scope_ns"],
        "scopes_ns": scopes_ns,
        "service_cpu_ns": service,
        "device_ns": device,
        "parts_ns": parts,
        "total_ns": total,
        "share": inside / duration_ns if duration_ns > 0 else None,
        "basis": BASIS,
    }


def stated_in(environment: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return what an environment states of the profiler's cost, None where it is nothing to reckon with."""
    stated = environment.get("cost")
    return stated if isinstance(stated, Mapping) and _amount(stated.get("per_scope_ns")) is not None else None


def _amounts(values: object) -> dict[str, float]:
    given = values if isinstance(values, Mapping) else {}
    return {name: given[name] for name in WORDS if _amount(given.get(name)) is not None}


def _amount(value: object) -> float | None:
    return value if type(value) in (int, float) and 0 <= value < MOST_NS else None  # type: ignore[operator,return-value]
