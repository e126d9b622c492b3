# SPDX-License-Identifier: Apache-2.0
"""Runs of several ranks as one run."""

import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest
from runs import build_run, named_kernel, names_of, span
from traces import load_trace, trace_path

import regimeter
from regimeter import Run, _core

WIDE = 1 << 40


def small(rank: int, name: str = "gemm") -> Run:
    """Return a run in which every table has a row that refers to something."""
    spans = [
        span("runtime", "launch", 1, 0, 5, parent=-1, correlation=3, external_id=-1),
        span("kernel", name, 0, 10, 5, parent=-1, correlation=3, external_id=0),
        span("cpu_op", "inner", 1, 1, 2, parent=0, correlation=-1, external_id=9),
    ]
    return build_run(
        spans,
        [{"process": 0, "device": 0, "rank": rank}, {"process": 5, "device": -1, "rank": rank}],
        launches=[{"span": 1, "grid_x": 7, "graph": 4}],
        memory=[{"time_ns": 2, "span": 2, "lane": 1}, {"time_ns": 3, "span": -1, "lane": -1}],
        counters=[
            {"time_ns": 4, "series": "sm", "value": 0.5, "span": 1},
            {"time_ns": 5, "series": name, "value": 1.0, "span": -1},
        ],
        flops=[{"span": 1, "pipe": "half", "flops": 8.0}],
        operators=[{"span": 2, "sequence": 6, "shapes": "[[2]]"}],
        frames=[{"span": 2, "id": 1, "parent_id": -1, "module_id": 0}],
        collectives=[{"span": 1, "collective": "allreduce", "sequence": 11, "communicator": 12, "group_name": "0"}],
        syncs=[{"span": 0, "sync": "Event Sync", "stream": 7, "event": 5, "record_correlation": -1}],
        flows=[{"id": 3, "time_ns": 1, "lane": 1, "span": 0}, {"id": 0, "time_ns": 2, "lane": 0, "span": -1}],
        anomalies=[{"code": 2, "count": 4, "first_ns": 1, "lost": 3}],
    )


# Of the first run, shifted by 100 ns, and of the second, shifted by 1000.
MERGED = {
    "spans": {
        "start_ns": [100, 110, 101, 1000, 1010, 1001],
        "duration_ns": [5, 5, 2, 5, 5, 2],
        "parent": [-1, -1, 0, -1, -1, 3],
        "lane": [1, 0, 1, 3, 2, 3],
        "correlation": [3, 3, -1, WIDE + 3, WIDE + 3, -1],
        "external_id": [-1, 0, 9, -1, 0, WIDE + 9],
    },
    "lanes": {"rank": [0, 0, 1, 1]},
    "launches": {"span": [1, 4], "graph": [4, WIDE + 4]},
    # What names no lane is of the whole process: the first of its run says which.
    "memory": {"time_ns": [102, 103, 1002, 1003], "span": [2, -1, 5, -1], "lane": [1, 0, 3, 2]},
    "counters": {"time_ns": [104, 105, 1004, 1005], "span": [1, -1, 4, -1]},
    "flows": {"id": [3, 0, WIDE + 3, 0], "lane": [1, 0, 3, 2], "span": [0, -1, 3, -1]},
    "flops": {"span": [1, 4]},
    "operators": {"span": [2, 5], "sequence": [6, WIDE + 6]},
    "frames": {"id": [1, WIDE + 1], "parent_id": [-1, -1], "module_id": [0, 0]},
    "collectives": {"span": [1, 4], "sequence": [11, 11], "communicator": [12, 12]},
    "syncs": {"span": [0, 3], "event": [5, WIDE + 5], "record_correlation": [-1, -1]},
    "anomalies": {"count": [8], "lost": [6], "first_ns": [101]},
    "files": {"rank": [0, 1], "shift_ns": [100, 1000]},
}


