# SPDX-License-Identifier: Apache-2.0
"""The runs of a job's ranks as one run, on one clock."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .processes import with_sampled_lanes

if TYPE_CHECKING:
    from ..public.run import Run


@dataclass(frozen=True, slots=True)
class Alignment:
    """How the clocks of the ranks were brought together.

    rule: "wall clock" where every run knows the Unix time of its start; "collectives" where the ends of common
    collectives told the offsets; "none" where neither did, and for a single run.
    shifts_ns: what was added to the times of each run.
    unaligned: ranks that share no collective with the others; their shift is 0.
    remaining_ns: largest offset that the ends of common collectives still show after the shifts, None where
    there are none.
    spread_ns: largest median distance of these ends from their median: how far the figures are to be trusted.
    """

    rule: str
    shifts_ns: tuple[int, ...]
    unaligned: tuple[int, ...]
    remaining_ns: int | None
    spread_ns: float | None


def _values(table: Any, name: str) -> list[Any]:
    values: list[Any] = getattr(table, name).tolist()
    return values


def rank_of(run: "Run", position: int) -> int:
    """Return the rank that the merged run gives a run: its own, or its position when it knows none."""
    ranks = [rank for table in ("lanes", "files") for rank in _values(run.table(table), "rank") if rank >= 0]
    return int(ranks[0]) if ranks else position


def _wall_clock_shifts(runs: Sequence["Run"]) -> list[int] | None:
    bases = [None if run.start_unix_ns is None else run.start_unix_ns - run.start_ns for run in runs]
    known = [base for base in bases if base is not None]
    return [base - known[0] for base in known] if len(known) == len(runs) > 1 else None


def _offsets(merged: "Run") -> dict[int, int]:
    table = merged.analyse("clock_offsets")
    rows = zip(_values(table, "rank"), _values(table, "offset_ns"), _values(table, "known"), strict=True)
    return {rank: offset for rank, offset, known in rows if known}


def _remaining(merged: "Run") -> tuple[int | None, float | None]:
    table = merged.analyse("clock_offsets")
    rows = zip(_values(table, "offset_ns"), _values(table, "spread_ns"), _values(table, "shared"), strict=True)
    found = [(abs(offset), spread) for offset, spread, shared in rows if shared]
    return (max(o for o, _ in found), max(s for _, s in found)) if found else (None, None)


def merge_ranks(runs: Sequence["Run"]) -> tuple["Run", Alignment]:
    """Return the runs of several ranks as one run on the clock of the first, and how it was aligned.

    The runs are left as they are. ValueError when there is none, or two are of the same rank.
    """
    runs = list(runs)
    if not runs:
        raise ValueError("there is no run to merge")
    if len(runs) > 1:
        runs = [with_sampled_lanes(run) for run in runs]
    kind, rule, unaligned = type(runs[0]), "wall clock", tuple[int, ...]()
    shifts = _wall_clock_shifts(runs)
    merged = kind._merge(runs, shifts or [0] * len(runs))
    if shifts is None:
        offsets = _offsets(merged)
        ranks = [rank_of(run, i) for i, run in enumerate(runs)]
        rule = "collectives" if len(offsets) > 1 else "none"
        unaligned = tuple(rank for rank in ranks if rank not in offsets) if len(runs) > 1 else ()
        shifts = [offsets.get(rank, 0) for rank in ranks]
        merged = kind._merge(runs, shifts) if any(shifts) else merged
    remaining_ns, spread_ns = _remaining(merged)
    return merged, Alignment(rule, tuple(shifts), unaligned, remaining_ns, spread_ns)
