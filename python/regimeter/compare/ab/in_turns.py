# SPDX-License-Identifier: Apache-2.0
"""Pairs whose programs ran in turn: their difference is that of neighbouring turns.

A process is slower or faster than another for what the machine did while it ran, by up to 1.6 x, and that changes
within milliseconds as within minutes. Where both programs of a pair ran in turn, what the machine did to a turn it did
to the turns beside it: the median over neighbouring turns of the difference of logarithms is the difference of the
pair. Two neighbours count by the product of their speeds: what was interrupted says less, whichever side it was, and
because the product is the same whichever side is called the baseline, that favours neither. What layout of memory and
the like do to a process is still in the difference. So pairs stay the unit, and what they differ by stays the judge.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..side import Samples, Side

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
LEAST_NEIGHBOURS = 3  # neighbouring turns from which on their median is taken


@dataclass(frozen=True, slots=True)
class Neighbours:
    """What an operation was compared by. pairs: in how many. differences: of neighbouring turns, in the median pair."""

    pairs: int
    differences: int


def by_neighbours(baseline: Side, current: Side) -> tuple[Side, dict[str, Neighbours]]:
    """Return the current side with each pair's difference that of its neighbouring turns, and what was done to which
    operation. Sides whose launches are not pairs, or took no turns, are as they are."""
    before, after = (side.metrics.get("time", Samples()) for side in (baseline, current))
    moved, told = Samples(*map(dict, after.tables)), {}
    for name in after.launches.keys() & before.launches.keys():
        if len(before.launches[name]) != len(after.launches[name]):
            continue
        launches, counts = [], []
        for pair, launch in enumerate(after.launches[name]):
            found, sums = _differences(before, after, name, pair)
            if len(found) < LEAST_NEIGHBOURS:
                launches.append(launch)
                continue
            raw = np.median(np.log(launch)) - np.median(np.log(before.launches[name][pair]))
            launches.append(launch * np.exp(_weighted_median(found, np.exp(sums.min() - sums)) - raw))
            counts.append(len(found))
        if counts:
            moved.launches[name] = launches
            told[name] = Neighbours(len(counts), int(np.median(counts)))
    return (current.with_metric("time", moved), told) if told else (current, {})


def _differences(before: Samples, after: Samples, name: str, pair: int) -> tuple[Floats, Floats]:
    """Return the differences of neighbouring turns that have the operation, as logarithms, and their sums."""
    both = []
    for samples in (before, after):
        launch, turns = samples.launches[name][pair], samples.turns[name][pair]
        if turns is None or not len(launch) or not (launch > 0).all() or not np.isfinite(launch).all():
            return np.empty(0), np.empty(0)
        both.append(by_turn(np.log(launch), turns))
    (base_turns, base), (turns, values) = both
    numbers = np.concatenate((base_turns, turns))
    order = np.argsort(numbers, kind="stable")
    logs = np.concatenate((base, values))[order]
    is_current = (np.arange(len(numbers)) >= len(base_turns))[order]
    beside = is_current[1:] != is_current[:-1]
    differences: Floats = np.diff(logs) * np.where(is_current[1:], 1.0, -1.0)
    return differences[beside], (logs[1:] + logs[:-1])[beside]


def _weighted_median(values: Floats, weights: Floats) -> float:
    """Return where half of the weight lies on either side, between two values in proportion."""
    order = np.argsort(values)
    reached = np.cumsum(weights[order]) - weights[order] / 2
    return float(np.interp(weights.sum() / 2, reached, values[order]))


def by_turn(values: Floats, turns: Numbers) -> tuple[Numbers, Floats]:
    """Return the numbers of the turns and the median of the values in each; what was in no turn is left out."""
    kept = turns >= 0
    numbers, first = np.unique(turns[kept], return_index=True)
    parts = np.split(values[kept], first[1:])
    return numbers, np.array([np.median(part) for part in parts if len(part)])
