# SPDX-License-Identifier: Apache-2.0
"""Launch cost, queue delay and short kernels, against loops over the same rows and against HTA."""

import csv
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import OTHER_STREAM, kernel, launch, run_of, span
from traces import load_trace, trace_path

from regimeter import Run, _core

TRACES = ["a100_alexnet_cuda_sync.json.gz", "dlrm8/rank-1.json.gz", "mi300_vllm_decode_graph.json.gz",
          "h100_bert_small.json.gz", "mi300_torch_compile_triton.json.gz", "mtia_inference.json.gz"]  # fmt: skip
CALLS = [_core.SPAN_KINDS.index(kind) for kind in ("runtime", "driver")]
WORK = [_core.SPAN_KINDS.index(kind) for kind in ("kernel", "memcpy", "memset", "accelerator")]
KERNELS = [_core.SPAN_KINDS.index(kind) for kind in ("kernel", "accelerator")]


def rows(table: object, key: str = "name") -> dict[object, int]:
    """Return the row number of each value of a column."""
    return {value: i for i, value in enumerate(getattr(table, key).tolist())}


def launched(run: Run) -> dict[int, list[int]]:
    """Return the work of each launch, by a loop; of several calls with one id the last that began in time."""
    calls: dict[int, list[int]] = defaultdict(list)
    kind, start, ids = (getattr(run.spans, name).tolist() for name in ("kind", "start_ns", "correlation"))
    for i in sorted(range(len(kind)), key=lambda i: start[i]):
        if kind[i] in CALLS and ids[i] > 0:
            calls[ids[i]].append(i)
    found: dict[int, list[int]] = defaultdict(list)
    for i in sorted(range(len(kind)), key=lambda i: start[i]):
        if kind[i] in WORK and ids[i] in calls:
            group = calls[ids[i]]
            before = [c for c in group if start[c] <= start[i]]
            found[before[-1] if before else group[0]].append(i)
    return found


@pytest.mark.parametrize("name", TRACES)
@pytest.mark.parametrize("by", [0, 1])
def test_calls_and_work_of_every_name(name: str, by: int) -> None:
    run = load_trace(name)
    table = run.analyse("launch_times", group_by=by)
    start, duration, names = (getattr(run.spans, key).tolist() for key in ("start_ns", "duration_ns", "name"))
    calls: dict[int, list[tuple[int, int, int, bool, bool]]] = defaultdict(list)
    work: dict[int, list[int]] = defaultdict(list)
    for call, pieces in launched(run).items():
        end = start[call] + duration[call]
        bound = sum(duration[p] for p in pieces) < duration[call]
        calls[names[pieces[0] if by else call]].append(
            (duration[call], start[pieces[0]] - end, start[pieces[0]] - start[call], bound, len(pieces) > 1)
        )
        for piece in pieces:
            work[names[piece if by else call]].append(duration[piece])
    assert set(table.name.tolist()) == set(calls) | set(work)
    for key, row in rows(table).items():
        own = calls.get(key, [])
        host, delay, begin = (np.array([c[i] for c in own], dtype="int64") for i in range(3))
        assert table.calls[row] == len(own)
        assert table.work[row] == len(work[key])
        assert table.device_total_ns[row] == sum(work[key])
        assert table.short_work[row] == sum(d < 10_000 for d in work[key])
        assert table.host_total_ns[row] == host.sum()
        assert table.early_calls[row] == (delay < 0).sum()
        assert table.launch_bound_calls[row] == sum(c[3] for c in own)
        assert table.graph_calls[row] == sum(c[4] for c in own)
        if own:
            assert (table.delay_min_ns[row], table.delay_max_ns[row]) == (delay.min(), delay.max())
            for prefix, values in (("host", host), ("delay", delay)):
                assert getattr(table, f"{prefix}_mean_ns")[row] == pytest.approx(values.mean())
                assert getattr(table, f"{prefix}_median_ns")[row] == pytest.approx(np.median(values))
                assert getattr(table, f"{prefix}_p95_ns")[row] == pytest.approx(np.percentile(values, 95))
            assert table.begin_delay_mean_ns[row] == pytest.approx(begin.mean())
    assert table.host_total_ns.tolist() == sorted(table.host_total_ns.tolist(), reverse=True)


@pytest.mark.parametrize("name", TRACES)
def test_every_piece_of_work_with_a_launch_counts_once_in_each_grouping(name: str) -> None:
    run = load_trace(name)
    pieces = sum(len(work) for work in launched(run).values())
    for by in range(3):
        table = run.analyse("launch_times", group_by=by)
        assert table.work.sum() == pieces
        assert table.calls.sum() == len(launched(run))


