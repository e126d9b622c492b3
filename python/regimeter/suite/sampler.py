# SPDX-License-Identifier: Apache-2.0
"""Reads memory every few milliseconds from a thread of its own, while a stretch is tracked."""

import threading
from collections.abc import Callable


class Sampler:
    """Calls `read` every `interval_ms` between `begin` and `end`; what it raises ends the sampling, not the program."""

    def __init__(self, read: Callable[[], object], interval_ms: float) -> None:
        self._read = read
        self._interval = interval_ms / 1e3
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Start the thread; with an interval of 0 there is none."""
        if self._interval > 0:
            self._thread = threading.Thread(target=self._run, name="regimeter-memory", daemon=True)
            self._thread.start()

    def end(self) -> None:
        """Stop it, and wait for a read that is under way."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while not self._ended.wait(self._interval):
            try:
                self._read()
            except Exception:
                return
