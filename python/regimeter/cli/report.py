# SPDX-License-Identifier: Apache-2.0
"""``regimeter report``: one HTML file that opens without a network; without a run, the drop-in dashboard."""

import argparse
import os
from typing import TYPE_CHECKING

from .common import RUNS, load_run, only, print_document

if TYPE_CHECKING:
    from .common import Verbs


REPORT = "report.html"
DASHBOARD = "profiler_visualization.html"


def add_parser(verbs: "Verbs", common: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    from .analyse import CEILINGS

    parser = verbs.add_parser(
        "report",
        parents=[common],
        allow_abbrev=False,
        help="write a run as one HTML file that needs no network",
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
    from ..calibration.choice import read_calibration
    from ..run.formats import PAGES, choose
    from .files import check_output
    from .progress import bar

    if not arguments.run_files:
        return _write_dashboard(arguments)
    output = arguments.output or REPORT
    choose(output, PAGES, default="html")
    check_output(output, arguments.run_files)
    ceilings = read_calibration(arguments.ceilings) if arguments.ceilings else None
    loaded = load_run(only(arguments.run_files), quiet=arguments.quiet)
    with bar(f"writing {output}", quiet=arguments.quiet) as progress:
        loaded.write_html(output, title=arguments.title, progress=progress, ceilings=ceilings)
    noun, number = ("scopes", len(loaded.entries)) if len(loaded.entries) else ("spans", len(loaded.spans))
    _tell(arguments, output, {noun: number}, f"{number:,} {noun}", "")
    return 0


def _write_dashboard(arguments: argparse.Namespace) -> int:
    from ..report.html import write_html
    from ..run.formats import PAGES, choose
    from .files import check_writable

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
