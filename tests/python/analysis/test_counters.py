# SPDX-License-Identifier: Apache-2.0
"""Hardware counters: pairing of ranges, samples over a kernel's time, counted floating-point operations."""

import itertools
import re
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import build_run, named_kernel
from traces import load_trace

from regimeter import Run, _core

KINDS = _core.SPAN_KINDS


def recorded(ranges: list[str], kernels: list[str] | None = None, launches: int = 0) -> Run:
    """Return a run with those ranges (the i-th with value i + 1), kernels and launching calls."""
    spans = [{**named_kernel(name, 1000 + 10 * i, 5), "kind": "counter_range"} for i, name in enumerate(ranges)]
    spans += [named_kernel(name, 10 * i, 5) for i, name in enumerate(kernels or [])]
    spans += [{**named_kernel("cudaLaunchKernel", i, 1), "kind": "runtime", "lane": 1} for i in range(launches)]
    spans += [{**named_kernel("cudaMemcpyAsync", 50, 1), "kind": "runtime", "lane": 1}]
    counters = [{"time_ns": 0, "series": "inst", "value": i + 1.0, "device": 0, "span": i} for i in range(len(ranges))]
    return build_run(spans, [{"process": 0, "device": 0}, {"process": 9, "device": -1}], counters=counters)


def paired(run: Run) -> list[int]:
    """Return the number of the kernel or call that each range is paired with, -1 for none."""
    table = run.analyse("counter_values", group_by=2)
    first = sum(KINDS[k] == "counter_range" for k in run.spans.kind)
    return [-1 if t < 0 else int(t) - first for t in table.target]


@pytest.mark.parametrize(
    ("ranges", "kernels", "expected"),
    [
        (["a", "b", "a"], ["a", "b", "a"], [0, 1, 2]),
        (["a", "__missing__", "a"], ["a", "b", "a"], [0, 1, 2]),
        (["a", "c", "a"], ["a", "b", "a"], [0, -1, 2]),
        (["a", "b", "a"], ["a", "b", "c", "a"], [0, 1, 3]),
        (["a", "b", "a"], ["a", "b", "a", "a"], [-1, 1, -1]),
        (["__missing__", "b"], ["a", "b", "c"], [-1, 1]),
        (["z"], ["a", "b"], [-1]),
    ],
)
def test_ranges_pair_with_kernels_by_order_and_name(ranges: list[str], kernels: list[str], expected: list[int]) -> None:
    run = recorded(ranges, kernels, launches=3)
    assert paired(run) == expected
    assert run.analyse("counter_values", group_by=2).unpaired.sum() == expected.count(-1)


def test_without_kernels_ranges_pair_with_as_many_launching_calls() -> None:
    assert paired(recorded(["a", "b", "a"], launches=3)) == [0, 1, 2]
    assert paired(recorded(["a", "b", "a"], launches=4)) == [-1, -1, -1]
    assert paired(recorded(["a", "b", "a"])) == [-1, -1, -1]


def test_values_by_name() -> None:
    run = recorded(["a", "b", "a"], ["a", "b", "a"])
    table = run.analyse("counter_values")
    assert [run.string(n) for n in table.name] == ["a", "b"]
    assert [run.string(n) for n in table.series] == ["inst", "inst"]
    assert (table.total.tolist(), table.mean.tolist(), table.count.tolist()) == ([4, 2], [2, 2], [2, 1])
    assert (table.min.tolist(), table.max.tolist()) == ([1, 2], [3, 2])
    assert table.source.tolist() == [0, 0]


OPERATIONS = {f"{p}{o}": 2 if o == "fma" else 1 for p in "hfd" for o in ("add", "mul", "fma")}


def naive_operators(run: Run) -> dict[str, dict[str, float]]:
    """Return sums of each counter by operator: the i-th range is the i-th launch, as HTA pairs them."""
    spans, names = run.spans, run.strings
    kinds = [KINDS[k] for k in spans.kind]
    launches = [i for i in range(len(spans)) if names[spans.name[i]] == "cudaLaunchKernel"]
    launches.sort(key=lambda i: spans.start_ns[i])
    ranges = sorted((i for i, k in enumerate(kinds) if k == "counter_range"), key=lambda i: spans.start_ns[i])
    assert len(ranges) == len(launches) == 77
    ops = {}
    for span, launch in zip(ranges, launches, strict=True):
        at = int(launch)
        while at >= 0 and kinds[at] != "cpu_op":
            at = int(spans.parent[at])
        ops[span] = names[spans.name[at]] if at >= 0 else ""
    counters, sums = run.table("counters"), defaultdict(lambda: defaultdict(float))
    for span, series, value in zip(counters.span, counters.series, counters.value, strict=True):
        sums[ops[int(span)]][names[series]] += float(value)
    return sums


