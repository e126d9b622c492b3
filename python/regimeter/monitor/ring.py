# SPDX-License-Identifier: Apache-2.0
"""The last minutes of a recording that is being written: what is older is taken out of the file, its room given back.

The program writes its recording as ever, and nothing of this runs in it. What was written longer ago than is to be
kept becomes a hole in the file: the room goes back to the file system, a block that tells of the hole stands at the
front, and what later blocks need (names, call sites, threads, one clock anchor, which thread each stream belongs to,
what is open) is written right before the first block that stays. So the file is a sound recording at any moment,
also when the program or who watches it is killed.
"""

import contextlib
import errno
import json
import os
import tempfile
from collections import deque
from dataclasses import dataclass
from itertools import chain
from typing import Any

from .. import _core
from ..run import blocks as of
from ..system.files import atomic_path
from . import carried, policy

MARK_BYTES = 1 << 20  # of a recording between two places where it can be cut, at the most
FIRST = of.FILE_HEAD + of.BLOCK_HEAD.size + of.HOLE_BYTES.size  # where the hole begins


def can_punch(folder: str) -> bool:
    """Return whether the file system of a folder gives the room of a part of a file back."""
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(bytes(MARK_BYTES))
        file.flush()
        try:
            _core.punch_hole(file.fileno(), 0, MARK_BYTES)
        except OSError:
            return False
    return True


@dataclass(frozen=True, slots=True)
class _Mark:
    """Where the file ended at a time, in seconds, and the number of the block that came next."""

    time: float
    offset: int
    number: int


class Ring:
    """One recording of which the last `keep_s` seconds are kept, or less where they take more room than they may."""

    least_bytes = MARK_BYTES  # less is not taken out
    least_gain = 1.0  # of the bytes that are written again for it: what stays of the dictionaries is, each time

    def __init__(self, path: str, keep_s: float) -> None:
        """Begin at the beginning of the file, which may not be there yet."""
        self.path = path
        self.shortened = False
        self._keep_s = keep_s
        self._identity: tuple[int, int, bytes] | None = None
        self._marks: deque[_Mark] = deque()
        self._front = of.FILE_HEAD
        self._carried_bytes = 0  # that the last blocks taken out left before the first one that stays

    def look(self, now: float, disk_bytes: int) -> None:
        """Take out what is too old, or too much for so many bytes. OSError where the file cannot be read or written."""
        with contextlib.suppress(FileNotFoundError), open(self.path, "r+b", buffering=0) as file:
            about = os.fstat(file.fileno())
            identity = of.identity(file.fileno())
            if identity != self._identity or about.st_size < self._marks[-1].offset:
                self._identity = identity  # another file stands there now
                self._marks, self._front = deque([_Mark(now, of.FILE_HEAD, 0)]), of.FILE_HEAD
                self._carried_bytes = 0
            self._follow(file.fileno(), about.st_size, now)
            crowded = about.st_blocks * 512 > policy.CROWDED * disk_bytes
            cut = self._cut(now, round(policy.KEPT * disk_bytes) if crowded else about.st_size)
            least = max(self.least_bytes, self.least_gain * self._carried_bytes)
            if cut and (crowded or cut.offset - self._front >= least):
                self._take_out(file.fileno(), cut)

    def _follow(self, fd: int, size: int, now: float) -> None:
        """Note where blocks end that have come since the last look."""
        last = self._marks[-1]
        for block in of.blocks(fd, last.offset, size):
            if block.end - self._marks[-1].offset >= MARK_BYTES:
                self._marks.append(_Mark(now, block.end, block.next_number))
            last = _Mark(now, block.end, block.next_number)
        if last.offset > self._marks[-1].offset:
            self._marks.append(last)

    def _cut(self, now: float, most_bytes: int) -> _Mark | None:
        """Return before which mark everything goes, None for nothing; at most so many bytes stay."""
        too_much = self._marks[-1].offset - most_bytes
        gone = [mark for mark in self._marks if mark.time <= now - self._keep_s]
        if too_much > 0:
            gone += [mark for mark in self._marks if mark.offset >= too_much][:1]
        cut = max(gone, key=lambda mark: mark.offset, default=None)
        return cut if cut and cut.offset > self._front else None

    def _take_out(self, fd: int, cut: _Mark) -> None:
        pieces = carried.before(fd, cut.offset)
        first = cut.number - len(pieces)
        (file,) = of.FILE_ID.unpack_from(os.pread(fd, of.FILE_HEAD, 0))
        size = sum(piece.frame_bytes for piece in pieces)
        at = cut.offset - size
        if at < FIRST or first < 1:
            return  # too little to gain
        # By way of another file: what is written last may be read where the first is written.
        with tempfile.TemporaryFile(dir=os.path.dirname(self.path) or ".", buffering=0) as beside:
            for number, piece in enumerate(pieces, first):
                beside.write(_core.frame(piece.kind, piece.payload(fd), file, number))
            for begin in range(0, size, carried.PIECE_BYTES):
                os.pwrite(fd, os.pread(beside.fileno(), carried.PIECE_BYTES, begin), at + begin)
        os.pwrite(fd, _core.frame(of.HOLE, of.HOLE_BYTES.pack(first - 1, at - FIRST), file, 0), of.FILE_HEAD)
        if at > FIRST:
            _core.punch_hole(fd, FIRST, at - FIRST)
        self.shortened, self._front, self._carried_bytes = True, cut.offset, size
        while self._marks[0].offset < cut.offset:
            self._marks.popleft()

    def copy(self, path: str, now: float, about: dict[str, Any], *, close: bool) -> None:
        """Write the last `keep_s` seconds as a recording of their own; `about` goes into its environment as `ring`.

        The path may be that of the recording itself, once nobody writes it any more. close: the copy ends here,
        whatever the program does. OSError where the file cannot be read or written.
        """
        with open(self.path, "rb", buffering=0) as source, atomic_path(path) as name, open(name, "wb") as target:
            fd, size = source.fileno(), os.fstat(source.fileno()).st_size
            cut = self._cut(now, size) if self._marks else None
            offset = cut.offset if cut else of.FILE_HEAD
            head = os.pread(fd, of.FILE_HEAD, 0)
            if len(head) < of.FILE_HEAD:
                raise OSError(errno.ENODATA, "nothing is recorded yet", self.path)
            (file,) = of.FILE_ID.unpack_from(head)
            target.write(head)
            live = ((b.kind, b.payload(fd)) for b in of.blocks(fd, offset, size) if b.kind != of.HOLE)
            whole = cut is None and not self.shortened
            number, kind = -1, 0
            needed = ((piece.kind, piece.payload(fd)) for piece in carried.before(fd, offset))
            for number, (kind, load) in enumerate(chain(needed, live)):
                load = _told(load, about, whole=whole) if kind == of.ENVIRONMENT else load
                target.write(_core.frame(kind, load, file, number))
            if close and kind != of.END:
                target.write(_core.frame(of.END, bytes(8), file, number + 1))


def _told(environment: bytes, about: dict[str, Any], *, whole: bool) -> bytes:
    """Return the environment with what is said of the ring. What recording has cost is that of the whole program: of a
    part of it only the cost of a scope is known."""
    try:
        found = json.loads(environment)
        cost = found.get("cost")
        if not whole and isinstance(cost, dict):
            found["cost"] = {key: value for key, value in cost.items() if key == "per_scope_ns"}
        return json.dumps({**found, "ring": about}).encode()
    except (ValueError, TypeError, AttributeError):
        return environment
