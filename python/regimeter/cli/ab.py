# SPDX-License-Identifier: Apache-2.0
"""``regimeter ab``: two commands or commits launched in pairs of random order, and compared."""

import argparse
import contextlib
import itertools
import json
import os
import random
import re
import shlex
import signal
import sys
import time
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from ..compare.ab.experiment import STOPPED, Experiment
from ..compare.ab.launches import Command, LaunchError
from ..compare.ab.worktrees import WorktreeError, checked_out, commit_of, top_of
from ..compare.decide import NOT_COMPARABLE
from ..report.comparison_github import publish
from ..system import callgrind, quantities
from ..system.fitting import fitted
from .common import as_option, whole_number
from .compare import FORMATS, add_rule_options, percent, rule_options
from .errors import CommandError

if TYPE_CHECKING:
    from .common import Verbs

USAGE = "regimeter ab --base CMD|REF --current CMD|REF [options] [-- ARGS ...]"
HERE = "."
EPILOG = """\
CMD is a command line in one word: --base "bench.py --old" --current "bench.py --new"; ARGS follow both.
REF is a commit, branch or tag of the repository around this folder, checked out into a temporary worktree, or `.` for
the tree as it is; ARGS are then the command: --base main --current . -- python bench.py

Both programs of a pair run under `regimeter record`, in turn: a few milliseconds of one, then of the other. Programs
that cannot (work on a device, one scope, several threads) run one after the other. A pair that the machine disturbed is
run again. Recordings, ab.json and the report's data stay in FOLDER.

With --count nothing is timed, so neither the machine nor its load matters; what a count cannot see (caches, memory,
waiting, a device) it does not see. A run takes some 50 times as long.

exit codes: those of `regimeter compare`; 4 also when too many pairs were disturbed or a command failed
"""


def add_parser(verbs: "Verbs", common: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "ab",
        parents=[common],
        usage=USAGE,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--base", metavar="CMD|REF", required=True, help="command or commit that is the baseline")
    parser.add_argument("--current", metavar="CMD|REF", required=True, help="what is compared with it")
    parser.add_argument(
        "--pairs",
        metavar="N",
        type=whole_number("a number of pairs from 1 to 9999", 1, 9999),
        help="pairs of launches to use (default: 10, with --budget as many as it holds)",
    )
    parser.add_argument(
        "--count",
        choices=("instructions",),
        help="compare instructions, counted by Valgrind's Callgrind, in place of times; each pair is another layout of "
        "memory (default: 5 pairs)",
    )
    parser.add_argument("--budget", metavar="TIME", type=duration, help="begin no pair that would end later: 90s, 5m")
    parser.add_argument("--seed", metavar="N", type=int, help="of the random order (default: a new one, printed)")
    parser.add_argument("--ops", metavar="PATTERN", action="append", help="operations to compare, with *; repeatable")
    parser.add_argument("--all-pairs", action="store_true", help="run all pairs even when nothing is open before")
    parser.add_argument("--guard", metavar="PERCENT", type=percent, default=6.0, help="common shift of a pair (6%%)")
    parser.add_argument(
        "--cpus", metavar="LIST", type=processors, default=frozenset(), help="run both sides on these: 2 or 0,4-6"
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--in-turns",
        action="store_true",
        default=None,
        help="run both programs of a pair at the same time, one of them at a time (default where they can)",
    )
    how.add_argument(
        "--one-after-the-other",
        action="store_false",
        dest="in_turns",
        help="run the second program of a pair when the first has ended",
    )
    parser.add_argument("--format", choices=FORMATS, default=None, help="format of the report (default: text)")
    parser.add_argument("-o", "--output", metavar="FOLDER", help="folder for the recordings (default: a new one)")
    add_rule_options(parser)
    parser.set_defaults(run=run)


def duration(text: str) -> float:
    """Read a time such as 90s, 5m or 1.5h, in seconds, also without a unit; ArgumentTypeError for anything else."""
    return as_option(partial(quantities.seconds, bare="s"), text)


def processors(text: str) -> frozenset[int]:
    """Read numbers of processors such as 2 or 0,4-6; ArgumentTypeError for those that this process may not use."""
    found: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"([0-9]{1,5})(?:-([0-9]{1,5}))?", part.strip())
        if match is None:
            raise argparse.ArgumentTypeError(f"expected processors such as 2 or 0,4-6, got {text!r}")
        found.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    if not found or found - allowed:
        known = ", ".join(map(str, sorted(allowed))) or "none: this system does not bind processes"
        raise argparse.ArgumentTypeError(f"{text!r} names processors that cannot be used here; there are {known}")
    return frozenset(found)


