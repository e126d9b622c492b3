# SPDX-License-Identifier: Apache-2.0
"""Steps and annotations: against naive sets of nanoseconds and walks up the parents."""

import csv
import re
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import build_run, covered, span
from traces import load_trace, trace_path

from regimeter import Run, _core

KINDS, STATES = _core.SPAN_KINDS, _core.STEP_STATES
WORK = [KINDS.index(kind) for kind in ("kernel", "memcpy", "memset", "accelerator")]
CALLS = [KINDS.index(kind) for kind in ("runtime", "driver")]
ANNOTATION, OP, KERNEL = KINDS.index("annotation"), KINDS.index("cpu_op"), KINDS.index("kernel")


def launches(run: Run) -> dict[int, int]:
    """Return the last call of each correlation; the traces tested here have one call each."""
    spans = run.spans
    return {
        int(c): i for i, (k, c) in enumerate(zip(spans.kind, spans.correlation, strict=True)) if k in CALLS and c > 0
    }


# The last is of 2021, when annotations were called operators.
TRACES = [
    "v100_ddp_large.json.gz",
    "diff_a100_control.json.gz",
    "a100_nccl_2024.json.gz",
    "v100_2021_01_bare_array.json.gz",
]


@pytest.mark.parametrize("name", TRACES)
def test_steps_of_real_traces(name: str) -> None:
    run = load_trace(name)
    spans, calls, table = run.spans, launches(run), run.analyse("step_times")
    start, end = np.array(spans.start_ns), np.array(spans.start_ns + spans.duration_ns)
    bounds = {
        int(m[1]): (int(start[i]), int(end[i]))
        for i, k in enumerate(spans.kind)
        if k in (ANNOTATION, OP) and (m := re.match(r"ProfilerStep#(\d+)", run.string(spans.name[i])))
    }
    work = defaultdict(list)
    for i, kind in enumerate(spans.kind):
        if kind in WORK and int(spans.correlation[i]) in calls:
            begun = int(start[calls[int(spans.correlation[i])]])
            step = next((n for n, (a, b) in bounds.items() if a <= begun < b), None)
            if step is not None:
                work[step, int(run.lanes.device[spans.lane[i]])].append(i)
    rows = {(int(s), int(d)): i for i, (s, d) in enumerate(zip(table.step, table.device, strict=True))}
    bare = {(step, -1) for step in bounds if not any(key[0] == step for key in work)}
    assert set(rows) == set(work) | bare
    assert len(bounds) > 1
    for (step, _), i in rows.items():
        a, b = bounds[step]
        assert (table.start_ns[i], table.duration_ns[i]) == (a, b - a)
        last = step == max(bounds)
        assert STATES[table.state[i]] == ("last" if last else "complete")
    for key, pieces in work.items():
        i, host_end = rows[key], bounds[key[0]][1]
        first, last_end = min(start[pieces]), max(end[pieces])
        busy = covered([(int(start[p]), int(end[p])) for p in pieces])
        expected = {
            "kernels": sum(spans.kind[p] == KERNEL for p in pieces),
            "copies": sum(spans.kind[p] != KERNEL for p in pieces),
            "launches": len({calls[int(spans.correlation[p])] for p in pieces}),
            "device_start_ns": first,
            "device_end_ns": last_end,
            "device_ns": sum(int(spans.duration_ns[p]) for p in pieces),
            "busy_ns": busy,
            "idle_ns": last_end - first - busy,
            "late": sum(end[p] > host_end for p in pieces),
            "late_ns": max(0, last_end - host_end),
        }
        assert {k: int(getattr(table, k)[i]) for k in expected} == {k: int(v) for k, v in expected.items()}
        parts = table.compute_ns[i] + table.exposed_comm_ns[i] + table.exposed_mem_ns[i]
        assert parts == table.busy_ns[i]
    for (step, _), i in rows.items():
        a, b = bounds[step]
        ops = [
            (int(start[r]), min(int(end[r]), b))
            for r in np.flatnonzero(spans.kind == OP)
            if a <= start[r] < b and not run.string(spans.name[r]).startswith("ProfilerStep#")
        ]  # fmt: skip
        assert table.operators_ns[i] == covered(ops)


def test_a_step_without_an_end_is_flagged_and_ranks_stand_apart() -> None:
    spans = [
        span("annotation", "ProfilerStep#3", 0, 0, 100),
        span("annotation", "ProfilerStep#4", 0, 100, 0),
        span("annotation", "ProfilerStep#3", 2, 0, 80),
        span("runtime", "cudaLaunchKernel", 0, 10, 5, step=3, correlation=7),
        span("kernel", "k", 1, 90, 30, step=3, correlation=7),
        span("runtime", "cudaLaunchKernel", 2, 20, 5, step=3, correlation=8),
        span("kernel", "k", 3, 30, 20, step=3, correlation=8),
    ]
    run = build_run(spans, {"process": [1, 0, 2, 0], "rank": [0, 0, 1, 1], "device": [-1, 0, -1, 0]})
    table = run.analyse("step_times")
    found = [
        (int(table.rank[i]), int(table.step[i]), int(table.device[i]), STATES[table.state[i]], int(table.late[i]),
         int(table.late_ns[i])) for i in range(len(table))
    ]  # fmt: skip
    assert found == [
        (0, 3, 0, "complete", 1, 20),
        (0, 4, -1, "unfinished", 0, 0),
        (1, 3, 0, "last", 0, 0),
    ]


