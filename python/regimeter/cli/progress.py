# SPDX-License-Identifier: Apache-2.0
"""A sign of life on standard error when a step takes longer than a second."""

import contextlib
import sys
import threading
from collections.abc import Iterator

DELAY_S = 1.0


@contextlib.contextmanager
def step(what: str, *, quiet: bool = False) -> Iterator[None]:
    """Show `what` with the time it takes, from the second second on; nothing where nobody looks."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    thread = threading.Thread(target=_show, args=(what, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _show(what: str, done: threading.Event) -> None:
    if done.wait(DELAY_S):
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    except ImportError:
        print(f"regimeter: {what} ...", file=sys.stderr)
        return
    columns = (TextColumn("regimeter: {task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        progress.add_task(what, total=None)  # the core does not tell how far it has come
        done.wait()
