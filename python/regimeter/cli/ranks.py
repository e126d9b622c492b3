# SPDX-License-Identifier: Apache-2.0
"""``regimeter ranks DIR|GLOB``: many ranks, read one by one by processes or a Dask cluster."""

import argparse
from typing import TYPE_CHECKING

from ..job import analyze_ranks
from ..job.dataset import write_dataset
from ..job.text import text
from ..system.files import write_json
from .analyse import check_thresholds, declare
from .common import print_document, text_width, whole_number
from .files import check_output
from .progress import step
from .runs import only

if TYPE_CHECKING:
    from .common import Verbs

ADDRESS = "read by the workers of this Dask scheduler, as tcp://HOST:8786; they need the files under the same paths"


def add_parser(verbs: "Verbs", common: argparse.ArgumentParser) -> None:
    """Declare the verb: an analysis, with options that say who reads, and where results go."""
    parser = declare(verbs, common, "ranks")
    parser.set_defaults(run=run)
    group = parser.add_argument_group("who reads the ranks")
    group.add_argument("--scheduler", metavar="ADDRESS", help=ADDRESS)
    group.add_argument(
        "--workers",
        metavar="N",
        type=whole_number("a number of at least 1", 1, 9999),
        help="processes that read on this machine (default: one a processor, 1 for few ranks)",
    )
    parser.add_argument(
        "--dataset", metavar="DIR", help="also write the tables as Parquet files, by run and rank (regimeter query DIR)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write the JSON document to a file")


def run(arguments: argparse.Namespace) -> int:
    """Print what the job lost, to whom and why."""
    if arguments.output:
        check_output(arguments.output, arguments.trace)
    thresholds = dict(arguments.set)
    check_thresholds(thresholds)
    traces = only(arguments.trace)
    with step(f"reading {traces if isinstance(traces, str) else f'{len(traces)} files'}", quiet=arguments.quiet):
        found = analyze_ranks(
            traces,
            scheduler=arguments.scheduler,
            workers=arguments.workers,
            rules=arguments.rule,
            thresholds=thresholds,
            strict=arguments.strict,
            by=arguments.by,
        )
    document = found.document()
    if arguments.dataset:
        write_dataset(found, arguments.dataset)
    if arguments.top:
        document = document | {"rows": document["rows"][: arguments.top]}
    if arguments.output:
        write_json(arguments.output, document, indent=1, default=str, end="\n")
    if arguments.json:
        print_document(document)
    elif not arguments.output:
        print(text(document, text_width()))
    return 0
