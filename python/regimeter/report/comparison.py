# SPDX-License-Identifier: Apache-2.0
"""A comparison in each of its formats: text, JSON, JUnit, Markdown, GitHub, HTML, CSV."""

import csv
import io
import json
from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from ..compare.result import OperationComparison
from .comparison_github import github
from .comparison_markdown import markdown
from .comparison_text import report
from .comparison_view import SORTS, View, rows_of, to_document
from .junit import junit

if TYPE_CHECKING:
    from ..compare import ProfilerComparison

# A spreadsheet takes a cell that begins so for a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


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


# --- formats ----------------------------------------------------------------------------------------------------


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


def _html(comparison: "ProfilerComparison", view: View) -> str:
    # What writes pages takes 12 ms to import, of 250 that a comparison on a terminal takes in all.
    from .comparison_html import page

    return page(comparison, view)


STYLES: dict[str, Callable[["ProfilerComparison", View], str]] = {
    "text": report,
    "json": _json,
    "junit": junit,
    "markdown": markdown,
    "github": github,
    "html": _html,
    "csv": _csv,
}
