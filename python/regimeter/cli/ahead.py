# SPDX-License-Identifier: Apache-2.0
"""Importing what the end of a command needs while it waits for a program: by a thread of the lowest priority.

What reads and shows a run takes 0.2 s of a processor to import, for which a program that has run for a while need not
wait at its end.
"""

import _thread
import contextlib
import os
import time
from collections.abc import Callable, Iterator

AFTER_S = 1.0  # a shorter program has better uses for the processors


class Ahead:
    """What is imported, a step at a time, once the program has run for a while."""

    def __init__(self, steps: Callable[[], Iterator[object]], after_s: float = AFTER_S) -> None:
        self._steps, self._after_s, self._over = steps, after_s, False

    def begin(self, child: int) -> None:
        """Begin to wait; there is a child by now, so that none is forked beside the thread."""
        with contextlib.suppress(RuntimeError):  # no thread can be had
            _thread.start_new_thread(self._import, ())

    def end(self) -> None:
        """From now on nothing is begun."""
        self._over = True

    def _import(self) -> None:
        time.sleep(self._after_s)
        if self._over:
            return
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, 19)  # on Linux, of this thread
        with contextlib.suppress(Exception):  # who needs it imports it again, and hears of it
            for _ in self._steps():
                if self._over:
                    return
