# SPDX-License-Identifier: Apache-2.0
"""What both sides saw of their machines, and how far that lets two processes of one program differ.

A recording carries looks at its machine: the time of a fixed piece of work, and what the kernel counted of waiting,
theft and limits (`regimeter.run.witness`). Where these differ between the sides, or moved within one, the program's
times may differ as much without its doing. Nothing is divided by them: how strongly an operation follows its machine
is not known from one process, so they widen what is allowed for, the whole of a program by all of it and one
operation beside the others by a part (FOLLOWS).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..run.witness import Witness, threshold

if TYPE_CHECKING:
    from .side import Side

MOST_LOST = 0.95  # of the time, from which on a share says no more
FOLLOWS = 0.15  # of what the machine did, an operation does that much more or less than the others
TOLD = 0.05  # a difference of the machines that is worth a line


@dataclass(frozen=True, slots=True)
class Machines:
    """How the machines of both sides differ; all as logarithms.

    arithmetic, memory: current against baseline, None where not looked at. moved: how far either moved within a
    process. lost: what waiting, theft and limits made of the time, on the side where it was more.
    """

    arithmetic: float
    memory: float | None
    moved: float
    lost: float

    @property
    def apart(self) -> float:
        """By how much a program may differ for its machine alone."""
        return math.sqrt(max(abs(self.arithmetic), abs(self.memory or 0.0)) ** 2 + self.moved**2 + self.lost**2)

    @property
    def words(self) -> str:
        """What is to be said of it, in a sentence without a full stop."""
        parts = []
        for what, value in (("arithmetic", self.arithmetic), ("reads from memory", self.memory)):
            if value is not None and abs(value) >= TOLD:
                parts.append(f"{what} took {math.exp(value):.2f} x the baseline's time")
        if self.moved >= TOLD:
            parts.append(f"its speed moved by {100 * self.moved:.0f} % within a process")
        if self.lost >= TOLD:
            parts.append(f"up to {100 * -math.expm1(-self.lost):.0f} % of a process's time was waiting for a processor")
        return f"The machine: {'; '.join(parts) or 'the same speed on both sides, and steady'}"


def machines_of(baseline: "Side", current: "Side") -> Machines | None:
    """Return what the witnesses of all processes of both sides tell; None where one has none, or too few looks."""
    sides = [side.witnesses for side in (baseline, current)]
    if not all(sides) or any(
        witness is None or len(witness) < threshold("least_looks") for side in sides for witness in side
    ):
        return None
    known = [[witness for witness in side if witness is not None] for side in sides]
    arithmetic = _ratio(*([witness.throughput_median for witness in side] for side in known))
    if arithmetic is None:
        return None
    every = [*known[0], *known[1]]
    return Machines(
        arithmetic,
        _ratio(*([witness.memory_median for witness in side] for side in known)),
        max(witness.spread or 0.0 for witness in every),
        max(map(_lost, every)),
    )


def _ratio(before: Sequence[float | None], after: Sequence[float | None]) -> float | None:
    logs = [[math.log(value) for value in side if value] for side in (before, after)]
    if any(len(one) != len(side) for one, side in zip(logs, (before, after), strict=True)):
        return None
    return sum(logs[1]) / len(logs[1]) - sum(logs[0]) / len(logs[0])


def _lost(witness: Witness) -> float:
    shares = (witness.waiting_share, witness.steal_share, witness.throttled_share)
    return -math.log1p(-min(MOST_LOST, sum(share or 0.0 for share in shares)))
