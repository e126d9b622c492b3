# SPDX-License-Identifier: Apache-2.0
"""What profiling one operation adds to it: lightweight, with formulas, and with torch's operators counted.

Prints; asserts nothing. Usage: python benchmarks/regime_cost.py
"""

import time
import timeit
from collections.abc import Callable
from typing import Any

import numpy as np

from regimeter import GPUProfiler

BURSTS, BURST_S = 200, 0.001  # short enough that many are not interrupted


def microseconds(call: Callable[[], Any], number: int) -> float:
    """Return the least of many short bursts of this thread's processor time, in us a call."""
    once = min(timeit.repeat(call, number=number, repeat=3, timer=time.thread_time)) / number
    burst = max(1, int(BURST_S / once))
    return min(timeit.repeat(call, number=burst, repeat=BURSTS, timer=time.thread_time)) / burst * 1e6


def show(name: str, with_us: float, without_us: float) -> None:
    """Print one row."""
    print(f"{name:44} {without_us:10.3f} us  {with_us:10.3f} us  added {with_us - without_us:8.3f} us")


def main() -> None:
    """Measure and print."""
    profiler = GPUProfiler()
    small = np.zeros(16)

    def nothing(value: Any) -> Any:
        return value

    for name, function, args in (("a Python function", nothing, (1,)), ("numpy.add of 16", np.add, (small, small))):
        bare = microseconds(lambda f=function, a=args: f(*a), 1000)
        light = microseconds(lambda f=function, a=args: profiler.profile_with_result(f, *a, lightweight=True), 1000)
        full = microseconds(lambda f=function, a=args: profiler.profile_with_result(f, *a), 20)
        show(f"{name}, lightweight", light, bare)
        show(f"{name}, full", full, bare)
    profiler.close()


if __name__ == "__main__":
    main()
