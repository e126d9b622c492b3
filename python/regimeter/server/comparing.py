# SPDX-License-Identifier: Apache-2.0
"""Two runs compared, by the one path to a verdict that the command ``regimeter compare`` goes as well."""

import os
from typing import Any

from .. import _core
from ..compare import ProfilerComparison
from ..report.comparison import render
from ..report.comparison_view import View, to_document
from .problems import unreadable
from .shelf import Entry, Shelf


def document(shelf: Shelf, baseline: Entry, current: Entry, threshold: float, force: bool) -> dict[str, Any]:
    """Return what ``regimeter compare --json`` prints. Problem where the two cannot be compared."""
    return to_document(_compared(shelf, baseline, current, threshold, force), View())


def page(shelf: Shelf, baseline: Entry, current: Entry, threshold: float, force: bool) -> str:
    """Return the page that ``regimeter compare --format html`` writes."""
    comparison = _compared(shelf, baseline, current, threshold, force)
    return render(comparison, "html", title=f"{baseline.name} compared with {current.name}")


def _compared(shelf: Shelf, baseline: Entry, current: Entry, threshold: float, force: bool) -> ProfilerComparison:
    for entry in (baseline, current):
        shelf.check(entry)
    try:
        return ProfilerComparison([os.fspath(baseline.path)], [os.fspath(current.path)], threshold, force=force)
    except (OSError, ValueError, MemoryError, _core.Error) as error:
        whose = current if os.fspath(current.path) in str(error) else baseline
        raise unreadable(error, os.fspath(whose.path), whose.name) from None
