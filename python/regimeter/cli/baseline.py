# SPDX-License-Identifier: Apache-2.0
"""``regimeter baseline``: what later runs are compared with, and what was accepted, by whom and why."""

import argparse
from typing import TYPE_CHECKING

from .place import add_commit, add_place, at_least_one, history_of_runs

if TYPE_CHECKING:
    from .common import Verbs

ACTIONS = ("save", "accept", "list", "rm", "promote")
EPILOG = """\
regimeter baseline save NAME FILE...                       keep a run (its processes) and call it NAME
regimeter baseline accept --op PATTERN --reason TEXT       operations that may be slower, [--until DATE]
regimeter baseline list [--all]                            what stands, or all that ever was done
regimeter baseline rm NAME                                 withdraw a name, or an accepted pattern
regimeter baseline promote NAME RUN --reason TEXT          NAME stands for another run: a number, last, db:BRANCH, ...
regimeter baseline promote --after-clean N [--branch B]    the branch's newest run, after N clean runs in a row

The history is where --db or REGIMETER_HISTORY says, else .regimeter/history.db. Exit code 5: no such baseline.
"""


def add_parser(verbs: "Verbs", common: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "baseline", parents=[common], epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("action", choices=ACTIONS)
    parser.add_argument("names", metavar="NAME | FILE", nargs="*", help="the baseline's name, then files or a run")
    add_place(parser)
    add_commit(parser)
    parser.add_argument("--op", metavar="PATTERN", help="accept: name of operations, * and ? stand for any text")
    parser.add_argument("--reason", metavar="TEXT", default="", help="why; kept with author and time")
    parser.add_argument("--until", metavar="DATE", help="accept: last day, as YYYY-MM-DD")
    parser.add_argument("--all", action="store_true", help="list: also what was withdrawn or replaced")
    parser.add_argument("--after-clean", metavar="N", type=at_least_one, help="promote: after N clean runs in a row")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Do what the action says and tell what was written."""
    history_of_runs()
    from .baseline_actions import HANDLERS  # what it imports needs the extra

    return HANDLERS[arguments.action](arguments)
