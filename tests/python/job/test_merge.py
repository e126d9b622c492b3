# SPDX-License-Identifier: Apache-2.0
"""Runs of several ranks as one run."""

import json
import re

import numpy as np
import pytest
from runs import build_run, named_kernel
from traces import load_trace

from regimeter import Run, _core

WIDE = 1 << 40


def small(rank: int, name: str = "gemm") -> Run:
    """Return a run in which every table has a row that refers to something."""
    spans = [
        {
            **named_kernel("launch", 0, 5),
            "kind": "runtime",
            "lane": 1,
            "parent": -1,
            "correlation": 3,
            "external_id": -1,
        },
        {**named_kernel(name, 10, 5), "lane": 0, "parent": -1, "correlation": 3, "external_id": 0},
        {**named_kernel("inner", 1, 2), "kind": "cpu_op", "lane": 1, "parent": 0, "correlation": -1, "external_id": 9},
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


def test_references_ids_and_times_are_shifted_and_names_interned_anew() -> None:
    a, b = small(0), small(1, "other")
    run = Run._merge([a, b], [100, 1000])
    spans = run.spans
    assert [run.string(n) for n in spans.name] == ["launch", "gemm", "inner", "launch", "other", "inner"]
    assert spans.start_ns.tolist() == [100, 110, 101, 1000, 1010, 1001]
    assert spans.duration_ns.tolist() == [5, 5, 2] * 2
    assert spans.parent.tolist() == [-1, -1, 0, -1, -1, 3]
    assert spans.lane.tolist() == [1, 0, 1, 3, 2, 3]
    assert spans.correlation.tolist() == [3, 3, -1, WIDE + 3, WIDE + 3, -1]
    assert spans.external_id.tolist() == [-1, 0, 9, -1, 0, WIDE + 9]
    assert run.table("lanes").rank.tolist() == [0, 0, 1, 1]
    assert run.table("launches").span.tolist() == [1, 4]
    assert run.table("launches").graph.tolist() == [4, WIDE + 4]
    memory, counters, flows = run.table("memory"), run.table("counters"), run.table("flows")
    assert (memory.time_ns.tolist(), memory.span.tolist(), memory.lane.tolist()) == (
        [102, 103, 1002, 1003], [2, -1, 5, -1], [1, -1, 3, -1])  # fmt: skip
    assert (counters.time_ns.tolist(), counters.span.tolist()) == ([104, 105, 1004, 1005], [1, -1, 4, -1])
    assert [run.string(n) for n in counters.series] == ["sm", "gemm", "sm", "other"]
    assert (flows.id.tolist(), flows.lane.tolist(), flows.span.tolist()) == (
        [3, 0, WIDE + 3, 0],
        [1, 0, 3, 2],
        [0, -1, 3, -1],
    )
    assert run.table("flops").span.tolist() == [1, 4]
    assert (run.table("operators").span.tolist(), run.table("operators").sequence.tolist()) == ([2, 5], [6, WIDE + 6])
    frames = run.table("frames")
    assert (frames.id.tolist(), frames.parent_id.tolist(), frames.module_id.tolist()) == (
        [1, WIDE + 1],
        [-1, -1],
        [0, 0],
    )
    collectives, syncs = run.table("collectives"), run.table("syncs")
    assert (collectives.span.tolist(), collectives.sequence.tolist(), collectives.communicator.tolist()) == (
        [1, 4],
        [11, 11],
        [12, 12],
    )
    assert (syncs.span.tolist(), syncs.event.tolist(), syncs.record_correlation.tolist()) == (
        [0, 3],
        [5, WIDE + 5],
        [-1, -1],
    )
    anomalies = run.table("anomalies")
    assert (anomalies.count.tolist(), anomalies.lost.tolist(), anomalies.first_ns.tolist()) == ([8], [6], [101])
    assert (run.start_ns, run.end_ns) == (100, 1015)
    files = run.table("files")
    assert (files.rank.tolist(), files.shift_ns.tolist()) == ([0, 1], [100, 1000])
    assert [run.string(t) for t in files.environment] == ["{}", "{}"]


REFERENCES = [
    (name, column["name"])
    for name, table in _core.schema()["run"].items()
    for column in table["columns"]
    if re.search(r"\brow of|^Enclosing span|^Span that", column["doc"], re.IGNORECASE)
]


@pytest.mark.parametrize(("name", "column"), REFERENCES)
def test_no_column_that_names_a_row_is_forgotten(name: str, column: str) -> None:
    """Every column whose description speaks of a row of another table is shifted in the second run."""
    span = named_kernel("a", 0, 1)
    rows = {"spans": [span, {**span, column: 0}] if name == "spans" else [span, span]}
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
            {**named_kernel("gemm", 0, 5), "correlation": 3, "parent": -1, **launch},
            {**named_kernel("launch", 0, 1), "kind": "runtime", "lane": 1, "correlation": 3, "parent": 2, **launch},
            {**named_kernel("op", 0, 9), "kind": "cpu_op", "lane": 1, "correlation": -1, "parent": -1, **launch},
        ]
        if launch:
            spans[1]["launch"] = spans[2]["launch"] = -1
        return build_run(spans, [{"rank": rank, "device": 0}, {"rank": rank, "device": -1}])

    for runs in (
        [run(0), run(1)],
        [run(0, launch=1), run(1)],
        [run(0), run(1, launch=1)],
        [run(0, launch=1), run(1, launch=1)],
    ):
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
