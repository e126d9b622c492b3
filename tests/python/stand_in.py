# SPDX-License-Identifier: Apache-2.0
"""A stand-in for the core's importer, for tests of what feeds it: text goes through slow_import."""

import queue
import tempfile
import threading
from array import array
from typing import Any

import pytest
from slow_import import slow_import

from regimeter import FormatError, Run, _core


class Feed:
    """A bounded queue of chunks with the calls of the core's Feed."""

    made: "list[Feed]" = []  # noqa: RUF012

    def __init__(self, depth: int = 4) -> None:
        self.queue: queue.Queue[bytes | None] = queue.Queue(depth)
        self.stopped = threading.Event()
        self.problem: str | None = None
        self.sizes: list[int] = []
        Feed.made.append(self)

    def put(self, chunk: bytes) -> bool:
        self.sizes.append(len(chunk))
        return self._put(bytes(chunk))

    def end(self, problem: str | None) -> None:
        self.problem = problem
        self._put(None)

    def _put(self, item: bytes | None) -> bool:
        while not self.stopped.is_set():
            try:
                self.queue.put(item, timeout=0.02)
                return True
            except queue.Full:
                continue
        return False

    def take(self) -> bytes:
        return b"".join(iter(lambda: self.queue.get(timeout=10), None))  # type: ignore[arg-type]


def stand_in_import(kind: type[Run], source: Any, name: str, strict: bool, threads: int, scan: int) -> Run:
    """Import a path, bytes or a Feed, as the core does."""
    problem = None
    if isinstance(source, Feed):
        try:
            text = source.take()
            problem = source.problem
        finally:
            source.stopped.set()
    elif isinstance(source, str):
        with open(source, "rb") as file:
            text = file.read()
    else:
        text = bytes(source)
    if problem and strict:
        raise FormatError(f"{name}: {problem}")
    with tempfile.NamedTemporaryFile(suffix=".json") as copy:
        copy.write(text)
        copy.flush()
        try:
            run = slow_import(copy.name)
        except ValueError as error:
            raise FormatError(f"{name}: {error}") from None
    return with_tables(run, name, problem)


def with_tables(run: Run, name: str, problem: str | None) -> Run:
    """Return the run with a row of `files`, and an anomaly where something was wrong."""
    strings = [*run.strings, name, "kineto", problem or ""]
    tables: dict[str, dict[str, Any]] = {}
    for table in ("spans", "lanes", "launches", "operators", "frames", "flows", "memory"):
        rows = run.table(table)
        if len(rows):
            tables[table] = {column: getattr(rows, column) for column in rows.columns}
    described = run.environment.get("distributedInfo") or {}
    tables["files"] = {
        "file": array("I", [len(strings) - 3]),
        "format": array("I", [len(strings) - 2]),
        "events": array("q", [len(run.spans)]),
        "kept": array("q", [len(run.spans)]),
        "rank": array("i", [described.get("rank", -1)]),
    }
    if problem:
        code = _core.ANOMALY_CODES.index("truncated")
        tables["anomalies"] = {"code": array("B", [code]), "count": array("q", [1])}
        tables["anomalies"]["detail"] = array("I", [len(strings) - 1])
    built: Run = Run._build(strings, tables, run.environment_json, "kineto", run.start_ns, run.end_ns, -1, True)
    return built


@pytest.fixture
def importer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `load` read traces, by the stand-in where the core cannot."""
    if not hasattr(_core.Run, "_import"):
        monkeypatch.setattr(Run, "_import", classmethod(stand_in_import), raising=False)
        monkeypatch.setattr(_core, "Feed", Feed, raising=False)


def threads_alive() -> list[str]:
    """Return the names of our threads that are still there."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("regimeter")]


__all__ = ["Feed", "importer", "stand_in_import", "threads_alive"]
