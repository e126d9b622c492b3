# SPDX-License-Identifier: Apache-2.0
"""Chrome JSON, read back by json with exact decimals and by the naive importer."""

import gzip
import json
import math
from collections import Counter, defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from run_strategies import runs
from runs import KIND, build_run, is_work, names_of, rows_of
from slow_import import slow_import
from traces import fast_import, load_trace

from regimeter import Run, _core

TRACES = ["a100_alexnet_cuda_sync.json.gz", "h100_qwen_orphans.json.gz", "v100_2024_04_absolute_ns.json.gz",
          "mi300_vllm_decode_graph.json.gz", "mtia_inference.json.gz", "cpu_only_no_schema.json.gz",
          "v100_2021_gpu_metrics.json"]  # fmt: skip
# By hypothesis inside one test: the folder may be the same for all examples, a file is replaced.
HERE = settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])


def exported(run: Run, folder: Path, name: str = "out.trace.json") -> dict[str, Any]:
    run.export(folder / name, "chrome")
    text = (folder / name).read_bytes()
    text = gzip.decompress(text) if name.endswith(".gz") else text
    document: dict[str, Any] = json.loads(text.decode("utf-8"), parse_float=Decimal)
    return document


def ns(value: Any) -> int:
    scaled = Decimal(value) * 1000
    assert scaled == int(scaled)
    return int(scaled)


