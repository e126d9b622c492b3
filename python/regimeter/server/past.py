# SPDX-License-Identifier: Apache-2.0
"""The history that a server shows: opened when it is asked for, read only, its place told to nobody."""

from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from .. import _core
from ..report.static_page import Markup, page, table
from ..report.trend_picture import STYLE, trend_picture
from .problems import Problem

if TYPE_CHECKING:
    from ..history import History, RunRow, Series

T = TypeVar("T")
MOST_LISTED = 500
NONE = "no history is served: start the server with --history PATH or URL"


class Past:
    """The history at a path or URL, "" for none. Problem where there is none, or it cannot be read."""

    def __init__(self, place: str) -> None:
        self.place = place
        self._history: History | None = None

    def runs(self, **wanted: Any) -> "list[RunRow]":
        """Return runs, newest first; wanted: as of ``History.runs``."""
        return self._ask(lambda history: history.runs(**wanted))

    def operations(self) -> list[str]:
        """Return the names of all operations."""
        return self._ask(lambda history: history.operations())

    def series(self, operation: str, **wanted: Any) -> "list[Series]":
        """Return how an operation went, one series an environment. Problem where no run has it."""
        if not self.place:
            raise Problem(404, NONE)
        from ..history.series import series_of

        found = self._ask(lambda history: series_of(history, operation, **wanted))
        if not found:
            raise Problem(404, "operation: no run of the history has it; /api/history/operations lists them")
        return found

    def check(self) -> None:
        """Open it, so that a server that cannot says so at once. Errors as of ``open_history``."""
        if self.place:
            try:
                from ..history import open_history
            except ImportError as missing:
                raise _core.UnavailableError(str(missing)) from None
            self._history = open_history(self.place, create=False)

    def _ask(self, question: "Callable[[History], T]") -> T:
        if not self.place:
            raise Problem(404, NONE)
        if self._history is None:
            self.check()
        history = self._history
        assert history is not None
        try:
            return question(history)
        except _core.Error as error:
            raise Problem(422, str(error).replace(history.where, "the history").replace(self.place, "it")) from None


def history_page(past: Past) -> str:
    """Return the page of the operations and runs of a history."""
    operations, runs = past.operations(), past.runs(limit=MOST_LISTED)
    links = [
        [Markup(f'<a href="/history?operation={quote(name, safe="")}">{escape(name)}</a>')]
        for name in operations[:MOST_LISTED]
    ]
    rows = [
        (
            row.label,
            f"{row.id}",
            f"{row.created_at:%Y-%m-%d %H:%M}",
            row.state,
            row.environment,
            row.branch or "",
            (row.commit or "")[:12],
        )
        for row in runs
    ]
    header = ("run", "number", "when", "state", "environment", "branch", "commit")
    body = (
        "<h1>History</h1>"
        + table(f"Operations ({len(operations):,})", ("operation",), links, "None yet.")
        + table("Runs, newest first", header, rows, "None yet.")
    )
    return page("History", body)


def series_page(past: Past, operation: str) -> str:
    """Return the page of one operation: a picture and a table for each environment."""
    from ..workloads.trend import Trend

    parts = [f"<h1>{escape(operation)}</h1>"]
    for series in past.series(operation):
        changes = {change.at: change for change in series.changes}
        parts.append(f"<h2>Environment {escape(series.environment)}</h2>")
        newest = series.points[-1].value
        parts.append(trend_picture(Trend(series, newest, None, "", 1.0, judged=False)))
        rows = [
            (
                point.run.label,
                f"{point.run.id}",
                f"{point.run.created_at:%Y-%m-%d %H:%M}",
                (point.run.commit or "")[:12],
                f"{point.value * 1e6:,.3f}",
                "" if point.accepted else "regressed, not accepted",
                f"{changes[at].percent:+.1f} %" if at in changes and changes[at].percent is not None else "",
            )
            for at, point in enumerate(series.points)
        ]
        header = ("run", "number", "when", "commit", "µs", "state", "change of level")
        parts.append(table("", header, list(reversed(rows))))
    parts.append('<p class="note"><a href="/history">All operations</a></p>')
    return page(operation, "".join(parts), style=STYLE)
