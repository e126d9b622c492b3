# SPDX-License-Identifier: Apache-2.0
"""The timeline piece by piece: every span in one tile of a level, statistics and search against a look at all spans."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from serving import Server, record, serving
from traces import load_trace, trace_path

from regimeter import _core, load
from regimeter.server.lines import ends_of
from regimeter.server.tiles import BAND_LANES, TILE_PIXELS

TRACE = "h100_bert_small.json.gz"
STACKS = "h100_owlv2_with_stack.json.gz"  # with Python functions


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("served")
    record(made, "base", 500)
    for name in (TRACE, STACKS):
        shutil.copy(trace_path(name), made / name)
    return made


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    with serving(str(folder), "--tiles-above", "1000") as running:
        yield running


def unpacked(body: bytes) -> dict[str, Any]:
    """Read a document of binary columns, as the page does."""
    length = int.from_bytes(body[:4], "little")
    head, data = json.loads(body[4 : 4 + length]), body[4 + length :]

    def values(column: dict[str, Any], count: int) -> np.ndarray:
        if column["type"] == "same":
            return np.full(count, column["value"])
        if count == 0:
            return np.zeros(0, dtype="int64")
        at, size = column["data"]
        if column["type"] == "f64":
            made = np.frombuffer(data[at : at + size], "<f8")
        else:
            planes = np.frombuffer(data[at : at + size], "u1").reshape(-1, count)
            made = sum(planes[k].astype("int64") << (8 * k) for k in range(len(planes)))
            bits = 8 * len(planes)
            if column["type"][0] == "i":
                made = np.where(made >> (bits - 1), made - (1 << bits), made)
        return np.cumsum(made) if column.get("steps") else made

    count, blocks = head["count"], head["blocks"]
    found = {name: values(column, count) for name, column in head["columns"].items()}
    stands, sums = np.ones(count, dtype="int64"), found["duration_ns"].astype("int64")
    rows = values(blocks["row"], blocks["count"]).astype("int64")
    stands[rows] = values(blocks["spans"], blocks["count"])
    sums[rows] = values(blocks["sum_ns"], blocks["count"])
    return head | {"columns": found, "stands": stands, "sums": sums}


def tile(server: Server, run: str, level: int, number: int, band: int = 0, python: bool = True) -> dict[str, Any]:
    address = f"/api/profiler/tiles?run={run}&level={level}&tile={number}&band={band}&python={int(python)}"
    answer = server.ask(address)
    assert answer.status == 200, answer.body
    return unpacked(answer.body)


@pytest.mark.parametrize("name", ["base.rgm", TRACE, STACKS])
@pytest.mark.parametrize("python", [True, False])
def test_every_span_begins_in_one_tile_of_a_level(server: Server, folder: Path, name: str, python: bool) -> None:
    run = load(folder / name)
    low, high = ends_of(run)
    shown = np.ones(len(run.spans), dtype=bool)
    if not python:
        shown = run.spans.kind != _core.SPAN_KINDS.index("python")
    for tiles_in_all in (1, 7, 30):
        level = max(0, ((high - low) // (tiles_in_all * TILE_PIXELS)).bit_length())
        long = TILE_PIXELS << level
        counted = summed = 0
        alone = []
        for number in range(low // long, high // long + 1):
            for band in range(-(-len(run.lanes) // BAND_LANES)):
                found = tile(server, name, level, number, band, python)
                assert found["drawn"] + found["aggregated"] == found["spans"] == found["stands"].sum()
                begins = found["columns"]["start_ns"] >= number * long
                ends = found["columns"]["start_ns"] + found["columns"]["duration_ns"]
                assert (ends >= number * long).all()
                counted += int(found["stands"][begins].sum())
                summed += int(found["sums"][begins].sum())
                alone += found["columns"]["span"][begins & (found["stands"] == 1)].astype("int64").tolist()
        assert counted == shown.sum()
        assert summed == run.spans.duration_ns[shown].sum()
        assert len(set(alone)) == len(alone)
        wide = np.flatnonzero(shown & (run.spans.duration_ns >= 1 << level))
        assert set(wide.tolist()) <= set(alone)


def test_a_range_is_what_runs_in_it(server: Server) -> None:
    run = load_trace(TRACE)
    start = run.spans.start_ns - run.start_ns
    end = start + run.spans.duration_ns
    first, last = int(np.quantile(start, 0.3)), int(np.quantile(start, 0.6))
    hidden = int(run.spans.lane[0])
    inside = (start <= last) & (end >= first) & (run.spans.lane != hidden)
    part = np.minimum(end, last) - np.maximum(start, first)
    address = f"/api/profiler/range?run={TRACE}&start_ns={first}&end_ns={last}&hidden={hidden}&python=1&top=10000"
    found = server.ask(address).json()
    assert found["spans"] == inside.sum()
    assert found["names"] == len(found["rows"]) == len(np.unique(run.spans.name[inside]))
    for row in found["rows"]:
        own = inside & (np.array(run.strings)[run.spans.name] == row["name"])
        assert (row["spans"], row["time_ns"]) == (own.sum(), part[own].sum())
        assert run.spans.duration_ns[row["longest"]] == run.spans.duration_ns[own].max()
    times = [row["time_ns"] for row in found["rows"]]
    assert times == sorted(times, reverse=True)
    less = server.ask(address.replace("hidden", "folded")).json()
    assert found["spans"] < less["spans"] < ((start <= last) & (end >= first)).sum()


def test_search_goes_from_match_to_match(server: Server) -> None:
    run = load_trace(TRACE)
    texts = np.array(run.strings)[run.spans.name]
    name = "aten::addmm"
    rows = np.flatnonzero(texts == name)
    ordered = rows[np.lexsort((rows, run.spans.start_ns[rows]))].tolist()
    ask = f"/api/profiler/find?run={TRACE}&name={name}"
    at, met = None, []
    for _ in ordered:
        found = server.ask(ask + (f"&span={at}" if at is not None else "")).json()
        assert (found["spans"], found["duration_ns"]) == (len(rows), run.spans.duration_ns[rows].sum())
        at = found["next"]
        met.append(at)
    assert met == ordered
    assert server.ask(f"{ask}&span={ordered[-1]}").json()["next"] == ordered[0]
    assert server.ask(f"{ask}&span={ordered[0]}&backwards=1").json()["next"] == ordered[-1]
    contains = server.ask(f"/api/profiler/find?run={TRACE}&text=ADDMM").json()
    assert contains["spans"] == sum("addmm" in text.lower() for text in texts)
    assert server.ask(f"/api/profiler/find?run={TRACE}&name=nothing").json() == {
        "spans": 0, "duration_ns": 0, "next": None,
    }  # fmt: skip


def test_a_span_comes_with_its_arguments_and_its_launch(server: Server) -> None:
    run = load_trace(TRACE)
    table = run.analyse("timeline_blocks")
    row = int(np.flatnonzero(table.launch >= 0)[0])
    span, launch = int(table.span[row]), int(table.span[table.launch[row]])
    for asked, other in ((span, launch), (launch, span)):
        found = unpacked(server.ask(f"/api/profiler/span?run={TRACE}&span={asked}").body)
        spans = found["columns"]["span"].astype("int64").tolist()
        assert spans[0] == asked
        assert other in spans
        assert found["columns"]["launch"][spans.index(span)] == spans.index(launch)
        name = found["names"][int(found["columns"]["name"][0])]
        assert name == run.string(int(run.spans.name[asked]))
        assert found["details"]


@pytest.mark.parametrize("question", ["span?", "find?text=a&"])
def test_a_span_that_is_not_there_is_not_found(server: Server, question: str) -> None:
    answer = server.ask(f"/api/profiler/{question}run={TRACE}&span=697998169804785")
    assert answer.status == 404
    assert "a row of" in answer.problem


def test_a_tile_is_not_sent_twice(server: Server) -> None:
    address = f"/api/profiler/tiles?run={TRACE}&level=20&tile=0"
    first = server.ask(address)
    again = server.ask(address, If_None_Match=first.headers["etag"])
    assert (again.status, again.body) == (304, b"")


def test_the_page_has_an_overview(server: Server) -> None:
    for name, tiled in (("base.rgm", True), (TRACE, True)):
        data = server.ask(f"/api/runs/{server.id_of(name)}/page").json()
        assert ("tiles" in data) is tiled
        line = data["timeline"]
        assert line["drawn"] + line["aggregated"] == line["spans"] == data["run"]["span_count"]


def test_the_first_page_leaves_out_what_takes_long_and_says_where_it_is(server: Server) -> None:
    for name in ("base.rgm", TRACE):
        run = server.id_of(name)
        text = server.ask(f"/runs/{run}").body.decode()
        first = json.loads(re.search(r'<script [^>]*id="regimeter-data"[^>]*>(.*?)</script>', text, re.DOTALL)[1])
        whole = server.ask(f"/api/runs/{run}/page").json()
        assert first["rest"] == {"data": f"/api/runs/{run}/page"}
        assert "rest" not in whole
        later = {"suggestions", "regimes", "roofline", "path", "panels", "empty_panels"}
        assert set(whole) - set(first) == later
        # Of a program of some milliseconds that never had a processor when it was looked at, there is no verdict.
        told = [page["limit"] and page["limit"]["sentence"] for page in (first, whole)]
        assert told[0] == told[1]
        assert told[0] or name != TRACE
        # Names have numbers of their own on each page.
        for column in ("start_ns", "duration_ns", "lane", "depth", "span"):
            assert first["timeline"]["columns"][column] == whole["timeline"]["columns"][column]


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("tiles?level=53&tile=0", "level"), ("tiles?level=0&tile=x", "tile"), ("tiles?tile=0", "level"),
        ("tiles?level=0&tile=0&band=-1", "band"), (f"tiles?level=0&tile={1 << 70}", "tile"),
        ("span?span=-1", "span"), ("range?start_ns=1", "end_ns"),
        ("range?start_ns=0&end_ns=9&hidden=-1", "lane"), ("range?start_ns=0&end_ns=9&folded=100000", "lane"),
        ("find?text=" + 401 * "a", "text"),
    ],
)  # fmt: skip
def test_what_is_out_of_range_is_refused(server: Server, question: str, word: str) -> None:
    answer = server.ask(f"/api/profiler/{question}&run={TRACE}")
    assert answer.status == 422
    assert word in answer.problem


def test_the_ends_of_time_are_empty_tiles(server: Server) -> None:
    for level, number in ((0, -(1 << 61)), (52, (1 << 61)), (52, -1)):
        assert tile(server, TRACE, level, number)["count"] == 0
    assert tile(server, TRACE, 52, 0)["spans"] == len(load_trace(TRACE).spans)
    assert tile(server, TRACE, 52, 0, band=1 << 40)["count"] == 0
