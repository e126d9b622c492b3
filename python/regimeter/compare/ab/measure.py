# SPDX-License-Identifier: Apache-2.0
"""Timing of a function: warm-up, calls a round, rounds until a budget of time, with the collector off.

One process is one launch: whatever a process keeps for its life (layout of memory, hash seeds, clocks) is in all its
rounds alike, which is why more rounds do not make two processes comparable.
"""

import gc
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from .device import DeviceClock, waiter
from .memory import PeakMemory

CLOCKS = {"wall": time.perf_counter_ns, "cpu": time.thread_time_ns}
# A round lasts at least this long, so that reading the clock is no part of what is read.
ROUND_NS = 100_000
MAX_ITERATIONS = 1_000_000
MAX_ROUNDS = 1_000
Call = Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Effort:
    """How long to measure. max_seconds: of all rounds; min_rounds: also where that takes longer; warmup: calls."""

    max_seconds: float = 1.0
    min_rounds: int = 5
    warmup: int = 1


@dataclass(slots=True)
class Measurement:
    """Samples in seconds a call, and what else was seen."""

    seconds: list[float] = field(default_factory=list)
    device_seconds: list[float] = field(default_factory=list)
    memory: float | None = None
    memory_source: str = ""
    rounds: int = 0
    iterations: int = 1
    warmup: int = 0
    result: Any = None
    unavailable: dict[str, str] = field(default_factory=dict)
    disturbed: list[str] = field(default_factory=list)


def disturbances() -> list[str]:
    """Return what watches every call of this process and cannot be paused here."""
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is None:
        return []
    tools = [name for tool in range(6) if (name := monitoring.get_tool(tool))]
    return [f"{name} was monitoring the interpreter" for name in tools]


@contextmanager
def quiet(collector_off: bool = True, oldest: int = 2) -> Iterator[None]:
    """Collect garbage up to a generation, then keep the collector, tracers and profilers out of the timed code."""
    trace, profile, collecting = sys.gettrace(), sys.getprofile(), gc.isenabled()
    gc.collect(oldest)
    if collector_off:
        gc.disable()
    sys.settrace(None)
    sys.setprofile(None)
    try:
        yield
    finally:
        sys.setprofile(profile)
        sys.settrace(trace)
        if collecting:
            gc.enable()


def round_of(
    call: Call, iterations: int, clock: Callable[[], int], wait: Callable[[], object] | None
) -> tuple[int, Any]:
    """Run a round; return its nanoseconds up to the end of the device's work, and the last result.

    No result lives beside the next one: memory that a function returns is held once, not twice. So all but the last are
    dropped as soon as they are there, which is what a call that is not assigned does.
    """
    span = range(iterations - 1)
    begin = clock()
    for _ in span:
        call()
    result = call()
    if wait is not None:
        wait()
    return clock() - begin, result


def iterations_for(call: Call, clock: Callable[[], int], wait: Callable[[], object] | None) -> tuple[int, Any]:
    """Return how many calls make a round long enough, and the last result; the calls are part of the warm-up."""
    iterations, result = 1, None
    while True:
        result = None
        length, result = round_of(call, iterations, clock, wait)
        if length >= ROUND_NS or iterations >= MAX_ITERATIONS:
            return iterations, result
        factor = max(2, min(100, -(-ROUND_NS * 5 // (4 * max(length, 1)))))
        iterations = min(MAX_ITERATIONS, iterations * factor)


def measure(call: Call, effort: Effort, *, clock: str = "wall", collector: bool = False) -> Measurement:
    """Time a function: warm-up (seen by tracers such as coverage), then rounds until the budget is spent."""
    found = Measurement(disturbed=disturbances(), warmup=effort.warmup)
    memory = PeakMemory()
    for _ in range(effort.warmup):
        found.result = None
        found.result = call()
    wait, tick = waiter(), CLOCKS[clock]
    if wait is not None:
        wait()
    device = DeviceClock()
    try:
        with quiet(not collector):
            found.result = None
            found.iterations, found.result = iterations_for(call, tick, wait)
            end = time.perf_counter_ns() + int(effort.max_seconds * 1e9)
            while len(found.seconds) < MAX_ROUNDS:
                if len(found.seconds) >= effort.min_rounds and time.perf_counter_ns() >= end:
                    break
                found.result = None
                found.result = _one(found, call, found.iterations, tick, wait, device)
                if not collector:
                    gc.collect(0)
        return _finish(found, memory, device)
    finally:
        device.close()


def measure_exactly(
    make: Callable[[], tuple[Call, Callable[[], object]]],
    *,
    rounds: int,
    iterations: int,
    warmup: int,
    clock: str = "wall",
) -> Measurement:
    """Time exactly the rounds that are asked for. make: returns the call of a round, and what ends the round."""
    found = Measurement(disturbed=disturbances(), warmup=warmup * iterations, iterations=iterations)
    memory = PeakMemory()
    for _ in range(warmup):
        call, end = make()
        for _ in range(iterations):
            found.result = None
            found.result = call()
        end()
    wait, tick = waiter(), CLOCKS[clock]
    if wait is not None:
        wait()
    device = DeviceClock()
    try:
        for number in range(rounds):
            found.result = None
            call, end = make()
            with quiet(oldest=0 if number else 2):
                found.result = _one(found, call, iterations, tick, wait, device)
            end()
        return _finish(found, memory, device)
    finally:
        device.close()


def _one(
    found: Measurement,
    call: Call,
    iterations: int,
    tick: Callable[[], int],
    wait: Callable[[], object] | None,
    device: DeviceClock,
) -> Any:
    scope = device.scope()
    if scope is None:
        length, result = round_of(call, iterations, tick, wait)
    else:
        with scope:
            length, result = round_of(call, iterations, tick, wait)
    found.seconds.append(length * 1e-9 / iterations)
    return result


def _finish(found: Measurement, memory: PeakMemory, device: DeviceClock) -> Measurement:
    found.memory, reason = memory.read()
    found.memory_source = memory.source
    if reason:
        found.unavailable["memory_peak"] = reason
    found.device_seconds = device.read(found.iterations)
    if device.reason:
        found.unavailable["device_time"] = device.reason
    found.rounds = len(found.seconds)
    return found
