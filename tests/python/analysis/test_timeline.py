# SPDX-License-Identifier: Apache-2.0
"""Lines and blocks of the timeline, active times, and the generator around them."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_strategies import Span, run_of_tuples, span_lists
from runs import KIND, build_run, named_kernel
from traces import load_trace

from regimeter import Run, _core
from regimeter.suite.flame import FlameGraphGenerator
from regimeter.suite.timeline_data import TimelineData, TimelineGenerator

DEVICE = ("kernel", "memcpy")


@given(span_lists(), st.integers(0, 25))
def test_no_span_is_lost_and_none_covers_another(spans: list[Span], most: int) -> None:
    run = run_of_tuples(spans)
    table = run.analyse("timeline_blocks", thresholds={"timeline_max_spans": most})
    assert table.count.sum() == len(spans)
    assert table.sum_ns.sum() == sum(span[4] for span in spans)
    for depths in (table.depth, table.plain_depth):
        lines = {}
        for row in range(len(table)):
            if depths[row] >= 0:
                lines.setdefault((table.lane[row], depths[row]), []).append(row)
        for rows in lines.values():
            ends = table.start_ns[rows] + table.duration_ns[rows]
            assert (table.start_ns[rows][1:] >= ends[:-1]).all()
    single = {int(table.span[row]): row for row in range(len(table)) if table.count[row] == 1}
    for span, row in single.items():
        assert (table.start_ns[row], table.duration_ns[row]) == spans[span][3:5]
        parent = int(run.spans.parent[span])
        if parent in single:
            assert table.depth[single[parent]] < table.depth[row]
    python = np.array([spans[span][0] == "python" for span in table.span], dtype=bool)
    assert (table.plain_depth[python] == -1).all()
    assert (table.plain_depth[~python] >= 0).all()


@given(span_lists(), st.integers(0, 25))
def test_the_longest_spans_stand_alone(spans: list[Span], most: int) -> None:
    table = run_of_tuples(spans).analyse("timeline_blocks", thresholds={"timeline_max_spans": most})
    gathered = table.count > 1
    longest = sorted((span[4] for span in spans), reverse=True)[:most]
    alone = sorted(table.duration_ns[~gathered].tolist(), reverse=True)
    assert alone[: len(longest)] == longest
    # The row of a block is named after the longest span in it.
    assert all(spans[table.span[row]][4] <= table.sum_ns[row] for row in np.flatnonzero(gathered))


@given(span_lists(), st.integers(0, 25))
def test_device_work_points_at_its_launch(spans: list[Span], most: int) -> None:
    table = run_of_tuples(spans).analyse("timeline_blocks", thresholds={"timeline_max_spans": most})
    for row in range(len(table)):
        kind, _, _, _, _, correlation = spans[table.span[row]]
        calls = [span for span in spans if span[0] == "runtime" and span[5] == correlation]
        if kind in DEVICE and calls and table.count[row] == 1:
            shown = table.launch[row]
            call = calls[0]
            assert table.lane[shown] == call[2]
            assert table.start_ns[shown] <= call[3]
            assert call[3] + call[4] <= table.start_ns[shown] + table.duration_ns[shown]
        else:
            assert table.launch[row] == -1


@given(span_lists(), st.integers(0, 3))
def test_active_times_are_unions(spans: list[Span], left_out: int) -> None:
    table = run_of_tuples(spans).analyse("active_times", group_by=left_out)
    skipped = (["python"] if left_out & 1 else []) + (["runtime"] if left_out & 2 else [])
    counted = [span for span in spans if span[0] not in skipped]

    def union(chosen: list[Span]) -> set[int]:
        return {t for span in chosen for t in range(span[3], span[3] + span[4])}

    host = union([span for span in counted if span[0] not in DEVICE])
    device = union([span for span in counted if span[0] in DEVICE])
    assert (table.host_ns[0], table.device_ns[0], table.overlap_ns[0]) == (len(host), len(device), len(host & device))
    if counted:
        first, last = min(span[3] for span in counted), max(span[3] + span[4] for span in counted)
        assert (table.first_ns[0], table.span_ns[0]) == (first, last - first)
    assert table.n_host[0] + table.n_device[0] == len(counted)


def test_real_traces_have_figures_that_fit_together() -> None:
    run = load_trace("v100_ddp_large.json.gz")
    active, breakdown = run.analyse("active_times"), run.analyse("breakdown")
    assert active.device_ns[0] == breakdown.busy_ns[0]
    assert active.overlap_ns[0] <= min(active.host_ns[0], active.device_ns[0])
    assert max(active.host_ns[0], active.device_ns[0]) <= active.span_ns[0]
    blocks = run.analyse("timeline_blocks", thresholds={"timeline_max_spans": 10_000})
    assert blocks.count.sum() == len(run.spans)
    assert blocks.sum_ns.sum() == run.spans.duration_ns.sum()
    assert len(blocks) < 40_000


# --- the generator ----------------------------------------------------------------------------------------------------


def test_a_synchronisation_call_is_not_device_activity() -> None:
    spans = [("runtime", 1, 0, 0, 1000, -1), ("kernel", 4, 2, 100, 300, -1), ("kernel", 4, 2, 200, 100, -1)]
    timeline = TimelineGenerator(0).from_run(run_of_tuples([(*span,) for span in spans]))
    assert timeline.gpu_active_time_us == 0.3
    assert timeline.overlap_time_us == 0.3, "the length of a union, not a sum over pairs"
    assert timeline.total_time_us == timeline.cpu_active_time_us == 1.0
    assert timeline.gpu_utilization == pytest.approx(30.0)
    (stream,) = timeline.streams
    assert stream.stream == 7
    assert [len(timeline.streams[stream]), len(timeline.gpu_events), len(timeline.cpu_events)] == [2, 2, 1]
    assert timeline.gpu_events[0].stream_id == 7
    assert timeline.cpu_events[0].stream_id is None
    assert [event.start_us for event in timeline.events] == [0.0, 0.1, 0.2]


def test_equal_stream_numbers_of_two_devices_are_two_streams() -> None:
    lanes = [{"process": device, "thread": 7, "device": device, "rank": rank} for rank in (0, 1) for device in (0, 1)]
    spans = [named_kernel("k", 100 * at, 10, lane=at % 4) for at in range(9)]
    timeline = TimelineGenerator(0).from_run(build_run(spans, lanes))
    found = {tuple(key): [event.start_us for event in events] for key, events in timeline.streams.items()}
    assert found == {
        (0, 0, 7): [0.0, 0.4, 0.8], (0, 1, 7): [0.1, 0.5], (1, 0, 7): [0.2, 0.6], (1, 1, 7): [0.3, 0.7],
    }  # fmt: skip
    assert [row["event_count"] for row in timeline.to_dict()["streams"]] == [3, 2, 2, 2]


def test_what_is_left_out_is_neither_listed_nor_active() -> None:
    spans = [("python", 1, 0, 0, 900, -1), ("runtime", 2, 0, 100, 50, -1), ("cpu_op", 3, 0, 200, 20, -1)]
    run = run_of_tuples([(*span,) for span in spans])
    timeline = TimelineGenerator(0.05, include_python_events=False, include_cuda_runtime=False).from_run(run)
    assert list(timeline.events) == []
    assert timeline.cpu_active_time_us == 0.02, "short events are active although they are not listed"
    assert TimelineGenerator(0).from_run(run).cpu_active_time_us == 0.9


def test_exports(tmp_path: Path) -> None:
    run = load_trace("h100_bert_small.json.gz")
    generator = TimelineGenerator(0)
    timeline = generator.from_run(run)
    assert len(timeline.events) == len(run.spans)
    data = generator.export_visualization_data(timeline, tmp_path / "data.json")
    assert json.loads((tmp_path / "data.json").read_text()) == json.loads(json.dumps(data))
    assert data["summary"]["event_count"] == len(timeline.events)
    assert data["summary"]["gpu_active_time_us"] == int(run.analyse("breakdown").busy_ns[0]) / 1e3
    generator.generate_html_viewer(timeline, tmp_path / "timeline.html")
    assert "regimeter.report" in (tmp_path / "timeline.html").read_text()


def test_kinds_of_the_generator_are_kinds_of_the_core() -> None:
    assert {"kernel", "memcpy", "memset", "accelerator", "runtime", "driver", "python"} <= set(_core.SPAN_KINDS)


@pytest.mark.parametrize("kwargs", [{}, {"include_python_events": False, "include_cuda_runtime": False}])
@pytest.mark.parametrize("name", ["h100_bert_small.json.gz", "a100_simple_add.json.gz", "mi250_rocm62.json.gz"])
def test_a_chrome_trace_read_again_has_the_same_figures(name: str, kwargs: dict[str, bool], tmp_path: Path) -> None:
    """Also the profiler's own window, which is no host work, and short events, which are active."""
    generator = TimelineGenerator(**kwargs)
    timeline = generator.from_run(load_trace(name))
    generator.export_chrome_trace(timeline, tmp_path / "trace.json")
    again = generator.from_chrome_trace(tmp_path / "trace.json")
    for part in ("summary", "streams"):
        assert again.to_dict()[part] == timeline.to_dict()[part]

    def described(found: TimelineData) -> Counter[tuple[object, ...]]:
        first = min(event.start_us for event in found.events)
        rows = ((e.name, e.category, round(e.start_us - first, 3), e.duration_us, e.stream_id, e.correlation)
                for e in found.events)  # fmt: skip
        return Counter(rows)

    assert described(again) == described(timeline)

    def lanes(run: Run) -> set[str]:
        used = set(run.spans.lane[np.isin(run.spans.kind, [KIND["kernel"], KIND["cpu_op"]])].tolist())
        return {run.string(int(run.lanes.name[lane])).strip() for lane in used}

    assert lanes(again.run) == lanes(timeline.run)


