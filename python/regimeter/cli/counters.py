# SPDX-License-Identifier: Apache-2.0
"""``regimeter counters --chip NAME`` and ``--chips``: plan hardware counters without a device or a trace."""

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from .._core import UnavailableError
from ..capture.counters import chips, plan, sets
from . import analyse
from .common import print_document
from .errors import CommandError

if TYPE_CHECKING:
    from ..capture.counters import Plan
    from .common import Verbs

VERSION = 1


def add_parser(verbs: "Verbs", common: argparse.ArgumentParser) -> None:
    """Declare the verb: an analysis, with options that make it plan instead of looking into a trace."""
    parser = analyse.declare(verbs, common, "counters")
    parser.set_defaults(run=run)
    group = parser.add_argument_group("planning, which needs no trace and no device, only CUPTI")
    group.add_argument("--chip", metavar="NAME", help="metrics and passes on a chip, as GH100 (H100, H200)")
    group.add_argument("--chips", action="store_true", help="the chips that can be planned for")
    group.add_argument("--for", dest="counter_set", metavar="SET", help="one set of counters only: pm, regime, ...")


def run(arguments: argparse.Namespace) -> int:
    """Plan where a chip is named, else analyse the trace."""
    planning = arguments.chips or arguments.chip is not None
    if planning and arguments.trace:
        raise CommandError("counters: give a TRACE, or --chip or --chips, not both")
    if not planning and not arguments.trace:
        raise CommandError("counters: name a TRACE to look into, or plan with --chip NAME or --chips")
    if arguments.chips:
        return _list_chips(arguments)
    if planning:
        return _plan(arguments)
    return analyse.run(arguments)


def _list_chips(arguments: argparse.Namespace) -> int:
    names = chips()
    if arguments.json:
        print_document({"format": "regimeter.counter_chips", "version": VERSION, "chips": names})
    else:
        print("\n".join(names))
    return 0


def _plan(arguments: argparse.Namespace) -> int:
    known = sets()
    chosen = [arguments.counter_set] if arguments.counter_set else list(known)
    plans, refused = [], []
    for name in chosen:
        try:
            plans.append(plan(arguments.chip, name))
        except UnavailableError as error:  # a chip without PM sampling still has the other sets
            refused.append((name, str(error)))
    if not plans and refused:
        raise UnavailableError(refused[0][1])
    if arguments.json:
        print_document(
            {
                "format": "regimeter.counter_plan",
                "version": VERSION,
                "chip": arguments.chip,
                "library": plans[0].library,
                "sets": [_document(made) for made in plans],
                "refused": [{"set": name, "reason": reason} for name, reason in refused],
            }
        )
        return 0
    for made in plans:
        print("\n".join(_lines(made, known[made.set]["doc"])), end="\n\n")
    for name, reason in refused:
        print(f"{name}: {reason}\n")
    if not arguments.quiet:
        library = plans[0].library
        print(f"planned with {library['path']}, API version {library['api_version']}")
    return 0


def _document(made: "Plan") -> dict[str, Any]:
    found = {"set": made.set, "profiler": made.profiler, "passes": made.passes, "groups": made.groups}
    rows = [asdict(row) | {"measured": row.measured, "reason": row.reason} for row in made.counters]
    return found | {"counters": rows}


def _lines(made: "Plan", doc: str) -> list[str]:
    passes = f"{made.passes} pass{'' if made.passes == 1 else 'es'}"
    head = f"{made.set} on {made.chip}: {doc}; {passes}"
    if made.dropped:
        head += f", {len(made.measured)} of {len(made.counters)} counters in the first"
    wide = max(len(row.role) for row in made.counters)
    metric = max(len(row.metric or "-") for row in made.counters)
    lines = [head]
    for row in made.counters:
        text = f"  {row.role:{wide}}  {row.metric or '-':{metric}}  {row.unit:18}  {row.reason}"
        lines.append(text.rstrip())
    return lines
