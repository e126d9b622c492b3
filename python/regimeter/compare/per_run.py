# SPDX-License-Identifier: Apache-2.0
"""What an operation takes of one process: its calls, the time of all of them, and what that moves the process by.

Verdicts are of a call. These figures are of a process, so they add up to what flame graphs and totals show; they are
told without a test.
"""

import math
from typing import TYPE_CHECKING, Any

from .side import TOTAL_TIME, Samples
from .wholes import TOTAL

if TYPE_CHECKING:
    from .side import Side


class PerRun:
    """Time per process of the operations of one metric, on both sides."""

    def __init__(self, sides: "tuple[Side, Side]", metric: str) -> None:
        self._samples = [side.metrics.get(metric, Samples()) for side in sides]
        self._processes = [max(map(len, samples.launches.values()), default=0) for samples in self._samples]
        self._whole = _seconds_of(sides[0]) if metric == "time" else None
        if self._whole is None and self._processes[0]:
            self._whole = sum(self._samples[0].totals.values()) / self._processes[0]

    def fields(self, name: str) -> dict[str, Any]:
        """Return the fields of an operation's row: milliseconds of both sides, the change, and the impact."""
        before, after = (self._mean(side, name) for side in (0, 1))
        found: dict[str, Any] = {
            "baseline_run_ms": None if before is None else 1e3 * before,
            "current_run_ms": None if after is None else 1e3 * after,
        }
        if before and after is not None:
            found["run_change_percent"] = 100 * (after / before - 1)
        if self._whole and math.isfinite(self._whole) and (before is not None or after is not None):
            found["impact_percent"] = 100 * ((after or 0.0) - (before or 0.0)) / self._whole
        return found

    def _mean(self, side: int, name: str) -> float | None:
        total = self._samples[side].totals.get(name, math.nan)
        return total / self._processes[side] if math.isfinite(total) else None


def _seconds_of(side: "Side") -> float | None:
    """Return the seconds of one process of a side, in which any root scope was open or of all its steps; None where no
    process has them."""
    known = side.metrics.get(TOTAL_TIME)
    if known is None or TOTAL not in known.launches:
        return None
    return known.totals[TOTAL] / len(known.launches[TOTAL])
