# SPDX-License-Identifier: Apache-2.0
"""Where a room needs what a higher one makes: the few places, named once, looked up when first used.

A run can write its page and a comparison can be rendered, though neither knows pages; functions of the regime profiler
use the process's one profiler where none is given. ``tools/check_layers.py`` checks that each name exists.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

JOINTS = {
    "profiler": "regimeter.profiler:get_profiler",
    "page of a run": "regimeter.report.run_page:render_run_page",
    "page of a sweep": "regimeter.report.sweep_page:write_sweep_page",
    "comparison": "regimeter.report.comparison:render",
    "changes": "regimeter.report.comparison_text:change_lines",
    "verdict of a comparison": "regimeter.report.comparison_text:verdict_line",
    "run in a notebook": "regimeter.report.notebook:framed",
    "verdict in a notebook": "regimeter.report.notebook:of_verdict",
    "comparison in a notebook": "regimeter.report.notebook:of_comparison",
    "result in a notebook": "regimeter.report.notebook:of_result",
    "workloads": "regimeter.report.workloads:render_report",
}


def joint(name: str) -> Callable[..., Any]:
    """Return the function that stands in JOINTS under that name."""
    module, _, attribute = JOINTS[name].partition(":")
    found: Callable[..., Any] = getattr(import_module(module), attribute)
    return found
