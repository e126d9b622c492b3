# SPDX-License-Identifier: Apache-2.0
"""Figures of the last looks, for the charts of the live page."""

from collections import deque
from dataclasses import dataclass

from . import policy


@dataclass(frozen=True, slots=True)
class Point:
    """What a look found, None where it is not known: scopes a second, the part of the time that recording takes, the
    resident set, the part of the time in which devices are busy, the median step of the last minute."""

    time_s: float
    scopes_per_s: float | None
    own_cost: float | None
    resident_bytes: int | None
    busy: float | None
    step_ns: float | None


class Trail:
    """The points of the last looks, in order."""

    def __init__(self) -> None:
        """Begin with none."""
        self.points: deque[Point] = deque(maxlen=policy.TRAIL_LOOKS)

    def column(self, name: str) -> tuple[list[float], list[float]]:
        """Return times in nanoseconds, and the values that are known."""
        known = [(point.time_s * 1e9, value) for point in self.points if (value := getattr(point, name)) is not None]
        return [time for time, _ in known], [value for _, value in known]
