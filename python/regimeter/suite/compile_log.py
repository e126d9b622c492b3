# SPDX-License-Identifier: Apache-2.0
"""Records of what torch.compile logs: of a file that TORCH_TRACE wrote, and messages of a text that TORCH_LOGS wrote.

Both have lines with the prefix of glog. A record of a trace is one such line with a JSON object, below it its payload,
each line after a tab. A message is lines with one prefix. Files are read line by line; nothing in them is executed.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import IO, Any

from ..run.format_error import format_error

TRACES, LOGS = "dedicated_log_torch_trace_*.log", "*.log"
MOST_BYTES = 16 << 20  # of a line or of a payload; longer ones are lost
MOST_OPEN = 64  # messages of processes that write to one file in turn
ASKED = "TORCH_LOGS=graph_breaks,recompiles,dynamo"
EXPECTED = f"no line of torch.compile's logs; TORCH_TRACE=FOLDER has traces written, {ASKED} a text"
_PREFIX = re.compile(
    rb"(?:\[(?!rank\d)\w{1,99}\]:){0,3}(?:\[rank(?P<rank>\d{1,9})\]:)?"
    rb"(?P<level>[A-Z])\d{4} \d\d:\d\d:\d\d\.\d+ (?P<pid>\d{1,18}) "
    rb"(?P<place>[^\s\]]+:\d+)\](?: \[(?P<id>!?\d[\d/_]*)\])?(?: \[__(?P<artifact>\w+)\])? ?"
)
_BEGINS = re.compile(rb"Graph break |Recompiling function ")  # another message, though of the same place and time
_ATTEMPT = re.compile(r"_\d+$")
# Of payloads that nobody reads nothing is kept.
_WANTED = re.compile(
    r"(?:chromium_event|inductor_output_code|recompile_reasons|dynamo_graph_break_reason|torch_version|\w+_graph)\Z"
)


@dataclass(slots=True)
class Record:
    """A record or message. header: of a trace, None of a text; kind: the name of the record, or of the artifact."""

    pid: int
    rank: int | None
    header: dict[str, Any] | None
    kind: str
    compile_id: str
    level: str = ""
    line: int = 0
    text: str = ""


@dataclass(slots=True)
class Loss:
    """What of a file could not be read: how many records, and the first."""

    records: int = 0
    first: str = ""

    def note(self, line: int, why: str) -> None:
        """Count one at a line."""
        self.records += 1
        self.first = self.first or f"line {line}: {why}"


@dataclass(slots=True)
class _Open:
    """A record whose lines are still coming. prefix: b'' of a trace."""

    record: Record
    prefix: bytes
    wanted: bool
    size: int = 0
    pieces: list[bytes] = field(default_factory=list)

    def add(self, piece: bytes) -> None:
        self.size += len(piece) + 1
        if self.wanted and self.size <= MOST_BYTES:
            self.pieces.append(piece)

    def ended(self, loss: Loss) -> Iterator[Record]:
        """Yield the record with its text, where all of it is there."""
        text = b"\n".join(self.pieces)
        digest = (self.record.header or {}).get("has_payload")
        if not self.wanted:
            text, digest = b"", None
        if self.size > MOST_BYTES and self.wanted:
            loss.note(self.record.line, f"longer than {MOST_BYTES:,} bytes")
        elif digest is not None and digest != hashlib.md5(text, usedforsecurity=False).hexdigest():
            loss.note(self.record.line, "the payload is not what was written")
        else:
            self.record.text = text.decode("utf-8", "replace")
            yield self.record


def files_of(path: Path) -> list[Path]:
    """Return the logs that a path stands for. FormatError for a folder without any, OSError for what is not there."""
    if not path.is_dir():
        return [path]
    found = sorted(path.glob(TRACES)) or sorted(path.glob(LOGS))
    if not found:
        raise format_error(f"{path}: no {TRACES} in this folder; {EXPECTED}")
    return found


def records(file: IO[bytes], loss: Loss) -> Iterator[Record]:
    """Yield what a file holds, of each process in its order; lines that are not torch's are passed over."""
    lines = _lines(file, loss)
    for number, line in lines:
        found = _PREFIX.match(line)
        if found is not None:
            form = _of_trace if line[found.end() :].startswith(b"{") else _of_text
            yield from form(chain([(number, line)], lines), loss)


def _of_trace(lines: Iterator[tuple[int, bytes]], loss: Loss) -> Iterator[Record]:
    opened: _Open | None = None
    for number, line in lines:
        if line.startswith(b"\t"):
            if opened is not None:
                opened.add(line[1:])
            continue
        if opened is not None:
            yield from opened.ended(loss)
        found = _PREFIX.match(line)
        record = None if found is None else _with_header(found, line[found.end() :])
        opened = None if record is None else _Open(record, b"", bool(_WANTED.match(record.kind)))
        if record is None:
            loss.note(number, "no record of a trace")
        else:
            record.line = number
    if opened is not None:
        yield from opened.ended(loss)


def _of_text(lines: Iterator[tuple[int, bytes]], loss: Loss) -> Iterator[Record]:
    opened: dict[int, _Open] = {}
    for number, line in lines:
        found = _PREFIX.match(line)
        if found is None:
            continue
        pid, rest = int(found["pid"]), line[found.end() :].removesuffix(b"\r")
        known = opened.get(pid)
        if known is None or known.prefix != found[0] or _BEGINS.match(rest):
            if known is None and len(opened) >= MOST_OPEN:
                known = opened.pop(next(iter(opened)))
            if known is not None:
                yield from known.ended(loss)
            known = opened[pid] = _Open(_message(found), found[0], wanted=True)
            known.record.line = number
        known.add(rest)
    for last in opened.values():
        yield from last.ended(loss)


def _with_header(found: re.Match[bytes], text: bytes) -> Record | None:
    """Return the record of a line of a trace, None where it is none."""
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(header, dict) or not header:
        return None
    kind = next(iter(header))
    named = header[kind].get("name") if kind == "artifact" and isinstance(header[kind], dict) else kind
    return Record(int(found["pid"]), whole(header.get("rank")), header, encodable(named), _compile_id(header))


def _compile_id(header: dict[str, Any]) -> str:
    """Return the number of what is compiled as torch writes it: 0/1, after ! and another where autograd compiles."""
    names = ("compiled_autograd_id", "frame_id", "frame_compile_id")
    numbers = [whole(header.get(name)) for name in names]
    return ("" if numbers[0] is None else "!") + "/".join(str(one) for one in numbers if one is not None)


def _message(found: re.Match[bytes]) -> Record:
    rank, artifact, number = (
        None if found[name] is None else found[name].decode() for name in ("rank", "artifact", "id")
    )
    compile_id = _ATTEMPT.sub("", number or "")
    return Record(
        int(found["pid"]),
        None if rank is None else int(rank),
        None,
        artifact or "",
        compile_id,
        found["level"].decode(),
    )


def whole(value: object) -> int | None:
    """Return a count or number of a log, None where it is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63 else None


def encodable(value: object) -> str:
    """Return a text of a log that can be written as UTF-8, '' where it is none."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def _lines(file: IO[bytes], loss: Loss) -> Iterator[tuple[int, bytes]]:
    """Yield lines with their numbers, without their ends; of one that is too long nothing."""
    number = 0
    while line := file.readline(MOST_BYTES):
        number += 1
        if len(line) == MOST_BYTES and not line.endswith(b"\n"):
            loss.note(number, f"longer than {MOST_BYTES:,} bytes")
            while line and not line.endswith(b"\n"):
                line = file.readline(MOST_BYTES)
            continue
        yield number, line.removesuffix(b"\n")
