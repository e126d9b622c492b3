# SPDX-License-Identifier: Apache-2.0
"""Counts of instructions in place of times: --perf-count.

The session calls what benchmarks call once, so that its tests pass or fail as ever. Then the tests run again under
Callgrind, in a process for each layout of memory, and these count. docs/counts.md says what is held still.
"""

import os
from collections.abc import Callable, Mapping
from statistics import median
from typing import Any

from .. import _core
from ..capture import counting
from ..compare.ab.measure import Measurement, quiet
from ..system import callgrind

METRIC = counting.SERIES
CLOCK = "callgrind"  # of a record that was counted
TIMED_ONLY = "a duet is timed; --perf-count does not count it"
# Calls to warm up and to count: up to MOST each, while they are fewer instructions than this in all.
MOST, BUDGET = 10, 100_000_000


def begin(told: Mapping[str, Any] | None) -> None:
    """In the process of one layout: begin its heap as the layout says."""
    if told is not None and "count" in told:
        counting.lay_out(told["count"]["layout"])


def log_of(told: Mapping[str, Any] | None) -> str | None:
    """Return where this process counts to, None where it does not count."""
    return None if told is None or "count" not in told else str(told["count"]["log"])


def measure(call: Callable[[], Any], log: str) -> Measurement:
    """Count the instructions of a call, the median of some once it has warmed up; the collector is off.

    How often it is called follows from what it executes, so the same code is called equally often every time.
    """
    found = Measurement(result=call())
    _core.count_open(log)
    with quiet():
        spent = last = 0
        while found.warmup < MOST and spent + last <= BUDGET:
            last, found.result = _counted(call, 1)
            spent += last
            found.warmup += 1
        found.iterations = max(1, min(MOST, BUDGET // max(1, last)))
        values = []
        for _ in range(found.iterations):
            last, found.result = _counted(call, 1)
            values.append(last)
    found.seconds = [float(median(values))]
    found.rounds = 1
    return found


def measure_exactly(
    make: Callable[[], tuple[Callable[[], Any], Callable[[], object]]], log: str, *, rounds: int, iterations: int
) -> Measurement:
    """Count exactly the rounds that are asked for, after one that warms up; the value is the median of a call.

    make: returns the call of a round, and what ends the round.
    """
    found, values = Measurement(rounds=rounds, iterations=iterations, warmup=iterations), []
    _core.count_open(log)
    for number in range(rounds + 1):
        call, end = make()
        with quiet(oldest=0 if number else 2):
            count, found.result = _counted(call, iterations)
        end()
        if number:
            values.append(count / iterations)
    found.seconds = [float(median(values))]
    return found


def _counted(call: Callable[[], Any], calls: int) -> tuple[int, Any]:
    count, result = _core.count_calls(call, calls)
    if count is None:
        raise RuntimeError("Callgrind does not tell how many instructions were executed")
    return count, result


def environment(layouts: int) -> dict[str, Any]:
    """Return what the environment of a counted session says beside the machine."""
    told = {"metric": METRIC, "tool": f"callgrind {callgrind.version()}", "layout": f"1 to {layouts}", "reason": ""}
    return {"count": told | {"steady_heap": callgrind.steady(os.environ)}}
