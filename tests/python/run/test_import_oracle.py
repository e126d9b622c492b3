# SPDX-License-Identifier: Apache-2.0
"""The C importer against a naive one on every trace, and against values typed by hand for every era of the format."""

import json
import re
from typing import Any

import numpy as np
import pytest
from slow_import import slow_read
from traces import all_traces, fast_import, load_trace, trace_text

from regimeter import Run, _core

COLUMNS = {
    "spans": "start_ns duration_ns name kind lane parent launch correlation external_id step bytes flags category",
    "launches": "span grid_x grid_y grid_z block_x block_y block_z registers shared_bytes "
    "estimated_occupancy blocks_per_sm warps_per_sm graph graph_node",
    "memory": "time_ns device action bytes address allocated reserved span lane",
    "operators": "span sequence forward_thread shapes types strides values stack module",
    "frames": "span id parent_id module_id",
    "collectives": "span collective element_type in_elements out_elements group_size group_name "
    "group_description group_ranks "
    "in_split out_split rank source_rank destination_rank global_rank_start global_rank_stride sequence communicator",
    "syncs": "span sync stream waits_on_stream event record_correlation",
    "flows": "id time_ns lane span kind phase category",
}
LANE = ("process", "thread", "slot", "device", "rank", "name", "process_name", "label")
JSON_COLUMNS = {"shapes", "types", "strides", "values"}
TYPES = {
    (table, column["name"]): column["type"]
    for table, described in _core.schema()["run"].items()
    for column in described["columns"]
}


def texts(run: Run, ids: np.ndarray) -> list[str]:
    strings = run.strings
    return [strings[i] for i in ids.tolist()]


def lanes_of(run: Run) -> list[tuple[Any, ...]]:
    """Return what identifies each lane."""
    lanes = run.lanes
    columns = [
        texts(run, getattr(lanes, key)) if TYPES["lanes", key] == "name" else getattr(lanes, key).tolist()
        for key in LANE
    ]
    return list(zip(*columns, strict=True))


def parsed(text: str) -> Any:
    return json.loads(text) if text else None


def cells(run: Run, table: str, column: str) -> Any:
    """Return a column with texts and lanes in place of ids."""
    values = getattr(run.table(table), column)
    if column == "lane":
        lanes = lanes_of(run)
        return [lanes[i] if i >= 0 else None for i in values.tolist()]
    if TYPES[table, column] != "name":
        return values
    found = texts(run, values)
    return [parsed(text) for text in found] if column in JSON_COLUMNS else found


def check_column(fast: Run, slow: Run, table: str, column: str) -> None:
    left, right = cells(fast, table, column), cells(slow, table, column)
    if isinstance(left, list):
        different = [i for i, (a, b) in enumerate(zip(left, right, strict=True)) if a != b]
    elif left.dtype.kind == "f":
        different = np.flatnonzero(~np.isclose(left, right, rtol=1e-15, atol=0, equal_nan=True)).tolist()
    else:
        different = np.flatnonzero(left != right).tolist()
    assert not different, (
        f"{table}.{column} differs in {len(different)} rows, first in row {different[0]}: "
        f"{left[different[0]]!r} is not {right[different[0]]!r}"
    )


def counters_of(run: Run) -> list[tuple[Any, ...]]:
    table = run.table("counters")
    names = texts(run, table.series)
    return sorted(
        zip(
            table.time_ns.tolist(), names, table.span.tolist(), table.value.tolist(), table.device.tolist(), strict=True
        )
    )


def check_same(fast: Run, slow: Run) -> None:
    """Assert that every row of every table agrees."""
    assert fast.table("files").events.tolist() == slow.table("files").events.tolist()
    assert fast.table("files").kept.tolist() == slow.table("files").kept.tolist()
    assert fast.table("files").base_ns.tolist() == slow.table("files").base_ns.tolist()
    for table, columns in COLUMNS.items():
        assert len(fast.table(table)) == len(slow.table(table)), table
        for column in columns.split():
            if len(fast.table(table)):
                check_column(fast, slow, table, column)
    stated = ~np.isnan(slow.tables.launches.occupancy)  # elsewhere it is derived: test_occupancy.py
    assert np.allclose(
        fast.tables.launches.occupancy[stated], slow.tables.launches.occupancy[stated], rtol=1e-15, atol=0
    )
    assert counters_of(fast) == counters_of(slow)
    if len(slow.spans):
        assert (fast.start_ns, fast.end_ns) == (slow.start_ns, slow.end_ns)


FIRST, LAST = 5000, 1000


def shortened(text: bytes) -> bytes:
    """Return a trace with some events of its beginning and end, as they were written: a naive reader takes seconds for
    the largest ones."""
    source, decoder, between = text.decode(), json.JSONDecoder(), re.compile(r"[\s,]*")
    at = source.index("{", source.index("[", max(source.find('"traceEvents"'), 0)))
    places = [at]
    while source[at] != "]":
        _, at = decoder.raw_decode(source, at)
        at = between.match(source, at).end()  # type: ignore[union-attr]
        places.append(at)
    if len(places) <= FIRST + LAST:
        return text
    return (source[: places[FIRST]] + source[places[-LAST - 1] :]).encode()


@pytest.mark.parametrize("name", all_traces())
def test_every_row_of_every_trace_is_what_a_naive_reader_finds(name: str) -> None:
    text = shortened(trace_text(name))
    fast = fast_import(text, name)
    check_same(fast, slow_read(text))
    assert fast.table("files").events[0] == fast.table("files").kept[0] + fast.tables.anomalies.lost.sum()
    assert fast.table("files").bytes[0] == len(text)


@pytest.mark.parametrize("scan", [1, 2])
@pytest.mark.parametrize("threads", [1, 2])
def test_every_way_of_reading_gives_the_same(scan: int, threads: int) -> None:
    name = "h100_bert_small.json.gz"
    check_same(fast_import(trace_text(name), threads=threads, scan=scan), load_trace(name))
