# SPDX-License-Identifier: Apache-2.0
"""``regimeter recover``: a run from a file that was cut or damaged."""

import argparse
from typing import TYPE_CHECKING

from ..run.formats import RUNS, choose
from ..system.text import count, printable
from .common import next_step, print_document
from .errors import CommandError
from .files import check_output
from .progress import step
from .runs import load_run

if TYPE_CHECKING:
    from .common import Verbs


def add_parser(verbs: "Verbs", common: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    parser = verbs.add_parser("recover", parents=[common])
    parser.add_argument("file", metavar="FILE", help="recording of a killed program, or a damaged file; not changed")
    parser.add_argument("-o", "--output", metavar="OUT", required=True, help="file for the recovered run")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Read what is intact, save it, and say what is missing."""
    choose(arguments.output, RUNS, default="run")
    check_output(arguments.output, arguments.file)
    loaded = load_run(arguments.file, recover=True, quiet=arguments.quiet)
    if loaded.source == "export":
        raise CommandError(f"{arguments.file}: an exported profile, which is whole or unreadable; nothing to recover")
    with step(f"writing {arguments.output}", quiet=arguments.quiet):
        loaded.save(arguments.output)
    missing = loaded.anomaly_list()
    if arguments.json:
        print_document(
            {
                "format": "regimeter.recover",
                "version": 1,
                "file": arguments.output,
                "scopes": len(loaded.spans),
                "samples": len(loaded.memory),
                "lanes": len(loaded.lanes),
                "complete": loaded.complete,
                "missing": missing,
            }
        )
        return 0
    recovered = f"{count(len(loaded.spans), 'scope')} and {count(len(loaded.memory), 'memory sample')}"
    print(f"{arguments.output}: {recovered} recovered from {arguments.file}")
    for row in missing:
        print(f"  {row['count']:,} {row['code']}: {printable(row['detail'])}")
    if not missing:
        print("  nothing is missing")
    if not arguments.quiet:
        print(f"Next: {next_step('show', arguments.output)}")
    return 0
