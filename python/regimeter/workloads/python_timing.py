# SPDX-License-Identifier: Apache-2.0
"""Timing of a Python callable: warm-up, repeats where one call is too short, the collector kept out."""

from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from ..compare.ab.measure import quiet
from .statistics import Times
from .steady import MORE_WARMUP, page_faults, settle_allocator

LEAST_NS = 20_000  # of one time, as in the C core: the clock is then less than half a per cent of it
MOST_REPEATS = 1_000


def time_calls(
    call: Callable[[], Any], warmup: int, iterations: int, *, repeat: bool = True, wait: Callable[[], Any] | None = None
) -> tuple[Times | None, Any]:
    """Call `warmup` times, then time `iterations` times; return the times (None for none) and the last result.

    A call that takes less than LEAST_NS is repeated within one time, and warm-up goes on while calls touch new pages;
    with `repeat` False the function runs exactly warmup + iterations times. wait: called after each time's calls,
    inside the time (a device's synchronisation).
    """
    settle_allocator()
    result, shortest, at, faults = None, LEAST_NS, 0, 0
    while at < (max(warmup, 1) if repeat else warmup) or (repeat and warmup and faults and at < warmup + MORE_WARMUP):
        before, begin = page_faults(), perf_counter_ns()
        result = call()
        if wait is not None:
            wait()
        length = perf_counter_ns() - begin
        shortest = length if at == 0 else min(shortest, length)
        at, faults = at + 1, page_faults() - before
    repeats = min(MOST_REPEATS, LEAST_NS // max(1, shortest) + 1) if repeat and shortest < LEAST_NS else 1
    totals = []
    faults = page_faults()
    with quiet(oldest=0):  # a full collection would cost more than a burst of short calls
        for _ in range(iterations):
            begin = perf_counter_ns()
            for _ in range(repeats):
                result = call()
            if wait is not None:
                wait()
            totals.append(perf_counter_ns() - begin)
    return (Times(tuple(totals), repeats, page_faults() - faults) if totals else None), result
