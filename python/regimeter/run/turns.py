# SPDX-License-Identifier: Apache-2.0
"""The turns of a program that ran in turn with another, as `regimeter ab` lets two programs do.

The core keeps a row of `turns/number` as each turn begins, and one of `turns/waited_ms` with how long was waited for it
(csrc/capture/turns.c). Numbers count the turns of both programs, so those of one are every second.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..system.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..public.run import Run

NUMBER, WAITED = "turns/number", "turns/waited_ms"
ALONE = -1  # of what ran after the other had left, or beside it


@dataclass(frozen=True, slots=True)
class Turns:
    """begin_ns: when each turn but the first began. numbers: which these are, ALONE from the last on where the other
    had left. waited_s: how long was waited for them, between outermost scopes."""

    begin_ns: "NDArray[np.int64]"
    numbers: "NDArray[np.int64]"
    waited_s: float

    @classmethod
    def of(cls, run: "Run") -> "Turns | None":
        """Return the turns of a run, None where it took none."""
        if NUMBER not in run.strings:
            return None
        numbers, waited = _series(run, NUMBER), _series(run, WAITED)
        order = np.argsort(run.tables.counters.time_ns[numbers], kind="stable")
        rows = numbers[order]
        found = np.asarray(run.tables.counters.value[rows]).astype(np.int64)
        return cls(run.tables.counters.time_ns[rows], found, float(run.tables.counters.value[waited].sum()) * 1e-3)

    def at(self, times_ns: "NDArray[np.int64]") -> "NDArray[np.int64]":
        """Return the number of the turn at each time; ALONE where there was none any more."""
        first = self.numbers[0] - 2 if self.numbers[0] != ALONE else ALONE
        return np.concatenate(([first], self.numbers))[np.searchsorted(self.begin_ns, times_ns, side="right")]

    @property
    def sentence(self) -> str:
        """What a summary says of it."""
        return (
            f"The program ran in turn with another, {len(self.numbers)} times: it waited {self.waited_s:.2f} s between "
            "outermost blocks, which is no time of its own."
        )


def _series(run: "Run", name: str) -> "NDArray[np.intp]":
    texts = run.strings
    wanted = [int(number) for number in np.unique(run.tables.counters.series) if texts[int(number)] == name]
    return np.flatnonzero(np.isin(run.tables.counters.series, wanted))
