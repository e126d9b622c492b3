# SPDX-License-Identifier: Apache-2.0
"""``regimeter top RUN|PID``: follow a recording while it is written."""

import argparse
import os
import shutil
import sys
import time
from typing import TYPE_CHECKING

from ..capture.recording import FILE
from ..public.run import load
from ..report.following import Seen, screen
from ..report.verdict import verdict_data
from ..run.inputs import is_young
from .common import number, print_document

if TYPE_CHECKING:
    from ..public.run import Run
    from .common import Verbs

INTERVAL_S = 2.0
SHARE_OF_TIME = 4.0  # pauses for each second that a look takes
HOME, REST, BELOW = "\x1b[H", "\x1b[K", "\x1b[J"  # to the first line; clear the rest of a line; what is below


def add_parser(verbs: "Verbs", common: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    parser = verbs.add_parser("top", parents=[common])
    parser.add_argument("target", metavar="RUN|PID", help="recording, or the id of a process that is being recorded")
    parser.add_argument(
        "--interval",
        metavar="SECONDS",
        type=number("seconds from 0.1 to 3600", lambda seconds: 0.1 <= seconds <= 3600),
        default=INTERVAL_S,
        help="between two looks (default: 2); at least four times what a look takes",
    )
    parser.add_argument("--once", action="store_true", help="one look, then end")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Show it again and again until the recording is closed, or is written no more."""
    file, seen, size = file_of(arguments.target), Seen(), -1
    while True:
        begun = time.monotonic()
        found = os.stat(file)
        writing = is_young(found.st_mtime_ns)
        if found.st_size != size or not writing:  # else there is nothing new
            size = found.st_size
            loaded = load(file, recover=True)  # its last block may be there in part
            writing = writing and not loaded.complete
            _show(loaded, file, size, writing, seen, arguments)
        if arguments.once or not writing:
            return 0
        took = time.monotonic() - begun
        time.sleep(max(arguments.interval - took, SHARE_OF_TIME * took))


def _show(run: "Run", file: str, size: int, writing: bool, seen: Seen, arguments: argparse.Namespace) -> None:
    if arguments.json:
        facts = {"format": "regimeter.top", "version": 1, "file": file, "bytes": size}
        facts |= {"writing": writing, "complete": run.complete}
        print_document({**facts, "duration_ns": run.duration_ns, "verdict": verdict_data(run)})
        sys.stdout.flush()
        return
    columns, rows = shutil.get_terminal_size((80, 40))
    lines = screen(run, seen, name=file, size=size, writing=writing, width=columns, height=rows - 1)
    if sys.stdout.isatty() and not arguments.once:
        print(HOME + "".join(f"{line}{REST}\n" for line in lines) + BELOW, end="", flush=True)
    else:
        print(*lines, "", sep="\n", flush=True)


def file_of(target: str) -> str:
    """Return the recording that is meant. ValueError where a process is not being recorded, or cannot be asked."""
    if not target.isdecimal() or os.path.exists(target):
        return target
    try:
        with open(f"/proc/{target}/environ", "rb") as file:
            variables = file.read().split(b"\0")
        folder = os.readlink(f"/proc/{target}/cwd")
    except OSError as error:
        raise ValueError(f"process {target}: {error.strerror}; name the recording instead") from None
    for variable in variables:
        name, _, value = variable.partition(b"=")
        if os.fsdecode(name) == FILE and value:
            return os.path.join(folder, os.fsdecode(value))
    raise ValueError(f"process {target} is not being recorded: start it with regimeter record")
