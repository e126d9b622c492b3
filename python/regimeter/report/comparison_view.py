# SPDX-License-Identifier: Apache-2.0
"""Which rows of a comparison are shown, and in which order."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..compare.result import OperationComparison

if TYPE_CHECKING:
    from ..compare import ProfilerComparison


SORTS = ("impact", "ratio", "name")


@dataclass(frozen=True, slots=True)
class View:
    """How a comparison is shown: how many rows, which, in which order, and what else there is to show.

    top: rows of the text and Markdown reports. only_changed: leave out what is plainly unchanged. sort: 'impact' (on
    the time of a process), 'ratio' or 'name'. history: for the page, the earlier values of operations,
    {operation: [{"label", "value", "low", "high"}, ...]}, values in seconds.
    width: columns that the text may take, None for as many as it needs.
    """

    top: int = 20
    only_changed: bool = False
    sort: str = "impact"
    history: Any = None
    width: int | None = None
    title: str | None = None


def impact(row: OperationComparison) -> float:
    """Return by how many percent a row moves the time of a process, for ordering; where that is not known, its change
    times its share."""
    if row.impact_percent is not None:
        return abs(row.impact_percent)
    return abs(row.change_percent or 0.0) * (row.share if row.share is not None else 1.0)


def ordered(rows: Sequence[OperationComparison], sort: str) -> list[OperationComparison]:
    """Return the rows by impact (verdicts that fail first), by ratio (the slowest first) or by name."""
    if sort == "name":
        return sorted(rows, key=lambda row: (row.operation, row.metric))
    if sort == "ratio":
        return sorted(rows, key=lambda row: -(row.change_percent if row.change_percent is not None else -1e9))
    rank = {"regression": 0, "improvement": 1, "invalid": 2, "removed_operation": 3, "new_operation": 4}
    return sorted(rows, key=lambda row: (rank.get(row.status, 5 if not row.conclusive else 6), -impact(row)))


def changed(rows: Sequence[OperationComparison]) -> list[OperationComparison]:
    """Return the rows that are not plainly unchanged: in a call, or in how many calls there are."""
    return [
        row
        for row in rows
        if row.status != "no_change" or not row.conclusive or row.reason == "below_threshold" or row.calls_changed
    ]


def rows_of(comparison: "ProfilerComparison", view: View) -> list[OperationComparison]:
    """Return the rows that a view shows, in its order."""
    rows = changed(comparison.comparisons) if view.only_changed else comparison.comparisons
    return ordered(rows, view.sort)


def to_document(comparison: "ProfilerComparison", view: View) -> dict[str, Any]:
    """Return the JSON document: that of the comparison, rows as the view has them."""
    return comparison.to_dict() | {"comparisons": [row.to_dict() for row in rows_of(comparison, view)]}
