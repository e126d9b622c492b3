# SPDX-License-Identifier: Apache-2.0
"""The shortest call of a function, timed as `profile_operation` times a call: what its work cannot be below.

A calibration holds the cost of a call in a loop. A single call is slower, because the caches hold what ran before it;
so its floor is measured through the same stopwatch, with the caches filled by something else where the call was single.
Functions of NumPy are called on one element of the same type, anything else is judged by the smallest call of its
library. Nothing of the program is called.
"""

import functools
import statistics
import sys
from collections.abc import Callable
from typing import Any

from . import numpy_work, stopwatch

WARM_CALLS, COLD_CALLS = 25, 9
LEAST_SPREAD, COLD_SPREAD = 0.05, 0.5
EVICT_BYTES = 4 * 2**20

_known: dict[tuple[Any, ...], tuple[float, float]] = {}


def shortest_call(library: str, function: Any, args: tuple[Any, ...], cold: bool) -> tuple[float, float]:
    """Return ns of the smallest call, and its relative half-width; measured once for a function and its types.

    library: "python", "numpy" or "torch". cold: for a time that was measured once.
    """
    call, key = _smallest(library, function, args)
    if (key, cold) not in _known:
        _known[key, cold] = _measure(call, cold)
    return _known[key, cold]


def _measure(call: Callable[[], Any], cold: bool) -> tuple[float, float]:
    call()
    times = []
    filler = bytearray(EVICT_BYTES) if cold else None
    for _ in range(COLD_CALLS if cold else WARM_CALLS):
        if filler is not None:
            filler.count(1)  # reads it all, so that the caches hold it
        times.append(stopwatch.measure(call, 1)[1].own_ns)
    low, middle, high = statistics.quantiles(times, n=4)
    if cold:
        return max(times), COLD_SPREAD  # what a call without work can take
    return middle, max(LEAST_SPREAD, (high - low) / 2 / middle)


@functools.cache
def stopwatch_cpu_ns() -> float:
    """Return the processor time that reading the clocks adds to a call's own."""
    rows = [stopwatch.measure(_nothing, 1)[1] for _ in range(WARM_CALLS)]
    return max(0.0, statistics.median(row.process_cpu_ns - row.wall_ns for row in rows))


def _smallest(library: str, function: Any, args: tuple[Any, ...]) -> tuple[Callable[[], Any], Any]:
    if library == "numpy":
        numpy: Any = sys.modules["numpy"]
        found = _of_numpy(numpy, function, args)
        return found or (functools.partial(numpy.negative, numpy.zeros(1)), "numpy")
    if library == "torch":
        torch: Any = sys.modules["torch"]
        return functools.partial(torch.neg, torch.zeros(1)), "torch"
    return functools.partial(_nothing), "python"


def _of_numpy(numpy: Any, function: Any, args: tuple[Any, ...]) -> tuple[Callable[[], Any], Any] | None:
    products = (numpy.matmul, numpy.dot)
    try:
        product = function in products
    except TypeError:
        return None
    elementwise = isinstance(function, numpy.ufunc) and function.signature is None
    one_array = not elementwise and numpy_work.takes_one_array(function)
    inputs = args[:2] if product else args[: function.nin] if elementwise else args[:1] if one_array else ()
    if not inputs or not all(isinstance(x, numpy.ndarray) and x.dtype.kind in "fciub" for x in inputs):
        return None
    ones = [numpy.ones((1,) * (min(2, x.ndim) if product else 1), x.dtype) for x in inputs]
    try:
        function(*ones)
    except (TypeError, ValueError):
        return None
    return functools.partial(function, *ones), (function, *(x.dtype.str for x in ones))


def _nothing() -> None:
    pass
