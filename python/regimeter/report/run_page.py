# SPDX-License-Identifier: Apache-2.0
"""The page of a run."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from .html import render_html
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
    return render_html(trace_data(run, title=title, progress=progress, ceilings=ceilings))
