# SPDX-License-Identifier: Apache-2.0
"""Cost of synchronisation: by hand, and against a count at every nanosecond."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import OTHER_DEVICE, OTHER_HOST, STREAM, kernel, launch, names_of, run_of, span
from traces import load_trace

from regimeter import _core

CLASSES = _core.SYNC_CLASSES
PARTS = ("device_compute_ns", "device_comm_ns", "device_mem_ns", "device_idle_ns")
TRACES = ["a100_alexnet_cuda_sync.json.gz", "a100_event_sync.json.gz", "a100_event_sync_multi_stream.json.gz",
          "h100_bert_small.json.gz", "mi300_vllm_decode_graph.json.gz", "mtia_inference.json.gz"]  # fmt: skip


@pytest.mark.parametrize("name", TRACES)
@pytest.mark.parametrize("by", [0, 1])
def test_every_call_that_says_so_counts_and_the_parts_add_up(name: str, by: int) -> None:
    run = load_trace(name)
    table = run.analyse("sync_times", group_by=by)
    parts = sum(getattr(table, part) for part in PARTS) + table.unplaced_ns
    assert (parts == table.total_ns).all()
    calls = np.isin(run.spans.kind, [_core.SPAN_KINDS.index(kind) for kind in ("runtime", "driver")])
    names = names_of(run)
    hosts = [i for i in np.flatnonzero(calls) if "ynchronize" in names[i]]
    waits = [i for i in np.flatnonzero(calls) if "WaitEvent" in names[i] or "waitOnEvent" in names[i]]
    records = np.flatnonzero(run.spans.kind == _core.SPAN_KINDS.index("sync"))
    for token, rows in (("host", hosts), ("stream_wait", waits), ("record", records)):
        own = table.sync_class == CLASSES.index(token)
        assert table.count[own].sum() == len(rows)
        assert table.total_ns[own].sum() == run.spans.duration_ns[rows].sum()
    assert hosts


def test_what_the_device_did_and_what_was_awaited() -> None:
    run = run_of([launch("l", 0, 5, 1), launch("l", 5, 5, 2), kernel(10, 40, 1), kernel(50, 30, 2, name="ncclX"),
                  span("memcpy", "Memcpy", STREAM, 75, 15), launch("cudaStreamSynchronize", 20, 80, 3),
                  launch("cudaStreamSynchronize", 200, 7, 4),
                  launch("cudaEventSynchronize", 0, 9, 5, OTHER_HOST)])  # fmt: skip
    table = run.analyse("sync_times")
    assert [run.string(i) for i in table.name.tolist()] == ["cudaStreamSynchronize", "cudaEventSynchronize"]
    assert [getattr(table, part)[0] for part in PARTS] == [30, 30, 10, 10 + 7]
    assert (table.count[0], table.max_ns[0], table.mean_ns[0], table.needless[0]) == (2, 80, 43.5, 1)
    assert (run.strings[int(table.awaited[0])], table.awaited_ns[0]) == ("Memcpy", 80)
    assert (table.device_idle_ns[1], table.unplaced_ns[1], table.needless[1]) == (9, 0, 1)


def test_the_device_is_that_of_the_threads_launches() -> None:
    spans = [kernel(0, 100), kernel(0, 10, 1, OTHER_DEVICE), launch("cudaDeviceSynchronize", 0, 50, 2, OTHER_HOST),
             launch("cudaDeviceSynchronize", 0, 50, 3)]  # fmt: skip
    table = run_of(spans).analyse("sync_times")
    assert (table.unplaced_ns[0], table.device_idle_ns[0]) == (100, 0)
    table = run_of([*spans, launch("l", 60, 5, 1, OTHER_HOST)]).analyse("sync_times")
    assert (table.unplaced_ns[0], table.device_idle_ns[0], table.device_compute_ns[0]) == (50, 40, 10)


def test_blocking_copies_and_their_operators() -> None:
    run = run_of([span("cpu_op", "aten::item", 0, 0, 100), launch("cudaMemcpyAsync", 10, 50, 1),
                  span("memcpy", "Memcpy DtoH (Device -> Pageable)", STREAM, 30, 10, correlation=1),
                  launch("cudaMemcpyAsync", 70, 5, 2), span("memcpy", "Memcpy DtoH (Device -> Pinned)", STREAM, 71, 1,
                                                            correlation=2)])  # fmt: skip
    table = run.analyse("sync_times", group_by=1)
    assert (len(table), table.count[0], CLASSES[table.sync_class[0]]) == (1, 1, "copy")
    assert run.strings[int(table.op[0])] == "aten::item"
    assert run.strings[int(run.analyse("sync_times").op[0])] == ""


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 9), st.booleans()), min_size=1, max_size=8),
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 9)), max_size=6),
)
def test_parts_match_a_count_of_every_nanosecond(
    work: list[tuple[int, int, bool]], calls: list[tuple[int, int]]
) -> None:
    run = run_of([kernel(s, n, name="ncclX" if c else "gemm") for s, n, c in work]
                 + [launch("cudaStreamSynchronize", s, n, -1, OTHER_HOST) for s, n in calls])  # fmt: skip
    table = run.analyse("sync_times")
    assert len(table) == bool(calls)
    if not calls:
        return
    compute = {t for s, n, c in work if not c for t in range(s, s + n)}
    communication = {t for s, n, c in work if c for t in range(s, s + n)}
    moments = [t for s, n in calls for t in range(s, s + n)]
    assert table.device_compute_ns[0] == sum(t in compute for t in moments)
    assert table.device_comm_ns[0] == sum(t in communication - compute for t in moments)
    assert table.device_idle_ns[0] == sum(t not in communication | compute for t in moments)
