# SPDX-License-Identifier: Apache-2.0
"""Defects of the code behind the specification that no other file covers: S3 and S5.

S1 and S2: test_suite_profiler.py; S4: test_suite_memory.py; S6: analysis/test_timeline.py; S7: analysis/test_flame.py;
S8: test_suite_compile.py; S9: test_hta.py; S10: test_suite_cli.py.
"""

import pickle
from pathlib import Path

import pytest
from needed import package

from regimeter.suite import TimelineGenerator, UnifiedProfiler

torch = package("torch")


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
