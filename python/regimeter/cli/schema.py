# SPDX-License-Identifier: Apache-2.0
"""``regimeter schema``: the JSON Schema of a document that another verb prints or writes."""

import argparse
from typing import TYPE_CHECKING

from ..schemas import find_schema, names
from .common import print_document
from .errors import CommandError

if TYPE_CHECKING:
    from .common import Verbs


def add_parser(verbs: "Verbs", common: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    parser = verbs.add_parser("schema", parents=[common])
    parser.add_argument("name", metavar="NAME", nargs="?", help="as in the document's format: show, kernels, ...")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the schema of one document, or their names."""
    if arguments.name is None:
        found = names()
        print_document(found) if arguments.json else print(*found, sep="\n")
        return 0
    try:
        print_document(find_schema(arguments.name))
    except ValueError as error:
        raise CommandError(str(error)) from None
    return 0
