# SPDX-License-Identifier: Apache-2.0
"""One look at the program: the values of the rules, and of what copies the ring."""

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..suite.leak import trend_of
from . import policy
from .devices import read_devices, utilization

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ..public.run import Run
    from .devices import Read
    from .figures import Figures


@dataclass(frozen=True, slots=True)
class Look:
    """What a look saw. rules: value of each rule, None where not known; slowest_step_s: of the new steps; devices: as
    NVML told of them; busy: their mean utilisation from 0 to 1, None where not known."""

    rules: dict[str, float | None]
    slowest_step_s: float
    failed: int
    resident_bytes: int
    devices: "Read" = field(default_factory=list)
    busy: float | None = None


class Looks:
    """Makes looks of what has come since the last one."""

    def __init__(self, wanted: "Sequence[str]", baseline_ns: float | None = None) -> None:
        """wanted: rules, of which only that of memory costs much. baseline_ns: a step of the run to compare with."""
        self._wanted = wanted
        self._baseline_ns = baseline_ns
        self._first_steps: list[int] = []
        self._levels: deque[int] = deque(maxlen=policy.TREND_LOOKS + 2)
        self._leveled = -policy.TREND_REST_S
        self._before = (0.0, 0.0, 0)  # time that the own cost is of, own cost, failed
        self._steps: list[NDArray[np.int64]] = []  # since the last look, as is what the control group held back
        self._held: tuple[int, int] | None = None

    def see(self, part: "Run | None", steps: "NDArray[np.int64]") -> None:
        """Take in what has come: a look sees it in one part or in several."""
        self._steps.append(steps)
        if part is not None and len(part.tables.pressure):
            held, over = part.tables.pressure.throttled_ns, part.tables.pressure.interval_ns
            if (known := held >= 0).any():
                before = self._held or (0, 0)
                self._held = before[0] + int(held[known].sum()), before[1] + int(over[known].sum())

    def take(self, figures: "Figures", resident: int, now: float) -> Look:
        """Return the look at `now`, in seconds, at all that was seen since the last one and added to the figures."""
        steps, held = np.concatenate([np.empty(0, np.int64), *self._steps]), self._held
        self._steps, self._held = [], None
        totals = figures.own_until(now), figures.own_ns, figures.failed
        # Totals are smaller than before where the figures began anew.
        elapsed, own, failed = (x - y if x >= y else x for x, y in zip(totals, self._before, strict=True))
        first, self._before = not self._before[0], totals
        if now - self._leveled >= policy.TREND_REST_S:
            self._levels.append(resident)
            self._leveled = now
        devices = read_devices()
        busy, slowed = utilization(devices)
        rules = {
            "step-time": self._step_time(steps),
            "memory-growth": self._growth() if "memory-growth" in self._wanted else None,
            "throttling": _throttled(held, slowed),
            "gpu-idle": None if busy is None else 1 - busy,
            "own-cost": None if first or elapsed <= 0 else own / 1e9 / elapsed,
        }
        return Look(rules, float(steps.max(initial=0)) / 1e9, int(failed), resident, devices, busy)

    def _step_time(self, steps: "NDArray[np.int64]") -> float | None:
        """Return the median of the steps over that of the baseline, which is made of the first ones unless given."""
        if not len(steps):
            return None
        if self._baseline_ns is None:
            self._first_steps += steps.tolist()
            if len(self._first_steps) >= policy.WARMUP_STEPS + policy.BASELINE_STEPS:
                self._baseline_ns = float(np.median(self._first_steps[policy.WARMUP_STEPS :]))
            return None
        return float(np.median(steps)) / max(self._baseline_ns, 1.0)

    def _growth(self) -> float | None:
        """Return by which part of its level the resident set has grown, 0 without a trend; None for too few looks."""
        if len(self._levels) < policy.TREND_LOOKS:
            return None  # a program that is starting grows
        found = trend_of(list(self._levels))
        if found["verdict"] is None:
            return None
        grown = found["bytes_per_step"] * found["steps"] if found["verdict"] == "grows" else 0.0
        return float(grown / max(float(np.median(self._levels)), 1.0))


def _throttled(held: tuple[int, int] | None, slowed: bool | None) -> float | None:
    """Return the part of the time in which the control group held the program back; 1 where a device is slowed."""
    known = [] if held is None else [held[0] / max(held[1], 1)]
    return max([*known, *([float(slowed)] if slowed is not None else [])], default=None)
