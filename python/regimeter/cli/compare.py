# SPDX-License-Identifier: Apache-2.0
"""``regimeter compare``: did it get slower, with what certainty; for people, for gates and for other tools."""

import argparse
import itertools
import math
import os
import re
import sys
from typing import TYPE_CHECKING, Any

from ..compare import ProfilerComparison
from ..compare.decide import NO_BASELINE, PASS
from ..compare.side import UNITS
from ..compare.sources import side_of
from ..report.comparison import render
from ..report.comparison_github import publish
from ..system import quantities
from ..system.files import atomic_writer
from ..system.text import width_of
from .common import as_option, number, whole_number
from .errors import CommandError
from .files import check_output, style_of

if TYPE_CHECKING:
    from .common import Verbs

FORMATS = ("text", "json", "junit", "markdown", "github", "html", "csv")
SORTS = ("impact", "ratio", "name")
WHOLES = ("total_time", "total_memory")
# A name of the history: the last run, a branch, a tag or a commit of it.
ROWS, TERMINAL_ROWS = 20, 8
MOST_TRENDS = 200  # operations whose earlier values the page draws
COMMIT = re.compile(r"[0-9a-f]{7,40}")
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_@+-]*")  # of a baseline, where it cannot be taken for a file
REFERENCE = re.compile(r"last|db:.*|[0-9a-f]{7,40}", re.DOTALL)
EPILOG = """\
BASE and CURRENT are recordings, exported profiles or traces; several of one side, separated by commas, are several
processes of it. BASE may also be db:BRANCH, db:tag:NAME, db:commit:SHA, a commit, `last` or the name of a baseline,
from the history; a file of such a name is written ./last. Where the history has no such run yet, this one is
saved under the name and passes. --format github prints annotations and appends the report to the file that
GITHUB_STEP_SUMMARY names (or writes it where -o says).

exit codes: 0 pass, 1 regression, 2 usage or unreadable input, 3 undecided (with --strict), 4 not comparable or
nothing to compare, 5 no baseline (with --require-baseline)
"""


