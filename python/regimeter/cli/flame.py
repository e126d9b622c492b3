# SPDX-License-Identifier: Apache-2.0
"""``regimeter flame``: the flame graph of a trace, as a tree in the terminal, a page or data."""

import argparse
import os
from typing import TYPE_CHECKING, Any

from ..report.flame_sentence import sentence
from ..report.flame_text import ROWS, flame_lines
from ..run.formats import choose
from ..run.summary_text import anomaly_lines
from ..suite.flame import FlameGraphGenerator, sampled_by_default, spans_of
from .common import next_step, print_document, text_width
from .errors import CommandError
from .files import check_output
from .progress import step
from .runs import RUNS, load_run, only

if TYPE_CHECKING:
    from .common import Verbs

METRICS = ("device", "host")
OF = ("samples", "spans")
STATES = ("all", "running", "waiting")
STACKS = ("collapsed", "speedscope")  # written from the run, not from the merged tree
# The first suffix that matches counts.
FORMATS = {
    ".html": "html",
    ".htm": "html",
    ".svg": "svg",
    ".speedscope.json": "speedscope",
    ".json": "json",
    ".folded": "collapsed",
    ".collapsed": "collapsed",
}


def add_parser(verbs: "Verbs", common: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "flame",
        parents=[common],
        description="Print the heaviest part of the flame graph as a tree: host stacks with the device work that they"
        " launched, or of a recording: where samples of its call stacks found the threads. With -o, write all of it;"
        " the suffix names the format, .html, .svg, .json (of d3-flame-graph), .folded or .speedscope.json. --json"
        " without -o prints the data.",
    )
    parser.add_argument("trace", metavar="TRACE", nargs="+", help=RUNS)
    parser.add_argument("-o", "--output", metavar="FILE", help="write the flame graph instead")
    parser.add_argument("--full", action="store_true", help="print every node, not the heaviest")
    parser.add_argument(
        "--of", choices=OF, help="what is drawn; default: samples where the only scope is the program, and in stacks"
    )
    parser.add_argument(
        "--state", choices=STATES, default="all", help="of samples: those of threads that ran, or waited (default: all)"
    )
    parser.add_argument("--metric", choices=METRICS, help="what a node's value is; default: device time if any")
    parser.add_argument("--min-duration-us", type=float, default=10.0, metavar="US", help="gather shorter siblings")
    parser.add_argument("--max-depth", type=int, default=50, metavar="N", help="gather what is called from deeper")
    parser.add_argument(
        "--keep-small-kernels", action="store_true", help="do not gather kernels below 1 %% of device time"
    )
    parser.add_argument(
        "--collapse-recursion",
        action="store_true",
        help="what calls itself directly is one node (not in .folded and .speedscope.json)",
    )
    parser.add_argument(
        "--time-order",
        action="store_true",
        help="siblings in the order in which they began, not by their time (of .svg and .json; a page has a switch)",
    )
    parser.add_argument("--strict", action="store_true", help="damage in the trace is an error")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the flame graph."""
    output = arguments.output
    chosen = choose(output, FORMATS) if output else "json"
    stacks = chosen in STACKS
    if output:
        check_output(output, arguments.trace)
    if arguments.max_depth < 1:
        raise CommandError(f"--max-depth must be at least 1, got {arguments.max_depth}")
    generator = FlameGraphGenerator(
        arguments.min_duration_us,
        arguments.max_depth,
        not arguments.keep_small_kernels,
        metric=arguments.metric,
        collapse=arguments.collapse_recursion,
        in_time=arguments.time_order,
    )
    says_damage = not (arguments.json or stacks or (arguments.quiet and output))
    run = load_run(only(arguments.trace), strict=arguments.strict, quiet=arguments.quiet, told=says_damage)
    default = sampled_by_default(run) or (stacks and len(run.samples) > 0)
    run = spans_of(run, arguments.of, arguments.state, default=default)
    if stacks:
        with step(f"writing {output}", quiet=arguments.quiet):
            run.export(output, chosen, stacks=arguments.metric or "host")
        if arguments.json:
            print_document({"file": output, "bytes": os.path.getsize(output)})
        elif not arguments.quiet:
            print(f"{output}: {os.path.getsize(output) / 1e3:,.0f} kB")
        return 0
    data = generator.from_run(run)
    data["trace"] = data["trace"] or os.path.basename(arguments.trace[0])
    if not output:
        print_document(data) if arguments.json else _print(data, arguments)
        return 0
    with step(f"writing {output}", quiet=arguments.quiet):
        generator.export(data, output, chosen)
    size = os.path.getsize(output)
    if arguments.json:
        print_document({"file": output, "bytes": size, "anomalies": data["anomalies"]})
    elif not arguments.quiet:
        told = [text for text in (sentence(data),) if text]
        print("\n".join((f"{output}: {size / 1e3:,.0f} kB", *told, *anomaly_lines(data["anomalies"]))))
    return 0


def _print(data: dict[str, Any], arguments: argparse.Namespace) -> None:
    print(*flame_lines(data, text_width(), None if arguments.full else ROWS), sep="\n")
    print(*anomaly_lines(data["anomalies"]), sep="\n", end="\n" if data["anomalies"] else "")
    if not arguments.quiet:
        print(f"\nNext: {next_step('flame', *arguments.trace, '-o', 'flame.html')}")
