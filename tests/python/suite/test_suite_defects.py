# SPDX-License-Identifier: Apache-2.0
"""Defects of the code behind the specification that no other file of the suite covers: S3, S5 to S7 and S9.

S1 and S2: test_suite_profiler.py; S4: test_suite_memory.py; S8: test_suite_compile.py; S10: test_suite_cli.py.
"""

import json
import pickle
from pathlib import Path

import pytest
from needed import package
from traces import trace_path

from regimeter.suite import FlameGraphGenerator, HTAAnalyzer, TimelineGenerator, UnifiedProfiler

torch = package("torch")
TRACE = "a100_alexnet_cuda_sync.json.gz"


def depth(node):
    return 1 + max((depth(child) for child in node["children"]), default=0)


# --- S3: the snapshot of a device is what the viewer loads ------------------------------------------------------------


class Allocator:
    """The calls of torch.cuda that a profiler makes, scripted; torch's own dump is a plain pickle, as this one."""

    def __init__(self, monkeypatch):
        self.enabled: object = "never"
        self.allocated = self.peak = 2_000_000
        cuda = torch.cuda
        for name, value in {
            "is_available": lambda: True, "is_initialized": lambda: True, "current_device": lambda: 0,
            "synchronize": lambda *_: None, "memory_allocated": lambda *_: self.allocated,
            "memory_reserved": lambda *_: 8_000_000, "max_memory_allocated": lambda *_: self.peak,
            "reset_peak_memory_stats": lambda *_: setattr(self, "peak", self.allocated),
            "get_device_name": lambda *_: "Scripted GPU",
        }.items():  # fmt: skip
            monkeypatch.setattr(cuda, name, value)
        monkeypatch.setattr(cuda.memory, "_record_memory_history", self.history)
        monkeypatch.setattr(cuda.memory, "_dump_snapshot", self.dump)
        monkeypatch.setattr(torch._C, "_cuda_isHistoryEnabled", lambda: self.enabled == "all", raising=False)

    def history(self, enabled="all", **_):
        self.enabled = enabled

    def dump(self, path):
        Path(path).write_bytes(pickle.dumps({"segments": [], "device_traces": [[]]}))


def test_the_memory_snapshot_is_a_plain_pickle_and_the_history_off_again(monkeypatch, tmp_path):
    allocator = Allocator(monkeypatch)
    with UnifiedProfiler(tmp_path).profile("step") as session:
        assert allocator.enabled == "all"
        allocator.peak = 5_000_000
    assert allocator.enabled is None
    assert set(pickle.loads(session.memory_snapshot_path.read_bytes())) == {"segments", "device_traces"}
    assert (session.peak_memory_mb, session.allocated_memory_mb, session.reserved_memory_mb) == (5.0, 2.0, 8.0)
    assert session.device_name == "Scripted GPU"


def test_a_history_that_the_program_keeps_is_left_alone(monkeypatch, tmp_path):
    allocator = Allocator(monkeypatch)
    allocator.enabled = "all"
    with UnifiedProfiler(tmp_path).profile("step") as session:
        pass
    assert allocator.enabled == "all"
    assert session.memory_snapshot_path is None


def test_a_profiler_that_cannot_begin_leaves_nothing_behind(monkeypatch, tmp_path):
    allocator = Allocator(monkeypatch)
    profiler = UnifiedProfiler(tmp_path)

    def refuses(*_):
        raise RuntimeError("busy")

    monkeypatch.setattr(torch.profiler.profile, "start", refuses)
    with pytest.raises(RuntimeError, match="busy"):
        with profiler.profile("step"):
            raise AssertionError("the block is not entered")
    assert allocator.enabled is None
    assert profiler.sessions == []


# --- S5: a live profiler has a timeline -------------------------------------------------------------------------------


def test_a_live_profiler_has_its_events():
    with torch.profiler.profile() as profiler:
        torch.ones(8) + 1
    timeline = TimelineGenerator(min_duration_us=0).from_profiler(profiler)
    names = {event.name for event in timeline.events}
    assert {"aten::ones", "aten::add"} <= names
    assert not any("Error" in name for name in names)
    assert timeline.total_time_us > 0


# --- S6: what is the device's, which stream, and how long both worked ------------------------------------------------


def test_calls_of_the_runtime_are_the_hosts():
    timeline = TimelineGenerator(min_duration_us=0).from_chrome_trace(trace_path(TRACE))
    assert not any(event.name.startswith("cuda") for event in timeline.gpu_events)
    assert any(event.name == "cudaDeviceSynchronize" for event in timeline.cpu_events)
    assert all(event.stream_id is not None for event in timeline.gpu_events)
    assert 0 <= timeline.overlap_time_us <= min(timeline.cpu_active_time_us, timeline.gpu_active_time_us)


def test_the_data_of_a_page_counts_every_event():
    generator = TimelineGenerator(min_duration_us=0)
    timeline = generator.from_chrome_trace(trace_path(TRACE))
    assert len(timeline.events) == len(timeline.run.spans) > 200
    assert generator.export_visualization_data(timeline)["summary"]["event_count"] == len(timeline.events)


# --- S7: a flame graph nests, and its page needs nobody ---------------------------------------------------------------


def test_a_flame_graph_nests_and_its_page_is_alone(tmp_path):
    generator = FlameGraphGenerator()
    data = generator.from_chrome_trace(trace_path(TRACE))
    assert depth(data) > 3
    data["children"][0]["name"] = "</script><script>alert(1)</script>"
    generator.export(data, tmp_path / "flame.html")
    page = (tmp_path / "flame.html").read_text()
    assert "<script>alert" not in page
    assert "src=" not in page.partition("<body")[0]
    assert "d3js.org" not in page
    assert "connect-src 'none'" in page


# --- S9: shares are of the trace's own time ---------------------------------------------------------------------------


def test_shares_are_not_one_hundred_per_cent():
    report = HTAAnalyzer().analyze_trace(trace_path(TRACE))
    exact = json.loads(trace_path("exact_gpu_time.json").read_text())[TRACE]["0"]
    assert report.compute_time_pct == pytest.approx(100 * exact["compute_ns"] / exact["span_ns"])
    assert report.gpu_idle_time_pct > 0
    assert report.top_kernels