def add_parser(verbs: "Verbs", common: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "compare", parents=[common], epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("base", metavar="BASE", help="baseline")
    parser.add_argument("current", metavar="CURRENT", help="what is compared with it")
    add_rule_options(parser)
    parser.add_argument("--paired", action="store_true", help="file i of both sides ran together, in random order")
    parser.add_argument("--only-changed", action="store_true", help="leave out what is plainly unchanged")
    parser.add_argument("--sort", choices=SORTS, default="impact", help="order of the rows (default: impact)")
    parser.add_argument(
        "--top",
        metavar="N",
        type=whole,
        help=f"rows of the text report (default: {ROWS}, in a terminal {TERMINAL_ROWS})",
    )
    parser.add_argument("--format", choices=FORMATS, default=None, help="format of the report (default: text)")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the report there instead of printing it")
    parser.add_argument("--save", action="store_true", help="keep CURRENT and the verdicts in the history")
    parser.add_argument("--require-baseline", action="store_true", help="exit with 5 when there is no baseline")
    parser.set_defaults(run=run)


def add_rule_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the decision rule, which several verbs share."""
    rule = parser.add_argument_group("rule")
    rule.add_argument("--threshold", metavar="PERCENT", type=percent, default=5.0, help="change that matters (5%%)")
    rule.add_argument("--alpha", metavar="Q", type=rate, default=0.05, help="false-discovery rate (default: 0.05)")
    rule.add_argument("--fdr", choices=("bh", "by", "none"), default="bh", help="correction for many rows")
    rule.add_argument("--decision", choices=("catch", "estimate", "prove"), default="catch", help="when to fail")
    rule.add_argument(
        "--metric",
        metavar="NAME",
        action="append",
        choices=tuple(UNITS),
        help="metric to compare, repeatable (default: time)",
    )
    rule.add_argument(
        "--no-whole",
        metavar="NAME",
        action="append",
        choices=WHOLES,
        help=f"leave out a single test of the whole, repeatable: {', '.join(WHOLES)}",
    )
    rule.add_argument("--min-share", metavar="PART", type=share, help="least part of the whole that gates (0.005)")
    rule.add_argument(
        "--run-floor", metavar="PERCENT", type=percent, help="how far two processes differ (default: what is known)"
    )
    rule.add_argument(
        "--fail-on", choices=("regression", "any", "never"), default="regression", help="what makes the gate fail"
    )
    rule.add_argument("--strict", action="store_true", help="exit with 3 when a row that gates is undecided")
    rule.add_argument("--force", action="store_true", help="compare although the environments forbid it")


whole = whole_number("a whole number of at least 0")
rate = number("a number between 0 and 1", lambda value: 0 < value < 1)
share = number("a part of at least 0, such as 0.005", lambda value: 0 <= value < math.inf)


def percent(text: str) -> float:
    """Read a percentage, with or without its sign; ArgumentTypeError for anything else."""
    return as_option(quantities.percent, text)


def rule_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options of the decision as ProfilerComparison takes them."""
    return {
        "significance_threshold": arguments.threshold,
        "alpha": arguments.alpha,
        "fdr": arguments.fdr,
        "decision": arguments.decision,
        "metrics": tuple(arguments.metric or ("time",)),
        "min_share": arguments.min_share,
        "run_floor": None if arguments.run_floor is None else arguments.run_floor / 100,
        "wholes": tuple(name for name in WHOLES if name not in (arguments.no_whole or ())),
        "fail_on": arguments.fail_on,
        "strict": arguments.strict,
        "force": arguments.force,
    }


def run(arguments: argparse.Namespace) -> int:
    """Compare, report, and return the exit code of the gate."""
    base, current = _side(arguments.base), _side(arguments.current)
    if arguments.output is not None:
        check_output(arguments.output, [*base, *current])
    style_of(arguments, FORMATS)
    try:
        baseline = _baseline(arguments.base, base, arguments.require_baseline)
    except FileNotFoundError as error:
        if not arguments.require_baseline:
            raise
        raise CommandError(f"{error.filename}: no such baseline; check the path", NO_BASELINE) from None
    if baseline is None:
        return _first_run(arguments, current)
    comparison = ProfilerComparison(baseline, current, paired=arguments.paired, **rule_options(arguments))
    trends = None if baseline is base else _with_history(arguments, comparison)
    for row in comparison.differences if comparison.incomparable else ():
        if row.incomparable:
            print(f"regimeter: not comparable: {row.words}; --force compares all the same", file=sys.stderr)
    _report(arguments, comparison, trends)
    return comparison.exit_code


def _side(text: str) -> list[str]:
    parts = [part for part in text.split(",") if part]
    if not parts:
        raise CommandError(f"{text!r}: names no file")
    return parts


def _shown(text: str) -> str:
    """Return a side's name for a heading."""
    files = _side(text)
    return files[0] if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"


def _title(base: str, current: str) -> str:
    """Return the heading, without the folders that both sides lie in."""
    sides = base.split("/"), current.split("/")
    folders = zip(*(side[:-1] for side in sides), strict=False)
    shared = len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], folders)))
    shared = 0 if base.startswith("/") and shared == 1 else shared  # the root alone
    return " compared with ".join("/".join(side[shared:]) for side in sides)


def _baseline(text: str, files: list[str], required: bool) -> Any:
    """Return what the baseline's name stands for: files, what the history has for it, or None where it has nothing."""
    if not _is_reference(text):
        missing = [file for file in files if not os.path.exists(file)]
        if missing and required:
            raise FileNotFoundError(2, "No such file or directory", missing[0])
        return files
    history = _history(text)
    try:
        return history.resolve_baseline(text)
    except history.NoBaselineError:
        return None


