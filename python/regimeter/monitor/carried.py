# SPDX-License-Identifier: Apache-2.0
"""What blocks of a recording need of those before them, where those go: the dictionaries, call stacks, one clock
anchor, which thread each stream belongs to, what is open. Rows that grow with the program are read when they are
written, a piece at a time."""

from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from ..run import blocks as of

PIECE_BYTES = 1 << 20  # of rows in one block; so much of them is in memory
RECORD_BYTES, THREAD_KIND = 32, 1  # of csrc/model/record.h


def before(fd: int, offset: int) -> "list[Piece]":
    """Return what the blocks from an offset on need, as blocks in an order that can be read."""
    found = _Carried()
    for block in of.blocks(fd, of.FILE_HEAD, offset):
        found.take(block.kind, block, fd)
    return found.pieces()


@dataclass(slots=True)
class Piece:
    """A block of what later ones need: its bytes, or the blocks whose rows follow one another in it."""

    kind: int
    whole: bytes = b""
    blocks: list[of.Block] = field(default_factory=list)
    end: int = 0  # the number of the row after the last one, of blocks

    @property
    def size(self) -> int:
        """Of its payload."""
        rows = sum(block.length - of.ROWS_HEAD.size for block in self.blocks)
        return of.ROWS_HEAD.size + rows if self.blocks else len(self.whole)

    @property
    def frame_bytes(self) -> int:
        """Of it as a block of a file."""
        return of.BLOCK_HEAD.size + (self.size + 7) // 8 * 8

    def payload(self, fd: int) -> bytes:
        """Read what it holds."""
        if not self.blocks:
            return self.whole
        parts = [block.payload(fd) for block in self.blocks]
        heads = [of.ROWS_HEAD.unpack_from(part) for part in parts]
        head = of.ROWS_HEAD.pack(heads[0][0], sum(count for _, count in heads))
        return b"".join([head, *(part[of.ROWS_HEAD.size :] for part in parts)])

    def takes(self, block: of.Block, first: int) -> bool:
        """Return whether the rows of a block, of which this is the first, can follow."""
        follows = block.kind == of.STACKS or first == self.end
        return block.kind == self.kind and follows and self.size + block.length <= PIECE_BYTES


@dataclass(slots=True)
class _Carried:
    """What later blocks need of those before them."""

    environment: bytes = b""
    dictionaries: dict[int, list[Piece]] = field(default_factory=lambda: {kind: [] for kind in sorted(of.DICTIONARIES)})
    stacks: list[Piece] = field(default_factory=list)
    anchor: bytes = b""
    threads: dict[int, bytes] = field(default_factory=dict)  # stream -> its last record that names a thread
    open: dict[int, bytes] = field(default_factory=dict)  # stream -> payload
    counters: bytes = b""

    def pieces(self) -> list[Piece]:
        """Return its blocks, in an order that can be read."""
        alone = [(of.ENVIRONMENT, self.environment), (of.ANCHOR, self.anchor), (of.COUNTERS, self.counters)]
        streams = [Piece(of.RECORDS, _rows(stream, row)) for stream, row in self.threads.items()]
        opened = [Piece(of.OPEN, payload) for payload in self.open.values()]
        dictionaries = chain.from_iterable(self.dictionaries.values())
        return [*(Piece(kind, load) for kind, load in alone if load), *dictionaries, *self.stacks, *streams, *opened]

    def take(self, kind: int, block: of.Block, fd: int) -> None:
        if kind in of.DICTIONARIES:
            _follow(self.dictionaries[kind], block, fd)
        elif kind == of.STACKS:
            _follow(self.stacks, block, fd)
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


def _follow(pieces: list[Piece], block: of.Block, fd: int) -> None:
    """Put the rows of a block behind those before it."""
    if block.length < of.ROWS_HEAD.size:
        return  # no program writes one
    first, count = of.ROWS_HEAD.unpack(block.payload(fd, of.ROWS_HEAD.size))
    if not pieces or not pieces[-1].takes(block, first):
        pieces.append(Piece(block.kind))
    pieces[-1].blocks.append(block)
    pieces[-1].end = first + count


def _rows(stream: int, row: bytes) -> bytes:
    return stream.to_bytes(4, "little") + (1).to_bytes(4, "little") + row
