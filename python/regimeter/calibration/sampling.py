# SPDX-License-Identifier: Apache-2.0
"""What a measurement in Python and one in the core share: how much is measured, and how a figure is made of it."""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .. import _core
from ..system import scheduling
from .ceiling import Ceiling

Progress = Callable[[str, float], None]  # what is measured now, part of all that is done


@dataclass(slots=True)
class Effort:
    """How much is measured, and who hears of it."""

    quick: bool
    policy: Mapping[str, float]
    progress: Progress | None = None
    deadline: float | None = None  # of time.monotonic(): then what is measured now is brought to an end

    @property
    def late(self) -> bool:
        """True after the deadline."""
        return self.deadline is not None and time.monotonic() > self.deadline

    def value(self, name: str) -> float:
        """Return a number of the policy, that of a quick calibration where there is one and this is one."""
        quick = f"{name}_quick"
        return self.policy[quick if self.quick and quick in self.policy else name]

    def tell(self, what: str, part: float) -> None:
        """Say what is measured now."""
        if self.progress is not None:
            self.progress(what, part)


def read(rows: Mapping[str, Mapping[str, object]]) -> dict[str, Ceiling]:
    """Return ceilings from the figures of the core."""
    units = _core.ceilings()
    return {token: Ceiling(unit=units[token]["unit"], **row) for token, row in rows.items()}  # type: ignore[arg-type]


# Takes one sample: seconds, and the part of it that others had the processor, which is not in the seconds.
Timer = Callable[[], tuple[float, float]]


def timed(effort: Effort, token: str, source: str, timer: Timer, work: float | None) -> Ceiling:
    """Measure with `timer`; the value is `work` over its time, with None its nanoseconds.

    Undisturbed samples count before others, as in the core (csrc/calibrate/figure.h).
    """
    least = work is None
    unit = _core.ceilings()[token]["unit"]
    bests: list[tuple[bool, float, float]] = []  # disturbed, part that was taken, value
    count = 0
    timer()  # loads what has to be loaded
    for _ in range(max(1, int(effort.value("batches")))):
        if bests and effort.late:
            break
        samples = _batch(effort, timer)
        count += len(samples)
        if min(samples)[2] <= 0:
            return Ceiling(None, None, unit, reason="too short for the clock")
        disturbed, stolen, fastest = min(samples)
        bests.append((disturbed, stolen, fastest * 1e9 if work is None else work / fastest))
    clean = [value for disturbed, _, value in bests if not disturbed]
    if len(clean) > 1:
        value, spread = _core.calibrate_figure(clean, least)
        return Ceiling(value, spread, unit, count, source)
    every = [value for _, _, value in bests]
    best = clean[0] if clean else min(bests)[2]
    own = effort.policy["least_spread"] if clean else min(bests)[1]
    spread = max(own, effort.policy["least_spread"], abs(statistics.median(every) / best - 1))
    return Ceiling(best, spread, unit, count, source)


def _batch(effort: Effort, timer: Timer) -> list[tuple[bool, float, float]]:
    """Return samples until enough are undisturbed, in an order in which the best is the least."""
    wanted = max(1, int(effort.value("batch")))
    rows: list[tuple[bool, float, float]] = []
    clean = 0
    while clean < wanted and len(rows) < wanted * max(1, int(effort.value("tries"))) and not (rows and effort.late):
        seconds, stolen = timer()
        disturbed = stolen > effort.policy["stolen"]
        clean += not disturbed
        rows.append((disturbed, stolen if disturbed else 0.0, seconds))
    return rows


def clock(work: Callable[[], object]) -> Timer:
    """Return what times one call, without what others took of it."""
    watch = scheduling.watch()

    def timer() -> tuple[float, float]:
        before = watch.read()
        begin = time.perf_counter_ns()
        work()
        wall = max(1, time.perf_counter_ns() - begin)
        stolen = scheduling.stolen_ns(before, watch.read(), wall)
        return max(1, wall - stolen) * 1e-9, stolen / wall

    return timer


def better(first: Ceiling | None, second: Ceiling | None) -> Ceiling | None:
    """Return the higher of two rates; one that was not measured only where there is no other."""
    if first is None or second is None:
        return first or second
    if first.value is None or second.value is None:
        return second if first.value is None else first
    return second if second.value > first.value else first
