# SPDX-License-Identifier: Apache-2.0
"""An experiment: two commands launched in pairs of random order until enough is known, and what came of it."""

import json
import math
import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .comparison import ProfilerComparison
from .launches import Command, LaunchError, launch
from .pairs import GUARD, SIDES, Found, Pair, common_mode, judge, launch_side, most_rejected, sides_of, slowed_by
from .result import ChangeType
from .spending import levels_of, looks_of

FORMAT = "regimeter.ab"
CHANGED = (ChangeType.REGRESSION, ChangeType.IMPROVEMENT)
# Why an experiment ended.
DONE, SETTLED, BUDGET, STOPPED, INVALID = "all pairs", "settled", "budget", "stopped", "invalid"


@dataclass(slots=True)
class Experiment:
    """Pairs of launches of two commands, and their comparison.

    pairs: how many to use. budget_s: how long to go on; a pair that would probably not end in time is not begun. seed:
    of the order. cpus: processors that both sides run on, all without any. early: look after some of the pairs, and
    stop when nothing is open. options: of ProfilerComparison. tell: called with a line after each pair. The
    comparison's level is what the looks before have left of alpha.
    """

    base: Command
    current: Command
    folder: str
    pairs: int = 10
    budget_s: float = math.inf
    seed: int = 0
    early: bool = True
    guard: float = GUARD
    cpus: frozenset[int] = frozenset()
    operations: Sequence[str] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    record: Sequence[str] = ("--interval", "0")
    tell: Callable[[str], None] = lambda line: None
    found: Found = field(default_factory=Found)
    ended: str = ""
    level: float = 0.0
    comparison: ProfilerComparison | None = None

    # --- running -------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Run pairs until there are enough of them, nothing is open, or the budget is spent.

        LaunchError when a command fails. Ctrl-C ends the experiment with what is there. What is known is in the folder
        in each case.
        """
        dice, start, looks = random.Random(self.seed), time.monotonic(), looks_of(self.pairs, early=self.early)
        alpha = float(self.options.get("alpha", 0.05))
        levels = dict(zip(looks, levels_of(alpha, looks), strict=True))
        spent, looked = 0.0, 0
        try:
            while not self.ended:
                self._pair(dice)
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

    def _pair(self, dice: random.Random) -> None:
        number = len(self.found.pairs) + 1
        order = self._order(dice)
        made: dict[str, Any] = {}
        for side in order:
            file = os.path.join(self.folder, f"{side}-{number:02d}.rgm")
            command = self.base if side == "base" else self.current
            try:
                made[side] = (file, launch(command, file, *self.record, cpus=self.cpus))
            except LaunchError as error:
                raise LaunchError(f"pair {number}, {side}: {error}", error.code, error.tail) from None
        launches = [made[side][1] for side in SIDES]
        sides = tuple(
            launch_side(one.run, label, command.name)
            for one, label, command in zip(launches, ("baseline", "current"), (self.base, self.current), strict=True)
        )
        pair = Pair(
            number=number,
            order=(order[0], order[1]),
            files=(made["base"][0], made["current"][0]),
            sides=(sides[0], sides[1]),
            seconds=(launches[0].seconds, launches[1].seconds),
            frequencies_khz=(launches[0].frequency_khz, launches[1].frequency_khz),
            slowed=tuple(dict.fromkeys(name for one in launches for name in slowed_by(one.run))),
            common_mode=common_mode(sides[0], sides[1]),
        )
        self.found.pairs.append(pair)
        judge(self.found.pairs, self.guard)
        self.tell(self._line(pair))

    def _order(self, dice: random.Random) -> list[str]:
        """Return the order of the next pair: drawn for every other, the opposite in between. With the first launch of
        a pair at an advantage, five draws of their own would favour one side throughout in one experiment of sixteen.
        """
        order = list(SIDES)
        dice.shuffle(order)
        return list(reversed(self.found.pairs[-1].order)) if len(self.found.pairs) % 2 else order

    def _line(self, pair: Pair) -> str:
        parts = [f"pair {pair.number}: {' then '.join(pair.order)}, {sum(pair.seconds):.1f} s"]
        if pair.common_mode is not None:
            parts.append(f"all operations {100 * math.expm1(pair.common_mode):+.1f} %")
        if pair.rejected:
            parts.append(f"rejected: {pair.rejected}")
        missing = self.pairs - len(self.found.used)
        if missing > 0:
            parts.append(f"{missing} to go, about {missing * self._typical():.0f} s")
        return ", ".join(parts)

    def _typical(self) -> float:
        return sum(sum(pair.seconds) for pair in self.found.pairs) / len(self.found.pairs)

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
            "ended": self.ended or "failed",
            "invalid": self.invalid or None,
            "alpha": float(self.options.get("alpha", 0.05)),
            "level": self.level,
            "pairs": [pair.to_dict() for pair in self.found.pairs],
            "comparison": None if self.comparison is None or self.ended == INVALID else self.comparison.to_dict(),
        }

    def _write(self) -> None:
        from ..report.files import atomic_writer

        with atomic_writer(os.path.join(self.folder, "ab.json")) as out:
            json.dump(self.to_dict(), out, ensure_ascii=False, indent=1, default=str)

    def evidence(self) -> list[str]:
        """Return lines that say how the data came about."""
        used, rejected = self.found.used, self.found.rejected
        first = sum(pair.order[0] == "base" for pair in used)
        lines = [
            f"{len(used)} pairs used ({first} with the base first), order from seed {self.seed}; ended: {self.ended}"
        ]
        if self.cpus:
            lines.append(f"both sides ran on processor{'s' if len(self.cpus) > 1 else ''} {_listed(self.cpus)}")
        alpha = float(self.options.get("alpha", 0.05))
        if self.comparison is not None and not math.isclose(self.level, alpha):
            lines.append(
                f"this look was held to {self.level:.4f} of the {alpha:g} that all looks together may err with "
                "(spending after Lan & DeMets)"
            )
        lines += [f"pair {pair.number} rejected: {pair.rejected}" for pair in rejected]
        if used and all(pair.common_mode is None for pair in used):
            lines.append(
                "too few operations to tell the machine's disturbance from a change: none was looked for in them"
            )
        if used and all(pair.frequencies_khz == (None, None) for pair in used):
            lines.append("the processor's frequency is not known here, so no pair could be rejected by it")
        return lines


def _listed(cpus: frozenset[int]) -> str:
    return ", ".join(map(str, sorted(cpus)))


def _size(percent: float | None) -> float:
    """Return the size of a change as a slowdown by the same factor, in percent."""
    if percent is None:
        return math.inf
    return percent if percent >= 0 else 100 * (1 / max(1 + percent / 100, 1e-12) - 1)