def test_a_real_trace_with_ranges_and_no_kernels() -> None:
    run = load_trace("a100_cupti_counters.json.gz")
    expected = naive_operators(run)
    table = run.analyse("counter_values", group_by=1)
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for name, series, total in zip(table.name, table.series, table.total, strict=True):
        found[run.string(name)][run.string(series)] = float(total)
    assert found == expected
    assert len(expected) > 5
    assert table.unpaired.sum() == 0
    single = run.analyse("counter_values", group_by=2)
    assert (len(single), len(np.unique(single.target))) == (77 * 9, 77)
    assert {run.string(run.spans.name[t]) for t in single.target} == {"cudaLaunchKernel"}

    flops = run.analyse("counter_flops", group_by=1)
    by_op = {}
    for name, series in expected.items():
        parts = {re.search(r"op_(\w{4})_pred", key)[1]: value for key, value in series.items()}  # type: ignore[index]
        by_op[name] = sum(parts[key] * factor for key, factor in OPERATIONS.items())
    assert {run.string(n): float(f) for n, f in zip(flops.name, flops.flops, strict=True)} == by_op
    assert (flops.half_flops + flops.single_flops + flops.double_flops == flops.flops).all()
    assert flops.count.sum() == 77
    assert flops.flops.tolist() == sorted(flops.flops.tolist(), reverse=True)
    assert run.analyse("counter_flops").flops.sum() == flops.flops.sum() == pytest.approx(sum(by_op.values()))
    assert len(run.analyse("counter_flops", group_by=2)) == 77


def test_only_instruction_counters_are_flops() -> None:
    instructions = ("ffma_pred_on.sum", "fadd_pred_on.sum", "fsub_pred_on.sum", "iadd_pred_on.sum", "ffma_pred_on.avg")
    names = [*(f"smsp__sass_thread_inst_executed_op_{i}" for i in instructions), "dram__bytes.sum"]
    counters = [{"time_ns": 0, "series": n, "value": 10.0, "device": 0, "span": 0} for n in names]
    run = build_run([{**named_kernel("a", 0, 5), "kind": "counter_range"}, named_kernel("a", 0, 5)], counters=counters)
    table = run.analyse("counter_flops")
    assert (table.flops.tolist(), table.single_flops.tolist(), table.count.tolist()) == ([30], [30], [1])


samples = st.lists(st.tuples(st.sampled_from(["sm", "dram"]), st.integers(0, 100), st.integers(-5, 5)), max_size=12)
works = st.lists(st.tuples(st.sampled_from("ab"), st.integers(-10, 100), st.integers(0, 30)), min_size=1, max_size=8)


@given(samples, works, st.sampled_from([0, 1_700_000_000_000_000_000]))
def test_samples_match_a_sum_over_every_nanosecond(values: list[tuple[str, int, int]], work: Any, epoch: int) -> None:
    values = [(series, time + epoch, value) for series, time, value in values]
    work = [(name, start + epoch, duration) for name, start, duration in work]
    values = list({(series, time): (series, time, value) for series, time, value in values}.values())
    counters = [{"time_ns": t, "series": s, "value": float(v), "device": 0, "span": -1} for s, t, v in values]
    run = build_run([named_kernel(*row) for row in work], [{"process": 0, "device": 0}], counters=counters)
    expected: dict[tuple[str, str], list[float]] = defaultdict(list)
    kernels: dict[tuple[str, str], set[int]] = defaultdict(set)
    for series in ("sm", "dram"):
        steps = sorted((t, v) for s, t, v in values if s == series)
        held = {t: v for (a, v), (b, _) in itertools.pairwise(steps) for t in range(a, b)}
        for i, (name, start, duration) in enumerate(work):
            for t in range(start, start + duration):
                if t in held:
                    expected[name, series].append(held[t])
                    kernels[name, series].add(i)
    table = run.analyse("counter_values")
    found = {(run.string(n), run.string(s)): i for i, (n, s) in enumerate(zip(table.name, table.series, strict=True))}
    assert found.keys() == expected.keys()
    for key, row in found.items():
        assert table.mean[row] == pytest.approx(sum(expected[key]) / len(expected[key]), abs=1e-9)
        assert (table.time_ns[row], table.count[row]) == (len(expected[key]), len(kernels[key]))
        assert _core.COUNTER_SOURCES[table.source[row]] == "sample"
        assert np.isnan(table.total[row])


def test_samples_of_hosts_and_of_ambiguous_devices_are_left_alone() -> None:
    counters = [{"time_ns": t, "series": "sm", "value": 1.0, "device": d, "span": -1} for d in (-1, 0) for t in (0, 9)]
    one = [{"process": 0, "device": 0, "rank": 0}]
    assert len(build_run([named_kernel("a", 0, 5)], one, counters=counters).analyse("counter_values")) == 1
    two = [*one, {"process": 0, "device": 0, "rank": 1}]
    spans = [named_kernel("a", 0, 5), {**named_kernel("a", 0, 5), "lane": 1}]
    assert len(build_run(spans, two, counters=counters).analyse("counter_values")) == 0


def test_names_of_counters_are_not_cut_in_the_text() -> None:
    names = [f"smsp__sass_thread_inst_executed_op_{op}_pred_on.sum" for op in ("ffma", "fadd", "fmul", "hfma")]
    counters = [{"time_ns": 0, "series": n, "value": 10.0, "device": 0, "span": 0} for n in names]
    run = build_run(
        [{**named_kernel("a" * 100, 0, 5), "kind": "counter_range"}, named_kernel("a" * 100, 0, 5)], counters=counters
    )
    text = run.result("counters").text(80)
    assert all(name in text for name in names)
    assert max(map(len, text.splitlines())) <= 80
    assert "no room for" in text
