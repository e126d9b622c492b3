# SPDX-License-Identifier: Apache-2.0
"""How often is looked: what a user asked for, checked, in the units of the core; and what holds where nobody asked."""

import math

from ..system import quantities

DETAILED_SAMPLE_INTERVAL_MS = 10.0
TRACKING_SAMPLE_INTERVAL_MS = 1.0
STACKS_HZ = 100.0
STALL_PERIODS = range(5, 32)  # a sample every 2^5 to 2^31 cycles, as CUPTI takes them
ALLOCATION_BYTES = 524288  # of which one is drawn where allocations are watched


def check_rate(rate: float) -> float:
    """Return the sample rate as a float; ValueError unless it lies between 0 and 1."""
    value = float(rate)
    if math.isnan(value) or not 0.0 <= value <= 1.0:
        raise ValueError(f"a sample rate lies between 0 and 1, got {rate!r}")
    return value


def memory_interval_ns(asked_ms: float | None, tracking: bool, detailed: bool) -> int:
    """Return the interval of the memory sampler in nanoseconds, 0 for none; ValueError for a negative one."""
    if asked_ms is None:
        asked_ms = TRACKING_SAMPLE_INTERVAL_MS if tracking else DETAILED_SAMPLE_INTERVAL_MS if detailed else 0.0
    if not 0.0 <= asked_ms < 1e9:  # also refuses NaN
        raise ValueError(f"memory_interval_ms must be at least 0, got {asked_ms!r}")
    return round(asked_ms * 1e6)


def allocation_bytes(asked: bool | int) -> int:
    """Return of how many bytes one is drawn, 0 for none; ValueError for what is no size."""
    period = ALLOCATION_BYTES if asked is True else int(asked)
    if period < 0:
        raise ValueError(f"allocations are drawn once in so many bytes, got {asked!r}")
    return period


def budget_ppm(asked: str | float | None) -> int:
    """Return a budget in millionths of the time, 0 for none; ValueError unless it is above 0 and at most 100 %."""
    if asked is None:
        return 0
    percent = quantities.percent(asked)
    if not 0.0 < percent <= 100.0:
        raise ValueError(f"a budget of the own cost is above 0 and at most 100 %, such as '0.5%'; got {asked!r}")
    return max(1, round(percent * 1e4))


def stacks_interval_ns(asked: bool | float) -> int:
    """Return the mean interval of the stack sampler in nanoseconds, 0 for none; ValueError for a rate out of range."""
    if asked is False or asked == 0:
        return 0
    hz = STACKS_HZ if asked is True else float(asked)
    if not 1.0 <= hz <= 1000.0:  # also refuses NaN
        raise ValueError(f"stacks are sampled 1 to 1000 times a second, got {asked!r}")
    return round(1e9 / hz)
