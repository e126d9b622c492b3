# SPDX-License-Identifier: Apache-2.0
"""A run that is kept in the history, as ``regimeter baseline`` and ``regimeter history`` do; it needs the extra."""

import argparse
import sys
from dataclasses import replace

from ..compare.sources import side_of
from ..history import History, RunRow, commit_of
from .errors import CommandError


def add_run(history: History, files: list[str], arguments: argparse.Namespace, state: str) -> RunRow:
    """Read files as the processes of one run and keep it, with the commit it belongs to."""
    commit = commit_of()
    stated = {name: getattr(arguments, name) for name in ("commit", "branch", "tag") if getattr(arguments, name)}
    side = side_of(list(files), files[0])
    if not any(samples.launches for samples in side.metrics.values()):
        raise CommandError(f"{', '.join(files)}: without an operation; nothing to keep")
    for warning in side.warnings:
        print(f"regimeter: {warning}", file=sys.stderr)
    return history.add(side, replace(commit, **stated), label=", ".join(files), state=state)
