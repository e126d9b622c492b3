# SPDX-License-Identifier: Apache-2.0
"""An experiment: two commands launched in pairs of random order until enough is known, and what came of it."""

import json
import math
import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from ...system.files import atomic_writer
from ..comparison import ProfilerComparison
from ..options import Options
from ..result import ChangeType
from .in_turns import by_neighbours
from .launches import TURN_S, Command, Launch, LaunchError, Taken, launch, launch_in_turns
from .pairs import GUARD, SIDES, Found, Pair, common_mode, judge, launch_side, most_rejected, sides_of, slowed_by
from .spending import levels_of, looks_of

FORMAT = "regimeter.ab"
MOST_PAIRS = 1000  # of a budget
SHORTEST_S = 0.01
# A thread that looks at stacks would do so in the turn of the other program, too.
NO_STACKS = ("--stacks", "0", "--no-structure")
CHANGED = (ChangeType.REGRESSION, ChangeType.IMPROVEMENT)
HELD_STILL = (
    "instructions were counted by Callgrind: hash seed, addresses, allocator, one BLAS thread and the collector (off) "
    "held still, another layout of memory each time"
)
NOT_SEEN = (
    "a count does not see caches, memory, waiting, other threads or a device: on those compare times, and on a device "
    "launches, bytes and waits"
)
# Why an experiment ended.
DONE, SETTLED, BUDGET, STOPPED, INVALID = "all pairs", "settled", "budget", "stopped", "invalid"


