# SPDX-License-Identifier: Apache-2.0
"""The page of a run."""

from collections.abc import Callable
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from ..run.trace_facts import files_of
from .html import render_html
from .memory_run import has_allocations
from .memory_run_page import memory_run_data
from .trace_data import trace_data

if TYPE_CHECKING:
    import os

    from ..calibration.ceiling import Calibration
    from ..public.run import Run


def render_run_page(
    run: "Run",
    *,
    title: str | None = None,
    progress: Callable[[str, float], None] | None = None,
    ceilings: "Calibration | str | os.PathLike[str] | None" = None,
) -> str:
    """Return the self-contained page; see ``Run.write_html``."""
    if not len(run.spans) and not len(run.entries) and has_allocations(run):
        return render_html(_snapshot_data(run, title))
    return render_html(trace_data(run, title=title, progress=progress, ceilings=ceilings))


def _snapshot_data(run: "Run", title: str | None) -> dict[str, Any]:
    """Return the page of a run that tells of nothing but memory, as a snapshot of torch does."""
    files = files_of(run)
    name = PurePath(files[0]["file"]).name if files else "snapshot"
    return memory_run_data(run, name) | ({} if title is None else {"title": title})
