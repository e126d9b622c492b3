# SPDX-License-Identifier: Apache-2.0
"""``regimeter timeline``: how long host and device were active, as bars in the terminal, and as a page."""

import argparse
import os
from typing import TYPE_CHECKING

from ..report.timeline_text import LANES, timeline_lines
from ..run.formats import PAGES, choose
from ..run.summary_text import anomaly_lines
from ..suite.timeline_data import TimelineGenerator
from ..system.text import count, duration, percent
from .common import next_step, print_document, text_width
from .files import check_output
from .progress import step
from .runs import RUNS, load_run, only

if TYPE_CHECKING:
    from ..suite.timeline_data import TimelineData
    from .common import Verbs


def add_parser(verbs: "Verbs", common: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "timeline",
        parents=[common],
        description="Print how long host and device were active and overlapped, as unions of intervals, and each"
        " thread and stream as a line of bars. With -o, write the timeline: .html is a page that needs no network,"
        " .json a Chrome trace that has the same figures.",
    )
    parser.add_argument("trace", metavar="TRACE", nargs="+", help=f"{RUNS}; several: the ranks of a job")
    parser.add_argument("-o", "--output", metavar="FILE", help=".html or .json")
    parser.add_argument("--full", action="store_true", help="print every lane, not the busiest")
    parser.add_argument("--min-duration-us", type=float, default=1.0, metavar="US", help="list no shorter event")
    parser.add_argument("--no-python", action="store_true", help="leave Python functions out")
    parser.add_argument("--no-runtime", action="store_true", help="leave runtime and driver calls out")
    parser.add_argument("--strict", action="store_true", help="damage in the trace is an error")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the figures, write the timeline."""
    output = arguments.output
    chosen = choose(output, PAGES | {".json": "json"}) if output else "html"
    if output:
        check_output(output, arguments.trace)
    generator = TimelineGenerator(arguments.min_duration_us, not arguments.no_python, not arguments.no_runtime)
    run = load_run(only(arguments.trace), strict=arguments.strict, quiet=arguments.quiet, told=True)
    timeline = generator.from_run(run)
    if output:
        with step(f"writing {output}", quiet=arguments.quiet):
            write = generator.generate_html_viewer if chosen == "html" else generator.export_chrome_trace
            write(timeline, output)
    if arguments.json:
        head = {"format": "regimeter.suite.timeline", "version": 1}
        print_document(head | timeline.to_dict() | ({"file": output} if output else {}))
        return 0
    _print(timeline, arguments)
    if output and not arguments.quiet:
        print(f"{output}: {os.path.getsize(output) / 1e3:,.0f} kB")
    return 0


def _print(timeline: "TimelineData", arguments: argparse.Namespace) -> None:
    rows = (
        ("total", timeline.total_time_us, None),
        ("host active", timeline.cpu_active_time_us, timeline.cpu_utilization),
        ("device active", timeline.gpu_active_time_us, timeline.gpu_utilization),
        ("both at once", timeline.overlap_time_us, None),
    )
    for label, time_us, used in rows:
        share = "" if used is None else f"  {percent(used / 100):>7} of the total"
        print(f"{label:<14}{duration(time_us / 1e3):>10}{share}")
    print(f"{len(timeline.events):,} events on {count(len(timeline.streams), 'stream')} and the host")
    bars = timeline_lines(timeline.run, text_width(), None if arguments.full else LANES)
    print(*(["", *bars, ""] if bars else []), sep="\n", end="\n" if bars else "")
    print(*anomaly_lines(timeline.run.anomaly_list()), sep="\n", end="\n" if len(timeline.run.tables.anomalies) else "")
    if not arguments.output and not arguments.quiet:
        print(f"Next: {next_step('timeline', *arguments.trace, '-o', 'timeline.html')}")
