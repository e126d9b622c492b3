# SPDX-License-Identifier: Apache-2.0
"""Two functions compared in one process: called alternately, in random order, pair by pair."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ..comparison import compare_samples
from .device import waiter
from .measure import CLOCKS, iterations_for, quiet, round_of

if TYPE_CHECKING:
    from .. import OperationComparison, ProfilerComparison

PAIRS = 150
# Pairs are compared by medians of blocks, which a call that was interrupted does not move.
BLOCK = 10
LEAST_BLOCKS = 5
BLIND = (
    "both functions shared one process, so what differs from process to process (layout of memory, hash seeds, "
    "warm-up of the device, what only one version would import) was not seen"
)


@dataclass(slots=True)
class Duet:
    """What a duet found. results: the last result of each function; old, new: seconds a call by block of pairs.

    Nothing was timed where both are empty.
    """

    results: tuple[Any, Any] = (None, None)
    old: list[list[float]] = field(default_factory=list)
    new: list[list[float]] = field(default_factory=list)
    iterations: int = 1

    cannot_see = BLIND

    def compare(self, threshold: float = 5.0, **options: Any) -> "ProfilerComparison":
        """Return the paired comparison of this duet alone; threshold in percent. ValueError where nothing was timed."""
        if not self.new:
            raise ValueError("nothing was timed: --perf-disable, or device work under workers that share a device")
        options["policy"] = {"min_share": 0.0, **(options.get("policy") or {})}
        return compare_samples({"duet": self.old}, {"duet": self.new}, True, threshold, **options)

    @property
    def row(self) -> "OperationComparison | None":
        """The row of :meth:`compare`: change_percent, ci_percent, p, change_type; None where nothing was timed."""
        return self.compare().comparisons[0] if self.new else None


def play(old: Callable[[], Any], new: Callable[[], Any], *, pairs: int, clock: str = "wall", seed: int = 0) -> Duet:
    """Call both functions `pairs` times each, after calls that warm both up."""
    wait, tick = waiter(), CLOCKS[clock]
    calls = (old, new)
    # A generator of its own: the program's random numbers are its own business.
    chance = random.Random(seed)
    found = Duet()
    lengths: tuple[list[float], list[float]] = ([], [])
    results: list[Any] = [None, None]
    with quiet():
        counts = [iterations_for(call, tick, wait)[0] for call in calls]
        found.iterations = max(counts)
        for _ in range(pairs):
            for side in (0, 1) if chance.random() < 0.5 else (1, 0):
                length, results[side] = round_of(calls[side], found.iterations, tick, wait)
                lengths[side].append(length * 1e-9 / found.iterations)
    found.results = (results[0], results[1])
    found.old, found.new = (blocks(values) for values in lengths)
    return found


def blocks(values: list[float]) -> list[list[float]]:
    """Return the values in blocks of equal size, give or take one, in their order."""
    count = max(min(len(values), LEAST_BLOCKS), len(values) // BLOCK)
    bounds = [len(values) * at // count for at in range(count + 1)]
    return [values[begin:end] for begin, end in pairwise(bounds)]
