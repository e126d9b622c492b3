# SPDX-License-Identifier: Apache-2.0
"""Rules for output files: no input is overwritten, and a place that cannot be written is found out early."""

import argparse
import os

from ..run.formats import PAGES, REPORTS, choose
from ..run.inputs import HEAD_BYTES, kind_of
from .errors import CommandError


def style_of(arguments: argparse.Namespace, formats: tuple[str, ...]) -> str:
    """Return the format of a report: as asked for, by the suffix of its file, or text. ValueError as of `choose`."""
    stated: str | None = arguments.format or ("json" if arguments.json else None)
    if not arguments.output:
        return stated or "text"
    writes = {suffix: form for suffix, form in REPORTS.items() if form in formats}
    return choose(arguments.output, writes, chosen=stated, default="text")


def check_output(output: str, source: str | list[str]) -> None:
    """Refuse an output that cannot be written, or that is an input by whatever name."""
    check_writable(output)
    for name in [source] if isinstance(source, str) else source:
        try:
            same = os.path.samefile(output, name)
        except OSError:  # one of them does not exist
            continue
        if same:
            raise CommandError(f"{output}: is the input file, which is never overwritten; name another with -o")


def check_writable(output: str) -> None:
    """Refuse an output whose directory is missing or closed, before any work is done for it."""
    folder = os.path.dirname(os.path.abspath(output))
    if not os.path.isdir(folder):
        raise CommandError(f"{output}: cannot be written: no directory {folder}; make it or name another place")
    if os.path.isdir(output):
        raise CommandError(f"{output}: a directory; name a file in it")
    if os.statvfs(folder).f_flag & os.ST_RDONLY:
        raise CommandError(f"{output}: cannot be written: the file system of {folder} is read-only; name another place")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise CommandError(f"{output}: cannot be written: no permission in {folder}; name another place")


def check_page(output: str) -> None:
    """Refuse an output that cannot be written, or whose suffix is not that of a page."""
    choose(output, PAGES, default="html")
    check_writable(output)


def holds_recording(path: str) -> bool:
    """Return whether a file holds something that can be loaded, told by its first bytes; a program does not."""
    if path.endswith(".py") or not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return kind_of(file.read(HEAD_BYTES)) != ""
