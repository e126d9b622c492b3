# SPDX-License-Identifier: Apache-2.0
"""Operators: against a naive walk, and against torch's own key_averages."""

from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from needed import package
from runs import build_run, span
from slow_import import slow_import
from traces import load_trace

from regimeter import Run, _core

KINDS = _core.SPAN_KINDS
OP, CALL, WORK = KINDS.index("cpu_op"), ("runtime", "driver"), ("kernel", "memcpy", "memset", "accelerator")


def by_name(run: Run, table: Any) -> dict[str, int]:
    return {run.string(n): i for i, n in enumerate(table.name)}


def ancestors(spans: Any, row: int) -> list[int]:
    """Return the operators around a span, the innermost first."""
    found, at = [], int(spans.parent[row])
    while at >= 0:
        if spans.kind[at] == OP:
            found.append(at)
        at = int(spans.parent[at])
    return found


def naive(run: Run) -> dict[str, dict[str, int]]:
    """Return the figures of each operator name, by walks up the parents."""
    columns = ("kind", "name", "parent", "correlation", "start_ns", "duration_ns")
    spans = SimpleNamespace(**{column: getattr(run.spans, column).tolist() for column in columns})
    out: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    children = defaultdict(list)
    name = [run.string(n) for n in spans.name]
    launch = {}
    for i, kind in enumerate(spans.kind):
        if KINDS[kind] in CALL and spans.correlation[i] > 0:
            launch[int(spans.correlation[i])] = i
        if kind != OP:
            continue
        around = ancestors(spans, i)
        row = out[name[i]]
        row["calls"] += 1
        inner = name[i] in [name[a] for a in around]
        row["recursive_calls"] += inner
        row["total_ns"] += 0 if inner else int(spans.duration_ns[i])
        row["self_ns"] += int(spans.duration_ns[i])
        if around:
            children[around[0]].append((int(spans.start_ns[i]), int(spans.start_ns[i] + spans.duration_ns[i])))
    for op, parts in children.items():
        end = -(2**62)
        for a, b in sorted(parts):
            out[name[op]]["self_ns"] -= max(0, b - max(a, end))
            end = max(end, b)
    for i, kind in enumerate(spans.kind):
        if KINDS[kind] not in WORK or int(spans.correlation[i]) not in launch:
            continue
        around = ancestors(spans, launch[int(spans.correlation[i])])
        if around:
            row = out[name[around[0]]]
            row["self_device_ns"] += int(spans.duration_ns[i])
            row["kernels" if KINDS[kind] in ("kernel", "accelerator") else "copies"] += 1
        for label in {name[a] for a in around}:
            out[label]["total_device_ns"] += int(spans.duration_ns[i])
    return out


KEYS = ("calls", "recursive_calls", "total_ns", "self_ns", "self_device_ns", "total_device_ns", "kernels", "copies")


@pytest.mark.parametrize(
    "name", ["v100_ddp_large.json.gz", "mi300_bert_small.json.gz", "v100_2024_04_absolute_ns.json.gz"]
)
def test_every_operator_has_the_figures_of_a_naive_walk(name: str) -> None:
    run = load_trace(name)
    expected, table = naive(run), run.analyse("operator_times")
    ours = by_name(run, table)
    assert set(ours) == set(expected)
    wrong = {
        (label, key): (int(getattr(table, key)[i]), expected[label][key])
        for label, i in ours.items()
        for key in KEYS
        if int(getattr(table, key)[i]) != expected[label][key]
    }
    assert wrong == {}
    order = [(-int(t), run.string(n)) for t, n in zip(table.self_ns, table.name, strict=True)]
    assert order == sorted(order)


def test_shapes_divide_the_rows_of_names() -> None:
    run = load_trace("h100_bert_small.json.gz")
    names, shapes = run.analyse("operator_times"), run.analyse("operator_times", group_by=1)
    assert len(shapes) > len(names)
    for label, i in by_name(run, names).items():
        rows = [j for j, n in enumerate(shapes.name) if run.string(n) == label]
        for key in ("calls", "self_ns", "self_device_ns", "launches", "kernels", "copies", "bytes"):
            assert getattr(shapes, key)[rows].sum() == getattr(names, key)[i]
    assert "[[1,141,512],[512,512],[512]]" in {run.string(s) for s in shapes.shapes}


def test_torch_key_averages(tmp_path: Path) -> None:
    """Times are torch's to the nanosecond; it drops an operator that is the only child of its namesake."""
    torch = package("torch")
    from torch.profiler import ProfilerActivity, profile

    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(512, 10)
    )
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as recorded:
        for _ in range(3):
            model(torch.ones(4, 3, 8, 8)).sum().backward()
    path = tmp_path / "cpu.json"
    recorded.export_chrome_trace(str(path))
    run = slow_import(path)
    names = run.analyse("operator_times")
    nested = {run.string(n) for n in names.name[names.recursive_calls > 0]}
    for by_shape in (False, True):
        table = run.analyse("operator_times", group_by=int(by_shape))
        ours = {
            (run.string(n), run.string(s).replace(" ", "") if by_shape else ""): i
            for i, (n, s) in enumerate(zip(table.name, table.shapes, strict=True))
        }
        compared = 0
        for average in recorded.key_averages(group_by_input_shape=by_shape):
            shapes = str(average.input_shapes).replace(" ", "") if by_shape else ""
            key = (average.key, shapes) if (average.key, shapes) in ours else (average.key, "")
            if average.key in nested or key not in ours or (by_shape and key[1] != shapes):
                continue
            i = ours[key]
            compared += 1
            assert table.calls[i] == average.count
            assert table.self_ns[i] / 1000 == pytest.approx(average.self_cpu_time_total, abs=1e-3)
            assert table.total_ns[i] / 1000 == pytest.approx(average.cpu_time_total, abs=1e-3)
        assert compared > 20


Spans = list[tuple[int, int, int]]
op_lists: st.SearchStrategy[Spans] = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 20), st.integers(0, 2)), min_size=1, max_size=25
)


def host_run(ops: Spans) -> Run:
    """Return a run of operators on one lane, nested where one encloses another."""
    return build_run([span("cpu_op", "abc"[name], 0, *when) for *when, name in ops], parents=True)


@given(op_lists)
def test_any_nest_of_operators(ops: Spans) -> None:
    run = host_run(ops)
    table, expected = run.analyse("operator_times"), naive(run)
    for label, i in by_name(run, table).items():
        assert {key: int(getattr(table, key)[i]) for key in KEYS} == {key: expected[label][key] for key in KEYS}
    assert (table.self_ns >= 0).all()


def test_a_run_without_operators_has_no_rows() -> None:
    run = build_run([span("runtime", "cudaLaunchKernel", 0, 0, 1)])
    assert len(run.analyse("operator_times")) == 0