def test_references_ids_and_times_are_shifted_and_names_interned_anew() -> None:
    run = Run._merge([small(0), small(1, "other")], [100, 1000])
    for name, columns in MERGED.items():
        table = run.table(name)
        assert {column: getattr(table, column).tolist() for column in columns} == columns, name
    assert names_of(run) == ["launch", "gemm", "inner", "launch", "other", "inner"]
    assert [run.string(n) for n in run.table("counters").series] == ["sm", "gemm", "sm", "other"]
    assert [run.string(t) for t in run.table("files").environment] == ["{}", "{}"]
    assert (run.start_ns, run.end_ns) == (100, 1015)


REFERENCES = [
    (name, column["name"])
    for name, table in _core.schema()["run"].items()
    for column in table["columns"]
    if re.search(r"\brow of|^Enclosing span|^Span that", column["doc"], re.IGNORECASE)
]


@pytest.mark.parametrize(("name", "column"), REFERENCES)
def test_no_column_that_names_a_row_is_forgotten(name: str, column: str) -> None:
    """Every column whose description speaks of a row of another table is shifted in the second run."""
    one = named_kernel("a", 0, 1)
    rows = {"spans": [one, {**one, column: 0}] if name == "spans" else [one, one]}
    for row in rows["spans"]:
        row.setdefault(column, -1 if column != "lane" else 0) if name == "spans" else None
    rows |= {} if name == "spans" else {name: [{column: 0}]}
    if name == "samples":
        rows["stacks"] = [{"line": 1}]
    if name == "stacks":  # a stack is called by one before it
        rows["stacks"] = [{column: -1}, {column: 0}]
    runs = [
        build_run(rows["spans"], [{"rank": rank}], **{k: v for k, v in rows.items() if k != "spans"}) for rank in (0, 1)
    ]
    merged = getattr(Run._merge(runs, [0, 0]).table(name), column).tolist()
    assert merged[-1] == (1 if column == "lane" else 2)
    assert merged[len(merged) // 2 - 1] == 0


def test_the_rows_that_are_checked_are_more_than_a_few() -> None:
    assert {("spans", "parent"), ("spans", "lane"), ("memory", "span"), ("flows", "span")} <= set(REFERENCES)
    assert len(REFERENCES) >= 12


def test_the_runs_are_left_as_they_are() -> None:
    a, b = small(0), small(1)
    before = [a.spans.start_ns.tolist(), b.spans.correlation.tolist(), b.strings]
    Run._merge([a, b], [5, 6])
    assert [a.spans.start_ns.tolist(), b.spans.correlation.tolist(), b.strings] == before


def test_ranks_that_nobody_knows_are_positions_and_two_of_one_are_refused() -> None:
    assert Run._merge([small(-1), small(-1)], [0, 0]).table("lanes").rank.tolist() == [0, 0, 1, 1]
    assert Run._merge([small(4), small(-1)], [0, 0]).table("lanes").rank.tolist() == [4, 4, 1, 1]
    with pytest.raises(ValueError, match="both of rank 2"):
        Run._merge([small(2), small(2)], [0, 0])
    with pytest.raises(ValueError, match="both of rank 1"):
        Run._merge([small(1), small(-1)], [0, 0])


def test_launches_are_found_anew_where_a_run_does_not_name_them() -> None:
    def run(rank: int, **launch: int) -> Run:
        spans = [
            span("kernel", "gemm", 0, 0, 5, correlation=3, parent=-1, **launch),
            span("runtime", "launch", 1, 0, 1, correlation=3, parent=2, **launch),
            span("cpu_op", "op", 1, 0, 9, correlation=-1, parent=-1, **launch),
        ]
        if launch:
            spans[1]["launch"] = spans[2]["launch"] = -1
        return build_run(spans, [{"rank": rank, "device": 0}, {"rank": rank, "device": -1}])

    told = ({}, {"launch": 1})
    for first, second in itertools.product(told, told):
        runs = [run(0, **first), run(1, **second)]
        merged = Run._merge(runs, [0, 0])
        assert merged.analyse("kernel_times", group_by=2).name.tolist() == [merged.strings.index("op")]


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="no run to merge"):
        Run._merge([], [])
    with pytest.raises(ValueError, match="1 runs and 2 shifts"):
        Run._merge([small(0)], [1, 2])
    with pytest.raises(TypeError, match="runs\\[1\\] is no Run"):
        Run._merge([small(0), 3], [0, 0])
    with pytest.raises(TypeError):
        Run._merge([small(0)], ["x"])
    with pytest.raises(OverflowError):
        Run._merge([small(0)], [1 << 70])
    with pytest.raises((ValueError, _core.Error)):
        Run._merge([small(0)], [(1 << 63) - 1])


