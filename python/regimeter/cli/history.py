# SPDX-License-Identifier: Apache-2.0
"""``regimeter history``: how an operation went over the runs, where it changed its level, and the database itself."""

import argparse
from typing import TYPE_CHECKING

from .errors import CommandError
from .place import add_commit, add_place, at_least_one, history_of_runs

if TYPE_CHECKING:
    from .common import Verbs

ACTIONS = ("add", "judge", "list", "export", "page", "migrate", "info")
EPILOG = """\
regimeter history OP [--branch B] [--limit N]       the series of an operation with its changes of level
regimeter history add FILE... [--state clean]       keep a run (its processes)
regimeter history judge FILE... [--confirm FILE]    one run against at least 8 accepted ones before it
regimeter history list                              the runs
regimeter history export --parquet FILE             all samples for other tools
regimeter history page --html FILE                  all operations and runs as one page
regimeter history migrate, regimeter history info   bring the database up to date; say what it holds

An operation that is called like one of these words is given with --op. Exit codes of judge: 1 confirmed regression,
3 suspected, so run it once more and pass that run with --confirm, 0 otherwise.
"""


def add_parser(verbs: "Verbs", common: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "history", parents=[common], epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("words", metavar="OP | ACTION", nargs="*", help="an operation, or what to do with which files")
    add_place(parser)
    add_commit(parser)
    parser.add_argument("--op", metavar="NAME", help="the operation")
    parser.add_argument("--metric", metavar="NAME", default="time", help="what of it (default: time)")
    parser.add_argument("--environment", metavar="KEY", help="only runs of this environment")
    parser.add_argument("--limit", metavar="N", type=at_least_one, default=None, help="newest runs only")
    parser.add_argument("--state", choices=("recorded", "clean"), default="recorded", help="add: the run was judged")
    parser.add_argument("--confirm", metavar="FILE", action="append", help="judge: the confirming run; repeatable")
    parser.add_argument("--threshold", metavar="PERCENT", type=float, default=5.0, help="judge: change that matters")
    parser.add_argument("--parquet", metavar="FILE", help="export: the file to write")
    parser.add_argument("--html", metavar="FILE", help="page: the file to write")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Show the series, or do what the first word says."""
    words = arguments.words
    action = words[0] if arguments.op is None and words and words[0] in ACTIONS else None
    name = arguments.op if arguments.op is not None else " ".join(words)
    if action is None and (not name or (arguments.op is not None and words)):
        raise CommandError("name an operation, or one of: " + ", ".join(ACTIONS))
    history_of_runs()
    from .history_actions import HANDLERS, show_series  # what it imports needs the extra

    return show_series(arguments, name) if action is None else HANDLERS[action](arguments, words[1:])
