# SPDX-License-Identifier: Apache-2.0
"""The breakdown of device time: against exact values, and against a naive interval algebra."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import build_run, covered, span
from traces import exact_traces, load_trace, trace_path, trace_text

from regimeter import Run

PARTS = ("compute_ns", "exposed_comm_ns", "exposed_mem_ns", "idle_ns")
NAMES = ("", "gemm", "ncclDevKernel_AllReduce")


@pytest.mark.parametrize("name", exact_traces())
def test_every_exact_value_is_met(name: str) -> None:
    expected = json.loads(trace_path("exact_gpu_time.json").read_text())[name]
    table = load_trace(name).analyse("breakdown")
    found = {
        str(process): {key: int(getattr(table, key)[row]) for key in expected[str(process)]}
        for row, process in enumerate(table.process)
    }
    assert found == expected
    assert (sum(getattr(table, part) for part in PARTS) == table.span_ns).all()


def test_an_accelerator_that_waits_or_copies_does_not_compute() -> None:
    events = json.loads(trace_text("mtia_inference.json.gz"))["traceEvents"]
    times: dict[str, list[tuple[int, int]]] = {"compute": [], "memory": []}
    for event in events:
        if event.get("cat") == "mtia_ccp_events" and event["name"] not in ("event_wait", "event_record"):
            start, length = (round(Decimal(str(event[key])) * 1000) for key in ("ts", "dur"))
            times["memory" if event["name"] == "dma_request" else "compute"].append((start, start + length))

    table = load_trace("mtia_inference.json.gz").analyse("breakdown")
    assert (table.compute_ns.tolist(), table.mem_ns.tolist()) == (
        [covered(times["compute"])],
        [covered(times["memory"])],
    )
    assert table.busy_ns.tolist() == [covered(times["compute"] + times["memory"])]


def run_of(work: list[tuple[int, int, int]]) -> Run:
    """Return a run with one device and (kind of activity, start, duration) as its work."""
    kinds = ("memcpy", "kernel", "kernel")
    return build_run([span(kinds[kind], NAMES[kind], 0, *rest) for kind, *rest in work], [{"process": 3, "device": 3}])


work_lists = st.lists(st.tuples(st.integers(0, 2), st.integers(-20, 60), st.integers(0, 25)), min_size=1, max_size=30)


@given(work_lists)
def test_unions_and_overlaps_match_a_count_of_every_nanosecond(work: list[tuple[int, int, int]]) -> None:
    table = run_of(work).analyse("breakdown")
    active = [{t for k, s, d in work if k == kind for t in range(s, s + d)} for kind in range(3)]
    memory, compute, communication = active
    first, last = min(s for _, s, _ in work), max(s + d for _, s, d in work)
    expected = {
        "span_ns": last - first, "busy_ns": len(memory | compute | communication),
        "idle_ns": last - first - len(memory | compute | communication), "compute_ns": len(compute),
        "comm_ns": len(communication), "mem_ns": len(memory),
        "comm_overlapped_by_compute_ns": len(communication & compute),
        "mem_overlapped_by_compute_ns": len(memory & compute), "mem_overlapped_by_comm_ns": len(memory & communication),
        "all_three_ns": len(memory & compute & communication), "exposed_comm_ns": len(communication - compute),
        "exposed_mem_ns": len(memory - compute - communication), "sum_dur_ns": sum(d for _, _, d in work),
        "n_kernel": sum(k == 1 for k, _, _ in work), "n_comm": sum(k == 2 for k, _, _ in work),
        "n_memcpy": sum(k == 0 for k, _, _ in work),
    }  # fmt: skip
    assert {key: int(getattr(table, key)[0]) for key in expected} == expected


def test_a_rule_of_the_user_goes_before_the_built_in_ones() -> None:
    run = run_of([(1, 0, 10), (2, 20, 10)])
    assert run.analyse("breakdown").comm_ns.tolist() == [10]
    assert run.analyse("breakdown", rules=[("gemm", "communication")]).comm_ns.tolist() == [20]
    assert run.analyse("breakdown", rules=[("^nccl", "compute")]).comm_ns.tolist() == [0]
    with pytest.raises(ValueError, match="unknown activity"):
        run.analyse("breakdown", rules=[("gemm", "dance")])


def test_a_run_without_device_work_has_no_rows() -> None:
    run = build_run([span("cpu_op", "a", 0, 0, 1)])
    assert len(run.analyse("breakdown")) == 0
