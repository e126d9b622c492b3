# SPDX-License-Identifier: Apache-2.0
"""The last minutes of a recording in all its files, and the copies of them that are written out."""

import contextlib
import fcntl
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import _core
from ..capture.recording import files_beside
from . import policy
from .ring import Ring

if TYPE_CHECKING:
    from .look import Look
    from .triggers import Trigger


def room_beside(path: str) -> int:
    """Return the bytes of the disk that the files of earlier recordings of this name take, which nothing takes out."""
    return sum(map(_room, files_beside(path)))


def _room(path: str) -> int:
    try:
        return os.stat(path).st_blocks * 512
    except FileNotFoundError:
        return 0


class Rings:
    """The last minutes of a recording: of its file, and of those of the program's other processes and profilers."""

    def __init__(self, path: str, keep_s: float, disk_bytes: int, triggers: "Sequence[Trigger]") -> None:
        """disk_bytes: for all files together."""
        self._path, self.keep_s, self.disk_bytes = path, keep_s, disk_bytes
        self._triggers = triggers
        self._rings: dict[str, Ring] = {}
        self._before = files_beside(path)
        self.copies: list[str] = []
        self.failure = ""  # why the last copy that could not be written was not
        self.left_out = 0  # copies that conditions asked for beyond the most

    def look(self, now: float) -> None:
        """Take out of each file what is too old."""
        self._find()
        for ring in self._rings.values():
            with contextlib.suppress(OSError, _core.Error):
                ring.look(now, self.disk_bytes // len(self._rings))

    def _find(self) -> None:
        """Take up the files that have come since the last time."""
        new = [path for path, changed in files_beside(self._path).items() if self._before.get(path) != changed]
        for path in (self._path, *new):
            if path not in self._rings:
                self._rings[path] = Ring(path, self.keep_s)

    def crowded(self) -> bool:
        """Whether the files take so much of their room that some has to be taken out now."""
        return self.taken_bytes() > policy.CROWDED * self.disk_bytes

    def taken_bytes(self) -> int:
        """Return the bytes of the disk that the files take now."""
        return sum(map(_room, self._rings))

    def judge(self, now: float, look: "Look", alerts: list[dict[str, Any]]) -> None:
        """Write the last minutes out where a condition asks for it."""
        for trigger in self._triggers:
            reason = trigger.reason(look, alerts)
            if reason and now >= trigger.rests_until:
                trigger.rests_until = now + policy.REST_S
                if len(self.copies) >= policy.MOST_COPIES:
                    self.left_out += 1
                else:
                    self.try_copy(now, reason)

    def try_copy(self, now: float, reason: str) -> None:
        """Write the last minutes out; what keeps it from that is told at the end."""
        try:
            self.copy(now, reason)
        except OSError as error:
            self.failure = str(error)

    def copy(self, now: float, reason: str) -> list[str]:
        """Write the last minutes of all files out, and return where. OSError where that of the program cannot be."""
        stem = self._path.removesuffix(".rgm")
        number = next(n for n in range(1, 10_000) if not os.path.exists(f"{stem}.trigger-{n}.rgm"))
        written = []
        self._find()  # a condition may be met before the first look
        for path, ring in self._rings.items():
            target = f"{stem}.trigger-{number}{path.removeprefix(self._path)}.rgm"
            try:
                ring.copy(target, now, {"reason": reason, "keep_s": self.keep_s}, close=True)
            except OSError:
                if path == self._path:
                    raise
                continue
            written.append(target)
        self.copies += written[:1]
        return written

    def finish(self, now: float) -> None:
        """Make files without holes of those that have one and that nobody writes any more, where there is room for it:
        the new file stands beside the old one for a while."""
        for path, ring in self._rings.items():
            with contextlib.suppress(OSError):
                fits = self.taken_bytes() + _room(path) <= self.disk_bytes
                if fits and ring.shortened and not _is_written(path):
                    ring.copy(path, now, {"reason": "the program's end", "keep_s": self.keep_s}, close=False)


def _is_written(path: str) -> bool:
    with open(path, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