def test_steps_with_absurd_numbers_are_no_steps() -> None:
    names = ("ProfilerStep#99999999999999999999", "ProfilerStep", "ProfilerStep#", "ProfilerStep#x")
    run = build_run([span("annotation", name, 0, at, 1) for at, name in enumerate(names)])
    assert len(run.analyse("step_times")) == 0
    assert len(run.analyse("annotation_times")) == 4


# --- annotations ---------------------------------------------------------------------------------------------


def naive_annotations(run: Run) -> dict[str, dict[str, int]]:
    """Return the figures of each annotation by walks up the parents."""
    spans, calls, out = run.spans, launches(run), defaultdict(lambda: defaultdict(int))
    kinds = {ANNOTATION: "", KINDS.index("device_annotation"): "device_"}
    name = [run.string(n) for n in spans.name]
    for i, kind in enumerate(spans.kind):
        if kind in kinds:
            out[name[i]][kinds[kind] + "calls"] += 1
            out[name[i]][kinds[kind] + "total_ns"] += int(spans.duration_ns[i])
    parts, launched = defaultdict(list), defaultdict(set)
    for i, kind in enumerate(spans.kind):
        if kind not in WORK or int(spans.correlation[i]) not in calls:
            continue
        at, around = calls[int(spans.correlation[i])], set()
        while at >= 0:
            if spans.kind[at] == ANNOTATION:
                around.add(name[at])
            at = int(spans.parent[at])
        for label in around:
            out[label]["kernels" if KINDS[kind] in ("kernel", "accelerator") else "copies"] += 1
            out[label]["device_ns"] += int(spans.duration_ns[i])
            start = int(spans.start_ns[i])
            parts[label, int(run.lanes.device[spans.lane[i]])].append((start, start + int(spans.duration_ns[i])))
            launched[label].add(calls[int(spans.correlation[i])])
    for (label, _), intervals in parts.items():
        out[label]["busy_ns"] += covered(intervals)
        out[label]["launches"] = len(launched[label])
    return out


KEYS = ("calls", "total_ns", "device_calls", "device_total_ns", "kernels", "copies", "device_ns", "busy_ns", "launches")


def check_annotations(run: Run, table: Any) -> None:
    expected = naive_annotations(run)
    assert {run.string(n) for n in table.name} == set(expected)
    for i, n in enumerate(table.name):
        label = run.string(n)
        assert {k: int(getattr(table, k)[i]) for k in KEYS} == {k: expected[label][k] for k in KEYS}, label


@pytest.mark.parametrize("name", [*TRACES, "gp100_steps_2022.json.gz", "h100_owlv2_with_stack.json.gz"])
def test_annotations_of_real_traces(name: str) -> None:
    run = load_trace(name)
    check_annotations(run, run.analyse("annotation_times"))


def test_hta_sums_the_padded_device_annotations_too() -> None:
    """Kineto widens what it draws on a device stream; neither HTA nor this table takes that off again."""
    name = "h100_owlv2_with_stack"  # of one step; of several HTA leaves the last out
    with trace_path(f"hta_reference/{name}/gpu_user_annotation.csv").open() as file:
        hta = {r["name"]: float(r["sum (us)"]) for r in csv.DictReader(file)}
    run = load_trace(f"{name}.json.gz")
    table = run.analyse("annotation_times")
    ours = {run.string(n): i for i, n in enumerate(table.name)}
    compared = 0
    for label, total_us in hta.items():
        i = ours.get(label)
        if i is None:
            continue
        compared += 1
        # HTA rounds the start up and the end down to whole microseconds: less than 2 us an annotation.
        assert 0 <= table.device_total_ns[i] / 1000 - total_us <= 2 * table.device_calls[i]
    assert compared > 0


Nest = list[tuple[int, int]]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 40), st.integers(0, 15)), min_size=1, max_size=12))
def test_any_nest_of_annotations(levels: list[tuple[int, int, int]]) -> None:
    """Annotation i lies inside annotation i - 1 and launches one kernel."""
    n = len(levels)
    spans = {
        "start_ns": [*range(n), *range(n), *(s for _, s, _ in levels)],
        "duration_ns": [*(1000 - 2 * i for i in range(n)), *[0] * n, *(d for *_, d in levels)],
        "name": [*(name + 1 for name, *_ in levels), *[0] * (2 * n)],
        "kind": ["annotation"] * n + ["runtime"] * n + ["kernel"] * n,
        "lane": [0] * (2 * n) + [1] * n,
        "parent": [*range(-1, n - 1), *range(n), *[-1] * n],
        "correlation": [-1] * n + [*range(1, n + 1)] * 2,
    }
    run = build_run(spans, {"process": [0, 0], "device": [-1, 0]}, strings=("", "a", "b", "c"))
    check_annotations(run, run.analyse("annotation_times"))
    shallow = run.analyse("annotation_times", thresholds={"annotation_depth": n - 1})
    outermost = levels[0][0] + 1
    assert shallow.busy_ns[list(shallow.name).index(outermost)] == -1
    assert shallow.calls.sum() == n
