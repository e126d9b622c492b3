# SPDX-License-Identifier: Apache-2.0
"""Runs on a schedule: a plain loop that ends cleanly on Ctrl-C or SIGTERM."""

import signal
import threading
import time
from collections.abc import Callable
from types import FrameType


class Stop:
    """Set by SIGINT or SIGTERM while in use; the handlers of before are put back at the end."""

    def __init__(self) -> None:
        self.signal = 0
        self._event = threading.Event()
        self._before: dict[int, object] = {}

    def __enter__(self) -> "Stop":
        """Take the signals, where this is the main thread."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._take)
        return self

    def __exit__(self, *_: object) -> None:
        """Put the handlers back."""
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _take(self, number: int, frame: FrameType | None) -> None:
        self.signal = number
        self._event.set()

    def wait(self, seconds: float) -> bool:
        """Sleep, shorter when a signal comes; return whether one came."""
        return self._event.wait(max(0.0, seconds))

    @property
    def wanted(self) -> bool:
        """Whether a signal came."""
        return self._event.is_set()


def repeat(
    action: Callable[[int], object],
    every_s: float,
    count: int | None,
    stop: Stop,
    clock: Callable[[], float] = time.monotonic,
) -> int:
    """Call action(number) every so many seconds, `count` times or until stopped; return how often it was called.

    Times are those of a grid that begins with the first call: a call that took longer than the interval leaves out
    the times that passed meanwhile.
    """
    begin, done = clock(), 0
    while not stop.wanted:
        action(done)
        done += 1
        if count is not None and done >= count:
            break
        passed = clock() - begin
        stop.wait((passed // every_s + 1) * every_s - passed)
    return done