def test_ids_beyond_the_limit_are_kept_and_reported() -> None:
    def wide(rank: int) -> Run:
        return build_run([{**named_kernel("k", 0, 1), "correlation": (1 << 63) - 2}], [{"rank": rank}])

    run = Run._merge([wide(0), wide(1)], [0, 0])
    assert run.spans.correlation.tolist() == [(1 << 63) - 2] * 2
    assert [_core.ANOMALY_CODES[c] for c in run.table("anomalies").code] == ["number_range"]


def test_a_column_that_one_run_lacks_holds_its_default() -> None:
    plain = build_run([{"start_ns": 1, "duration_ns": 2, "name": "a"}], [{"rank": 0}])
    run = Run._merge([plain, small(1)], [0, 0])
    assert run.spans.parent.tolist() == [-1, -1, -1, 1]
    assert run.spans.lane.tolist() == [0, 2, 1, 2]
    run = Run._merge([small(1), plain], [0, 0])
    assert run.spans.lane.tolist() == [1, 0, 1, 2]
    assert run.spans.correlation.tolist() == [3, 3, -1, -1]


@pytest.mark.parametrize("count", [2, 8])
def test_each_rank_of_a_real_job_has_the_same_results_alone_and_together(count: int) -> None:
    runs = [load_trace(f"dlrm8/rank-{i}.json.gz") for i in range(count)]
    run = Run._merge(runs, [0] * count)
    table = run.analyse("breakdown")
    for i, one in enumerate(runs):
        alone = one.analyse("breakdown")
        for name in (c["name"] for c in _core.schema()["results"]["breakdown"]["columns"]):
            if name != "process_name":
                assert getattr(table, name)[i] == getattr(alone, name)[0], name
    assert len(run.spans) == sum(len(one.spans) for one in runs)
    assert np.array_equal(np.unique(run.table("lanes").rank), np.arange(count))
    environments = [json.loads(run.string(t)) for t in run.table("files").environment]
    assert [e["trace"]["distributedInfo"]["rank"] for e in environments] == list(range(count))


@pytest.mark.parametrize("name", ["dlrm8", "h100_bert_small.json.gz"])
def test_the_figures_of_an_export_are_those_of_what_was_exported(name: str, tmp_path: Path) -> None:
    run = regimeter.load(trace_path(name))
    run.export(tmp_path / "all.trace.json")
    again = regimeter.load(tmp_path / "all.trace.json")
    # Spans are other rows there, and times of a job count from another moment.
    moved = {"start_ns", "first_ns", "device_start_ns", "device_end_ns", "span"}
    for analysis in ("steps", "breakdown", "critical-path", "annotations", "idle", "operators"):
        ours, theirs = (
            [{key: value for key, value in row.items() if key not in moved} for row in one.result(analysis)]
            for one in (run, again)
        )
        assert theirs == ours, analysis
    head = json.loads((tmp_path / "all.trace.json").read_text())
    assert "rank" not in head.get("distributedInfo", {})
    again.export(tmp_path / "twice.trace.json")
    names = [
        [event["args"]["name"] for event in json.loads((tmp_path / f"{file}.trace.json").read_text())["traceEvents"]
         if event["name"] in ("process_name", "thread_name")]
        for file in ("all", "twice")
    ]  # fmt: skip
    assert names[0] == names[1]
