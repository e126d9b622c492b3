# SPDX-License-Identifier: Apache-2.0
"""The merged call tree against a count of every nanosecond, and the generator around it."""

import json
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_strategies import DEVICE_LANE, HOST_LANES, NAMES, Span, run_of_tuples, span_lists
from traces import load_trace

from regimeter import Run, _core
from regimeter.suite.flame import FlameGraphGenerator

PLAIN = {"flame_min_duration_ns": 0, "flame_small_share": 0, "flame_max_depth": 1000}
DEVICE = ("kernel", "memcpy")
TIMES = ("total_host_ns", "self_host_ns", "total_device_ns", "self_device_ns")


def paths_of(run: Run, table: Any) -> dict[tuple[str, ...], list[int]]:
    """Return own host time, own device time and count by the path of names below the first row."""
    found: dict[tuple[str, ...], list[int]] = {}
    paths: list[tuple[str, ...]] = []
    for i in range(len(table)):
        role = _core.FLAME_ROLES[table.role[i]]
        label = {"all": "", "lane": f"lane {table.lane[i]}", "unlaunched": "unlaunched"}.get(role, NAMES[table.name[i]])
        paths.append(() if table.parent[i] < 0 else (*paths[table.parent[i]], label))
        assert paths[i] not in found
        found[paths[i]] = [int(table.self_host_ns[i]), int(table.self_device_ns[i]), int(table.count[i])]
    return found


def path_of(run: Run, spans: list[Span], row: int) -> tuple[str, ...]:
    """Return the names from the lane of a host span to itself."""
    parent = int(run.spans.parent[row])
    above = path_of(run, spans, parent) if parent >= 0 else (f"lane {spans[row][2]}",)
    return (*above, NAMES[spans[row][1]])


def above_work(run: Run, spans: list[Span], correlation: int) -> tuple[str, ...]:
    """Return the path of the call that launched a piece of work."""
    calls = [i for i, span in enumerate(spans) if span[0] == "runtime" and span[5] == correlation]
    return path_of(run, spans, calls[0]) if calls else ("unlaunched",)


def expected_paths(run: Run, spans: list[Span]) -> dict[tuple[str, ...], list[int]]:
    """Return the same, counted nanosecond by nanosecond."""

    def path(row: int) -> tuple[str, ...]:
        return path_of(run, spans, row)

    found: dict[tuple[str, ...], list[int]] = defaultdict(lambda: [0, 0, 0])
    hosts = [i for i, span in enumerate(spans) if span[0] not in DEVICE]
    for i in hosts:
        found[path(i)][2] += 1
        for above in range(len(path(i))):
            found[path(i)[:above]]
    for lane in range(HOST_LANES):
        members = [i for i in hosts if spans[i][2] == lane]
        for now in range(-20, 130):
            open_now = [i for i in members if spans[i][3] <= now < spans[i][3] + spans[i][4]]
            if open_now:
                latest = max(open_now, key=lambda i: (spans[i][3], -spans[i][4], i))
                found[path(latest)][0] += 1
    for kind, name, _, _, duration, correlation in spans:
        if kind not in DEVICE:
            continue
        around = above_work(run, spans, correlation)
        found[()], found[around]
        found[(*around, NAMES[name])][1] += duration
        found[(*around, NAMES[name])][2] += 1
    return dict(found)


@given(span_lists())
def test_own_times_and_counts_match_a_count_of_every_nanosecond(spans: list[Span]) -> None:
    run = run_of_tuples(spans)
    found = paths_of(run, run.analyse("flame", thresholds=PLAIN))
    expected = expected_paths(run, spans)
    assert found == expected


@given(span_lists())
def test_a_row_began_with_the_first_span_in_it_or_below(spans: list[Span]) -> None:
    run = run_of_tuples(spans)
    table = run.analyse("flame", thresholds=PLAIN)
    expected: dict[tuple[str, ...], int] = {}
    for row, (kind, name, _, start, _, correlation) in enumerate(spans):
        work = kind in DEVICE
        path = (*above_work(run, spans, correlation), NAMES[name]) if work else path_of(run, spans, row)
        for above in range(len(path) + 1):
            expected[path[:above]] = min(start, expected.get(path[:above], start))
    found = dict(zip(paths_of(run, table), table.first_ns.tolist(), strict=True))
    assert found == expected


def figures_of(node: dict[str, Any], depth: int = 0) -> list[tuple[Any, ...]]:
    """Return what a node and those below it say, but not their order."""
    own = (
        depth,
        *(node[key] for key in ("name", "kind", "value", "count", "first_us", "host_self_us", "device_self_us")),
    )
    return [own, *(found for child in node["children"] for found in figures_of(child, depth + 1))]


