# SPDX-License-Identifier: Apache-2.0
"""The tables of all ranks on one clock."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..public.run import Run
from ..run.alignment import Alignment, merge_ranks
from .tables import AROUND, Columns, RankTables

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Joined:
    """The communication of a job as a run, and its other tables.

    calls: the communication kernels, a row of `collective_times` each. around: columns of AROUND for each of them.
    whole, by_step: rank_times of the job. steps: step_times of the ranks, on the common clock.
    """

    run: Run
    alignment: Alignment
    shifts: dict[int, int]
    calls: dict[str, "NDArray[Any]"]
    whole: list[dict[str, Any]]
    by_step: list[dict[str, Any]]
    steps: list[dict[str, Any]]


def join(parts: Sequence[tuple[RankTables, int]], rules: tuple[tuple[str, str], ...]) -> Joined:
    """Join the tables of files, each with its rank, -1 for the ranks that it has."""
    merged, alignment = merge_ranks([tables.calls.run(rank) for tables, rank in parts])
    table = merged.analyse("collective_times", group_by=2, rules=rules)
    calls: dict[str, NDArray[Any]] = {name: getattr(table, name) for name in table.columns}
    calls |= {name: np.concatenate([tables.around[name] for tables, _ in parts])[table.span] for name in AROUND}
    shifts = [alignment.shifts_ns[i] for i in range(len(parts))]
    placed = list(zip(parts, shifts, strict=True))
    return Joined(
        run=merged,
        alignment=alignment,
        shifts={rank: shift for (_, rank), shift in placed},
        calls=calls,
        whole=_rank_times([_moved(t.whole, rank, shift, ("first_ns",)) for (t, rank), shift in placed]),
        by_step=_rank_times([_moved(t.by_step, rank, shift, ("first_ns",)) for (t, rank), shift in placed]),
        steps=[
            row
            for (tables, rank), shift in placed
            for row in _moved(tables.steps, rank, shift, ("start_ns", "device_start_ns", "device_end_ns"))
        ],
    )


def _moved(columns: Columns, rank: int, shift: int, moments: tuple[str, ...]) -> list[dict[str, Any]]:
    rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    for row in rows:
        for name in moments:
            row[name] += shift
        if rank >= 0:
            row["rank"] = rank
    return rows


def _rank_times(parts: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the rows of all ranks by step and rank, with what compares them: the definitions of rank_times."""
    rows = sorted((row for part in parts for row in part), key=lambda row: (row["step"], row["rank"]))
    first = 0
    while first < len(rows):
        last = first
        while last < len(rows) and rows[last]["step"] == rows[first]["step"]:
            last += 1
        _compare(rows[first:last])
        first = last
    return rows


def _compare(rows: list[dict[str, Any]]) -> None:
    earliest = min(row["first_ns"] for row in rows)
    mean = sum(float(row["compute_ns"]) for row in rows) / len(rows)
    most = max(float(row["compute_ns"]) for row in rows)
    for row in rows:
        row["behind_ns"] = row["first_ns"] - earliest
        row["compute_deviation"] = row["compute_ns"] / mean - 1.0 if mean > 0 else None
        row["imbalance"] = most / mean - 1.0 if mean > 0 else None
