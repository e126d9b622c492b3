# SPDX-License-Identifier: Apache-2.0
"""The blocks of a recording while it is written, as csrc/io/journal/frame_format.h has them, version 2."""

import json
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .. import _core

FILE_HEAD, BLOCK_HEAD, HOLE_BYTES = 32, struct.Struct("<IHHIIQII"), struct.Struct("<QQ")
FILE_ID = struct.Struct("<20xI")  # in the head of the file
ROWS_HEAD, TEXT = struct.Struct("<II"), struct.Struct("<I")  # number of the first row and count; length of each text
MAGIC = b"RGMB"
ENVIRONMENT, STRINGS, SITES, THREADS, RECORDS, ANCHOR, OPEN, COUNTERS, RESET, END = 1, 2, 3, 4, 5, 7, 8, 9, 10, 11
VALUES, PRESSURES, STACKS, HOLE = 16, 18, 20, 22
DICTIONARIES = frozenset((STRINGS, SITES, THREADS))


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a file: where it begins and the next one, its kind, its number and that of the next, its payload's
    length."""

    offset: int
    end: int
    kind: int
    number: int
    next_number: int
    length: int

    def payload(self, fd: int, most: int | None = None) -> bytes:
        """Read what it holds, or its first bytes."""
        size = self.length if most is None else min(self.length, most)
        return os.pread(fd, size, self.offset + BLOCK_HEAD.size)


def identity(fd: int) -> tuple[int, int, bytes]:
    """Return what tells a recording from another at the same path: a file's inode, which one that is made right after
    it was removed may have too, and its head, which is empty until it is written."""
    about = os.fstat(fd)
    return about.st_dev, about.st_ino, os.pread(fd, FILE_HEAD, 0)


def blocks(fd: int, offset: int, end: int) -> Iterator[Block]:
    """Yield the whole blocks from an offset on, up to `end` or what is no block; only their heads are read."""
    while offset + BLOCK_HEAD.size <= end:
        head = os.pread(fd, BLOCK_HEAD.size, offset)
        if len(head) < BLOCK_HEAD.size or head[:4] != MAGIC:
            return
        _, kind, _, _, number, length, _, _ = BLOCK_HEAD.unpack(head)
        after, taken = offset + BLOCK_HEAD.size + (length + 7) // 8 * 8, 0
        if kind == HOLE and length == HOLE_BYTES.size:
            taken, left_out = HOLE_BYTES.unpack(os.pread(fd, length, offset + BLOCK_HEAD.size))
            after += left_out
        if after > end:
            return  # not all of it is written yet
        yield Block(offset, after, kind, number, number + taken + 1, length)
        offset = after


def without_metadata(frame: bytes, head: bytes) -> bytes:
    """Return a block of strings with metadata, which are objects of JSON, as empty texts; all others keep their place.

    head: of the file."""
    _, kind, _, _, number, length, _, _ = BLOCK_HEAD.unpack_from(frame)
    (file,) = FILE_ID.unpack_from(head)
    end = BLOCK_HEAD.size + length
    at = BLOCK_HEAD.size + ROWS_HEAD.size
    parts = [frame[BLOCK_HEAD.size : at]]
    while at < end:
        (size,) = TEXT.unpack_from(frame, at)
        text = frame[at + TEXT.size : at + TEXT.size + size]
        at += TEXT.size + size
        parts += [TEXT.pack(0)] if text.startswith(b'{"') else [TEXT.pack(size), text]
    return _core.frame(kind, b"".join(parts), file, number)


def environment(fd: int) -> dict[str, Any] | None:
    """Return the first environment that a recording states, None where it states none yet or is no recording."""
    for block in blocks(fd, FILE_HEAD, os.fstat(fd).st_size):
        if block.kind == ENVIRONMENT:
            try:
                found = json.loads(block.payload(fd))
            except ValueError:
                return None
            return found if isinstance(found, dict) else None
    return None