def test_kinds_that_an_export_leaves_out_are_checked(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no kind of span is called pythn"):
        load_trace("h100_bert_small.json.gz")._export("chrome", "runtime,pythn", lambda _: None)


def test_a_record_of_a_wait_is_no_host_activity() -> None:
    """Context Sync rows stand on no stream; the union of all other host spans is the oracle."""
    run = load_trace("a100_simple_add.json.gz")
    kinds = [KIND[kind] for kind in ("cpu_op", "runtime", "driver", "python", "annotation", "overhead", "other")]
    rows = np.flatnonzero(np.isin(run.spans.kind, kinds) & (run.lanes.device[run.spans.lane] < 0))
    end, active = -1, 0
    for row in rows[np.argsort(run.spans.start_ns[rows], kind="stable")].tolist():
        start, until = int(run.spans.start_ns[row]), int(run.spans.start_ns[row] + run.spans.duration_ns[row])
        active += max(0, until - max(start, end))
        end = max(end, until)
    assert TimelineGenerator().from_run(run).cpu_active_time_us == active / 1e3
    assert FlameGraphGenerator().from_run(run)["host_us"] == active / 1e3, "41,579,788 us, not 82 us more"
    without = TimelineGenerator(include_cuda_runtime=False).from_run(run)
    assert not [e for e in without.cpu_events if e.name == "Context Sync"]