@dataclass(slots=True)
class Experiment:
    """Pairs of launches of two commands, and their comparison.

    pairs: how many to use; with `fill`, at least, and as many as the budget holds. budget_s: how long to go on; a pair
    that would probably not end in time is not begun. seed: of the order. cpus: processors that both sides run on,
    all without any. early: look after some of the pairs, and stop when nothing is open. count: what to count in
    place of timing; pair n runs in layout n of memory. in_turns: let both programs of a pair run at the same time, one
    of them at a time, where they can; `apart` says why not. turn_s: how long a turn is at least. options: of
    ProfilerComparison. tell: called with a line after each pair. The comparison's level is what the looks before have
    left of alpha.
    """

    base: Command
    current: Command
    folder: str
    pairs: int = 10
    budget_s: float = math.inf
    fill: bool = False
    seed: int = 0
    early: bool = True
    guard: float = GUARD
    cpus: frozenset[int] = frozenset()
    operations: Sequence[str] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    record: Sequence[str] = ("--interval", "0")
    count: str | None = None
    in_turns: bool = False
    turn_s: float = TURN_S
    apart: str = ""
    tell: Callable[[str], None] = lambda line: None
    found: Found = field(default_factory=Found)
    ended: str = ""
    level: float = 0.0
    comparison: ProfilerComparison | None = None

    # --- running -------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Run pairs until there are enough of them, nothing is open, or the budget is spent.

        LaunchError when a command fails. Ctrl-C ends the experiment with what is there. What is known is in the folder
        in each case. ValueError for options that cannot be, before anything runs.
        """
        Options(**self.options)  # a value that cannot be is said before the first pair, not after the last
        dice, start = random.Random(self.seed), time.monotonic()
        alpha = float(self.options.get("alpha", 0.05))
        levels: dict[int, float] = {}
        spent, looked = 0.0, 0
        try:
            while not self.ended:
                self._pair(dice)
                if not levels:
                    self._plan()
                    looks = looks_of(self.pairs, early=self.early)
                    levels = dict(zip(looks, levels_of(alpha, looks), strict=True))
                used = len(self.found.used)
                if used >= self.pairs:
                    self.ended = DONE
                elif len(self.found.pairs) >= self.pairs + most_rejected(self.pairs):
                    self.ended = INVALID
                elif used in levels and used > looked:
                    looked = used
                    self._compare(levels[used])
                    spent += levels[used]
                    if self._settled():
                        self.ended = SETTLED
                if not self.ended and self._out_of_time(start):
                    self.ended = BUDGET
        except KeyboardInterrupt:
            self.ended = STOPPED
        finally:
            try:
                if self.ended not in (SETTLED, INVALID) and self.found.used:
                    self._compare(alpha - spent)
            finally:
                self._write()

    def _plan(self) -> None:
        """Set how many pairs there are to be where they fill the budget: the first one told how long they take."""
        if self.fill and math.isfinite(self.budget_s):
            self.pairs = min(MOST_PAIRS, max(self.pairs, int(self.budget_s / max(self._typical(), SHORTEST_S))))

    def _pair(self, dice: random.Random) -> None:
        number = len(self.found.pairs) + 1
        order = self._order(dice)
        files = [os.path.join(self.folder, f"{side}-{number:02d}.rgm") for side in SIDES]
        launches, taken = self._launched(number, order, files)
        if self.count is not None:
            for side, one in zip(SIDES, launches, strict=True):
                _check_counted(one.run.environment.get("count"), f"pair {number}, {side}")
        sides = tuple(
            launch_side(one.run, label, command.name)
            for one, label, command in zip(launches, ("baseline", "current"), (self.base, self.current), strict=True)
        )
        in_turn = taken is not None and not taken.unlike
        pair = Pair(
            number=number,
            order=(order[0], order[1]),
            files=(files[0], files[1]),
            sides=(sides[0], sides[1]),
            seconds=(launches[0].seconds, launches[1].seconds),
            frequencies_khz=(launches[0].frequency_khz, launches[1].frequency_khz),
            slowed=tuple(dict.fromkeys(name for one in launches for name in slowed_by(one.run))),
            common_mode=common_mode(sides[0], by_neighbours(*sides)[0]),
            turns=taken.turns if taken is not None and in_turn else 0,
            unlike="" if taken is None or taken.apart else taken.unlike,
        )
        self.found.pairs.append(pair)
        judge(self.found.pairs, self.guard)
        self.tell(self._line(pair))

    def _launched(self, number: int, order: list[str], files: list[str]) -> tuple[list[Launch], Taken | None]:
        """Run both sides; return their launches, and how they took turns where they were to.

        Where the first pair cannot run in turn, it and all others run one after the other. Later ones that do not are
        disturbed.
        """
        commands, options = {"base": self.base, "current": self.current}, self._recorded(number)
        if self.in_turns and not self.apart:
            try:
                launches, taken = launch_in_turns(
                    commands, files, options, SIDES.index(order[0]), self.cpus, self.turn_s
                )
            except LaunchError as error:
                raise LaunchError(f"pair {number}, {error}", error.code, error.tail) from None
            if not taken.unlike or any(pair.turns for pair in self.found.pairs):
                return launches, taken
            self.apart = taken.unlike
            self.tell(f"the programs cannot run in turn: {taken.unlike}; launches follow one another")
            if taken.apart:
                return launches, taken
        made: dict[str, Launch] = {}
        for side in order:
            try:
                made[side] = launch(commands[side], files[SIDES.index(side)], *options, cpus=self.cpus)
            except LaunchError as error:
                raise LaunchError(f"pair {number}, {side}: {error}", error.code, error.tail) from None
        return [made[side] for side in SIDES], None

    def _recorded(self, number: int) -> tuple[str, ...]:
        counting = () if self.count is None else ("--count", self.count, "--layout", str(number))
        return (*self.record, *NO_STACKS, *counting)

    def _order(self, dice: random.Random) -> list[str]:
        """Return the order of the next pair: drawn for every other, the opposite in between. With the first launch of
        a pair at an advantage, five draws of their own would favour one side throughout in one experiment of sixteen.
        """
        order = list(SIDES)
        dice.shuffle(order)
        return list(reversed(self.found.pairs[-1].order)) if len(self.found.pairs) % 2 else order

    def _line(self, pair: Pair) -> str:
        how = f"in {pair.turns} turns" if pair.turns else " then ".join(pair.order)
        parts = [f"pair {pair.number}: {how}, {pair.wall_s:.1f} s"]
        if pair.common_mode is not None:
            parts.append(f"all operations {100 * math.expm1(pair.common_mode):+.1f} %")
        if pair.rejected:
            parts.append(f"rejected: {pair.rejected}")
        missing = self.pairs - len(self.found.used)
        if missing > 0:
            parts.append(f"{missing} to go, about {missing * self._typical():.0f} s")
        return ", ".join(parts)

    def _typical(self) -> float:
        return sum(pair.wall_s for pair in self.found.pairs) / len(self.found.pairs)

    def _out_of_time(self, start: float) -> bool:
        return time.monotonic() - start + self._typical() > self.budget_s

    # --- judging -------------------------------------------------------------------------------------------

    def _compare(self, level: float) -> None:
        self.level = level
        options = dict(self.options)
        policy = {**(options.pop("policy", None) or {}), "interval": 1 - level}
        options |= {"alpha": level, "policy": policy, "paired": True}
        base, current = sides_of(self.found.used, self.operations)
        self.comparison = ProfilerComparison(base, current, **options)

    def _settled(self) -> bool:
        """Whether more pairs would change little: nothing undecided, and no change that may still prove small."""
        assert self.comparison is not None
        limit = self.comparison.significance_threshold
        for row in (*self.comparison.comparisons, *self.comparison.wholes):
            if not row.gates:
                continue
            if not row.conclusive or (row.change_type in CHANGED and _size(row.change_percent) < limit):
                return False
        return bool(self.comparison.comparisons)

    # --- result --------------------------------------------------------------------------------------------

    @property
    def invalid(self) -> str:
        """Why there is no verdict, '' when there is one."""
        rejected, ran = len(self.found.rejected), len(self.found.pairs)
        if self.ended == INVALID:
            hint = "" if self.cpus else "; if the processors differ in speed, --cpus runs both sides on the same ones"
            return (
                f"{rejected} of {ran} pairs were disturbed, more than a fifth may be; the last: "
                f"{self.found.rejected[-1].rejected}{hint}"
            )
        if self.comparison is None:
            return "no pair was completed"
        return ""

    def to_dict(self) -> dict[str, Any]:
        """Return the experiment as JSON values: what ran, in which order, what was rejected, and the comparison."""
        return {
            "format": FORMAT,
            "version": 1,
            "base": self.base.text,
            "current": self.current.text,
            "pairs_wanted": self.pairs,
            "pairs_used": len(self.found.used),
            "pairs_rejected": len(self.found.rejected),
            "seed": self.seed,
            "guard_percent": 100 * self.guard,
            "cpus": sorted(self.cpus) or None,
            "count": self.count,
            "in_turns": self.in_turns and not self.apart,
            "apart": self.apart or None,
            "ended": self.ended or "failed",
            "invalid": self.invalid or None,
            "alpha": float(self.options.get("alpha", 0.05)),
            "level": self.level,
            "pairs": [pair.to_dict() for pair in self.found.pairs],
            "comparison": None if self.comparison is None or self.ended == INVALID else self.comparison.to_dict(),
        }

    def _write(self) -> None:
        with atomic_writer(os.path.join(self.folder, "ab.json")) as out:
            json.dump(self.to_dict(), out, ensure_ascii=False, indent=1, default=str)

    def evidence(self) -> list[str]:
        """Return lines that say how the data came about."""
        used, rejected = self.found.used, self.found.rejected
        first = sum(pair.order[0] == "base" for pair in used)
        lines = [
            f"{len(used)} pairs used ({first} with the base first), order from seed {self.seed}; ended: {self.ended}"
        ]
        if self.apart:
            lines.append(
                f"the programs could not run in turn: {self.apart}; the launches of a pair followed one another"
            )
        turns = [pair.turns for pair in used if pair.turns]
        if turns:
            lines.append(
                f"both programs of a pair ran in turn, {median(turns):.0f} turns of at least "
                f"{1e3 * self.turn_s:g} ms in a pair; neighbouring turns are compared"
            )
        if self.cpus:
            lines.append(f"both sides ran on processor{'s' if len(self.cpus) > 1 else ''} {_listed(self.cpus)}")
        alpha = float(self.options.get("alpha", 0.05))
        if self.comparison is not None and not math.isclose(self.level, alpha):
            lines.append(
                f"this look was held to {self.level:.4f} of the {alpha:g} that all looks together may err with "
                "(spending after Lan & DeMets)"
            )
        lines += [f"pair {pair.number} rejected: {pair.rejected}" for pair in rejected]
        if self.count is not None:
            return [*lines, HELD_STILL, NOT_SEEN]
        if used and all(pair.common_mode is None for pair in used):
            lines.append(
                "too few operations to tell the machine's disturbance from a change: none was looked for in them"
            )
        if used and all(pair.frequencies_khz == (None, None) for pair in used):
            lines.append("the processor's frequency is not known here, so no pair could be rejected by it")
        return lines


def _check_counted(about: Mapping[str, Any] | None, where: str) -> None:
    """Raise LaunchError where a program ended without counts, with what to do about it."""
    reason = (about or {"reason": "it has no scopes; mark its parts with `with regimeter.profile(...)`"})["reason"]
    if reason:
        raise LaunchError(f"{where}: nothing was counted: {reason}", 0, "")


def _listed(cpus: frozenset[int]) -> str:
    return ", ".join(map(str, sorted(cpus)))


def _size(percent: float | None) -> float:
    """Return the size of a change as a slowdown by the same factor, in percent."""
    if percent is None:
        return math.inf
    return percent if percent >= 0 else 100 * (1 / max(1 + percent / 100, 1e-12) - 1)
