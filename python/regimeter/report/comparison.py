# SPDX-License-Identifier: Apache-2.0
"""A comparison in each of its formats: text, JSON, JUnit, Markdown, GitHub, HTML, CSV."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from ..compare.result import OperationComparison

if TYPE_CHECKING:
    from ..compare import ProfilerComparison

SORTS = ("impact", "ratio", "name")
# A spreadsheet takes a cell that begins so for a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class View:
    """How a comparison is shown: how many rows, which, in which order, and what else there is to show.

    top: rows of the text and Markdown reports. only_changed: leave out what is plainly unchanged. sort: 'impact'
    (change times share), 'ratio' or 'name'. history: for the page, the earlier
    values of operations, {operation: [{"label", "value", "low", "high"}, ...]}, values in seconds.
    width: columns that the text may take, None for as many as it needs.
    """

    top: int = 20
    only_changed: bool = False
    sort: str = "impact"
    history: Any = None
    width: int | None = None
    title: str | None = None


def render(comparison: "ProfilerComparison", style: str, **view: Any) -> str:
    """Return the comparison in a format, one of STYLES; view: fields of View. ValueError for an unknown format."""
    if style not in STYLES:
        raise ValueError(f"unknown format {style!r}; valid are: {', '.join(STYLES)}")
    shown = View(**view)
    if shown.sort not in SORTS:
        raise ValueError(f"unknown order {shown.sort!r}; valid are: {', '.join(SORTS)}")
    if shown.top < 0:
        raise ValueError(f"the number of rows must be at least 0, got {shown.top}")
    return STYLES[style](comparison, shown)


# --- rows -------------------------------------------------------------------------------------------------------


def impact(row: OperationComparison) -> float:
    """Return by what part of the whole time a row's change moves it, for ordering; without a share its change."""
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
    """Return the rows that are not plainly unchanged."""
    return [row for row in rows if row.status != "no_change" or not row.conclusive or row.reason == "below_threshold"]


def rows_of(comparison: "ProfilerComparison", view: View) -> list[OperationComparison]:
    """Return the rows that a view shows, in its order."""
    rows = changed(comparison.comparisons) if view.only_changed else comparison.comparisons
    return ordered(rows, view.sort)


# --- formats ----------------------------------------------------------------------------------------------------


def _text(comparison: "ProfilerComparison", view: View) -> str:
    from .comparison_text import report

    return report(comparison, view)


def to_document(comparison: "ProfilerComparison", view: View) -> dict[str, Any]:
    """Return the JSON document: that of the comparison, rows as the view has them."""
    return comparison.to_dict() | {"comparisons": [row.to_dict() for row in rows_of(comparison, view)]}


def _json(comparison: "ProfilerComparison", view: View) -> str:
    document = to_document(comparison, view)
    text = json.dumps(document, ensure_ascii=False, indent=1, default=str, allow_nan=False)
    return text.encode("utf-8", "replace").decode("utf-8")


def _csv(comparison: "ProfilerComparison", view: View) -> str:
    names = [field.name for field in fields(OperationComparison)]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    for row in (*comparison.wholes, *rows_of(comparison, view)):
        values = row.to_dict()
        writer.writerow([_cell(values[name]) for name in names])
    return out.getvalue()


def _cell(value: Any) -> Any:
    """Return a value for a spreadsheet, in which no name becomes a formula."""
    if isinstance(value, str):
        text = value.replace("\0", "\N{REPLACEMENT CHARACTER}")
        return f"'{text}" if text.startswith(FORMULA) else text
    return "" if value is None else int(value) if isinstance(value, bool) else value


def _junit(comparison: "ProfilerComparison", view: View) -> str:
    from .junit import junit

    return junit(comparison, view)


def _markdown(comparison: "ProfilerComparison", view: View) -> str:
    from .comparison_markdown import markdown

    return markdown(comparison, view)


def _github(comparison: "ProfilerComparison", view: View) -> str:
    from .comparison_github import github

    return github(comparison, view)


def _html(comparison: "ProfilerComparison", view: View) -> str:
    from .comparison_html import page

    return page(comparison, view)


STYLES: dict[str, Callable[["ProfilerComparison", View], str]] = {
    "text": _text,
    "json": _json,
    "junit": _junit,
    "markdown": _markdown,
    "github": _github,
    "html": _html,
    "csv": _csv,
}