@given(span_lists())
def test_siblings_stand_in_the_order_in_which_they_began(spans: list[Span]) -> None:
    run = run_of_tuples(spans)
    heavy, timed = (
        FlameGraphGenerator(0, group_small_kernels=False, in_time=one).from_run(run) for one in (False, True)
    )
    assert (heavy["order"], timed["order"]) == ("weight", "time")
    waiting = [timed]
    while waiting:
        starts = [child["first_us"] for child in waiting[-1]["children"]]
        assert starts == sorted(starts)
        waiting += waiting.pop()["children"]
    assert sorted(figures_of(heavy)) == sorted(figures_of(timed))


@given(span_lists())
def test_direct_recursion_as_one_row_adds_up_what_it_had(spans: list[Span]) -> None:
    run = run_of_tuples(spans)
    hosts = {NAMES[span[1]] for span in spans if span[0] not in DEVICE}
    expected: dict[tuple[str, ...], list[int]] = defaultdict(lambda: [0, 0, 0])
    for path, times in paths_of(run, run.analyse("flame", thresholds=PLAIN)).items():
        kept = tuple(name for at, name in enumerate(path) if at == 0 or name != path[at - 1] or name not in hosts)
        for at, time in enumerate(times):
            expected[kept][at] += time
    if not hosts & {NAMES[span[1]] for span in spans if span[0] in DEVICE}:  # work of the same name is no recursion
        assert paths_of(run, run.analyse("flame", thresholds=PLAIN | {"flame_collapse": 1})) == expected


@given(span_lists(), st.integers(0, 60), st.floats(0, 1), st.integers(1, 6), st.integers(0, 1))
def test_gathering_and_cutting_lose_no_time(spans: list[Span], least: int, share: float, depth: int, by: int) -> None:
    run = run_of_tuples(spans)
    whole = run.analyse("flame", thresholds=PLAIN)
    table = run.analyse(
        "flame",
        group_by=by,
        thresholds={"flame_min_duration_ns": least, "flame_small_share": share, "flame_max_depth": depth},
    )
    if not spans:
        assert len(table) == 0
        return
    for name in TIMES:
        below = np.zeros(len(table), dtype="int64")
        np.add.at(below, table.parent[1:], getattr(table, name.replace("self", "total"))[1:])
        if name.startswith("total"):
            own = getattr(table, name.replace("total", "self"))
            assert (getattr(table, name) == own + below).all()
            assert getattr(table, name)[0] == getattr(whole, name)[0]
    assert table.count.sum() == whole.count.sum() == len(spans)
    assert (table.parent[1:] < np.arange(1, len(table))).all()
    assert (table.depth[1:] == table.depth[table.parent[1:]] + 1).all()
    small = table.role == _core.FLAME_ROLES.index("small")
    assert (table.grouped[small] >= 2).all()
    assert (table.depth <= depth + 1).all()


def test_device_time_is_found_under_the_host_code_that_asked_for_it() -> None:
    run = run_of_tuples(
        [
            ("python", 1, 0, 0, 100, -1),
            ("cpu_op", 2, 0, 10, 50, -1),
            ("runtime", 3, 0, 20, 10, 100),
            ("kernel", 4, DEVICE_LANE, 200, 70, 100),
            ("kernel", 4, DEVICE_LANE, 300, 5, 999),
        ]
    )
    tree = FlameGraphGenerator(0, group_small_kernels=False).from_run(run)
    thread = tree["children"][0]
    stack = [thread]
    while stack[-1]["children"]:
        stack.append(stack[-1]["children"][0])
    assert [node["name"] for node in stack] == ["thread ", "a", "b", "c", "gemm"]
    assert [node["device_us"] for node in stack] == [0.07] * 5
    assert [node["host_self_us"] for node in stack] == [0.0, 0.05, 0.04, 0.01, 0.0]
    assert tree["children"][1]["name"] == "device work without a recorded launch"
    assert tree["value"] == tree["device_us"] == 0.075
    assert FlameGraphGenerator(0, metric="host").from_run(run)["value"] == 0.1


def test_a_real_trace_keeps_its_totals() -> None:
    run = load_trace("h100_owlv2_with_stack.json.gz")
    breakdown = run.analyse("breakdown")
    for thresholds in ({}, PLAIN, {"flame_max_depth": 3}):
        table = run.analyse("flame", thresholds=thresholds)
        assert table.total_device_ns[0] == breakdown.sum_dur_ns.sum()
    by_thread = run.analyse("flame", thresholds=PLAIN)
    merged = run.analyse("flame", group_by=1, thresholds=PLAIN)
    assert by_thread.total_host_ns[0] == merged.total_host_ns[0]
    assert len(merged) < len(by_thread)