def test_launches_are_not_told_by_their_names() -> None:
    names = {run_name for trace in TRACES for run_name in called(load_trace(trace))}
    assert {"cudaLaunchKernel", "cuLaunchKernel", "hipModuleLaunchKernel", "hipGraphLaunch", "hipMemcpyAsync"} <= names


def called(run: Run) -> list[str]:
    """Return the names of the calls that launched something."""
    return [run.strings[i] for i in run.analyse("launch_times").name.tolist()]


def test_a_graph_counts_once_with_the_delay_of_its_first_kernel() -> None:
    run = run_of([launch("cudaGraphLaunch", 0, 50, 1), kernel(40, 10, 1, name="a"), kernel(60, 10, 1, name="b"),
                  kernel(55, 10, 1, OTHER_STREAM, "b")])  # fmt: skip
    table = run.analyse("launch_times")
    assert (table.calls.tolist(), table.work.tolist(), table.graph_calls.tolist()) == ([1], [3], [1])
    assert (table.delay_min_ns.tolist(), table.early_calls.tolist()) == ([-10], [1])
    assert (table.begin_delay_mean_ns.tolist(), table.launch_bound_calls.tolist()) == ([40.0], [1])
    table = run.analyse("launch_times", group_by=1)
    assert [run.strings[i] for i in table.name.tolist()] == ["a", "b"]
    assert (table.calls.tolist(), table.work.tolist()) == ([1, 0], [1, 2])


def test_by_operator() -> None:
    run = run_of([span("cpu_op", "aten::mm", 0, 0, 100), launch("l", 10, 5, 1), launch("l", 200, 7, 2),
                  kernel(20, 1, 1), kernel(230, 1, 2)])  # fmt: skip
    table = run.analyse("launch_times", group_by=2)
    assert {run.strings[table.name[i]]: int(table.host_total_ns[i]) for i in range(2)} == {"": 7, "aten::mm": 5}


@pytest.mark.parametrize(("name", "rank"), [("a100_alexnet_cuda_sync", ""), ("dlrm8", "/rank-0")])
def test_agrees_with_hta_launch_by_launch_where_names_coincide(name: str, rank: str) -> None:
    run = load_trace(name + rank + ".json.gz")
    with trace_path(f"hta_reference/{name}/launch_stats_rank0.csv").open() as file:
        theirs = {int(row["correlation"]): row for row in csv.DictReader(file)}
    kernels = {run.strings[i]: i for i in range(len(run.strings))}
    known = [kernels[n] for n in ("cudaLaunchKernel", "cudaLaunchKernelExC", "cudaMemcpyAsync", "cudaMemsetAsync")
             if n in kernels]  # fmt: skip
    table = run.analyse("launch_times")
    own = np.isin(table.name, known)
    assert table.calls[own].sum() == len(theirs) > 0
    assert table.host_total_ns[own].sum() == 1000 * sum(float(row["cpu_duration"]) for row in theirs.values())
    assert table.device_total_ns[own].sum() == 1000 * sum(float(row["gpu_duration"]) for row in theirs.values())
    delays = [float(row["launch_delay"]) for row in theirs.values()]
    assert table.delay_max_ns[own].max() == 1000 * max(delays)


@pytest.mark.parametrize("name", TRACES)
def test_classes_of_kernel_durations(name: str) -> None:
    run = load_trace(name)
    table = run.analyse("short_kernels")
    durations = run.spans.duration_ns[np.isin(run.spans.kind, KERNELS)]
    edges = np.append(table.low_ns, table.high_ns[-1:])
    assert edges.tolist() == [0, *(1000 * 2**i for i in range(len(table)))]
    assert table.count.tolist() == np.histogram(durations, bins=edges)[0].tolist()
    assert table.total_ns.sum() == durations.sum()
    assert table.count_share.sum() == pytest.approx(1)
    assert table.time_share.sum() == pytest.approx(1)
    duration = run.spans.duration_ns.tolist()
    kinds = run.spans.kind.tolist()
    work = launched(run)
    assert table.launched.sum() == sum(kinds[p] in KERNELS for pieces in work.values() for p in pieces)
    bound = [p for call, pieces in work.items() if sum(duration[p] for p in pieces) < duration[call] for p in pieces]
    assert table.launch_bound.sum() == sum(kinds[p] in KERNELS for p in bound)


@given(st.lists(st.integers(0, 2**61 - 1), min_size=1, max_size=20))
def test_any_duration_has_its_class(durations: list[int]) -> None:
    table = run_of([kernel(0, d) for d in durations]).analyse("short_kernels")
    for low, high, count in zip(table.low_ns, table.high_ns, table.count, strict=True):
        assert count == sum(low <= d < high for d in durations)
    assert table.count.sum() == len(durations)
    assert table.count[-1] > 0
