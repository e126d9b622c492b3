# SPDX-License-Identifier: Apache-2.0
"""The comparison of two traces: copies with known edits, a trace against itself, and real pairs."""

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated_trace import typed
from traces import load_trace

from regimeter import Run, _core, load

OP, CALL, KERNEL = (_core.SPAN_KINDS.index(kind) for kind in ("cpu_op", "runtime", "kernel"))
CHANGES = _core.CHANGES
MS = 1_000_000

# A tree is a list of (name, [kernel names], children, host time of its own).
Tree = list[tuple[str, list[str], list[Any], int]]


def build(tree: Tree, kernel_ns: int = MS) -> Run:
    """Return a run of one thread and one stream."""
    names: dict[str, int] = {"": 0}
    rows: list[list[int]] = []  # start, duration, name, kind, lane, correlation
    clock = {"host": 0, "device": 0}

    def name_id(text: str) -> int:
        return names.setdefault(text, len(names))

    def walk(nodes: Tree) -> None:
        for name, kernels, children, own in nodes:
            row = [clock["host"], 0, name_id(name), OP, 0, -1]
            rows.append(row)
            clock["host"] += own
            for kernel in kernels:
                start = max(clock["host"], clock["device"])
                rows.append([clock["host"], 10, name_id("cudaLaunchKernel"), CALL, 0, len(rows) + 1])
                rows.append([start, kernel_ns, name_id(kernel), KERNEL, 1, len(rows)])
                clock["host"] += 20
                clock["device"] = start + kernel_ns
            walk(children)
            clock["host"] += 10
            row[1] = clock["host"] - row[0]
            clock["host"] += 10

    walk(tree)
    keys = ("start_ns", "duration_ns", "name", "kind", "lane", "correlation")
    spans = {key: [row[i] for row in rows] for i, key in enumerate(keys)}
    # Parents are what the analyses take operators of calls from.
    parents, stack = [], []
    for row in rows:
        while stack and (rows[stack[-1]][0] + rows[stack[-1]][1] <= row[0] or row[4] == 1):
            if row[4] == 1:
                break
            stack.pop()
        parents.append(stack[-1] if stack and row[4] == 0 else -1)
        if row[3] == OP:
            stack.append(len(parents) - 1)
    spans["parent"] = parents
    lanes = {"thread": [7, 7], "device": [-1, 0]}
    return Run._build(list(names), typed({"spans": spans, "lanes": lanes}), "{}", "kineto", 0, 0, -1, True)


