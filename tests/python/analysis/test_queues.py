# SPDX-License-Identifier: Apache-2.0
"""Queues of streams against a count at every nanosecond, and against loops over real traces."""

import csv

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import HOST, OTHER_HOST, OTHER_STREAM, STREAM, kernel, launch, run_of
from traces import load_trace, trace_path

from regimeter import _core

WORK = [_core.SPAN_KINDS.index(kind) for kind in ("kernel", "memcpy", "memset", "accelerator")]
# Stream, start of its launch (None: not recorded), start, duration.
work_lists = st.lists(
    st.tuples(
        st.sampled_from([STREAM, OTHER_STREAM]),
        st.one_of(st.none(), st.integers(0, 40)),
        st.integers(0, 40),
        st.integers(0, 9),
    ),
    min_size=1,
    max_size=10,
)


@given(work_lists, st.integers(1, 3))
def test_series_and_means_match_a_count_at_every_nanosecond(
    work: list[tuple[int, int | None, int, int]], full: int
) -> None:
    spans = []
    for i, (lane, begin, start, length) in enumerate(work, 1):
        spans.append(kernel(start, length, i, lane))
        if begin is not None:
            spans.append(launch("l", begin, 2, i, HOST if i % 2 else OTHER_HOST))
    run = run_of(spans)
    lengths, series = run.analyse("queue_lengths", thresholds={"queue_full": full}), run.analyse("queue_series")
    for row, lane in enumerate(lengths.lane.tolist()):
        own = [(s if b is None else min(b, s), s, s + n) for at, b, s, n in work if at == lane]
        first, last = min(b for b, _, _ in own), max(e for _, _, e in own)
        queued = [sum(b <= t < s for b, s, _ in own) for t in range(first, last + 1)]
        running = [sum(s <= t < e for _, s, e in own) for t in range(first, last + 1)]
        steps = series.lane == lane
        at = np.searchsorted(series.time_ns[steps], np.arange(first, last + 1), side="right") - 1
        assert series.queued[steps][at].tolist() == queued
        assert series.running[steps][at].tolist() == running
        assert (lengths.work[row], lengths.span_ns[row]) == (len(own), last - first)
        assert lengths.launched[row] == sum(b is not None for at_, b, _, _ in work if at_ == lane)
        if last > first:
            both = np.array(queued[:-1]) + running[:-1]
            assert lengths.queued_mean[row] == pytest.approx(np.mean(queued[:-1]))
            assert lengths.queued_max[row] == max(queued)
            assert lengths.empty_share[row] == pytest.approx(queued[:-1].count(0) / (last - first))
            assert lengths.full_ns[row] == sum(q >= full for q in queued[:-1])
            calls = [b for at, b, _, _ in work if at == lane and b is not None]
            blocked = sum(first <= b <= last and queued[b - first] >= full for b in calls)
            assert (lengths.full_calls[row], lengths.full_calls_ns[row]) == (blocked, 2 * blocked)
            assert lengths.outstanding_mean[row] == pytest.approx(both.mean())
            assert lengths.outstanding_max[row] == both.max()
            assert lengths.starved_ns[row] == (both == 0).sum()


@pytest.mark.parametrize(
    "name", ["diff_v100_test.json.gz", "mi300_vllm_decode_graph.json.gz", "ranks128/rank-0.json.gz"]
)
def test_every_stream_is_kept_and_the_mean_is_the_time_queued(name: str) -> None:
    run = load_trace(name)
    table = run.analyse("queue_lengths")
    lane, start = run.spans.lane, run.spans.start_ns
    work = np.isin(run.spans.kind, WORK)
    assert sorted(table.lane.tolist()) == sorted({int(i) for i in lane[work]})
    calls = run.analyse("idle_gaps", group_by=1)
    assert set(calls.lane.tolist()) <= set(table.lane.tolist())
    launches = dict(zip(run.spans.correlation[~work].tolist(), start[~work].tolist(), strict=True))
    for row, own_lane in enumerate(table.lane.tolist()):
        own = np.flatnonzero(work & (lane == own_lane))
        ids = run.spans.correlation[own].tolist()
        waits = [max(0, int(start[i]) - launches[c]) for i, c in zip(own, ids, strict=True) if c in launches]
        assert table.queued_mean[row] * table.span_ns[row] == pytest.approx(sum(waits), rel=1e-9, abs=1)


def test_kernels_of_a_graph_are_queued_one_by_one() -> None:
    table = run_of([launch("cudaGraphLaunch", 0, 5, 1), *(kernel(10 * i, 5, 1) for i in (1, 2, 3))])
    lengths = table.analyse("queue_lengths")
    assert (lengths.work[0], lengths.queued_max[0], lengths.queued_mean[0]) == (3, 3, pytest.approx(60 / 35))


def test_several_streams_can_be_full() -> None:
    spans = []
    for i in range(1, 7):
        spans += [launch("l", i, 1, i), kernel(100, 10, i, STREAM if i % 2 else OTHER_STREAM)]
    table = run_of(spans).analyse("queue_lengths", thresholds={"queue_full": 3})
    assert table.full_ns.tolist() == [95, 94]


def test_a_full_queue_holds_the_host_in_the_launch_call() -> None:
    run = load_trace("v100_2024_04_absolute_ns.json.gz")
    table = run.analyse("queue_lengths")
    launches = run.analyse("launch_times")
    full, rest = table.full_calls.sum(), launches.calls.sum() - table.full_calls.sum()
    assert full > 1000
    assert table.full_calls_ns.sum() / full > 10 * (launches.host_total_ns.sum() - table.full_calls_ns.sum()) / rest


@pytest.mark.parametrize(
    ("name", "trace"),
    [
        ("a100_alexnet_cuda_sync", "a100_alexnet_cuda_sync"),
        ("dlrm8", "dlrm8/rank-0"),
        ("h100_owlv2_with_stack", "h100_owlv2_with_stack"),
    ],
)
def test_longest_queue_agrees_with_hta_where_it_dropped_no_work(name: str, trace: str) -> None:
    """HTA writes two samples for each piece of work; its means are over samples, not over time."""
    table = load_trace(trace + ".json.gz").analyse("queue_lengths")
    with trace_path(f"hta_reference/{name}/queue_length_summary.csv").open() as file:
        rows = [row for row in csv.reader(file) if row[1].isdigit()]
    theirs: dict[int, tuple[int, int]] = {}
    for row in rows:  # the table goes on with further ranks
        theirs.setdefault(int(row[1]), (int(float(row[2])), int(float(row[-1]))))
    ours = zip(table.stream.tolist(), table.work.tolist(), table.queued_max.tolist(), strict=True)
    kept = {stream: (2 * work, most) for stream, work, most in ours if theirs.get(stream, (0, 0))[0] == 2 * work}
    assert kept
    assert kept == {stream: theirs[stream] for stream in kept}
