# SPDX-License-Identifier: Apache-2.0
"""``regimeter report``: one HTML file that opens without a network."""

import argparse
import os
from typing import TYPE_CHECKING

from .common import load_run, print_document

if TYPE_CHECKING:
    from .common import Verbs


def add_parser(verbs: "Verbs", common: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "report", parents=[common], allow_abbrev=False, help="write a run as one HTML file that needs no network"
    )
    parser.add_argument("run_file", metavar="RUN", help="recording, saved run or exported JSON")
    parser.add_argument("-o", "--output", metavar="FILE", default="report.html", help="default: report.html")
    parser.add_argument("--title", help="heading of the page (default: the recorded command)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the page."""
    from .files import check_output
    from .progress import step

    check_output(arguments.output, arguments.run_file)
    loaded = load_run(arguments.run_file, quiet=arguments.quiet)
    with step(f"writing {arguments.output}", quiet=arguments.quiet):
        loaded.write_html(arguments.output, title=arguments.title)
    size = os.path.getsize(arguments.output)
    if arguments.json:
        print_document({"file": arguments.output, "bytes": size, "scopes": len(loaded.entries)})
    elif not arguments.quiet:
        print(f"{arguments.output}: {size / 1e3:,.0f} kB, {len(loaded.entries):,} scopes")
        print(f"Next: open {arguments.output} in a browser")
    return 0
