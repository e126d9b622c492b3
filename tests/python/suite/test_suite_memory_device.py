# SPDX-License-Identifier: Apache-2.0
"""MemoryProfiler on a CUDA device: torch's allocator, simulated, with the history and the dumps that torch writes.

What MemoryProfiler says is held against a count of what was asked for and freed, made without any reader.
"""

import pickle
import sys
import time
import zipfile

import numpy as np
import pytest
from needed import package
from snapshots import Allocator, PlainUnpickler, snapshot

from regimeter import MemoryProfiler, MemorySnapshot, UnavailableError, load
from regimeter.suite.allocations import held_blocks, live_before, of_run
from regimeter.suite.memory import fragmentation
from regimeter.suite.ownership import Before, Ownership

torch = package("torch")
MB = 1e6
FORWARD = [{"filename": "train.py", "line": 7, "name": "forward"}, {"filename": "train.py", "line": 20, "name": "main"}]


class Device:
    """The calls of torch.cuda that a MemoryProfiler makes, over a simulated allocator."""

    def __init__(self, monkeypatch):
        self.allocator = Allocator()
        self.allocator.segments.clear()
        self.enabled: object = None
        self.asked: dict[str, object] = {}
        self.sizes: dict[int, int] = {}
        self.peak = 0
        cuda = torch.cuda
        for name, value in {
            "is_available": lambda: True, "is_initialized": lambda: True, "current_device": lambda: 0,
            "synchronize": lambda *_: None, "memory_allocated": lambda *_: self.allocated,
            "memory_reserved": lambda *_: sum(one["total_size"] for one in self.allocator.segments),
            "max_memory_allocated": lambda *_: self.peak,
            "reset_peak_memory_stats": lambda *_: setattr(self, "peak", self.allocated),
            "memory_stats": lambda *_: {"num_ooms": 0, "reserved_bytes.all.current": 4096},
        }.items():  # fmt: skip
            monkeypatch.setattr(cuda, name, value)
        monkeypatch.setattr(cuda.memory, "_record_memory_history", self.history)
        monkeypatch.setattr(torch._C, "_cuda_memorySnapshot", lambda *_: self.found(), raising=False)
        monkeypatch.setattr(torch._C, "_cuda_isHistoryEnabled", lambda: self.enabled == "all", raising=False)

    @property
    def allocated(self) -> int:
        return sum(-(-size // 512) * 512 for size in self.sizes.values())

    def history(self, enabled="all", **options):
        self.enabled, self.asked = enabled, options
        self.allocator.history.clear()

    def found(self):
        """Return what torch's C++ hands out."""
        return snapshot(self.allocator)

    def alloc(self, size, frames=FORWARD):
        self.allocator.clock_us = max(self.allocator.clock_us, time.time_ns() // 1000)
        address = self.allocator.alloc(size, frames)
        self.sizes[address] = size
        self.peak = max(self.peak, self.allocated)
        return address

    def free(self, address):
        self.allocator.clock_us = max(self.allocator.clock_us, time.time_ns() // 1000)
        self.allocator.free(address, [])
        del self.sizes[address]


def run_of(allocator, **options):
    return load(pickle.dumps(snapshot(allocator, **options)))


# --- the reader -----------------------------------------------------------------------------------------------------


def test_the_history_of_a_device_is_read_as_it_is_written():
    """S4: blocks, stacks and size classes come from the history; what lived before, from what is held at the end."""
    allocator = Allocator()
    owned, unknown = allocator.alloc(1024, []), allocator.alloc(4096, [])
    now = allocator.clock_us * 1000 + 1_000_000
    allocator.clock_us = now // 1000
    allocator.alloc(512, FORWARD)  # 10 µs later, as each event
    large = allocator.alloc(2048, FORWARD)
    allocator.free(large, [])
    allocator.free(owned, [])
    gradient = allocator.alloc(2000, FORWARD)
    run = run_of(allocator)
    found = of_run(run, now, now + 100_000, stacks=True, device=0)
    assert live_before(run, 0, now) == 4096 + 1024, "what lived before the stretch began"
    assert sum(size for _, size in held_blocks(run, 0)) == 4096 + 512 + 2000
    owners = Ownership(torch)
    owners.before = [Before(owned, 1024, 0, "parameters", now + 60_000), Before(unknown, 4096, 0, "unknown")]
    owners.marks = [(now + 80_000, gradient, "gradients")]
    found.own(owners, 0)
    assert found.peak() == (now + 20_000, 4096 + 1024 + 512 + 2048)
    assert (found.allocated_bytes, found.freed_bytes, found.events) == (512 + 2048 + 2000, 2048, 5)
    assert found.by_category(now + 90_000) == {
        "parameters": 0, "gradients": 2000, "optimizer_state": 0, "activations": 0, "temporaries": 0, "unknown": 4608,
    }  # fmt: skip
    assert found.histogram() == [
        {"up_to_bytes": 512, "count": 1, "bytes": 512},
        {"up_to_bytes": 2048, "count": 2, "bytes": 4048},
    ]
    rows = {row["bytes"]: row["stack"] for row in found.top(now + 20_000)}
    assert rows[2048] == ["train.py(7): forward", "train.py(20): main"]
    assert not any(row["stack"] for row in of_run(run, now, now + 1, stacks=False, device=0).top(now + 20_000))


@pytest.mark.parametrize("ring", [None, 40, 7, 1])
def test_a_ring_that_has_lost_its_beginning_gives_the_same_levels(ring):
    """Random use: the live bytes after each event that is left are those of a count over the whole history."""
    chance = np.random.default_rng(5)
    allocator, held = Allocator(), []
    for _ in range(200):
        if held and chance.random() < 0.45:
            allocator.free(held.pop(int(chance.integers(len(held)))), [])
        else:
            held.append(allocator.alloc(int(chance.integers(1, 300_000)), FORWARD))
    steps = [{"alloc": one["size"], "free_completed": -one["size"]}.get(one["action"], 0) for one in allocator.history]
    truth = dict(zip((one["time_us"] * 1000 for one in allocator.history), np.cumsum(steps).tolist(), strict=True))
    kept = allocator.history[-ring if ring else 0 :]
    run = run_of(allocator, ring=ring)
    found = of_run(run, kept[0]["time_us"] * 1000, kept[-1]["time_us"] * 1000 + 1, stacks=False, device=0)
    before = live_before(run, 0, kept[0]["time_us"] * 1000)
    assert before == truth[kept[0]["time_us"] * 1000] - steps[-len(kept)]
    owners, begun = Ownership(torch), set()
    for one in kept:
        if one["action"] == "alloc":
            begun.add(one["addr"])
        elif one["action"] == "free_completed" and one["addr"] not in begun:
            owners.before.append(Before(one["addr"], one["size"], 0, "unknown", one["time_us"] * 1000))
        elif one["action"] == "free_completed":
            begun.remove(one["addr"])
    owners.before.append(Before(0, before - sum(one.size for one in owners.before), 0, "unknown"))
    found.own(owners, 0)
    moments = [one["time_us"] * 1000 for one in kept]
    assert found.level_at(moments) == [truth[moment] for moment in moments]


def test_a_device_without_events_has_what_it_holds():
    allocator = Allocator()
    allocator.alloc(1000, FORWARD)
    allocator.history.clear()
    run = run_of(allocator)
    assert live_before(run, 0, 10) == 1000
    assert of_run(run, 10, 20, stacks=True, device=0).blocks == []
    with pytest.raises(ValueError, match="when it was recorded"):
        of_run(run, 10, 20, stacks=True)


# --- the profiler ---------------------------------------------------------------------------------------------------


def test_a_device_is_tracked_by_its_allocator(monkeypatch, tmp_path):
    """The true peak of the allocator, its history, and the program's state after."""
    device = Device(monkeypatch)
    device.alloc(1024)
    memory = MemoryProfiler(0, output_dir=tmp_path)
    with memory.track():
        assert device.enabled == "all"
        assert device.asked == {"context": "alloc", "stacks": "python"}
        device.free(device.alloc(5120))
        device.alloc(300)
    assert device.enabled is None
    found = memory.get_peak_analysis()
    assert found["unavailable"] == {}
    assert found["peak_allocated_mb"] == pytest.approx((1024 + 5120) / MB)
    assert found["current_allocated_mb"] == pytest.approx((1024 + 512) / MB)
    assert found["peak_reserved_mb"] == pytest.approx((2 << 20) / MB)
    assert found["totals"] == {"events": 3, "allocated_bytes": 5420, "freed_bytes": 5120, "net_bytes": 300}
    assert found["categories"]["unknown"] == 1024, "what was there, and belongs to nobody that Python knows"
    assert found["categories"]["temporaries"] == 5120
    assert found["top_allocations"][0]["stack"] == ["train.py(7): forward", "train.py(20): main"]
    assert max(row["allocated_mb"] for row in memory.get_timeline()) == pytest.approx((1024 + 5120) / MB)
    assert "idle_pool" in found["fragmentation"]


def test_a_history_that_the_program_keeps_is_left_alone(monkeypatch, tmp_path):
    device = Device(monkeypatch)
    device.enabled = "all"
    memory = MemoryProfiler(0, output_dir=tmp_path)
    with memory.track():
        device.alloc(300)
    assert device.enabled == "all"
    assert "left alone" in memory.get_peak_analysis()["unavailable"]["history"]
    assert len(device.allocator.history) == 2, "the segment and the block of the program's own history"


def test_a_dump_that_cannot_be_read_leaves_the_program_running(monkeypatch, tmp_path):
    device = Device(monkeypatch)
    memory = MemoryProfiler(0, output_dir=tmp_path)
    monkeypatch.setattr(device, "found", lambda: {"segments": [sys.maxsize * 4]})
    with pytest.warns(RuntimeWarning, match="FormatError"), memory.track():
        device.alloc(300)
    assert device.enabled is None
    found = memory.get_peak_analysis()
    assert "FormatError" in found["unavailable"]["history"]
    assert found["peak_allocated_mb"] == pytest.approx(512 / MB), "the allocator's own peak is known all the same"


def test_a_snapshot_of_a_device_says_whose_blocks_are_and_is_a_plain_pickle(monkeypatch, tmp_path):
    """S3: what pytorch.org/memory_viz loads, as torch wrote it; not torch.save's archive."""
    device = Device(monkeypatch)
    known, _ = device.alloc(4000), device.alloc(700)
    memory = MemoryProfiler(0, output_dir=tmp_path)
    monkeypatch.setattr(Ownership, "_look", lambda _: ([], {known: "parameters"}))
    found = memory.get_memory_snapshot()
    assert found.by_category == {"parameters": 4000, "unknown": 700}
    assert found.allocated_mb == pytest.approx(device.allocated / MB)
    raw = device.found()
    assert found.segments == raw["segments"]
    assert found.device_traces == raw["device_traces"]
    found.dump(tmp_path / "s.pickle")
    assert not zipfile.is_zipfile(tmp_path / "s.pickle")
    with open(tmp_path / "s.pickle", "rb") as file:
        assert PlainUnpickler(file).load() == raw


def test_without_a_device_there_is_nothing_to_dump(tmp_path):
    found = MemorySnapshot(0.0)
    assert (found.segments, found.device_traces) == ([], [])
    with pytest.raises(UnavailableError, match="no device"):
        found.dump(tmp_path / "s.pickle")


def test_fragmentation_is_not_reserved_by_allocated():
    stats = {
        "requested_bytes.all.current": 900, "allocated_bytes.all.current": 1000, "active_bytes.all.current": 1500,
        "reserved_bytes.all.current": 2000, "inactive_split_bytes.all.current": 300, "num_alloc_retries": 2,
        "num_ooms": 1,
    }  # fmt: skip
    assert fragmentation(stats) == {
        "inside_blocks": pytest.approx(0.1), "idle_pool": 0.25, "split_bytes": 300, "retries": 2, "out_of_memory": 1,
    }  # fmt: skip
    assert fragmentation({})["idle_pool"] is None
