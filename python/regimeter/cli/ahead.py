# SPDX-License-Identifier: Apache-2.0
"""Importing what the end of a command needs while it waits for a program, by a thread of low priority.

What reads and shows a run takes a while to import, for which a program that has run for a while need not
wait at its end.
"""

import _thread
import contextlib
import os
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self

AFTER_S = 1.0  # a shorter program has better uses for the processors
# Of the thread: the program comes first; at the lowest priority who waits for the step in hand would wait for seconds
# where all processors are taken.
NICENESS = 5


class Ahead:
    """What is imported, a step at a time, once the program has run for a while; in a `with` block around it.

    The block ends when the step in hand has: the interpreter may not end in the midst of an import of another thread.
    """

    def __init__(self, steps: Callable[[], Iterator[object]], after_s: float = AFTER_S) -> None:
        self._steps, self._after_s, self._over = steps, after_s, False
        self._stepping = _thread.allocate_lock()  # held for good at the end

    def begin(self, child: int) -> None:
        """Begin to wait; there is a child by now, so that none is forked beside the thread."""
        with contextlib.suppress(RuntimeError):  # no thread can be had
            _thread.start_new_thread(self._import, ())

    def __enter__(self) -> "Self":
        return self

    def __exit__(self, *error: object) -> None:
        self._over = True
        self._stepping.acquire()

    def _import(self) -> None:
        time.sleep(self._after_s)
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, NICENESS)  # on Linux, of this thread
        steps = self._steps()
        with contextlib.suppress(Exception):  # who needs it imports it again, and hears of it
            while self._stepping.acquire(blocking=False):
                try:
                    if self._over or next(steps, None) is None:
                        return
                finally:
                    self._stepping.release()
