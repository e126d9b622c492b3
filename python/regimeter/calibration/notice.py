# SPDX-License-Identifier: Apache-2.0
"""A word on standard error while a calibration that nobody watches keeps its caller waiting."""

import sys
import time
from collections.abc import Callable

DELAY_S = 1.0
LARGE_BYTES = 5e8  # from here on it is said


class Notice:
    """A `Progress` that says what goes on once it has taken longer than DELAY_S, and at the end how long it took."""

    def __init__(self, device: str, quick: bool, takes: int = 0, clock: Callable[[], float] = time.monotonic) -> None:
        """Take the bytes of memory that are taken at most."""
        self._device, self._length = device, "about ten seconds" if quick else "up to a minute"
        self._memory = f" and up to {takes / 1e9:.1f} GB of memory" if takes >= LARGE_BYTES else ""
        self._clock, self._begin = clock, clock()
        self._said = False

    def __call__(self, what: str, part: float) -> None:
        """Say once what is done, from the first part on that begins after the delay."""
        if self._said or self._clock() - self._begin < DELAY_S:
            return
        self._said = True
        _say(f"calibrating {self._device}: what its memory and arithmetic reach at most; {self._length}{self._memory}, "
             f"once for this machine ({what}, {100 * part:.0f} % done)")  # fmt: skip

    def end(self) -> None:
        """Say how long it took, where it was said that it goes on."""
        if self._said:
            took = self._clock() - self._begin
            _say(f"calibrated {self._device} in {took:.1f} s; `regimeter calibrate --show --device {self._device}` "
                 "prints it")  # fmt: skip


def _say(text: str) -> None:
    if sys.stderr is not None:  # a program without a console has none
        print(f"regimeter: {text}", file=sys.stderr, flush=True)
