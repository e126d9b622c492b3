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
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from .. import _core
from ..run import blocks as of
from ..system.files import atomic_path
from . import policy

MARK_BYTES = 1 << 20  # of a recording between two places where it can be cut, at the most
FIRST = of.FILE_HEAD + of.BLOCK_HEAD.size + of.HOLE_BYTES.size  # where the hole begins
RECORD_BYTES, THREAD_KIND = 32, 1  # of csrc/model/record.h


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

    def __init__(self, path: str, keep_s: float) -> None:
        """Begin at the beginning of the file, which may not be there yet."""
        self.path = path
        self.shortened = False
        self._keep_s = keep_s
        self._identity: tuple[int, int, bytes] | None = None
        self._marks: deque[_Mark] = deque()
        self._front = of.FILE_HEAD

    def look(self, now: float, disk_bytes: int) -> None:
        """Take out what is too old, or too much for so many bytes. OSError where the file cannot be read or written."""
        with contextlib.suppress(FileNotFoundError), open(self.path, "r+b", buffering=0) as file:
            about = os.fstat(file.fileno())
            identity = of.identity(file.fileno())
            if identity != self._identity or about.st_size < self._marks[-1].offset:
                self._identity = identity  # another file stands there now
                self._marks, self._front = deque([_Mark(now, of.FILE_HEAD, 0)]), of.FILE_HEAD
            self._follow(file.fileno(), about.st_size, now)
            crowded = about.st_blocks * 512 > policy.CROWDED * disk_bytes
            cut = self._cut(now, round(policy.KEPT * disk_bytes) if crowded else about.st_size)
            if cut and (crowded or cut.offset - self._front >= self.least_bytes):
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
        carried = _Carried.before(fd, cut.offset)
        first = cut.number - len(carried)
        (file,) = of.FILE_ID.unpack_from(os.pread(fd, of.FILE_HEAD, 0))
        text = b"".join(_core.frame(kind, load, file, first + i) for i, (kind, load) in enumerate(carried))
        at = cut.offset - len(text)
        if at < FIRST or first < 1:
            return  # too little to gain
        os.pwrite(fd, text, at)
        os.pwrite(fd, _core.frame(of.HOLE, of.HOLE_BYTES.pack(first - 1, at - FIRST), file, 0), of.FILE_HEAD)
        if at > FIRST:
            _core.punch_hole(fd, FIRST, at - FIRST)
        self.shortened, self._front = True, cut.offset
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
            for number, (kind, load) in enumerate(chain(_Carried.before(fd, offset), live)):
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


@dataclass(slots=True)
class _Carried:
    """What later blocks need of those before them."""

    environment: bytes = b""
    dictionaries: list[tuple[int, bytes]] = field(default_factory=list)
    stacks: list[bytes] = field(default_factory=list)
    anchor: bytes = b""
    threads: dict[int, bytes] = field(default_factory=dict)  # stream -> its last record that names a thread
    open: dict[int, bytes] = field(default_factory=dict)  # stream -> payload
    counters: bytes = b""

    @classmethod
    def before(cls, fd: int, offset: int) -> "list[tuple[int, bytes]]":
        """Return kinds and payloads, in an order that can be read."""
        found = cls()
        for block in of.blocks(fd, of.FILE_HEAD, offset):
            found._take(block.kind, block, fd)
        alone = [(of.ENVIRONMENT, found.environment), (of.ANCHOR, found.anchor), (of.COUNTERS, found.counters)]
        streams = [(of.RECORDS, _rows(stream, row)) for stream, row in found.threads.items()]
        opened = [(of.OPEN, payload) for payload in found.open.values()]
        stacks = [(of.STACKS, payload) for payload in found.stacks]
        return [*((kind, load) for kind, load in alone if load), *found.dictionaries, *stacks, *streams, *opened]

    def _take(self, kind: int, block: of.Block, fd: int) -> None:
        if kind in of.DICTIONARIES:
            self.dictionaries.append((kind, block.payload(fd)))
        elif kind == of.STACKS:
            self.stacks.append(block.payload(fd))
        elif kind == of.ENVIRONMENT:
            self.environment = block.payload(fd)
        elif kind == of.ANCHOR:
            self.anchor = block.payload(fd)
        elif kind == of.COUNTERS:
            self.counters = block.payload(fd)
        elif kind == of.OPEN:
            payload = block.payload(fd)
            self.open[int.from_bytes(payload[:4], "little")] = payload
        elif kind == of.RECORDS:
            self._name(block.payload(fd))
        elif kind == of.RESET:
            self.stacks, self.anchor, self.counters = [], b"", b""

    def _name(self, payload: bytes) -> None:
        """Keep the last record that says which thread the stream belongs to."""
        rows = np.frombuffer(payload, np.uint8, offset=8).reshape(-1, RECORD_BYTES)
        kinds = rows[:, 28] >> 5
        named = np.flatnonzero(kinds == THREAD_KIND)
        if len(named):
            self.threads[int.from_bytes(payload[:4], "little")] = rows[named[-1]].tobytes()


def _rows(stream: int, row: bytes) -> bytes:
    return stream.to_bytes(4, "little") + (1).to_bytes(4, "little") + row
