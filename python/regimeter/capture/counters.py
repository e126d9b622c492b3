# SPDX-License-Identifier: Apache-2.0
"""Hardware counters of NVIDIA devices: what a chip can measure in one pass, and measuring it.

A *role* says what a counter is for (``dram_throughput``); which metric fills it depends on the chip and is found at
run time through CUPTI's Profiler Host. A *set* is a list of roles that are measured together. Only what fits one pass
is ever measured, because a second pass would run the program again.
"""

import atexit
import weakref
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..system.libraries import search_wheels

# A row as the core keeps it (rgm_counter_row).
ROW = np.dtype([("time_ns", "i8"), ("value", "f8"), ("series", "u4"), ("device", "i2"), ("padding", "u2")])
_open: "weakref.WeakSet[Measurement]" = weakref.WeakSet()


@dataclass(frozen=True, slots=True)
class PlannedCounter:
    """A role of a set on one chip.

    `metric` is None when the chip has none for the role. `group` is the single-pass group that holds it, counted from
    1, of which the first is measured; None without a metric, or when it needs several passes by itself.
    `passes` is how many it needs alone, None without a metric.
    """

    role: str
    metric: str | None
    unit: str
    doc: str
    group: int | None
    passes: int | None

    @property
    def measured(self) -> bool:
        """Whether a measurement with this set holds it."""
        return self.group == 1

    @property
    def reason(self) -> str:
        """Why it is not measured; empty when it is."""
        if self.metric is None:
            return "the chip has no metric for this"
        if self.group is None:
            return f"needs {self.passes} passes by itself"
        return "" if self.group == 1 else "does not fit the first pass"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a set holds on a chip. `passes` is what all of it together would need; 0 when the chip has none of it."""

    chip: str
    set: str
    profiler: str
    passes: int
    groups: int
    counters: tuple[PlannedCounter, ...]
    library: dict[str, Any]

    @property
    def measured(self) -> tuple[PlannedCounter, ...]:
        """The counters that one pass gives."""
        return tuple(counter for counter in self.counters if counter.measured)

    @property
    def dropped(self) -> tuple[PlannedCounter, ...]:
        """The counters that a measurement leaves out."""
        return tuple(counter for counter in self.counters if not counter.measured)


def sets() -> dict[str, dict[str, Any]]:
    """Return the sets: what each is for, its profiler and its roles."""
    return _core.counter_sets()


def roles() -> dict[str, dict[str, Any]]:
    """Return the roles: unit, meaning, and the metrics that can fill each, the preferred one first.

    `range` are the Range Profiler's metrics, `pm_sampling` those of samples, `gpm` the series of NVML's GPM.
    """
    return _core.counter_roles()


def chips() -> tuple[str, ...]:
    """Return the chips that CUPTI can plan for, as ``GH100`` (H100, H200). Raises UnavailableError without CUPTI."""
    search_wheels()
    names: tuple[str, ...] = _core.counter_chips()["chips"]
    return names


def plan(chip: str, set: str = "pm") -> Plan:
    """Return which metrics of `chip` fill the roles of `set`, and in how many passes.

    Needs no device, only CUPTI 12.6 to 13.1 (later ones also need a driver). Raises ValueError for an unknown chip or
    set, UnavailableError where CUPTI cannot be used or the chip has no such profiler.
    """
    if set not in sets():
        raise ValueError(f"unknown set of counters {set!r}; valid are: {', '.join(sets())}")
    search_wheels()
    found = _core.counter_plan(chip, set)
    rows = tuple(
        PlannedCounter(
            role=row["role"],
            metric=row["metric"] or None,
            unit=row["unit"],
            doc=row["doc"],
            group=row["group"] + 1 if row["group"] >= 0 else None,
            passes=row["passes"] or None,
        )
        for row in found.pop("rows")
    )
    return Plan(counters=rows, **found)


@dataclass(frozen=True)
class Counters:
    """What a measurement found.

    `source` is "pm" (PM sampling), "gpm" (NVML's averages) or "ranges"; `reason` says why it is not PM sampling. `rows`
    has the dtype ROW, times on CLOCK_MONOTONIC; a sample's value holds from its time to that of the next.
    `ranges` are (name, start_ns, duration_ns, device), and the rows at a range's start are its counters. `counts` says
    what was lost.
    """

    source: str
    reason: str
    plan: dict[str, Any] | None
    names: tuple[str, ...]
    rows: NDArray[Any]
    ranges: list[tuple[str, int, int, int]]
    counts: dict[str, Any]
    dropped_rows: int

    @cached_property
    def roles(self) -> dict[str, str]:
        """The series that fills each role that was measured."""
        known = {
            metric: role
            for role, row in _core.counter_roles().items()
            for kind in ("range", "pm_sampling", "gpm")
            for metric in row[kind]
        }
        return {known[name]: name for name in self.names if name in known}

    def series(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return times [ns] and values of a series, named by itself or by its role. KeyError for any other."""
        metric = self.roles.get(name, name)
        if metric not in self.names:
            raise KeyError(f"no counter {name!r} was measured; there are: {', '.join(filter(None, self.names))}")
        rows = self.rows[self.rows["series"] == self.names.index(metric)]
        return rows["time_ns"], rows["value"]


class Measurement:
    """A measurement that is under way; a context manager that stops it. `result` is there once it has stopped."""

    def __init__(self, core: _core.CounterMeasurement) -> None:
        self._core = core
        self.result: Counters | None = None
        _open.add(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: object, traceback: TracebackType | None) -> None:
        self.stop()

    def push(self, name: str) -> None:
        """Begin a range, where ranges are measured. Inside an open one it belongs to that."""
        self._core.push(name)

    def pop(self) -> None:
        """End the range."""
        self._core.pop()

    def stop(self) -> Counters:
        """End the measurement; the result of the first call is that of all."""
        if self.result is None:
            _open.discard(self)
            found = self._core.stop()
            names = found["names"]
            found["ranges"] = [
                (names[name], start, duration, device) for name, start, duration, device in found["ranges"]
            ]
            self.result = Counters(**found | {"rows": np.frombuffer(found["rows"], ROW)})
        return self.result


def sample(device: int = 0, *, source: str = "auto", set: str = "pm", interval_ms: float | None = None) -> Measurement:
    """Sample the counters of a device until the measurement is stopped, also those of other processes' work.

    `source` is "pm", "gpm", or "auto": PM sampling, and NVML's GPM where that cannot be used (`Counters.reason` says
    why). `interval_ms` is 1 ms for PM sampling and 200 ms for GPM, which takes 100 ms at least. Raises
    UnavailableError, with the reason and the remedy, when there is no source.
    """
    interval_ns = 0 if interval_ms is None else round(interval_ms * 1e6)
    if interval_ns < 0 or (interval_ms is not None and interval_ns == 0):
        raise ValueError(f"the interval must be above 0 ms, not {interval_ms!r}")
    search_wheels()
    return Measurement(_core.CounterMeasurement.sample(device, source, set, interval_ns))


def count(set: str = "regime", *, max_ranges: int = 1000) -> Measurement:
    """Count in the ranges that ``push`` and ``pop`` of the measurement mark, in the calling thread's CUDA context.

    One pass: nothing is run again, kernels are not serialised. Raises UnavailableError with the reason and the remedy.
    """
    search_wheels()
    return Measurement(_core.CounterMeasurement.ranges(set, max_ranges))


@atexit.register
def _stop_all() -> None:
    # While the device is still there: nothing of it may be called after its own end.
    for measurement in list(_open):
        measurement.stop()
