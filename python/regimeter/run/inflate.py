# SPDX-License-Identifier: Apache-2.0
"""Compressed input as a stream of text: gzip of any number of members, and zstd.

What can be inflated is given, whatever comes after it: damage is noted, not raised.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from .._core import UnavailableError

GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
ZSTD_SKIPPABLE = (b"\x2a\x4d\x18", 1, 4)  # 0x184D2A5?, little-endian: any first byte from 0x50 to 0x5f
ANY_GZIP = 31  # wbits: a gzip head and a window of 32 KiB
READ_BYTES = 1 << 16
CHUNK_BYTES = 1 << 20
# Fastest first; the last is always there.
GZIP_ENGINES = ("isal.isal_zlib", "zlib_ng.zlib_ng", "zlib")
ZSTD_ENGINES = ("compression.zstd", "backports.zstd")


@dataclass(slots=True)
class Damage:
    """What was wrong with an input, "" for nothing; `code` is one of ANOMALY_CODES."""

    text: str = ""
    code: str = "truncated"

    def note(self, code: str, text: str) -> None:
        """Keep what was wrong."""
        self.code, self.text = code, text


class Readable(Protocol):
    """Whatever gives bytes."""

    def read(self, size: int, /) -> bytes:
        """Return up to `size` bytes, none at the end."""


Opener = Callable[[], Iterator[bytes]]


def is_zstd(head: bytes) -> bool:
    """Tell whether bytes begin a zstd stream."""
    magic, first, last = ZSTD_SKIPPABLE
    return head.startswith(ZSTD_MAGIC) or (head[first:last] == magic and 0x50 <= head[0] <= 0x5F)


def gunzip(chunks: Iterable[bytes], damage: Damage, again: Opener | None = None) -> Iterator[bytes]:
    """Yield the text of gzip data in pieces of at most CHUNK_BYTES.

    again: opens the same data from its start. With it the text up to a damaged byte can be had even where the
    fastest inflate cannot be taken back; without, up to some 64 KiB of compressed data before it are lost.
    """
    engine = gzip_engine()
    given = 0
    try:
        for piece in _members(engine, chunks, damage):
            given += len(piece)
            yield piece
    except (engine.error, zlib.error) as error:
        damage.note("corrupt_bytes", f"the gzip data is damaged: {error}")
        if again is None or engine is zlib:
            return
        lost = Damage()
        for piece in _careful(again(), lost):
            yield piece[given:]
            given = max(0, given - len(piece))


def gzip_engine() -> Any:
    """Return the fastest module with the interface of zlib that is installed."""
    for name in GZIP_ENGINES:
        try:
            return import_module(name)
        except ImportError:
            continue
    raise AssertionError("zlib is part of Python")


def _careful(chunks: Iterable[bytes], damage: Damage) -> Iterator[bytes]:
    try:
        yield from _members(zlib, chunks, damage)
    except zlib.error:
        return


def _members(engine: Any, chunks: Iterable[bytes], damage: Damage) -> Iterator[bytes]:
    """Yield the text of all members; an engine's error is raised after what comes before the damage."""
    inflater, started, ended = engine.decompressobj(wbits=ANY_GZIP), False, False
    rest = b""
    for chunk in chunks:
        data = rest + chunk
        rest = b""
        while data:
            if inflater.eof:
                data = data.lstrip(b"\0")  # padding of blocks
                if len(data) < len(GZIP_MAGIC):
                    rest = data  # the next chunk may bring the other half of the mark
                    break
                if not data.startswith(GZIP_MAGIC):
                    damage.note("trailing_bytes", "bytes after the end of the gzip data were ignored")
                    return
                inflater = engine.decompressobj(wbits=ANY_GZIP)
            started, ended = True, False
            yield from _inflate(engine, inflater, data)
            ended, data = inflater.eof, inflater.unused_data
    if rest.strip(b"\0"):
        damage.note("trailing_bytes", "bytes after the end of the gzip data were ignored")
    elif started and not ended:
        tail = inflater.flush()
        if tail:
            yield tail
        damage.note("truncated", "the gzip data ends in the middle")


def _inflate(engine: Any, inflater: Any, data: bytes) -> Iterator[bytes]:
    """Yield what a piece of one member inflates to."""
    before = inflater.copy() if hasattr(inflater, "copy") else None
    given, whole = 0, data
    while data:
        try:
            piece = inflater.decompress(data, CHUNK_BYTES)
        except engine.error:
            if before is not None:
                yield _until_damage(engine, before, whole)[given:]
            raise
        given += len(piece)
        if piece:
            yield piece
        if inflater.eof:
            return
        data = inflater.unconsumed_tail


def _until_damage(engine: Any, inflater: Any, data: bytes) -> bytes:
    """Return what can be had of a damaged piece, byte by byte."""
    found = bytearray()
    for at in range(len(data)):
        try:
            found += inflater.decompress(data[at : at + 1])
        except engine.error:
            break
    return bytes(found)


def unzstd(file: Readable, damage: Damage) -> Iterator[bytes]:
    """Yield the text of zstd data, of all its frames. UnavailableError without a package for it."""
    opened, errors = _zstd_reader(file)
    while True:
        try:
            piece = opened.read(CHUNK_BYTES)
        except EOFError:
            damage.note("truncated", "the zstd data ends in the middle")
            return
        except errors as error:
            damage.note("corrupt_bytes", f"the zstd data is damaged: {error}")
            return
        if not piece:
            return
        yield piece


def _zstd_reader(file: Readable) -> tuple[Readable, type[Exception]]:
    for name in ZSTD_ENGINES:
        try:
            module = import_module(name)
        except ImportError:
            continue
        return module.ZstdFile(file), module.ZstdError
    try:
        zstandard = import_module("zstandard")
    except ImportError:
        raise UnavailableError(
            "zstd data needs Python 3.14 or the package zstandard; install it: pip install 'regimeter[zstd]'"
        ) from None
    return zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True), zstandard.ZstdError
