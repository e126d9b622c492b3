# SPDX-License-Identifier: Apache-2.0
"""Rules for output files: no input is overwritten, and a place that cannot be written is found out early."""

import argparse
import os

from ..run import ranks, remote
from ..run.formats import PAGES, REPORTS, choose
from .errors import CommandError


def style_of(arguments: argparse.Namespace, formats: tuple[str, ...]) -> str:
    """Return the format of a report: as asked for, by the suffix of its file, or text. ValueError as of `choose`."""
    stated: str | None = arguments.format or ("json" if arguments.json else None)
    if not arguments.output:
        return stated or "text"
    writes = {suffix: form for suffix, form in REPORTS.items() if form in formats}
    return choose(arguments.output, writes, chosen=stated, default="text")


def check_output(output: str, source: str | list[str]) -> None:
    """Refuse an output that cannot be written, or that is an input by whatever name, or a file of a folder or pattern
    that is the input."""
    check_writable(output)
    for name in [source] if isinstance(source, str) else source:
        if any(_is_same(output, file) for file in _files_of(name)):
            raise CommandError(f"{output}: is the input file, which is never overwritten; name another with -o")


def _files_of(name: str) -> list[str]:
    """Return the files that are read where a name is given: those of a folder or pattern, else the file itself."""
    if remote.is_url(name):
        return []
    try:
        found = ranks.find_files(name)
    except OSError:  # whoever reads it says what is wrong with it
        return []
    return [name] if found is None else found


def _is_same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:  # one of them does not exist
        return False


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
