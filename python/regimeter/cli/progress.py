# SPDX-License-Identifier: Apache-2.0
"""A sign of life on standard error: when a step takes longer than a second, and a bar where it tells how far it is."""

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator

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


@contextlib.contextmanager
def bar(what: str, *, quiet: bool = False) -> Iterator[Callable[[str, float], None] | None]:
    """Give what is called with the present task and the part of all that is done; None where nobody looks."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    except ImportError:
        yield lambda task, _part: print(f"regimeter: {what}: {task} ...", file=sys.stderr)
        return
    columns = (TextColumn("regimeter: {task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        row = progress.add_task(what, total=1.0)
        yield lambda task, part: progress.update(row, description=f"{what}: {task}", completed=part)
