# SPDX-License-Identifier: Apache-2.0
"""``regimeter query RUN SQL``: one SELECT over the tables of a run, or of a data set of many ranks."""

import argparse
from typing import TYPE_CHECKING, Any

from ..query import query
from ..query.sources import is_dataset
from ..system.text import TextTable, printable, render
from .common import not_negative, print_document
from .runs import load_run

if TYPE_CHECKING:
    from .common import Verbs

SHOWN = 100
SQL = "one SELECT; tables by their names in docs/schema.md; SHOW TABLES and DESCRIBE list them and their columns"


def add_parser(verbs: "Verbs", common: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    parser = verbs.add_parser("query", parents=[common])
    parser.add_argument("file", metavar="RUN|DATASET", help="a run, a trace, or a folder that --dataset has written")
    parser.add_argument("sql", metavar="SQL", help=SQL)
    parser.add_argument("--top", metavar="N", type=not_negative, default=SHOWN, help="rows of text; 0 for all")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the rows."""
    source = arguments.file if is_dataset(arguments.file) else load_run(arguments.file, quiet=arguments.quiet)
    found = query(source, arguments.sql)
    if arguments.json:
        print_document(found.to_document(arguments.file))
        return 0

    def cell(value: Any) -> str:
        return "" if value is None else printable(str(value))

    shown = found.rows[: arguments.top or None]
    print(render(TextTable("", found.columns, [[cell(value) for value in row] for row in shown])).strip("\n"))
    if not arguments.quiet and len(shown) < len(found.rows):
        print(f"\n{len(shown):,} of {len(found.rows):,} rows; --top 0 shows all")
    return 0
