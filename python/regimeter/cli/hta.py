# SPDX-License-Identifier: Apache-2.0
"""``regimeter hta``: the holistic analysis of a trace, as text, JSON or a page."""

import argparse
import math
import os
from typing import TYPE_CHECKING

from ..run.formats import PAGES, choose
from ..run.summary_text import anomaly_lines
from ..suite.hta import HTAAnalyzer
from ..system.text import UNAVAILABLE, duration, printable, shorten
from .common import print_document
from .files import check_output
from .runs import load_run

if TYPE_CHECKING:
    from ..suite.hta import HTAReport
    from .common import Verbs

FORMATS = ("html", "json")


def add_parser(verbs: "Verbs", common: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    parser = verbs.add_parser("hta", parents=[common])
    parser.add_argument("trace", metavar="TRACE", help="trace file, or directory of the ranks of one job")
    parser.add_argument("-o", "--output", metavar="FILE", help="write a page, or JSON where its suffix is .json")
    parser.add_argument("--strict", action="store_true", help="damage in the trace is an error")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print or write the report."""
    if arguments.output is not None:
        chosen = choose(arguments.output, PAGES | {".json": "json"}, default="html")
        check_output(arguments.output, arguments.trace)
    analyzer = HTAAnalyzer()
    told = arguments.json or not (arguments.quiet and arguments.output)
    loaded = load_run(arguments.trace, strict=arguments.strict, quiet=arguments.quiet, told=told)
    report = analyzer.analyze_trace(loaded)
    report.trace_path = arguments.trace
    if arguments.output is not None:
        analyzer.export_report(report, arguments.output, format=chosen)
        size = os.path.getsize(arguments.output)
        if arguments.json:
            print_document({"file": arguments.output, "bytes": size, "anomalies": report.anomalies})
        elif not arguments.quiet:
            print(f"{arguments.output}: {size / 1e3:,.0f} kB, {chosen}")
            print(*anomaly_lines(report.anomalies), sep="\n", end="\n" if report.anomalies else "")
    elif arguments.json:
        print_document(report.to_dict())
    else:
        print(text(report))
    return 0


def text(report: "HTAReport") -> str:
    """Return the report for a terminal."""

    def share(value: float | None) -> str:
        return UNAVAILABLE if value is None or math.isnan(value) else f"{value:.1f} %"

    parts = (
        ("idle", report.gpu_idle_time_pct),
        ("compute", report.compute_time_pct),
        ("exposed communication", report.communication_time_pct),
        ("exposed memory", report.memory_time_pct),
    )
    lines = [", ".join(f"{label} {share(value)}" for label, value in parts)]
    lines += [f"  {name}: unavailable: {reason}" for name, reason in report.unavailable.items()]
    if report.top_kernels:
        lines += ["", "Kernels with most time"]
    lines += [
        f"  {duration(row['time_us'] / 1e3):>8} {share(row['pct']):>7} {row['count']:>8,}  {shorten(row['name'], 80)}"
        for row in report.top_kernels[:10]
    ]
    unjudged = "" if report.top_kernels else "not judged: no device work is in the trace"
    lines += ["", "Bottlenecks"]
    lines += [f"  {printable(line)}" for line in report.bottlenecks] or [
        f"  {unjudged or 'none by the rules of the analysis'}"
    ]
    lines += ["", "What to try"]
    lines += [f"  {printable(line)}" for line in report.recommendations] or [f"  {unjudged or 'nothing stands out'}"]
    if report.anomalies:
        lines += ["", *anomaly_lines(report.anomalies)]
    return "\n".join(lines)
