# SPDX-License-Identifier: Apache-2.0
"""Does twice the work take longer? The test by size, which needs no ceilings."""

import functools
from collections.abc import Callable
from typing import Any

from . import stopwatch
from .errors import OperationTooFastError
from .policy import VALUE

REPEAT = 9


def overhead_test(function: Callable[[Any], Any], base_size: Any, *args: Any, repeat: int = REPEAT) -> bool:
    """Return whether ``function(2 * base_size, *args)`` takes less than 1.5 times as long as for base_size.

    Then what the call costs hardly depends on its work: overhead. The two sizes are called in turn, `repeat` times
    each, so `function` must bear that; the shortest of each count, because what disturbs a call only makes it longer.
    ValueError for a base_size that is no positive number or a repeat below 1. OperationTooFastError when the clock does
    not resolve it.
    """
    if isinstance(base_size, bool) or not isinstance(base_size, int | float) or not base_size > 0:
        raise ValueError(f"base_size must be a positive number, got {base_size!r}")
    if repeat < 1:
        raise ValueError(f"repeat must be at least 1, got {repeat!r}")
    return ratio(function, base_size, args, repeat) < VALUE["overhead_ratio"]


def ratio(function: Callable[..., Any], base_size: Any, args: tuple[Any, ...], repeat: int) -> float:
    """Return t(2N) / t(N)."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeat):
        for size, side in zip((base_size, 2 * base_size), times, strict=True):
            measured = stopwatch.measure(functools.partial(function, size, *args), 1)[1]
            side.append(measured.wall_ns if measured.device_ns is None else measured.device_ns)
    once, twice = (min(side) for side in times)
    if once <= VALUE["resolution_ns"]:
        raise OperationTooFastError(f"{once:.0f} ns is not resolved by the clock: use a larger base_size")
    return twice / once