@pytest.mark.parametrize("shape", ["nested", "equal", "side by side", "staircase"])
def test_hostile_shapes_end_soon(shape: str) -> None:
    count = 200_000
    ramp = np.arange(count, dtype="int64")
    start, duration = {
        "nested": (ramp, 2 * (count - ramp)),
        "equal": (ramp * 0, ramp * 0 + 5),
        "side by side": (ramp * 10, ramp * 0 + 5),
        "staircase": (ramp, ramp * 0 + count),
    }[shape]
    parent = np.where(ramp > 0, ramp - 1, -1) if shape in ("nested", "equal") else ramp * 0 - 1
    columns = {"start_ns": start, "duration_ns": duration, "parent": parent.astype("int32")}
    columns |= {"kind": np.full(count, 1, dtype="uint8"), "name": (ramp % 3 + 1).astype("uint32")}
    run = Run._build(["", "a", "b", "c"], {"spans": columns}, "{}", "kineto", 0, 0, -1, True)
    for thresholds in (PLAIN | {"flame_max_depth": 10**9}, {}):
        table = run.analyse("flame", thresholds=thresholds)
        assert table.total_host_ns[0] == {"nested": 2 * count, "equal": 5, "side by side": 5 * count}.get(
            shape, 2 * count - 1
        )
    blocks = run.analyse("timeline_blocks", thresholds={"timeline_max_spans": 1000})
    assert blocks.count.sum() == count
    assert len(blocks) <= count
    assert run.analyse("active_times").host_ns[0] <= 2 * count * 5


# --- the generator ----------------------------------------------------------------------------------------------------


def test_kernels_without_stacks() -> None:
    kernels = [
        {"name": "gemm", "cuda_time_us": 90.0},
        SimpleNamespace(name="relu", cuda_time_us=5.5),
        {"name": "gemm", "time_us": 10},
        *({"name": f"tiny {i}", "duration_us": 0.25} for i in range(4)),
    ]
    tree = FlameGraphGenerator(min_duration_us=1).from_kernel_list(kernels)
    names = {node["name"]: node["value"] for node in tree["children"][0]["children"]}
    assert tree["value"] == 106.5
    assert names == {"gemm": 100.0, "relu": 5.5, "(4 small)": 1.0}
    assert FlameGraphGenerator().from_kernel_list([])["value"] == 0.0
    with pytest.raises(KeyError):
        FlameGraphGenerator().from_kernel_list([{"name": "x"}])
    with pytest.raises(ValueError, match="negative"):
        FlameGraphGenerator().from_kernel_list([{"name": "x", "time_us": -1}])


def test_a_page_needs_nobody(tmp_path: Path) -> None:
    generator = FlameGraphGenerator()
    data = generator.from_run(load_trace("h100_bert_small.json.gz"))
    generator.export(data, tmp_path / "flame.json", format="json")
    assert json.loads((tmp_path / "flame.json").read_text()) == data
    data["children"][0]["name"] = "</script><script>alert(1)</script>"
    generator.export(data, tmp_path / "flame.html")
    text = (tmp_path / "flame.html").read_text()
    assert "<script>alert" not in text
    assert "connect-src 'none'" in text
    assert "src=" not in text.partition("<body")[0]
    assert "d3js" not in text
    assert "d3." not in text.split('id="regimeter-data"')[0]


def test_bad_options_are_refused() -> None:
    with pytest.raises(ValueError, match="metric"):
        FlameGraphGenerator(metric="both")
    with pytest.raises(ValueError, match="max_depth"):
        FlameGraphGenerator(max_depth=0)


def test_a_profiler_is_read_through_its_own_export(monkeypatch: pytest.MonkeyPatch) -> None:
    run = load_trace("h100_bert_small.json.gz")
    monkeypatch.setattr(
        "regimeter.suite.imported.load", lambda path: run if Path(path).read_text() == "trace" else None
    )

    class Profiler:
        def export_chrome_trace(self, path: str) -> None:
            Path(path).write_text("trace")

    made = FlameGraphGenerator().from_profiler(Profiler())
    assert made == FlameGraphGenerator().from_run(run)
    with pytest.raises(TypeError, match=r"torch\.profiler"):
        FlameGraphGenerator().from_profiler(object())
