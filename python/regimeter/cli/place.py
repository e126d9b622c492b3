# SPDX-License-Identifier: Apache-2.0
"""Where the history of runs is: the options that name it, and opening it."""

import argparse
from types import ModuleType
from typing import TYPE_CHECKING

from .common import whole_number
from .errors import CommandError

if TYPE_CHECKING:
    from ..history import History


def add_place(parser: argparse.ArgumentParser) -> None:
    """Declare where the history is."""
    parser.add_argument("--db", metavar="WHERE", help="path or URL of the history (default: REGIMETER_HISTORY)")


def add_commit(parser: argparse.ArgumentParser) -> None:
    """Declare what git, or the CI system, says otherwise."""
    parser.add_argument("--branch", metavar="NAME", help="branch (default: what git or the CI system says)")
    parser.add_argument("--commit", metavar="SHA", help="commit of a saved run, likewise")
    parser.add_argument("--tag", metavar="NAME", help="tag of a saved run, likewise")


at_least_one = whole_number("a number of at least 1", 1)


def history_of_runs() -> ModuleType:
    """Return the package of the history. CommandError when its extra is not installed."""
    try:
        import regimeter.history as history  # not before it is used: it takes 400 ms, and needs an extra
    except ImportError as error:
        raise CommandError(str(error), 1) from None
    return history


def open_place(arguments: argparse.Namespace, *, create: bool) -> "History":
    """Open the history that the arguments name. CommandError when the extra is not installed."""
    history: History = history_of_runs().open_history(arguments.db, create=create)
    return history
