# SPDX-License-Identifier: Apache-2.0
"""The analyses of a trace as verbs, one per ``Verb`` of regimeter.analysis: ``regimeter kernels TRACE``."""

import argparse
import difflib
from typing import TYPE_CHECKING

from .. import _core
from ..analysis.catalog import find_verbs
from ..analysis.result import column_types
from ..analysis.verb import LISTED
from . import breakdown
from .common import not_negative, number, print_document, text_width
from .errors import CommandError
from .runs import load_run, only
from .verbs import EXTENDED

if TYPE_CHECKING:
    from ..analysis.result import Result
    from .common import Verbs

TRACE = (
    "trace, recording or saved run; plain, gzip or zstd; - for standard input; several or a directory: a job's ranks"
)

ALL = 2.0**31 - 1  # rows, of a threshold for which 0 would be none
# Those that are shown in a form of their own.
FORMS = {"breakdown": breakdown.text}
CEILINGS = "calibration of the device (JSON of `regimeter calibrate --json`); default: this machine's, else a datasheet"


def add_parser(verbs: "Verbs", common: argparse.ArgumentParser) -> None:
    """Declare every verb that does no more than this."""
    for name in find_verbs():
        if name not in EXTENDED:
            declare(verbs, common, name)


def declare(verbs: "Verbs", common: argparse.ArgumentParser, name: str) -> argparse.ArgumentParser:
    """Declare the verb of an analysis, with the options that its description names."""
    verb = find_verbs()[name]
    parser = verbs.add_parser(verb.name, parents=[common])
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
    return parser


_amount = number("a number of at least 0", lambda value: value >= 0)


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
    form = FORMS.get(arguments.analysis)
    file = only(arguments.trace)
    if arguments.json:
        print_document(result.to_document(file) | ({"baseline": arguments.other} if result.verb.other else {}))
    elif form:
        print(form(result, text_width()))
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
    limited = verb.options.get("top", "")
    rest = "others" in column_types("results", _core.analyses()[verb.analysis]["table"])
    if limited and rest and not arguments.json:  # the rest is a row of the table
        thresholds = {limited: float(LISTED)} | thresholds
    if limited and not rest and thresholds.get(limited) == 0:
        thresholds[limited] = ALL
    # Who gives `--top` where it is a threshold asks for all rows that this leaves.
    default = 0 if arguments.json or (limited and getattr(arguments, f"set_{limited}") is not None) else verb.top
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


def check_thresholds(thresholds: dict[str, float]) -> None:
    """Refuse names that no threshold has, with similar ones."""
    known = _core.policy()
    for name in thresholds:
        if name not in known:
            near = difflib.get_close_matches(name, known, cutoff=0.5)
            raise CommandError(
                f"no threshold is called {name!r}; {'similar' if near else 'valid'}: {', '.join(near or known)}"
            )


def _explain(result: "Result", quiet: bool) -> None:
    merged = "others" in result.types and any(result.values("others"))
    if not quiet and (result.left_out or merged):
        rows = f"{len(result):,} of {len(result.table):,} rows; " if result.left_out else ""
        print(f"\n{rows}--top 0 shows all")
