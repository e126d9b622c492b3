# SPDX-License-Identifier: Apache-2.0
"""The history that a server shows: opened when it is asked for, read only, its place told to nobody."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from .. import _core
from ..report.history_page import history_data
from ..report.html import render_html
from .problems import HOME, Problem

if TYPE_CHECKING:
    from ..history import History, RunRow, Series

T = TypeVar("T")
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
        from ..history.series import series_of  # the extra `history`, which `serve` without one does not need

        found = self._ask(lambda history: series_of(history, operation, **wanted))
        if not found:
            raise Problem(404, "operation: no run of the history has it; /api/history/operations lists them")
        return found

    def page_data(self) -> dict[str, Any]:
        """Return what the page of the history shows."""
        return self._ask(history_data)

    def check(self) -> None:
        """Open it, so that a server that cannot says so at once. Errors as of ``open_history``."""
        if self.place:
            try:
                from ..history import open_history  # as above
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
    """Return the page of a history. Problem where there is none, or it cannot be read."""
    return render_html(past.page_data(), home=HOME)
