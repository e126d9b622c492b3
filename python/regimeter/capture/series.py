# SPDX-License-Identifier: Apache-2.0
"""Time series of devices in a recording: telemetry and hardware counters, started with a profiler."""

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .. import _core
from ..system import libraries

DEFAULT_INTERVAL_MS = 100.0
BUDGET = 0.01  # of the wall time inside NVML
RANGE_OPTIONS = ("set", "scopes", "max_ranges")
# Seen with CUPTI 13.0.1 on an H200: nine ranges, every count of them 0, while the same ranges alone are exact.
BESIDE_KERNELS = (
    "ranges count nothing while kernels are recorded: leave profile_kernels out (record: --kernels and its options),"
    " or take counters=True, which samples"
)
WAITING = "no scope for the device has begun in a thread with a CUDA context"


@dataclass(slots=True)
class Series:
    """What was started: reasons are "" where it runs."""

    telemetry_reason: str = "telemetry is off"
    counters_reason: str = "counters is off"
    counters_set: str = ""
    counted: dict[str, Any] | None = None
    ranges: bool = False


def start(
    profiler: _core.Profiler,
    telemetry: bool | float,
    counters: bool | str | Mapping[str, Any],
    device: int,
    kernels: bool,
) -> Series:
    """Start what is asked for. That it cannot be had is a reason and a warning, no error; ValueError for nonsense.

    kernels: whether they are recorded, or may be.
    """
    made = Series()
    if telemetry is not False or counters is not False:
        libraries.search_wheels()
    if telemetry is not False:
        made.telemetry_reason = profiler._telemetry_start(interval_ns(telemetry), BUDGET)
        if made.telemetry_reason:
            warnings.warn(f"no telemetry: {made.telemetry_reason}", RuntimeWarning, stacklevel=4)
    if isinstance(counters, Mapping) or (isinstance(counters, str) and is_for_ranges(counters)):
        _start_ranges(profiler, made, counters if isinstance(counters, Mapping) else {"set": counters}, kernels)
    elif counters is not False:
        made.counters_set = counters if isinstance(counters, str) else "pm"
        made.counters_reason = profiler._counters_start(device, made.counters_set, "auto", 0)
        if made.counters_reason:
            warnings.warn(f"no hardware counters: {made.counters_reason}", RuntimeWarning, stacklevel=4)
    return made


def is_for_ranges(counters: str) -> bool:
    """Return whether the set of counters is one that ranges are measured with."""
    known = _core.counter_sets().get(counters)
    return known is not None and known["profiler"] == "range"


def _start_ranges(profiler: _core.Profiler, made: Series, asked: Mapping[str, Any], kernels: bool) -> None:
    """Make scopes ranges of counters; ValueError for an option that does not exist."""
    unknown = sorted(set(asked) - set(RANGE_OPTIONS))
    if unknown:
        raise ValueError(f"counters has no option {unknown[0]!r}; valid are: {', '.join(RANGE_OPTIONS)}")
    made.counters_set = str(asked.get("set", "regime"))
    names = asked.get("scopes")
    if isinstance(names, str):
        names = (names,)
    if kernels:
        made.counters_reason = BESIDE_KERNELS
        warnings.warn(f"no hardware counters: {BESIDE_KERNELS}", RuntimeWarning, stacklevel=5)
        return
    profiler._ranges_start(made.counters_set, int(asked.get("max_ranges", 1000)), names)
    made.ranges = True
    made.counters_reason = WAITING


def interval_ns(asked: bool | float) -> int:
    """Return the interval in nanoseconds; ValueError unless it is a positive number of milliseconds."""
    milliseconds = DEFAULT_INTERVAL_MS if asked is True else float(asked)
    if not math.isfinite(milliseconds) or milliseconds <= 0:
        raise ValueError(f"telemetry is an interval in milliseconds above 0, got {asked!r}")
    return round(milliseconds * 1e6)


def stop(profiler: _core.Profiler, made: Series) -> None:
    """End both; values that are still on their way are collected."""
    made.counted = profiler._sampling_stop() or made.counted
    state = profiler._ranges_state()
    if state and state["reason"]:
        warnings.warn(f"no hardware counters in scopes: {state['reason']}", RuntimeWarning, stacklevel=4)


def service_cpu_ns(profiler: _core.Profiler, made: Series) -> int:
    """Return what the threads of both have used so far; of telemetry the time inside NVML, of counters when ended."""
    state = profiler._telemetry_state()
    return int(state["nvml_ns"] if state else 0) + int((made.counted or {}).get("service_cpu_ns", 0))


def describe(profiler: _core.Profiler, made: Series) -> dict[str, Any]:
    """Return what a run's environment says of its time series."""
    described: dict[str, Any] = {
        "telemetry_reason": made.telemetry_reason,
        "counters_reason": made.counters_reason,
    }
    state = profiler._telemetry_state()
    if state:
        described["telemetry"] = state
    ranges = profiler._ranges_state() if made.ranges else None
    if ranges:
        described["counters_reason"] = ranges.pop("reason") or ("" if ranges.pop("started") else WAITING)
        described["counters"] = {"set": made.counters_set, "source": "ranges", **ranges}
    elif made.counters_set and not made.counters_reason:
        described["counters"] = {"set": made.counters_set, **(made.counted or {})}
    return described
