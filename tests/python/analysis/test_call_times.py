# SPDX-License-Identifier: Apache-2.0
"""What a device did around its communication kernels, against counting every nanosecond."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import build_run, named_kernel
from traces import load_trace

from regimeter import Run, _core

COMMUNICATION, COMPUTE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "gemm"
LANES = [{"process": 0, "device": device, "rank": 0, "thread": 7 + i} for i, device in enumerate((0, 0, 1))]

kinds = st.sampled_from(["communication", "compute", "memcpy"])
pieces = st.lists(st.tuples(kinds, st.integers(0, 60), st.integers(0, 12), st.integers(0, 2)), min_size=1, max_size=25)


def naive(run: Run) -> list[tuple[int, ...]]:
    """Return exposed, since, compute, memory and idle of each communication kernel, by device, start and row."""
    kinds = run.spans.kind.tolist()
    texts = [run.string(name) for name in run.spans.name.tolist()]
    devices = run.lanes.device[run.spans.lane].tolist()
    starts = run.spans.start_ns.tolist()
    ends = (run.spans.start_ns + run.spans.duration_ns).tolist()
    memcpy = _core.SPAN_KINDS.index("memcpy")
    rows = []
    for device in sorted(set(devices)):
        of = [i for i in range(len(starts)) if devices[i] == device]
        compute = {t for i in of if kinds[i] != memcpy and texts[i] == COMPUTE for t in range(starts[i], ends[i])}
        busy = {t for i in of for t in range(starts[i], ends[i])}
        left = min(starts[i] for i in of)
        for i in sorted((i for i in of if texts[i] == COMMUNICATION), key=lambda i: (starts[i], i)):
            exposed = sum(t not in compute for t in range(starts[i], ends[i]))
            since = range(left, starts[i])
            computed = sum(t in compute for t in since)
            worked = sum(t in busy for t in since)
            rows.append((i, exposed, len(since), computed, worked - computed, len(since) - worked))
            left = max(left, ends[i])
    return rows


@given(pieces)
def test_every_nanosecond_is_counted_once(made: Any) -> None:
    spans = []
    for what, start, duration, lane in sorted(made, key=lambda one: one[1]):
        row = named_kernel(COMMUNICATION if what == "communication" else COMPUTE, start, duration, lane)
        spans.append(row | ({"kind": _core.SPAN_KINDS.index("memcpy")} if what == "memcpy" else {}))
    run = build_run(spans, LANES)
    table = run.analyse("collective_times", group_by=2)
    columns = ("span", "exposed_ns", "since_ns", "since_compute_ns", "since_mem_ns", "since_idle_ns")
    found = list(zip(*(getattr(table, name).tolist() for name in columns), strict=True))
    assert found == naive(run)


@pytest.mark.parametrize("name", ["dlrm8/rank-0.json.gz", "v100_ddp_large.json.gz", "a100_nccl_2024.json.gz"])
def test_the_parts_add_up_and_exposed_time_is_that_of_the_breakdown(name: str) -> None:
    run = load_trace(name)
    table = run.analyse("collective_times", group_by=2)
    parts = table.since_compute_ns + table.since_mem_ns + table.since_idle_ns
    assert np.array_equal(parts, table.since_ns)
    assert (table.since_ns >= 0).all()
    exposed = run.analyse("communication").exposed_ns.sum()
    assert table.exposed_ns.sum() >= exposed  # where kernels of two groups overlap, each has its time
    if name.startswith("dlrm8"):
        assert table.exposed_ns.sum() == exposed
    by_kind = run.analyse("collective_times")
    assert by_kind.exposed_ns.sum() == table.exposed_ns.sum()