def rows_of(current: Run, baseline: Run, group_by: int = 0, **options: Any) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the rows by (name in the baseline, name in the current run)."""
    table = current.analyse("trace_diff", other=baseline, group_by=group_by, **options)
    keys = [c["name"] for c in _core.schema()["results"]["trace_diff"]["columns"]]
    rows = {}
    for i in range(len(table)):
        row = {key: int(getattr(table, key)[i]) for key in keys}
        row["change"] = CHANGES[row["change"]]
        rows[baseline.string(row["baseline_name"]), current.string(row["name"])] = row
    assert len(rows) == len(table)
    return rows


def layered(count: int) -> Tree:
    """Return a tree of blocks with the same operators again and again."""
    block: Tree = [("aten::linear", [], [("aten::mm", ["gemm"], [], 100)], 50), ("aten::relu", ["relu"], [], 50)]
    return [(f"block{i}", [], list(block), 10) for i in range(count)]


def test_a_trace_does_not_differ_from_itself() -> None:
    run = build(layered(50))
    for group_by in range(3):
        rows = rows_of(run, run, group_by)
        assert {row["change"] for row in rows.values()} == {"same"}
        assert all(row["matched"] == row["calls"] == row["baseline_calls"] for row in rows.values())
    pairs = run.analyse("trace_diff_pairs", other=run)
    assert (pairs.baseline_span == pairs.span).all()
    assert len(pairs) == 50 * 4


def test_added_and_removed_operators_are_found_in_their_place() -> None:
    old, new = layered(20), layered(20)
    new.insert(7, ("aten::dropout", ["dropout"], [], 100))
    new[12][2].pop()  # one relu less
    rows = rows_of(build(new), build(old))
    assert rows["", "aten::dropout"]["change"] == "added"
    relu = rows["aten::relu", "aten::relu"]
    assert (relu["change"], relu["baseline_calls"], relu["calls"], relu["matched"]) == ("fewer", 20, 19, 19)
    others = {row["change"] for names, row in rows.items() if names[1] not in ("aten::dropout", "aten::relu")}
    assert others == {"same"}


def test_a_kernel_that_took_the_place_of_another_is_named() -> None:
    old = layered(3)
    new = [(n, k, [(m, ["flash" if x == "relu" else x for x in ks], c, o) for m, ks, c, o in ch], h)
           for n, k, ch, h in layered(3)]  # fmt: skip
    rows = rows_of(build(new), build(old), 1)
    assert rows["relu", "flash"]["change"] == "replaced"
    assert rows["relu", "flash"]["matched"] == 3
    assert rows["gemm", "gemm"]["change"] == "same"
    told = build(new).result("diff", by="kernel", other=build(old))
    assert {(row["baseline_name"], row["name"]) for row in told} == {("relu", "flash"), ("gemm", "gemm")}
    sequences = rows_of(build(new), build(old), 2)
    assert {row["change"] for row in sequences.values()} == {"replaced"}


def test_kernels_that_differ_in_their_tiles_stand_side_by_side() -> None:
    before = ["void at::native::reduce<512, 1>(int)", "sm80_gemm_128x64_nn", "copy"]
    after = ["copy", "void at::native::reduce<256, 2>(int)", "sm80_gemm_64x64_nn"]
    rows = rows_of(build([("op", after, [], 10)]), build([("op", before, [], 10)]), 1)
    assert rows[before[0], after[1]]["change"] == "replaced"
    assert rows[before[1], after[2]]["change"] == "replaced"


def test_a_kernel_that_also_replaces_another_is_not_called_new() -> None:
    old: Tree = [("a", ["gemm"], [], 10), ("b", ["relu"], [], 10)]
    new: Tree = [("a", ["gemm"], [], 10), ("b", ["gemm"], [], 10), ("c", ["relu"], [], 10)]
    rows = rows_of(build(new), build(old), 1)
    assert rows["relu", "gemm"]["change"] == "replaced"
    assert rows["", "relu"]["change"] == "more"  # the baseline has one too, where gemm stands now


def test_slower_and_faster_follow_the_thresholds() -> None:
    old, new = build(layered(5), MS), build(layered(5), MS + MS // 10)
    assert rows_of(new, old, 1)["gemm", "gemm"]["change"] == "slower"
    assert rows_of(old, new, 1)["gemm", "gemm"]["change"] == "faster"
    assert rows_of(new, old, 1, thresholds={"diff_least_share": 0.2})["gemm", "gemm"]["change"] == "same"


@given(st.integers(0, 10_000), st.integers(1, 400), st.integers(0, 8), st.integers(0, 8))
@settings(max_examples=60)
def test_edits_of_distinct_operators_are_told_exactly(seed: int, count: int, adds: int, removes: int) -> None:
    choice = random.Random(seed)
    old: Tree = [(f"op_{chr(97 + i % 26)}{i}", ["gemm"], [], 100) for i in range(count)]
    removed = set(choice.sample(range(count), min(removes, count)))
    new = [node for i, node in enumerate(old) if i not in removed]
    for i in range(adds):
        new.insert(choice.randint(0, len(new)), (f"new{i}", ["relu"], [], 100))
    found = Counter(row["change"] for row in rows_of(build(new), build(old)).values())
    expected = {"added": adds, "removed": len(removed), "same": count - len(removed)}
    assert found == Counter({k: n for k, n in expected.items() if n})


trees = st.recursive(
    st.just([]),
    lambda children: st.lists(
        st.tuples(
            st.sampled_from("abc"), st.lists(st.sampled_from(["k", "l"]), max_size=2), children, st.integers(1, 9)
        ),
        max_size=5,
    ),
    max_leaves=30,
)


@given(trees, trees)
@settings(max_examples=150)
def test_pairs_keep_names_order_and_nesting_and_no_time_is_lost(old: Tree, new: Tree) -> None:
    before, after = build(old), build(new)
    pairs = after.analyse("trace_diff_pairs", other=before)
    left, right = before.spans, after.spans
    assert len(set(pairs.baseline_span)) == len(set(pairs.span)) == len(pairs)
    partner = dict(zip(pairs.baseline_span.tolist(), pairs.span.tolist(), strict=True))
    by_start = sorted(partner)
    assert [partner[a] for a in by_start] == sorted(partner.values())  # rows are in order of start
    for a, b in partner.items():
        assert before.string(left.name[a]) == after.string(right.name[b])
        assert partner.get(int(left.parent[a]), -1) == int(right.parent[b])
    for group_by in range(3):
        table = after.analyse("trace_diff", other=before, group_by=group_by)
        assert table.baseline_device_ns.sum() == before.analyse("breakdown").sum_dur_ns.sum()
        assert table.device_ns.sum() == after.analyse("breakdown").sum_dur_ns.sum()
        assert table.difference_ns.sum() == (
            table.host_ns.sum() + table.device_ns.sum() - table.baseline_host_ns.sum() - table.baseline_device_ns.sum()
        )
    operators = after.analyse("trace_diff", other=before)
    tops = (right.kind == OP) & (right.parent < 0)
    assert operators.host_ns.sum() == right.duration_ns[tops].sum()  # nothing counts twice


def test_a_comparison_needs_a_baseline() -> None:
    with pytest.raises(ValueError, match="needs another run"):
        build(layered(1)).analyse("trace_diff")


def test_damage_of_the_baseline_is_told_beside_that_of_the_run(tmp_path: Path) -> None:
    whole = {"ph": "X", "name": "a", "ts": 1, "dur": 2, "pid": 1, "tid": 1}
    damaged = whole | {"name": "b", "ts": 5}
    del damaged["dur"]
    (tmp_path / "now.json").write_text(json.dumps({"traceEvents": [whole]}))
    (tmp_path / "before.json").write_text(json.dumps({"traceEvents": [whole, damaged]}))
    now, before = load(tmp_path / "now.json"), load(tmp_path / "before.json")
    document = now.result("diff", other=before).to_document("now.json")
    assert document["anomalies"] == []
    assert [row["code"] for row in document["baseline_anomalies"]] == ["missing_duration"]


def test_lists_of_equal_names_do_not_take_long() -> None:
    count = 60_000
    old: Tree = [("op", [], [], i % 7 + 1) for i in range(count)]
    new: Tree = [("op" if i % 2 else "other", [], [], 1) for i in range(count)]
    table = build(new).analyse("trace_diff", other=build(old))
    assert table.matched.sum() >= count // 4


PAIRS = [("diff_a100_control", "diff_v100_test"), ("diff_small_base", "diff_small_test")]


@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_totals_of_both_sides_are_those_of_the_breakdown(old: str, new: str) -> None:
    before, after = load_trace(f"{old}.json.gz"), load_trace(f"{new}.json.gz")
    for group_by in range(3):
        table = after.analyse("trace_diff", other=before, group_by=group_by)
        assert table.baseline_device_ns.sum() == before.analyse("breakdown").sum_dur_ns.sum()
        assert table.device_ns.sum() == after.analyse("breakdown").sum_dur_ns.sum()
    for run in (before, after):
        for group_by in range(3):
            table = run.analyse("trace_diff", other=run, group_by=group_by)
            assert set(table.change) == {CHANGES.index("same")}
            assert (table.matched == table.calls).all()


def test_the_small_pair_has_the_differences_that_a_count_of_names_finds() -> None:
    new, old = "diff_small_test.json.gz", "diff_small_base.json.gz"
    counts = {run: Counter(load_trace(run).strings[n] for n in operators(run)) for run in (new, old)}
    rows = rows_of(load_trace(new), load_trace(old))
    added = {names[1] for names, row in rows.items() if row["change"] == "added"}
    assert added == set(counts[new]) - set(counts[old]) == {"AddmmBackward0", "CatBackward0", "All2All_Pooled_Req"}
    assert not any(row["change"] == "removed" for row in rows.values())
    for (_, name), row in rows.items():
        if name and not name.startswith("ProfilerStep"):  # steps of any number stand in one row
            assert (row["calls"], row["baseline_calls"]) == (counts[new][name], counts[old][name])


def operators(name: str) -> np.ndarray:
    """Return the names of all operators and annotations of a trace."""
    spans = load_trace(name).spans
    return spans.name[np.isin(spans.kind, [OP, _core.SPAN_KINDS.index("annotation")])]
