# SPDX-License-Identifier: Apache-2.0
"""What can be loaded: files, pipes, file objects and bytes, plain or compressed.

What they hold is told by their content, never by their names.
"""

import contextlib
import itertools
import os
import re
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

from .. import _core
from ..system.spill import limit_memory
from . import remote
from .format_error import BYTE_ORDER_MARK, format_error
from .inflate import CHUNK_BYTES, GZIP_MAGIC, READ_BYTES, Damage, gunzip, is_zstd, unzstd
from .memory_timeline import is_timeline, read_memory_timeline
from .rebuild import with_anomaly

if TYPE_CHECKING:
    from ..public.run import Run

Source: TypeAlias = "str | os.PathLike[str] | bytes | bytearray | memoryview | IO[bytes] | list[str] | tuple[str, ...]"

RUN_MAGIC = b"\x89RGM\r\n\x1a\n"
BLOCK_MAGIC = re.compile(rb"RGM[FB].\0\0\0", re.DOTALL)  # of csrc/io/journal/frame_format.h, with a type below 256
SQLITE_MAGIC = b"SQLite format 3\0"
PICKLE_MAGICS = tuple(b"\x80" + bytes((protocol,)) for protocol in (2, 3, 4, 5))
STANDARD_INPUT = "-"
YOUNG_S = 30.0  # since a file was written, in which it may be written still
HEAD_BYTES = 1 << 16
MOST_BLANKS = 256 << 20  # a packed file of a few kB can hold gigabytes of them
DEPTH = 4  # chunks that wait between inflating and parsing
# A key of the outermost object that tells an exported profile from a trace.
EXPORT_KEYS = frozenset((b'"entries"', b'"summary"', b'"launches"'))
_EVENT = re.compile(rb'"ph"\s*:')  # what every event of a trace has
TRACE_KEYS = frozenset((b'"traceEvents"', b'"schemaVersion"', b'"deviceProperties"', b'"distributedInfo"'))
_TOKENS = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]:,]', re.DOTALL)
# Formats that people have at hand and hope for.
_KNOWN_OTHERS = (
    (b"PK\x03\x04", "a zip archive"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ", "xz data"),
    (b"\xff\xfe", "UTF-16 text; write it as UTF-8"),
    (b"\xfe\xff", "UTF-16 text; write it as UTF-8"),
    (b"\x89PNG", "a PNG image"),
    (b"PAR1", "a Parquet file"),
    (b"NSYS", "an Nsight Systems report; export it first: nsys export --type sqlite"),
)


@dataclass(slots=True)
class Input:
    """One thing to read: its name for messages, and its bytes as a plain file, in memory or as a stream."""

    name: str
    path: str | None = None
    data: memoryview | None = None
    stream: Any = None

    def head(self) -> bytes:
        """Return the first bytes; a stream still gives them afterwards."""
        if self.data is not None:
            return bytes(self.data[:HEAD_BYTES])
        if self.path is not None:
            with open(self.path, "rb") as file:
                return file.read(HEAD_BYTES)
        found = _read_full(self.stream, HEAD_BYTES)
        self.stream = _Pushed(found, self.stream)
        return found

    def chunks(self, size: int) -> Iterator[bytes]:
        """Yield all bytes in pieces of `size`."""
        with self.file() as file:
            while piece := file.read(size):
                yield piece

    @contextlib.contextmanager
    def file(self) -> Iterator[Any]:
        """Give the bytes as a binary file that is read once."""
        if self.path is not None:
            with open(self.path, "rb", buffering=0) as file:
                yield file
        else:
            yield _Memory(self.data) if self.data is not None else self.stream


class _Pushed:
    """A stream with bytes put back in front of it."""

    def __init__(self, head: bytes, stream: Any) -> None:
        self._head = head
        self._stream = stream

    def read(self, size: int = -1) -> bytes:
        if not self._head:
            return bytes(self._stream.read(size) or b"")
        taken = self._head if size < 0 else self._head[:size]
        self._head = self._head[len(taken) :]
        return taken + bytes(self._stream.read() or b"") if size < 0 else taken


class _Memory:
    """Bytes in memory as a file, without copying them all."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._at = 0

    def read(self, size: int = -1) -> bytes:
        end = len(self._data) if size < 0 else self._at + size
        taken = bytes(self._data[self._at : end])
        self._at += len(taken)
        return taken


def _read_full(stream: Any, size: int) -> bytes:
    """Read until `size` bytes are there; a pipe gives less at a time."""
    found = b""
    while len(found) < size:
        piece = stream.read(size - len(found))
        if isinstance(piece, str):
            raise TypeError("the file was opened as text; open it with mode 'rb'")
        if not piece:
            break
        found += piece
    return found


@contextlib.contextmanager
def open_input(source: Source) -> Iterator[Input]:
    """Give the input that a source names. OSError when a file cannot be opened, TypeError for no source at all."""
    if isinstance(source, bytes | bytearray | memoryview):
        yield Input("<bytes>", data=memoryview(source).cast("B"))
    elif not isinstance(source, str | os.PathLike):
        if not hasattr(source, "read"):
            raise TypeError(f"expected a path, bytes or a binary file, not {type(source).__name__}")
        yield Input(str(getattr(source, "name", "") or "<stream>"), stream=source)
    elif remote.is_url(source):
        with remote.open_url(str(source)) as stream:
            yield Input(str(source), stream=stream)
    elif os.fspath(source) == STANDARD_INPUT:
        yield Input("<stdin>", stream=sys.stdin.buffer)
    else:
        path = os.fsdecode(os.fspath(source))
        if stat.S_ISREG(os.stat(path).st_mode):
            yield Input(path, path=path)
        else:
            with open(path, "rb", buffering=0) as stream:
                yield Input(path, stream=stream)


def kind_of(head: bytes) -> str:
    """Tell by the first bytes what an input holds.

    One of run, gzip, zstd, sqlite, snapshot (a pickle), timeline (of memory), trace, export, or "" for none of these.
    """
    if head.startswith(RUN_MAGIC):
        return "run"
    if head.startswith(GZIP_MAGIC):
        return "gzip"
    if is_zstd(head):
        return "zstd"
    if head.startswith(SQLITE_MAGIC):
        return "sqlite"
    if head.startswith(PICKLE_MAGICS):
        return "snapshot"
    text = head.removeprefix(BYTE_ORDER_MARK).lstrip()
    if text.startswith(b"["):
        return "timeline" if is_timeline(text) else "trace" if _is_list_of_events(text) else ""
    return _kind_of_object(text, len(head) < HEAD_BYTES) if text.startswith(b"{") else ""


def is_recording(head: bytes) -> bool:
    """Tell by the first bytes whether a file is a recording, or what is left of one."""
    return head.startswith(RUN_MAGIC) or BLOCK_MAGIC.search(head) is not None


def has_event(head: bytes) -> bool:
    """Tell whether text has what every event of a trace has."""
    return _EVENT.search(head) is not None


def _is_list_of_events(text: bytes) -> bool:
    """Tell whether text that begins with a bracket is a trace, which may be cut or damaged, and no line of a log."""
    return text[1:].lstrip()[:1] in (b"", b"{", b"]") or has_event(text)


def _kind_of_object(text: bytes, whole: bool) -> str:
    """Look at the keys of the outermost object until one tells; a long head that does not is taken for a trace's."""
    depth, previous = 0, b""
    for match in _TOKENS.finditer(text):
        token = match[0]
        if token in (b"{", b"["):
            depth += 1
        elif token in (b"}", b"]"):
            depth -= 1
        elif token == b":" and depth == 1:
            if previous in EXPORT_KEYS:
                return "export"
            if previous in TRACE_KEYS:
                return "trace"
        elif depth == 1 and previous == b":" and token.startswith(b'"regimeter.'):
            return "export"  # the value of "format"
        previous = token
    return "" if whole else "trace"


def peek(path: str | os.PathLike[str]) -> bytes:
    """Return the first bytes of what a file holds, inflated where it is packed; b"" where nothing can be had of it.

    OSError when it cannot be opened, UnavailableError when zstd data needs a package that is not installed.
    """
    with open_input(path) as opened:
        head = opened.head()
        packing = kind_of(head)
        if packing not in ("gzip", "zstd"):
            return head
        with opened.file() as file:
            return _first(iter(_inflated(opened, file, packing, Damage())))


def inflated_bytes(path: str | os.PathLike[str], most: int) -> int:
    """Return how many bytes a file holds when it is inflated; it stops at the first count above `most`."""
    with open_input(path) as opened:
        packing = kind_of(opened.head())
        if packing not in ("gzip", "zstd"):
            return os.path.getsize(path)
        total = 0
        with opened.file() as file:
            for piece in _inflated(opened, file, packing, Damage()):
                total += len(piece)
                if total > most:
                    break
        return total


def is_young(modified_ns: int) -> bool:
    """Whether a file that was written to then may be written still."""
    return time.time() - modified_ns / 1e9 < YOUNG_S


def read(kind: "type[Run]", source: Source, strict: bool, recover: bool, name: str | None = None) -> "Run":
    """Read one input; name: what it is called in the place of its path. FormatError, with byte offset, for what cannot
    be read."""
    limit_memory()
    with open_input(source) as opened:
        opened.name = opened.name if name is None else name
        try:
            return _read(kind, opened, strict, recover)
        except _core.FormatError as error:
            if opened.name in str(error):
                raise
            raise format_error(f"{opened.name}: {error}", getattr(error, "offset", None)) from None


def _read(kind: "type[Run]", opened: Input, strict: bool, recover: bool) -> "Run":
    head = opened.head()
    found = kind_of(head)
    if found in ("gzip", "zstd"):
        return _read_compressed(kind, opened, found, strict, recover)
    if found == "" and not recover and (problem := _describe(head)):
        raise format_error(
            f"{opened.name}: {problem}" if "recover" in problem else f"{opened.name}: {problem}; {EXPECTED}", 0
        )
    if found == "trace":
        return _read_trace(kind, opened, strict)
    if found == "snapshot":
        return _read_snapshot(kind, opened)
    if found == "timeline":
        return read_memory_timeline(kind, _encodable(opened.name), _all_of(opened))
    if found == "export" or (found == "" and not recover):  # whose reader says what is wrong with short text
        return _read_export(kind, opened.name, _all_of(opened), Damage())
    with _as_file(opened) as path:  # what is read with seeks
        if found == "sqlite":
            from .nsys import read_nsys  # with NumPy, which other kinds are read without

            return read_nsys(kind, path, opened.name)
        loaded: Run = kind._load(path, recover)
        return loaded


EXPECTED = (
    "expected a recording (.rgm), an exported profile, a trace in Chrome's JSON format, an nsys SQLite export, a"
    " memory snapshot or raw memory timeline of torch"
)


def _describe(head: bytes) -> str:
    """Say what an unknown input is; "" for short text, which is left to the reader of profiles."""
    for magic, text in _KNOWN_OTHERS:
        if head.startswith(magic):
            return text
    if BLOCK_MAGIC.search(head):
        return "a recording whose head is damaged; `regimeter recover FILE -o OUT` keeps what is intact"
    if len(head) < HEAD_BYTES and not any(byte < 9 for byte in head):
        return ""
    return f"neither JSON nor a recording: it begins with {head[:12]!r}"


def _read_trace(kind: "type[Run]", opened: Input, strict: bool) -> "Run":
    if opened.stream is not None:
        pieces = _with_content(opened.name, opened.chunks(CHUNK_BYTES))
        return import_chunks(kind, pieces, opened.name, strict, Damage())
    source: Any = opened.path if opened.path is not None else opened.data
    found: Run = kind._import(source, _encodable(opened.name), strict, 0, 0)
    return _with_events(found, opened.name)


def _read_snapshot(kind: "type[Run]", opened: Input) -> "Run":
    name = _encodable(opened.name)
    if opened.path is not None:
        found: Run = kind._import_snapshot(opened.path, name)
        return found
    return parse_beside(lambda feed: kind._import_snapshot(feed, name), opened.chunks(CHUNK_BYTES), None)


def _with_events(run: "Run", name: str) -> "Run":
    """Return the run. FormatError where the file is JSON with rows of which not one is an event: no damaged trace."""
    rows, bad = int(run.tables.files.events.sum()), _core.ANOMALY_CODES.index("bad_event")
    if (
        rows
        and not run.tables.files.kept.any()
        and int(run.tables.anomalies.count[run.tables.anomalies.code == bad].sum()) == rows
    ):
        raise format_error(f"{name}: JSON, but no trace: not one of its {rows:,} rows is an event; {EXPECTED}", 0)
    return run


def _encodable(name: str) -> str:
    """Return a name with the bytes that are not UTF-8 replaced."""
    return name.encode("utf-8", "replace").decode()


def _read_compressed(kind: "type[Run]", opened: Input, packing: str, strict: bool, recover: bool) -> "Run":
    damage = Damage()
    with opened.file() as file:
        pieces = _with_content(opened.name, _inflated(opened, file, packing, damage))
        first = _first(pieces)
        found = kind_of(first)
        text = itertools.chain((first,), pieces)
        if found == "trace":
            return import_chunks(kind, text, opened.name, strict, damage)
        if found == "snapshot":
            return parse_beside(lambda feed: kind._import_snapshot(feed, _encodable(opened.name)), text, damage)
        if found == "timeline":
            return read_memory_timeline(kind, _encodable(opened.name), b"".join(text))
        if found == "export":
            return _read_export(kind, opened.name, b"".join(text), damage)
        if found in ("run", "sqlite"):
            with _copied(text) as path:
                return _read(kind, Input(opened.name, path=path), strict, recover)
        what = damage.text or f"{packing} data of {_describe(first) or 'something else' if first else 'nothing'}"
        raise format_error(f"{opened.name}: {what}; {EXPECTED}", 0)


def _inflated(opened: Input, file: Any, packing: str, damage: Damage) -> Iterator[bytes]:
    if packing == "zstd":
        return unzstd(file, damage)
    again = (lambda: opened.chunks(READ_BYTES)) if opened.stream is None else None
    return gunzip(iter(lambda: file.read(READ_BYTES), b""), damage, again)


def _with_content(name: str, pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Pass the pieces on; FormatError where blanks alone go on for so long that nobody has written them as text."""
    blank = 0
    for piece in pieces:
        blank = 0 if piece and not piece.isspace() else blank + len(piece)
        if blank > MOST_BLANKS:
            raise format_error(f"{name}: {blank >> 20} MiB of blanks and nothing else in a row; {EXPECTED}")
        yield piece


def _first(pieces: Iterator[bytes]) -> bytes:
    """Return the first pieces, together enough to tell what they are."""
    found = b""
    while len(found) < HEAD_BYTES and (piece := next(pieces, b"")):
        found += piece
    return found


def import_chunks(kind: "type[Run]", chunks: Iterable[bytes], name: str, strict: bool, damage: Damage) -> "Run":
    """Parse the text of a trace while this thread reads and inflates it; see ``parse_beside``."""
    run = parse_beside(
        lambda feed: kind._import(feed, _encodable(name), strict, 0, 0), chunks, damage if strict else None
    )
    run = _with_events(run, name)
    return with_anomaly(run, damage.code, 1, damage.text) if damage.text else run


def parse_beside(parse: "Callable[[_core.Feed], Run]", chunks: Iterable[bytes], fatal: Damage | None) -> "Run":
    """Parse pieces on a second thread while this one reads and inflates them.

    Reading stays on the calling thread, so that its errors and Ctrl-C come where they are expected; the parsing
    thread has ended when this returns or raises. Where no second thread can be had, all of the text is read first.
    fatal: damage that the parser is told of as the failure of its input.
    """
    feed = _core.Feed(DEPTH)
    result: list[Run] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            result.append(parse(feed))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work, name="regimeter-import", daemon=True)
    alone = False
    try:
        try:
            thread.start()
        except RuntimeError:
            alone, chunks = True, [b"".join(chunks)]
        for chunk in chunks:
            if not feed.put(chunk):  # the parser has stopped, and says why
                break
        feed.end(fatal.text if fatal is not None and fatal.text else None)
    except BaseException as error:
        feed.end(f"reading stopped: {type(error).__name__}: {error}")
        _join(thread.join)
        raise
    if alone:
        work()
    _join(thread.join)
    if errors:
        raise errors[0]
    return result[0]


def _join(join: Callable[[], None]) -> None:
    """Wait to the end; an interrupt during it is raised after it, so that no thread is left behind."""
    interrupted = None
    while True:
        try:
            join()
        except KeyboardInterrupt as error:
            interrupted = error
            continue
        except RuntimeError:  # it was never started
            pass
        if interrupted is not None:
            raise interrupted
        return


@contextlib.contextmanager
def _as_file(opened: Input) -> Iterator[str]:
    """Give the input as a path; what is in memory or comes from a stream goes into a temporary file."""
    if opened.path is not None:
        yield opened.path
        return
    with _copied(opened.chunks(CHUNK_BYTES)) as path:
        yield path


@contextlib.contextmanager
def _copied(pieces: Iterable[bytes]) -> Iterator[str]:
    """Give the path of a temporary file with these bytes."""
    import tempfile  # with what unpacks archives it takes 5 ms, for which no run on disk waits

    with tempfile.TemporaryDirectory(prefix="regimeter-") as folder:
        path = os.path.join(folder, "input")
        with open(path, "wb") as copy:
            copy.writelines(pieces)
        yield path


def _all_of(opened: Input) -> bytes:
    return b"".join(opened.chunks(CHUNK_BYTES))


def _read_export(kind: "type[Run]", name: str, data: bytes, damage: Damage) -> "Run":
    from .profile_json import read_export  # with NumPy, which other kinds are read without

    if damage.text:
        raise format_error(f"{name}: {damage.text}; the file may be cut", 0)
    return read_export(kind, Path(name), data)
