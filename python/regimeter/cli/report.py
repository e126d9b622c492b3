# SPDX-License-Identifier: Apache-2.0
"""``regimeter report``: one HTML file that opens without a network; without a run, the drop-in dashboard."""

import argparse
import os
from typing import TYPE_CHECKING

from .. import _core
from ..calibration.choice import read_calibration
from ..report.html import write_html
from ..run.formats import PAGES, choose
from .analyse import CEILINGS
from .common import print_document
from .files import check_output, check_writable
from .progress import bar
from .runs import RUNS, load_run, only

if TYPE_CHECKING:
    from .common import Verbs


REPORT = "report.html"
DASHBOARD = "profiler_visualization.html"


def add_parser(verbs: "Verbs", common: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "report",
        parents=[common],
        description="Write a run as one HTML file that needs no network. Without RUN: the dashboard, a page that"
        " shows demo data and into which exported JSON files can be loaded.",
    )
    parser.add_argument("run_files", metavar="RUN", nargs="*", help=RUNS)
    parser.add_argument(
        "-o", "--output", metavar="FILE", help=f"default: {REPORT}, or {DASHBOARD} for the dashboard without RUN"
    )
    parser.add_argument("--title", help="heading of the page (default: the recorded command)")
    parser.add_argument("--ceilings", metavar="FILE", help=CEILINGS)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the page."""
    if not arguments.run_files:
        return _write_dashboard(arguments)
    output = arguments.output or REPORT
    choose(output, PAGES, default="html")
    check_output(output, arguments.run_files)
    ceilings = read_calibration(arguments.ceilings) if arguments.ceilings else None
    loaded = load_run(only(arguments.run_files), quiet=arguments.quiet)
    with bar(f"writing {output}", quiet=arguments.quiet) as progress:
        loaded.write_html(output, title=arguments.title, progress=progress, ceilings=ceilings)
    counts = {"scopes": len(loaded.entries), "spans": len(loaded.spans), "memory_events": len(loaded.tables.memory)}
    noun, number = next(((noun, number) for noun, number in counts.items() if number), ("spans", 0))
    _tell(
        arguments,
        output,
        {noun: number},
        f"{number:,} {noun.replace('_', ' ')}",
        _served(arguments.run_files, len(loaded.spans)),
    )
    return 0


def _served(files: list[str], spans: int) -> str:
    """Return what shows every span of a run with more of them than a page draws one by one; "" for others."""
    most = int(_core.policy()["timeline_max_spans"]["default"])
    if spans <= most:
        return ""
    return f"; of {spans:,} spans it draws the {most:,} longest one by one, regimeter serve {' '.join(files)} draws all"


def _write_dashboard(arguments: argparse.Namespace) -> int:
    output = arguments.output or DASHBOARD
    choose(output, PAGES, default="html")
    check_writable(output)
    write_html(None, output, title=arguments.title)
    _tell(arguments, output, {}, "the dashboard", " and load a file written by export_json or `regimeter export`")
    return 0


def _tell(arguments: argparse.Namespace, output: str, facts: dict[str, int], content: str, hint: str) -> None:
    size = os.path.getsize(output)
    if arguments.json:
        print_document({"file": output, "bytes": size} | facts)
    elif not arguments.quiet:
        print(f"{output}: {size / 1e3:,.0f} kB, {content}")
        print(f"Next: open {output} in a browser{hint}")
