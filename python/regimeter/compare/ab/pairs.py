# SPDX-License-Identifier: Apache-2.0
"""Pairs of launches: what each measured, which were disturbed, and the two sides that the sound ones make.

A pair is rejected for what the whole machine did (the shift common to all operations, a device that said it was slowed
down, another processor frequency), never for the values of an operation, so a rejection cannot bias one.
"""

import fnmatch
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from ...system.telemetry import slowed_by as names_of
from ..side import WHOLE_METRICS as WHOLES
from ..side import Samples, Side
from ..sources import aligned, once, side_of

if TYPE_CHECKING:
    from ...public.run import Run

SIDES = ("base", "current")
GUARD = 0.06  # common shift of a pair beyond which it was disturbed
MOST_REJECTED = 0.2  # part of the pairs; more is a machine that cannot be measured on
COMMON_OPERATIONS = 10  # fewer cannot tell a shift of the machine from a change of their own
FEWEST_MODES = 3  # pairs from which their typical shift is known


@dataclass(slots=True)
class Pair:
    """Both launches of a pair.

    order: the sides as they ran. common_mode: shift of all operations, current against base, as a logarithm; None with
    too few operations. frequencies_khz: of the processor during each launch, by side. turns: that both took together, 0
    where they ran one after the other. unlike: why they should have run in turn and did not.
    """

    number: int
    order: tuple[str, str]
    files: tuple[str, str]
    sides: tuple[Side, Side]
    seconds: tuple[float, float] = (0.0, 0.0)
    frequencies_khz: tuple[float | None, float | None] = (None, None)
    slowed: tuple[str, ...] = ()
    common_mode: float | None = None
    rejected: str | None = None
    turns: int = 0
    unlike: str = ""

    @property
    def wall_s(self) -> float:
        """How long the pair took."""
        return max(self.seconds) if self.turns else sum(self.seconds)

    def to_dict(self) -> dict[str, Any]:
        """Return what is known of the pair as JSON values."""
        return {
            "pair": self.number,
            "order": list(self.order),
            "files": dict(zip(SIDES, self.files, strict=True)),
            "seconds": dict(zip(SIDES, self.seconds, strict=True)),
            "frequencies_khz": dict(zip(SIDES, self.frequencies_khz, strict=True)),
            "slowed": list(self.slowed),
            "common_mode_percent": None if self.common_mode is None else 100 * math.expm1(self.common_mode),
            "turns": self.turns or None,
            "rejected": self.rejected,
        }


# --- one launch -----------------------------------------------------------------------------------------------


def launch_side(run: "Run", label: str, program: str) -> Side:
    """Return what one launch measured. A program without scopes of its own is one operation, ``program``, so that two
    programs of different names can be compared."""
    side = side_of(run, label)
    if side.program or len(run.spans) == 1:
        side.name_program(side.program or program)
    return side


def slowed_by(run: "Run") -> tuple[str, ...]:
    """Return why devices ran below their clocks during a run, as far as its telemetry tells."""
    counters, texts = run.tables.counters, run.strings
    found: dict[str, None] = {}
    for series in np.unique(counters.series):
        if texts[int(series)].rpartition("/")[2].endswith("clock_reasons"):
            for bits in np.unique(counters.value[counters.series == series]):
                if bits == bits and bits >= 0:
                    # What the user set for both sides alike is no disturbance.
                    found |= dict.fromkeys(name for name in names_of(bits) if name != "application_clocks")
    return tuple(found)


# --- many pairs -----------------------------------------------------------------------------------------------


def common_mode(base: Side, current: Side) -> float | None:
    """Return the median over operations of the logarithm of their ratio, None with fewer than COMMON_OPERATIONS."""
    before, after = (side.metrics.get("time", Samples()).launches for side in (base, current))
    ratios = []
    for name in before.keys() & after.keys():
        values = [float(np.median(np.concatenate(table[name]))) for table in (before, after)]
        if all(value > 0 and math.isfinite(value) for value in values):
            ratios.append(math.log(values[1] / values[0]))
    return median(ratios) if len(ratios) >= COMMON_OPERATIONS else None


def judge(pairs: Sequence[Pair], guard: float = GUARD) -> None:
    """Set `rejected` of every pair anew.

    The common mode of a pair is held against that of all pairs, not against 0: a change of the whole program is in all
    of them, a disturbance of the machine in one.
    """
    modes = [pair.common_mode for pair in pairs if pair.common_mode is not None]
    center = median(modes) if len(modes) >= FEWEST_MODES else None
    limit = math.log1p(guard)
    for pair in pairs:
        first, second = pair.frequencies_khz
        pair.rejected = None
        if pair.unlike:
            pair.rejected = f"both programs were to run in turn, and did not: {pair.unlike}"
        elif pair.slowed:
            pair.rejected = f"a device was slowed down: {', '.join(pair.slowed)}"
        elif first and second and abs(math.log(first / second)) > limit:
            pair.rejected = f"the processor ran at {first / 1e6:.2f} and {second / 1e6:.2f} GHz"
        elif center is not None and pair.common_mode is not None and abs(pair.common_mode - center) > limit:
            pair.rejected = f"all operations shifted by {100 * math.expm1(pair.common_mode - center):+.1f} % together"