def slices(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [e for e in document["traceEvents"] if e["ph"] == "X"]


def shift_of(run: Run, document: dict[str, Any]) -> int:
    """Whatever was taken off all times: 0 unless doubles would lose nanoseconds."""
    found = [e for e in document["traceEvents"] if e["ph"] in "Xi"]
    if not found or int(np.abs(run.spans.start_ns).max()) < 2**51 - 100:
        return 0
    return int(run.spans.start_ns.min()) - min(ns(e["ts"]) for e in found)


def check_nested(document: dict[str, Any]) -> None:
    """On each track, in the order of the file, slices follow or contain each other, and work contains no work."""
    tracks = defaultdict(list)
    for event in slices(document):
        tracks[event["pid"], event["tid"]].append(event)
    for events in tracks.values():
        order = [(ns(e["ts"]), -ns(e["dur"])) for e in events]
        assert order == sorted(order)
        stack: list[int] = []
        for start, negative in order:
            while stack and stack[-1] <= start:
                stack.pop()
            assert not stack or start - negative <= stack[-1]
            stack.append(start - negative)
        work = [(ns(e["ts"]), ns(e["ts"]) + ns(e["dur"])) for e in events if e["cat"] in
                ("kernel", "gpu_memcpy", "gpu_memset", "mtia_ccp_events")]  # fmt: skip
        end = None
        for first, last in work:
            assert end is None or first >= end
            end = last if end is None else max(end, last)


def written(document: dict[str, Any], shift: int) -> Counter[tuple[Any, ...]]:
    """Slices, and instants other than those of memory."""
    return Counter(
        (ns(e["ts"]) + shift, ns(e.get("dur", 0)), e["name"])
        for e in document["traceEvents"]
        if e["ph"] == "X" or (e["ph"] == "i" and e["name"] != "[memory]")
    )


def spans_of(run: Run) -> Counter[tuple[Any, ...]]:
    return Counter(zip(run.spans.start_ns.tolist(), run.spans.duration_ns.tolist(), names_of(run), strict=True))


def contents(run: Run, name: str, shift: int) -> Counter[tuple[Any, ...]]:
    """Rows of a table with the start of their spans and texts for names; rows that say nothing are left out."""
    table, strings, columns = run.table(name), run.strings, []
    for column in _core.schema()["run"][name]["columns"]:
        values = getattr(table, column["name"]).tolist()
        # The span of a memory event is found by lane and time, and spans that overlap are on other lanes.
        if column["name"] == "lane" or (column["name"] == "span" and name == "memory"):
            continue
        if column["name"] == "span":
            values = [run.spans.start_ns[v] - shift if v >= 0 else v for v in values]
        elif column["name"] == "time_ns":
            values = [v - shift for v in values]
        elif column["type"] == "name":
            values = [strings[v] for v in values]
        elif column["type"] == "float64":
            values = [None if math.isnan(v) else round(v, 11) for v in values]
        columns.append(values)
    rows = Counter(zip(*columns, strict=True))
    return Counter({row: count for row, count in rows.items() if set(row[1:]) - {-1, "", None}})


def import_again(path: Path) -> Run:
    """Import what was exported as the traces of the tests are."""
    return fast_import(path.read_bytes())


def lanes_of(run: Run) -> list[Counter[tuple[Any, ...]]]:
    """What stands on each lane, in no order."""
    lanes: dict[int, Counter[tuple[Any, ...]]] = defaultdict(Counter)
    s = run.spans
    for row in zip(s.lane.tolist(), s.start_ns.tolist(), s.duration_ns.tolist(), names_of(run), strict=True):
        lanes[row[0]][row[1:]] += 1
    return sorted(lanes.values(), key=lambda c: sorted(c.items()))


def unlike(found: Any, expected: Any) -> list[Any]:
    """Return rows that only one side has, a few of them: pytest would compare texts of 60,000 rows for minutes."""
    return (
        []
        if found == expected
        else list(((Counter(found) - Counter(expected)) | (Counter(expected) - Counter(found))).items())[:4]
        or ["another order"]
    )


@pytest.mark.parametrize("name", TRACES)
def test_real_traces_come_back(name, tmp_path):
    run = load_trace(name)
    document = exported(run, tmp_path)
    check_nested(document)
    assert document["schemaVersion"] == 1
    shift = shift_of(run, document)
    assert not unlike(written(document, shift), spans_of(run))
    again = import_again(tmp_path / "out.trace.json")
    assert len(again.spans) == len(run.spans)
    expected = [(a - shift, *rest) for a, *rest in rows_of(run)]
    assert not unlike(rows_of(again), expected)
    naive = slow_import(tmp_path / "out.trace.json")
    assert not unlike(rows_of(naive), expected)
    for column in ("correlation", "external_id", "bytes", "step"):
        ours, theirs = getattr(run.spans, column), getattr(again.spans, column)
        assert np.array_equal(np.sort(ours), np.sort(theirs)), column
    for table in ("launches", "operators", "frames", "collectives", "syncs", "memory"):
        assert not unlike(contents(again, table, 0), contents(run, table, shift)), table
    if not any("(overlapping" in e["args"].get("name", "") for e in document["traceEvents"] if e["ph"] == "M"):
        assert shift or lanes_of(again) == lanes_of(run)


@pytest.mark.parametrize("name", ["h100_qwen_orphans.json.gz", "a100_nccl_2024.json.gz"])
def test_perfetto_would_drop_no_slice(name, tmp_path):
    """Its reader takes the decimals of ts as they are, but dur as a double times 1000, cut to an integer.

    A slice that then ends after the one around it would be dropped.
    """
    tracks = defaultdict(list)
    for event in slices(exported(load_trace(name), tmp_path)):
        tracks[event["pid"], event["tid"]].append((ns(event["ts"]), int(float(event["dur"]) * 1000.0)))
    for events in tracks.values():
        stack: list[int] = []
        for start, duration in sorted(events, key=lambda e: e[0]):
            while stack and stack[-1] <= start:
                stack.pop()
            assert not stack or start + duration <= stack[-1]
            stack.append(start + duration)


def test_correlations_stay_with_their_spans(tmp_path):
    run = load_trace("h100_qwen_orphans.json.gz")
    exported(run, tmp_path)
    again = import_again(tmp_path / "out.trace.json")

    def keyed(r: Run) -> Counter[tuple[Any, ...]]:
        s = r.spans
        return Counter(
            zip(s.start_ns.tolist(), names_of(r), s.correlation.tolist(), s.external_id.tolist(), strict=True)
        )

    assert keyed(again) == keyed(run)


def test_what_the_environment_says_is_kept(tmp_path):
    document = exported(load_trace("a100_nccl_2024.json.gz"), tmp_path)
    assert document["distributedInfo"]["rank"] == 0
    assert document["deviceProperties"][0]["name"].startswith("NVIDIA A100")
    assert document["baseTimeNanoseconds"] > 10**18


def test_absolute_times_become_relative_to_a_base(tmp_path):
    run = load_trace("v100_2024_04_absolute_ns.json.gz")
    document = exported(run, tmp_path)
    first = min(ns(e["ts"]) for e in slices(document))
    assert 0 <= first < 10**9
    assert document["baseTimeNanoseconds"] + first == int(run.spans.start_ns.min())


@HERE
@given(run=runs())
def test_hostile_runs_come_back(run, tmp_path):
    document = exported(run, tmp_path)
    check_nested(document)
    assert written(document, shift_of(run, document)) == spans_of(run)
    work = {e["args"].get("correlation", -1) for e in slices(document) if e["cat"] in ("kernel", "gpu_memcpy")}
    assert work == set(run.spans.correlation[is_work(run)].tolist()) if len(run.spans) else not work


@HERE
@given(run=runs())
def test_compressed_is_the_same_text_and_deterministic(run, tmp_path):
    run.export(tmp_path / "a.trace.json")
    run.export(tmp_path / "a.trace.json.gz")
    first = (tmp_path / "a.trace.json.gz").read_bytes()
    run.export(tmp_path / "a.trace.json.gz")
    assert (tmp_path / "a.trace.json.gz").read_bytes() == first
    assert gzip.decompress(first) == (tmp_path / "a.trace.json").read_bytes()


def test_overlaps_get_tracks_of_their_own(tmp_path):
    lane = {"process": 0, "thread": 7, "device": 0, "name": "stream 7"}
    other = {"process": 0, "thread": 1000000000, "device": 0, "name": "stream of the first free number"}
    span = {"kind": KIND["kernel"], "lane": 0}
    run = build_run([span | {"start_ns": i, "duration_ns": 10, "name": f"k{i}"} for i in (0, 5, 10, 12)], [lane, other])
    document = exported(run, tmp_path)
    names = {e["tid"]: e["args"]["name"] for e in document["traceEvents"] if e["name"] == "thread_name"}
    assert {e["name"]: names[e["tid"]] for e in slices(document)} == {
        "k0": "stream 7", "k5": "stream 7 (overlapping 1)", "k10": "stream 7", "k12": "stream 7 (overlapping 2)",
    }  # fmt: skip
    assert len(names) == 4
    indexes = [e["args"]["sort_index"] for e in document["traceEvents"] if e["name"] == "thread_sort_index"]
    assert indexes == sorted(indexes)


def test_a_staircase_of_overlaps_is_linear_enough(tmp_path):
    """Each of 20,000 kernels overlaps the 10,000 before it; a search through all tracks would take 10**8 steps."""
    count = 20_000
    kernel = {"duration_ns": count // 2, "name": "k", "kind": KIND["kernel"], "lane": 0}
    spans = [kernel | {"start_ns": i} for i in range(count)]
    document = exported(build_run(spans, [{"process": 0, "thread": 7, "device": 0}]), tmp_path)
    tracks = Counter(e["tid"] for e in slices(document))
    assert len(tracks) == count // 2
    assert set(tracks.values()) == {2}


def test_arguments_under_the_names_of_torch(tmp_path):
    lanes = [{"process": 10, "thread": 10, "device": -1}, {"process": 0, "thread": 7, "device": 0}]
    none = {"correlation": -1, "external_id": -1, "bytes": -1, "metadata": ""}
    spans = [
        none | {"start_ns": 1001, "duration_ns": 9, "name": "op", "kind": KIND["cpu_op"], "lane": 0,
                "external_id": 5, "metadata": '{"Ev Idx": 3, "correlation": "hidden"}'},
        none | {"start_ns": 1002, "duration_ns": 1, "name": "go", "kind": KIND["runtime"], "lane": 0, "correlation": 9},
        none | {"start_ns": 1005, "duration_ns": 2, "name": "k", "kind": KIND["kernel"], "lane": 1, "correlation": 9},
    ]  # fmt: skip
    big = 2**63 - 1
    run = build_run(
        spans,
        lanes,
        launches={"span": [2], "grid_x": [4], "grid_y": [5], "grid_z": [6], "block_x": [32], "block_y": [1],
                  "block_z": [1], "registers": [40], "shared_bytes": [1024], "estimated_occupancy": [0.29]},
        operators={"span": [0], "sequence": [77], "shapes": ["[[2,3],[]]"], "types": ["not json"]},
        collectives={"span": [2], "collective": ["allreduce"], "in_elements": [big], "group_ranks": ["[0, 1]"]},
        memory={"time_ns": [1003], "device": [0], "action": [2], "bytes": [512], "address": [big], "lane": [0]},
        counters={"time_ns": [1004, 1005], "series": ["power W"] * 2, "value": [0.1, float("nan")], "device": [0, 0]},
    )  # fmt: skip
    document = exported(run, tmp_path)
    by_name = {e["name"]: e for e in document["traceEvents"] if e["ph"] in "XiC"}
    assert by_name["op"]["args"] == {"Ev Idx": 3, "correlation": "hidden", "External id": 5, "Sequence number": 77,
                                     "Input Dims": [[2, 3], []], "Input type": "not json"}  # fmt: skip
    kernel = by_name["k"]["args"]
    assert (kernel["grid"], kernel["block"], kernel["est. achieved occupancy %"]) == ([4, 5, 6], [32, 1, 1], 29)
    assert (kernel["device"], kernel["stream"], kernel["correlation"]) == (0, 7, 9)
    assert (kernel["registers per thread"], kernel["shared memory"]) == (40, 1024)
    assert (kernel["Collective name"], kernel["In msg nelems"]) == ("allreduce", big)
    assert kernel["Process Group Ranks"] == "[0, 1]"
    assert by_name["[memory]"]["args"] == {"Bytes": -512, "Device Type": 1, "Device Id": 0, "Addr": big}
    values = [e["args"]["value"] for e in document["traceEvents"] if e["ph"] == "C"]
    assert values == [Decimal("0.1"), None]
    arrows = [(e["ph"], e["tid"], ns(e["ts"])) for e in document["traceEvents"] if e["ph"] in "sf"]
    assert arrows == [("s", 10, 1002), ("f", 7, 1005)]


def test_ranks_with_the_same_numbers_stay_apart(tmp_path):
    lanes = [{"process": 5, "thread": 5, "rank": rank, "name": ""} for rank in (0, 1)]
    span = {"duration_ns": 1, "kind": KIND["cpu_op"]}
    run = build_run([span | {"start_ns": i, "name": f"r{i}", "lane": i} for i in (0, 1)], lanes)
    document = exported(run, tmp_path)
    first, second = slices(document)
    assert first["pid"] == 5
    assert second["pid"] != 5
    names = {e["pid"]: e["args"]["name"] for e in document["traceEvents"] if e["name"] == "process_name"}
    assert names == {5: "rank 0 process 5", second["pid"]: "rank 1 process 5"}


def test_an_empty_run(tmp_path):
    document = exported(build_run([], []), tmp_path)
    assert slices(document) == []
