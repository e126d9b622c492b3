# SPDX-License-Identifier: Apache-2.0
"""The analyses of a trace as verbs, one per ``Verb`` of regimeter.analysis: ``regimeter kernels TRACE``."""

import argparse
from typing import TYPE_CHECKING

from ..analysis.catalog import find_verbs
from ..analysis.verb import Verb
from . import counters, ranks
from .common import check_thresholds, load_run, not_negative, only, print_document, text_width

if TYPE_CHECKING:
    from types import ModuleType

    from ..analysis.result import Result
    from .common import Verbs

TRACE = (
    "trace, recording or saved run; plain, gzip or zstd; - for standard input; several or a directory: a job's ranks"
)

# Verbs that do more than show a table: they add options, and run themselves.
EXTENDED = {"counters": counters, "ranks": ranks}
CEILINGS = "calibration of the device (JSON of `regimeter calibrate --json`); default: this machine's, else a datasheet"


def add_parser(verbs: "Verbs", common: argparse.ArgumentParser) -> None:
    """Declare every verb."""
    for verb in find_verbs().values():
        _add(verbs, common, verb)


def _add(verbs: "Verbs", common: argparse.ArgumentParser, verb: Verb) -> None:
    parser = verbs.add_parser(verb.name, parents=[common], allow_abbrev=False, help=verb.help)
    if verb.other:
        parser.add_argument("other", metavar=verb.other, help="the trace that the next one is compared with")
    plans = verb.name == "counters"  # without a trace it plans for a chip
    parser.add_argument("trace", metavar="TRACE", help=TRACE, nargs=None if verb.other else "*" if plans else "+")
    if verb.by:
        choices = tuple(verb.by)
        parser.add_argument("--by", choices=choices, default=choices[0], help=f"default: {choices[0]}")
    for option, values in verb.choices.items():
        first = next(iter(values))
        parser.add_argument(
            f"--{option}", dest=f"choice_{option}", choices=tuple(values), default=first, help=f"default: {first}"
        )
    if verb.text_option:
        parser.add_argument(f"--{verb.text_option.lstrip('-')}", dest="text", metavar="TEXT", help="look at this only")
    for option, threshold in verb.options.items():
        parser.add_argument(
            f"--{option.lstrip('-')}",
            dest=f"set_{threshold}",
            metavar="VALUE",
            type=_amount,
            help="rows to show; 0 for all" if option == "top" else f"threshold {threshold}",
        )
    if "top" not in verb.options:  # an analysis that looks for the first N itself
        parser.add_argument("--top", metavar="N", type=not_negative, help="rows to show; 0 for all")
    parser.add_argument(
        "--set", metavar="NAME=VALUE", action="append", default=[], type=_threshold, help="a threshold of the analysis"
    )
    if verb.rules:
        parser.add_argument(
            "--rule",
            metavar="TEXT=ACTIVITY",
            action="append",
            default=[],
            type=_rule,
            help="kernels with TEXT (^TEXT: at the beginning) in their name do compute, communication or memory",
        )
    if verb.ceilings:
        parser.add_argument("--ceilings", metavar="FILE", help=CEILINGS)
    parser.add_argument("--strict", action="store_true", help="damage in the trace is an error")
    parser.set_defaults(run=run, analysis=verb.name)
    if verb.name in EXTENDED:
        EXTENDED[verb.name].extend(parser)
        parser.set_defaults(run=EXTENDED[verb.name].run, analyse=run)


def _amount(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not value >= 0:
        raise argparse.ArgumentTypeError(f"expected a number of at least 0, got {text!r}")
    return value


def _threshold(text: str) -> tuple[str, float]:
    name, separator, value = text.partition("=")
    if not separator or not name:
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, got {text!r}")
    return name, _amount(value)


def _rule(text: str) -> tuple[str, str]:
    name, separator, activity = text.rpartition("=")
    if not separator or not name:
        raise argparse.ArgumentTypeError(f"expected TEXT=ACTIVITY, got {text!r}")
    return name, activity


def run(arguments: argparse.Namespace) -> int:
    """Print the rows."""
    result = analyse(arguments)
    special = _special(arguments.analysis)
    file = only(arguments.trace)
    if arguments.json:
        print_document(result.to_document(file) | ({"baseline": arguments.other} if result.verb.other else {}))
    elif special:
        print(special.text(result, text_width()))
    else:
        print(result.text(text_width()))
        _explain(result, arguments.quiet)
    return 0


def analyse(arguments: argparse.Namespace) -> "Result":
    """Return the result that the arguments ask for."""
    verb = find_verbs()[arguments.analysis]
    run = load_run(only(arguments.trace), strict=arguments.strict, quiet=arguments.quiet)
    other = load_run(arguments.other, strict=arguments.strict, quiet=arguments.quiet) if verb.other else None
    thresholds = {name: getattr(arguments, f"set_{name}") for name in verb.options.values()}
    thresholds = {name: value for name, value in thresholds.items() if value is not None} | dict(arguments.set)
    check_thresholds(thresholds)
    default = 0 if arguments.json else verb.top
    return run.result(
        verb.name,
        by=getattr(arguments, "by", None),
        text=getattr(arguments, "text", None),
        other=other,
        thresholds=thresholds,
        rules=getattr(arguments, "rule", ()),
        ceilings=getattr(arguments, "ceilings", None),
        choices={option: getattr(arguments, f"choice_{option}") for option in verb.choices},
        top=(default if getattr(arguments, "top", None) is None else arguments.top) or None,
    )


def _special(name: str) -> "ModuleType | None":
    """Return the module that shows a verb in a form of its own."""
    if name == "breakdown":
        from . import breakdown

        return breakdown
    return None


def _explain(result: "Result", quiet: bool) -> None:
    if not quiet and result.left_out:
        print(f"\n{len(result):,} of {len(result.table):,} rows; --top 0 shows all")