def most_rejected(pairs: int) -> int:
    """Return how many pairs may be rejected beside `pairs` that are used: MOST_REJECTED of all that were run."""
    return int(pairs * MOST_REJECTED / (1 - MOST_REJECTED) + 1e-9)


def sides_of(pairs: Iterable[Pair], patterns: Sequence[str] = ()) -> tuple[Side, Side]:
    """Return the two sides of the pairs, launch i of both from one pair; patterns: see :func:`joined`."""
    return joined([pair.sides for pair in pairs], patterns)


def two_sides(baseline: Any, current: Any, *, paired: bool) -> tuple[Side, Side]:
    """Return the sides that two sources describe. With `paired`, lists are joined pair by pair: their places say which
    inputs ran together, and lists of different lengths are a ValueError. A pair of which one process is in an earlier
    one proves no more and is left out."""
    lists = isinstance(baseline, list | tuple) and isinstance(current, list | tuple)
    if not paired or not lists:
        first = baseline if isinstance(baseline, Side) else side_of(baseline, "baseline")
        second = current if isinstance(current, Side) else side_of(current, "current")
        aligned((first, second))
        return first, second
    if not baseline or len(baseline) != len(current):
        raise ValueError(f"pairs need as many inputs on both sides, not {len(baseline)} and {len(current)}")
    pairs = [
        (side_of(one, "baseline"), side_of(other, "current")) for one, other in zip(baseline, current, strict=True)
    ]
    used = {
        id(side)
        for parts, sides in zip((baseline, current), zip(*pairs, strict=True), strict=True)
        for side in once(parts, sides)
    }
    return joined([pair for pair in pairs if used.issuperset(map(id, pair))])


def joined(pairs: Sequence[tuple[Side, Side]], patterns: Sequence[str] = ()) -> tuple[Side, Side]:
    """Return the two sides that pairs of processes make, launch i of both from one pair.

    An operation that some launch lacks keeps the pairs in which both launches have it; one that is never on both sides
    is new or removed. patterns: names of the operations to keep, with ``*`` and ``?``; all when empty. What a program
    does as a whole is always kept.
    """
    sides = (Side("baseline"), Side("current"))
    aligned([side for pair in pairs for side in pair])
    for at, side in enumerate(sides):
        for pair in pairs:
            side.devices |= pair[at].devices
            side.environments += pair[at].environments
            side.launches += pair[at].launches
            side.witnesses += pair[at].witnesses
            side.warnings += pair[at].warnings
            side.run = pair[at].run if side.run is None else side.run
            for name, value in pair[at].memory_mb.items():
                side.memory_mb[name] = max(value, side.memory_mb.get(name, value))
    metrics = dict.fromkeys(name for pair in pairs for side in pair for name in side.metrics)
    for metric in metrics:
        tables = [[side.metrics.get(metric, Samples()) for side in pair] for pair in pairs]
        names = dict.fromkeys(name for table in tables for samples in table for name in samples.launches)
        for name in names:
            whole = metric in WHOLES
            if patterns and not whole and not any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
                continue
            both = [table for table in tables if all(name in samples.launches for samples in table)]
            for table in both or tables:
                for side, samples in zip(sides, table, strict=True):
                    _copy(samples, side.metric(metric), name)
            if both and len(both) < len(tables) and not whole:
                sides[0].warnings.append(f"{name!r} is in both launches of {len(both)} of {len(tables)} pairs only")
    return sides


def _copy(samples: Samples, into: Samples, name: str) -> None:
    launches = samples.launches.get(name)
    if launches is None:
        return
    # One process of a program is one launch, whatever it recorded into several files.
    turns = [part for part in samples.turns[name] if part is not None]
    numbers = np.concatenate(turns) if len(turns) == len(launches) else None
    into.add(name, np.concatenate(launches), samples.totals[name], samples.calls[name], numbers)


@dataclass(slots=True)
class Found:
    """The pairs of an experiment."""

    pairs: list[Pair] = field(default_factory=list)

    @property
    def used(self) -> list[Pair]:
        """The pairs that were not disturbed."""
        return [pair for pair in self.pairs if pair.rejected is None]

    @property
    def rejected(self) -> list[Pair]:
        """The pairs that were."""
        return [pair for pair in self.pairs if pair.rejected is not None]
