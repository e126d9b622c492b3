# SPDX-License-Identifier: Apache-2.0
"""Damaged events as text, and what holds of every run that is imported, whatever its text was."""

import json

import numpy as np
from event_text import names

from regimeter import Run, _core

# What an anomaly may say of text that is not as JSON demands.
DAMAGE = {
    "truncated", "trailing_bytes", "invalid_json", "invalid_utf8", "control_characters", "number_range",
    "duplicate_keys", "missing_time", "unknown_phase", "bad_event", "too_deep", "too_long",
}  # fmt: skip


def event(name: str = "op", ts: str = "1", more: str = "") -> str:
    """Return the text of an event that lasts 1 us."""
    return f'{{"ph": "X", "cat": "cpu_op", "name": "{name}", "pid": 1, "tid": 1, "ts": {ts}, "dur": 1{more}}}'


def between(damaged: str | bytes) -> bytes:
    """Return a trace with something between two sound events."""
    middle_text = damaged if isinstance(damaged, bytes) else damaged.encode("utf-8", "surrogatepass")
    return b'{"traceEvents": [\n' + event("before", "1").encode() + b",\n" + middle_text + b",\n" + event(
        "after", "20"
    ).encode() + b'], "baseTimeNanoseconds": 0}'  # fmt: skip


def check_neighbours(run: Run) -> dict[str, int]:
    """Assert that the events around the damage are exact; return all spans' starts by name."""
    check_sound(run)
    found = dict(zip(names(run), run.spans.start_ns.tolist(), strict=True))
    assert found["before"] == 1_000
    assert found["after"] == 20_000
    assert (run.spans.duration_ns[[names(run).index("before"), names(run).index("after")]] == 1_000).all()
    return found


def args_of(text: str) -> str:
    return event("middle", "10", f', "args": {{{text}}}')


def check_sound(run: Run) -> None:
    """Assert what holds for every imported run."""
    files, anomalies, spans = run.table("files"), run.table("anomalies"), run.spans
    assert len(files) == 1
    assert files.events[0] == files.kept[0] + anomalies.lost.sum(), run.anomaly_list()
    assert (anomalies.count > 0).all()
    assert (anomalies.lost >= 0).all()
    rows = len(spans)
    if rows == 0:
        return
    start, end = spans.start_ns, spans.start_ns + spans.duration_ns
    assert (spans.duration_ns >= 0).all()
    assert (spans.lane < len(run.lanes)).all()
    assert (spans.name < len(run.strings)).all()
    assert (spans.kind < len(_core.SPAN_KINDS)).all()
    child = np.flatnonzero(spans.parent >= 0)
    parent = spans.parent[child]
    assert (parent < rows).all()
    assert (spans.lane[child] == spans.lane[parent]).all()
    assert (start[parent] <= start[child]).all()
    assert (end[parent] >= end[child]).all()
    for table in ("launches", "operators", "frames", "collectives", "syncs"):
        assert (run.table(table).span < rows).all()
    for table in ("flows", "memory", "counters"):
        column = run.table(table).span
        assert ((column >= -1) & (column < rows)).all()


def is_json(text: bytes) -> bool:
    """Return whether the text is JSON, NaN and Infinity included."""
    try:
        json.loads(text.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return False
    return True


def check_same(one: Run, two: Run) -> None:
    """Assert that two runs are the same."""
    assert one.anomaly_list() == two.anomaly_list()
    assert one.tables.anomalies.lost.tolist() == two.tables.anomalies.lost.tolist()
    assert one.tables.anomalies.first_offset.tolist() == two.tables.anomalies.first_offset.tolist()
    assert one.table("files").events.tolist() == two.table("files").events.tolist()
    assert names(one) == names(two)
    for column in ("start_ns", "duration_ns", "kind", "lane", "parent", "launch", "correlation", "step", "flags"):
        np.testing.assert_array_equal(getattr(one.spans, column), getattr(two.spans, column))
