# SPDX-License-Identifier: Apache-2.0
"""``regimeter calibrate``: what the processors, the memory or a GPU of this machine reach at most."""

import argparse
from typing import TYPE_CHECKING

from ..calibration import calibration_for
from ..calibration.measure import kept
from ..calibration.text import text_of
from .common import print_document
from .errors import CommandError
from .progress import bar

if TYPE_CHECKING:
    from ..calibration import Calibration

NOTHING_KEPT = 1


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument("--device", metavar="DEVICE", default="cpu", help="cpu, cuda or cuda:N (default: cpu)")
    parser.add_argument("--quick", action="store_true", help="measure for about 10 s, not for up to a minute")
    parser.add_argument("--force", action="store_true", help="measure although a valid calibration is kept")
    parser.add_argument("--show", action="store_true", help="print what is kept, measure nothing")
    parser.add_argument("--strict", action="store_true", help="refuse a device that another process uses")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Measure, or show what is kept: 0, and 1 where nothing is kept that could be shown."""
    try:
        found = _kept(arguments) if arguments.show else _measured(arguments)
    except ValueError as error:
        raise CommandError(f"calibrate: {error}", 2) from None
    if arguments.json:
        print_document(found.to_dict())
    else:
        print(*text_of(found), sep="\n")
    return 0


def _measured(arguments: argparse.Namespace) -> "Calibration":
    with bar(f"calibrating {arguments.device}", quiet=arguments.quiet) as progress:
        return calibration_for(
            arguments.device,
            quick=arguments.quick,
            force=arguments.force,
            strict=arguments.strict,
            progress=progress or (_silent if arguments.quiet else None),
        )


def _silent(what: str, part: float) -> None:
    """With --quiet nobody is told."""


def _kept(arguments: argparse.Namespace) -> "Calibration":
    found, trouble = kept(arguments.device)
    if found is None:
        why = f" ({trouble})" if trouble else ""
        raise CommandError(
            f"calibrate: no valid calibration of {arguments.device} is kept{why}; "
            f"`regimeter calibrate --device {arguments.device}` makes one",
            NOTHING_KEPT,
        )
    return found
