# SPDX-License-Identifier: Apache-2.0
"""``regimeter explain RUN``: a page that fits into an issue or a prompt."""

import argparse
from typing import TYPE_CHECKING

from ..report.explanation import explain
from .analyse import TRACE
from .common import print_document
from .runs import load_run, only

if TYPE_CHECKING:
    from .common import Verbs


def add_parser(verbs: "Verbs", common: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    parser = verbs.add_parser("explain", parents=[common])
    parser.add_argument("trace", metavar="RUN", nargs="+", help=TRACE)
    parser.add_argument("--format", choices=("text", "markdown", "json"), default="text", help="default: text")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the page."""
    trace = only(arguments.trace)
    found = explain(load_run(trace, quiet=arguments.quiet), trace)
    if arguments.json or arguments.format == "json":
        print_document(found.to_document())
    else:
        print(found.markdown() if arguments.format == "markdown" else found.text())
    return 0
