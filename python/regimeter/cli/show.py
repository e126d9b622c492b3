# SPDX-License-Identifier: Apache-2.0
"""``regimeter show``: summary, bottlenecks, anomalies and the profiler's own cost."""

import argparse
from typing import TYPE_CHECKING, Any

from ..report.verdict import print_verdict, verdict_data
from ..run import records
from ..run.profile_json import UNITS, run_facts, summary_facts
from ..run.summary_text import anomaly_lines, print_bottlenecks, print_summary
from ..run.witness import witness_facts
from ..system.text import count, duration, printable, say
from . import breakdown
from .common import next_step, not_negative, print_document, text_width
from .runs import RUNS, load_run, only, program_of, run_line, shown_name

if TYPE_CHECKING:
    from ..public.run import Run
    from .common import Verbs

FORMAT, VERSION = "regimeter.show", 1
BOTTLENECKS = 5
DEVICES = 8


def add_parser(verbs: "Verbs", common: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    parser = verbs.add_parser("show", parents=[common])
    parser.add_argument("run_files", metavar="RUN", nargs="+", help=RUNS)
    parser.add_argument(
        "--top", metavar="N", type=not_negative, help="operations to show (default: 10; with --json all)"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the run."""
    loaded = load_run(only(arguments.run_files), quiet=arguments.quiet, told=True)
    name = shown_name(arguments.run_files)
    if arguments.json:
        print_document(document(loaded, name, arguments.top))
        return 0
    if len(loaded.tables.files) and not len(loaded.entries):
        _print_trace(loaded, arguments)
        return 0
    if not arguments.quiet:
        program = program_of(loaded)
        print(f"{name}: {run_line(loaded)}")
        said = [f"recorded from: {printable(program)}"] if program else []
        ring = loaded.environment.get("ring")
        said += (
            [f"only the last part was kept, until: {printable(str(ring.get('reason')))}"]
            if isinstance(ring, dict)
            else []
        )
        print(*said, sep="\n", end="\n\n" if said else "\n")
    print_verdict(loaded)
    print_summary(loaded, 10 if arguments.top is None else arguments.top)
    if len(loaded.entries):
        print()
        print_bottlenecks(loaded, BOTTLENECKS if arguments.top is None else min(BOTTLENECKS, arguments.top))
    if not arguments.quiet:
        print(f"\nNext: {next_step('report', *arguments.run_files, '-o', 'report.html')}")
    return 0


def _print_trace(loaded: "Run", arguments: argparse.Namespace) -> None:
    """Print where the time of a trace went; it holds no scopes of ours."""
    width = text_width()
    top = BOTTLENECKS if arguments.top is None else arguments.top
    if not arguments.quiet:
        facts = (count(len(loaded.spans), "span"), count(len(loaded.lanes), "lane"))
        window = f"window {duration(loaded.duration_ns / 1e6)} (first to last event)"
        print(f"{shown_name(arguments.run_files)}: a trace, {', '.join(facts)}, {window}\n")
    print_verdict(loaded)
    print(breakdown.text(loaded.result("breakdown"), width, DEVICES))
    for name in ("kernels", "operators"):
        found = loaded.result(name, top=top)
        if len(found):
            print(f"\n{name}\n{found.text(width)}")
    notes = anomaly_lines(loaded.anomaly_list())
    if notes:
        print()
        say(None, *notes, wrapped=True)
    if not arguments.quiet:
        print(f"\nNext: {next_step('report', *arguments.run_files, '-o', 'report.html')}")


def document(run: "Run", file: str, top: int | None = None) -> dict[str, Any]:
    """Return what `show` prints as one JSON-ready dictionary."""
    summaries = records.summaries_of(run)
    return {
        "format": FORMAT,
        "version": VERSION,
        "file": file,
        "verdict": verdict_data(run),
        "units": UNITS,
        "run": run_facts(run),
        "environment": run.environment,
        "cost": run.cost,
        "witness": witness_facts(run),
        "summary": [summary_facts(row) for row in summaries[:top]],
        "bottlenecks": [row.operation for row in run.get_bottlenecks(BOTTLENECKS)],
        "unavailable": records.unavailable_of(summaries),
        "anomalies": run.anomaly_list(),
    }