def run(arguments: argparse.Namespace) -> int:
    """Run the pairs, report, and return the exit code of the gate."""
    if arguments.in_turns and arguments.count is not None:
        raise CommandError("ab: counts do not depend on the machine, so --count takes no --in-turns")
    rule = rule_options(arguments)
    pairs = arguments.pairs or 10
    if arguments.count is not None:
        callgrind.version()
        rule |= {"metrics": (arguments.count,), "wholes": ()}
        pairs = arguments.pairs or callgrind.LAYOUTS
    with _commands(arguments) as (base, current):
        experiment = Experiment(
            base,
            current,
            new_folder(arguments.output, "ab"),
            pairs=pairs,
            fill=arguments.pairs is None and arguments.count is None,
            count=arguments.count,
            budget_s=float("inf") if arguments.budget is None else arguments.budget,
            seed=random.SystemRandom().randrange(1_000_000) if arguments.seed is None else arguments.seed,
            early=not arguments.all_pairs and arguments.count is None,
            guard=arguments.guard / 100,
            cpus=arguments.cpus,
            in_turns=arguments.count is None and arguments.in_turns is not False,
            operations=arguments.ops or (),
            options=rule,
            record=() if any(name.startswith("memory") for name in arguments.metric or ()) else ("--interval", "0"),
            tell=_teller(arguments.quiet),
        )
        try:
            experiment.run()
        except LaunchError as error:
            raise failed(error, experiment.folder) from None
    style = arguments.format or ("json" if arguments.json else "text")
    with fitted(sys.stdout) if style == "text" else contextlib.nullcontext():
        _report(arguments, experiment, style)
    if experiment.ended == STOPPED:
        return 128 + signal.SIGINT
    if experiment.invalid:
        return NOT_COMPARABLE
    assert experiment.comparison is not None
    return experiment.comparison.exit_code


def failed(error: Exception, folder: str) -> CommandError:
    """Print the last lines of a failed program and return what to say of it."""
    tail = getattr(error, "tail", "")
    if tail:
        print(*(f"  | {line}" for line in tail.splitlines()), sep="\n", file=sys.stderr)
    return CommandError(f"{error}; its output and what was recorded before are in {folder}", NOT_COMPARABLE)


def new_folder(given: str | None, what: str) -> str:
    """Make the folder for recordings; CommandError when it has something in it or cannot be made."""
    if given is None:
        return _folder_of_now(f"regimeter-{what}-{time.strftime('%Y%m%d-%H%M%S')}")
    try:
        os.makedirs(given, exist_ok=True)
        used = next(os.scandir(given), None)
    except FileExistsError:
        raise CommandError(f"{given}: exists; name another folder with -o") from None
    if used is not None:
        raise CommandError(f"{given}: is not empty; name a new folder with -o")
    return given


def _folder_of_now(name: str) -> str:
    """Make a folder that nobody else has: another experiment may have begun in the same second."""
    folder = name
    for number in itertools.count(2):
        try:
            os.mkdir(folder)
        except FileExistsError:
            folder = f"{name}-{number}"
        else:
            break
    return folder


def _teller(quiet: bool):  # type: ignore[no-untyped-def]
    def tell(line: str) -> None:
        if not quiet:
            with contextlib.suppress(OSError):
                print(f"regimeter: {line}", file=sys.stderr, flush=True)

    return tell


# --- what runs ------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _commands(arguments: argparse.Namespace) -> Iterator[tuple[Command, Command]]:
    """Yield both commands; commits are checked out for as long."""
    common = list(arguments.program)
    commits = {text: _commit(text, common) for text in (arguments.base, arguments.current)}
    try:
        with checked_out([commit for commit in commits.values() if commit and commit != HERE]) as folders:
            yield (
                _command(arguments.base, commits[arguments.base], folders, common),
                _command(arguments.current, commits[arguments.current], folders, common),
            )
    except WorktreeError as error:
        raise CommandError(f"ab: {' '.join(str(error).split())}") from None


def _commit(text: str, common: list[str]) -> str | None:
    """Return the commit that a text names, HERE for the tree as it is, None for a command."""
    if text == HERE:
        if not common:
            raise CommandError(f"ab: {HERE} needs the command after --; usage: {USAGE}")
        return HERE
    commit = None if not common or os.path.isfile(text) else commit_of(text)
    if commit is None and common and not _is_program(text):
        raise CommandError(f"ab: {text!r} is neither a commit of a repository here nor a program; usage: {USAGE}")
    return commit


def _is_program(text: str) -> bool:
    words = shlex.split(text)
    return len(words) > 1 or (bool(words) and os.path.exists(words[0]))


def _command(text: str, commit: str | None, folders: dict[str, str], common: list[str]) -> Command:
    try:
        if commit is None:
            return Command.parse([*shlex.split(text), *common])
        top = os.path.realpath(top_of())
        tree = top if commit == HERE else folders[commit]
        inside = os.path.relpath(os.path.realpath(os.getcwd()), top)
        # What the commands import comes from their own tree first, however the package is installed.
        paths = [tree, os.path.join(tree, "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
        place = os.path.normpath(os.path.join(tree, inside))
        return Command.parse(common, place if os.path.isdir(place) else tree, PYTHONPATH=os.pathsep.join(paths))
    except ValueError as error:
        raise CommandError(f"ab: {error}; usage: {USAGE}") from None


# --- report ---------------------------------------------------------------------------------------------------


def _report(arguments: argparse.Namespace, experiment: Experiment, style: str) -> None:
    if style == "json":
        print(json.dumps(experiment.to_dict(), ensure_ascii=False, indent=1, default=str))
        return
    if experiment.invalid:
        print(f"INVALID  {experiment.invalid}")
    elif experiment.comparison is not None:
        if style == "github":
            print(publish(experiment.comparison, None, title=_title(arguments)), end="")
        else:
            text = experiment.comparison.render(style, **({"title": _title(arguments)} if style != "csv" else {}))
            print(text.removesuffix("\n"))
    lines = [*experiment.evidence(), f"recordings and ab.json: {experiment.folder}"]
    print(*(f"regimeter: {line}" for line in lines), sep="\n", file=sys.stderr if style != "text" else sys.stdout)


def _title(arguments: argparse.Namespace) -> str:
    return f"{arguments.base} compared with {arguments.current}"
