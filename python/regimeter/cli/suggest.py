# SPDX-License-Identifier: Apache-2.0
"""``regimeter suggest``: what to try next, with the evidence for it."""

import argparse
import shlex
from typing import TYPE_CHECKING

from ..public.optimizer import ProfilerOptimizer
from ..run.formats import choose
from ..suggest.paragraphs import WIDTH, render_roadmap, render_suggestions, shown
from .analyse import TRACE, _threshold, check_thresholds
from .common import not_negative, print_document, text_width
from .files import check_output
from .runs import load_run, only

if TYPE_CHECKING:
    from .common import Verbs


def add_parser(verbs: "Verbs", common: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    parser = verbs.add_parser("suggest", parents=[common])
    parser.add_argument("trace", metavar="RUN", nargs="+", help=TRACE)
    parser.add_argument(
        "--top", metavar="N", type=not_negative, help="default: suggest_shown (docs/schema.md); 0 for all"
    )
    parser.add_argument("--critical", action="store_true", help="show those of critical priority only")
    parser.add_argument("--roadmap", action="store_true", help="one line each, by saved time against effort")
    parser.add_argument(
        "--policy", metavar="NAME=VALUE", action="append", default=[], type=_threshold, help="a threshold of the rules"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write all as JSON to a file")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print or write the suggestions."""
    policy = dict(arguments.policy)
    check_thresholds(policy)
    trace = only(arguments.trace)
    if arguments.output is not None:
        choose(arguments.output, {".json": "json"}, default="json")
        check_output(arguments.output, arguments.trace)
    loaded = load_run(trace, quiet=arguments.quiet)
    name = shlex.join(arguments.trace)
    plain = isinstance(trace, str) and loaded.source == "export"  # of an exported profile the file says more
    optimizer = ProfilerOptimizer(
        trace if plain else loaded,  # type: ignore[arg-type]
        policy=policy,
        name=name,
    )
    if arguments.output is not None:
        optimizer.export_suggestions(arguments.output)
    elif arguments.json:
        print_document(optimizer.to_dict() | {"file": trace})
    else:
        print(_text(optimizer, arguments))
    return 0


def _text(optimizer: ProfilerOptimizer, arguments: argparse.Namespace) -> str:
    width = text_width()
    top, more = (
        shown(dict(arguments.policy)) if arguments.top is None else arguments.top or None,
        f"regimeter suggest {shlex.join(arguments.trace)}",
    )
    if arguments.roadmap:
        roadmap = optimizer.get_roadmap()
        return render_roadmap(roadmap[:top], len(roadmap), more=f"{more} --roadmap --top 0", width=width)
    if arguments.critical:
        critical = optimizer.get_critical_suggestions()
        return render_suggestions(
            critical[:top],
            len(critical),
            "critical suggestion",
            more=f"{more} --critical --top 0",
            width=min(width, WIDTH),
        )
    found = optimizer.get_suggestions()
    return render_suggestions(
        found[:top], len(found), more=f"{more} --top 0", width=min(width, WIDTH), limit=optimizer.limit
    )
