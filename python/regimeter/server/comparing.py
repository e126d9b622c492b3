# SPDX-License-Identifier: Apache-2.0
"""Two runs compared, by the one path to a verdict that the command ``regimeter compare`` goes as well."""

import os
from typing import Any

from .. import _core
from ..compare import ProfilerComparison
from ..report.comparison_html import page_data
from ..report.comparison_view import View, to_document
from ..report.html import render_html
from .problems import HOME, Problem, unreadable
from .shelf import COMPILE, MEMORY, Entry, Shelf


def document(shelf: Shelf, baseline: Entry, current: Entry, threshold: float, force: bool) -> dict[str, Any]:
    """Return what ``regimeter compare --json`` prints. Problem where the two cannot be compared."""
    return to_document(_compared(shelf, baseline, current, threshold, force), View())


def page(shelf: Shelf, baseline: Entry, current: Entry, threshold: float, force: bool) -> str:
    """Return the page that ``regimeter compare --format html`` writes, with a link to all runs."""
    comparison = _compared(shelf, baseline, current, threshold, force)
    view = View(title=f"{baseline.name} compared with {current.name}")
    return render_html(page_data(comparison, view), home=HOME)


def _compared(shelf: Shelf, baseline: Entry, current: Entry, threshold: float, force: bool) -> ProfilerComparison:
    for entry in (baseline, current):
        shelf.check(entry)
        if entry.kind in (MEMORY, COMPILE):
            raise Problem(422, f"{entry.name}: a {entry.kind} cannot be compared; take recordings, traces or profiles")
    try:
        return ProfilerComparison([os.fspath(baseline.path)], [os.fspath(current.path)], threshold, force=force)
    except (OSError, ValueError, MemoryError, _core.Error) as error:
        whose = current if os.fspath(current.path) in str(error) else baseline
        raise unreadable(error, os.fspath(whose.path), whose.name) from None
