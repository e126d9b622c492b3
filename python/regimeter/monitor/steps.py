# SPDX-License-Identifier: Apache-2.0
"""Steps of a recording that is written: each is told once, when it is over, however many looks it lasted.

Some steps are scopes of their own. Those of training loops are found among their parts (docs/structure.md) and end
where the next one begins; so what has been recorded since the last one that was told is kept and read again.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from .. import _core
from ..run.roles import GC, with_roles

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..public.run import Run

Durations: TypeAlias = "NDArray[np.int64]"
STEP = "step"
FOUND = ("training step", "iteration")  # names that csrc/model/links_found.c gives
PARTS = frozenset(_core.ROLES) - {"", STEP, GC}  # roles that a step which is found may begin with
MOST_BYTES = 8 << 20  # kept of one step; of a longer one only the end is seen


def steps_of(run: "Run") -> Durations:
    """Return the durations of all of a run's steps in nanoseconds."""
    found: Durations = run.spans.duration_ns[with_roles(run, frozenset((STEP,)))]
    return found


def found_rows(run: "Run") -> "NDArray[np.bool_]":
    """Return which spans are no scopes of the program but steps that were found among them."""
    names = [number for number in np.unique(run.spans.name).tolist() if run.string(number) in FOUND]
    return with_roles(run, frozenset((STEP,))) & np.isin(run.spans.name, names)


class Steps:
    """Tells the steps of a recording that is read part by part."""

    def __init__(self, load: "Callable[[list[bytes]], Run | None]") -> None:
        """load: makes a run of blocks."""
        self._load = load
        self.begin()

    def begin(self) -> None:
        """Forget all: another recording begins."""
        self._held: list[tuple[int, list[bytes]]] = []  # the last end of a scope, and the blocks, of each part
        self._told_ns = -1  # the end of the last step that was told

    def take(self, part: "Run | None", frames: list[bytes], *, ended: bool) -> Durations:
        """Return the durations of steps that are known to be over now. ended: nothing more comes."""
        told: Durations = np.empty(0, np.int64)
        if part is not None:
            own = with_roles(part, frozenset((STEP,))) & ~found_rows(part)
            told = part.spans.duration_ns[own]
            if self._held or with_roles(part, PARTS).any():
                self._held.append((int((part.spans.start_ns + part.spans.duration_ns).max(initial=0)), frames))
        if not self._held or (part is None and not ended):
            return told
        alone = part is not None and len(self._held) == 1
        whole = part if alone else self._load([frame for _, some in self._held for frame in some])
        return told if whole is None else np.concatenate((told, self._found(whole, ended)))

    def _found(self, run: "Run", ended: bool) -> Durations:
        spans, rows = run.spans, np.flatnonzero(found_rows(run))
        rows = rows[np.argsort(spans.start_ns[rows], kind="stable")]
        if not ended:
            rows = rows[:-1]  # it may go on
        rows = rows[spans.start_ns[rows] + spans.duration_ns[rows] // 2 > self._told_ns]  # of one told before: the rest
        if len(rows):
            self._told_ns = int(spans.start_ns[rows[-1]] + spans.duration_ns[rows[-1]])
        self._held = [] if ended else [(end, frames) for end, frames in self._held if end >= self._told_ns]
        while sum(len(frame) for _, frames in self._held for frame in frames) > MOST_BYTES:
            del self._held[0]
        found: Durations = spans.duration_ns[rows]
        return found