def _is_reference(text: str) -> bool:
    """Whether the text is a name in the history rather than files: a reference, or a bare word that is no file."""
    if text.startswith("db:") or text == "last":
        return True
    if os.path.exists(text):
        return False
    if REFERENCE.fullmatch(text):
        return True
    if not NAME.fullmatch(text):
        return False
    location = os.environ.get("REGIMETER_HISTORY") or os.path.join(".regimeter", "history.db")
    return "://" in location or os.path.exists(location)


def _history(text: str) -> Any:
    try:
        # An extra, and 400 ms. By its name: the package may have the attribute without it.
        import regimeter.history as history
    except ImportError as error:
        raise CommandError(
            f"{text}: the history of runs is not available ({error}); install it with"
            " `pip install 'regimeter[history]'`, or name a file"
        ) from None
    return history


def _first_run(arguments: argparse.Namespace, current: list[str]) -> int:
    """Save the run as the baseline that there was not yet; it passes, unless a baseline was required."""
    if arguments.require_baseline:
        print(f"regimeter: {arguments.base}: no such baseline in the history; nothing was compared", file=sys.stderr)
        return NO_BASELINE
    history = _history(arguments.base)
    store = history.open_history()
    run = store.add(side_of(current, "current"), history.commit_of())
    name = arguments.base.removeprefix("db:")
    if NAME.fullmatch(name) and name != "last" and not COMMIT.fullmatch(name):
        history.Baselines(store).save(name, run, "first run of the gate")
    print(
        f"regimeter: {arguments.base}: no such baseline yet; this run was saved as run {run.id}, nothing was compared",
        file=sys.stderr,
    )
    return PASS


def _with_history(arguments: argparse.Namespace, comparison: ProfilerComparison) -> dict[str, Any]:
    """Mark what was accepted, with --save keep the run and its verdicts; return earlier values for the page."""
    history = _history(arguments.base)
    store = history.open_history(create=False)
    baselines = history.Baselines(store)
    comparison.comparisons = baselines.mark_accepted(comparison.comparisons)
    comparison.wholes = baselines.mark_accepted(comparison.wholes)
    if arguments.save:
        run = store.add(comparison.current, history.commit_of())
        store.add_comparison(run, comparison, arguments.base)
    if arguments.format != "html":
        return {}
    operations = [row.operation for row in comparison.comparisons if row.metric == "time"]
    earlier = {name: history.series.series_of(store, name, limit=200) for name in operations[:MOST_TRENDS]}
    return {name: _trend(found[0]) for name, found in earlier.items() if found}


def _trend(series: Any) -> dict[str, Any]:
    """Return the values of an operation in the runs of its newest environment, with the changes of their level."""
    points = [
        {"label": point.run.commit[:10] if point.run.commit else f"run {point.run.id}", "value": point.value}
        for point in series.points
    ]
    changes = [
        {"at": change.at, "p": change.p, "before": change.before, "after": change.after} for change in series.changes
    ]
    return {"points": points, "changes": changes}


def _report(
    arguments: argparse.Namespace,
    comparison: ProfilerComparison,
    trends: dict[str, Any] | None,
) -> None:
    width = None if arguments.output else width_of(sys.stdout)
    style = style_of(arguments, FORMATS)
    default = ROWS if style != "text" or width is None else TERMINAL_ROWS
    view = {
        "top": default if arguments.top is None else arguments.top,
        "only_changed": arguments.only_changed,
        "sort": arguments.sort,
        "history": trends,
        "width": width,
        "title": _title(_shown(arguments.base), _shown(arguments.current)),
    }
    if style == "github":
        print(publish(comparison, arguments.output, **view), end="")
        return
    text = render(comparison, style, **view)
    if arguments.output:
        with atomic_writer(arguments.output) as out:
            out.write(text if text.endswith("\n") else text + "\n")
    else:
        print(text if not text.endswith("\n") else text[:-1])
