# SPDX-License-Identifier: Apache-2.0
"""MemoryProfiler and MemorySnapshot: every storage, true peaks, owners, growth, the end of memory, exports."""

import gc
import inspect
import json
import time
import tracemalloc

import pytest
from needed import package
from published import check
from snapshots import PlainUnpickler

from regimeter import MemoryProfiler, MemorySnapshot, UnavailableError
from regimeter.suite.leak import trend_of
from regimeter.suite.post_mortem import requested_bytes

torch = package("torch")
MB = 1e6


class Program:
    """A model, its optimizer and steps of training."""

    def __init__(self):
        torch.manual_seed(5)
        self.model = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))
        self.optimizer = torch.optim.Adam(self.model.parameters())
        self.batch = torch.ones(256, 16)

    def step(self):
        self.optimizer.zero_grad()
        loss = self.model(self.batch).square().mean()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    @property
    def parameter_bytes(self):
        return sum(parameter.nbytes for parameter in self.model.parameters())


@pytest.fixture
def program():
    one = Program()
    one.step()
    return one


@pytest.fixture
def memory(tmp_path):
    gc.collect()  # what other tests left in circles would be freed while it looks
    return MemoryProfiler(sample_interval_ms=0, output_dir=tmp_path / "out")


def test_the_constructor_is_that_of_the_specification():
    found = {p.name: p.default for p in inspect.signature(MemoryProfiler).parameters.values()}
    assert list(found.items())[:3] == [
        ("sample_interval_ms", 1.0), ("record_history", True), ("track_allocations", True),
    ]  # fmt: skip
    for name in ("track", "start_tracking", "stop_tracking", "sample", "get_timeline", "get_peak_analysis",
                 "get_memory_snapshot", "export", "reset", "profile_memory"):  # fmt: skip
        assert callable(getattr(MemoryProfiler, name))
    from regimeter.suite import memory as module

    assert module.MemorySnapshot is MemorySnapshot


# --- every storage --------------------------------------------------------------------------------------------------


def memory_events(profile, path):
    profile.export_chrome_trace(str(path))
    events = [event["args"] for event in json.loads(path.read_text())["traceEvents"] if event.get("name") == "[memory]"]
    return [(event["Addr"], event["Bytes"]) for event in events]


def test_totals_are_those_of_torch(memory, tmp_path):
    """The same step under torch.profiler alone: what it allocates, and what it frees of that, is ours."""
    first, second = Program(), Program()
    for one in (first, second):
        one.step()
    gc.disable()
    try:
        with torch.profiler.profile(profile_memory=True) as theirs:
            first.step()
        with memory.track():
            second.step()
    finally:
        gc.enable()
    events = memory_events(theirs, tmp_path / "theirs.json")
    living, freed = {}, 0
    for address, size in events:
        if size > 0:
            living[address] = size
        elif address in living:
            freed -= size
            del living[address]
    totals = memory.get_peak_analysis()["totals"]
    assert totals["allocated_bytes"] == sum(size for _, size in events if size > 0) > 0
    assert totals["freed_bytes"] == freed > 0
    assert totals["net_bytes"] == totals["allocated_bytes"] - totals["freed_bytes"] == sum(living.values())


def test_blocks_of_before_are_not_counted_by_sizes_of_blocks_that_are_gone(memory, tmp_path):
    """Torch tells that a block is freed with the size of one that an earlier profile saw at the same address."""
    with torch.profiler.profile(profile_memory=True):
        seen = [torch.empty(1024) for _ in range(500)]
    places = {one.data_ptr() for one in seen}
    del seen
    kept = [torch.empty(1000) for _ in range(1000)]
    assert any(one.data_ptr() in places for one in kept)
    half = kept[:500], kept[500:]
    del kept
    with torch.profiler.profile(profile_memory=True) as theirs:
        half[0].clear()
    told = memory_events(theirs, tmp_path / "theirs.json")
    with memory.track():
        half[1].clear()
    assert not told or -4096 in {size for _, size in told}, "blocks of 4,000 bytes"
    assert memory.get_peak_analysis()["totals"]["freed_bytes"] == 0


def test_the_peak_is_the_true_one(memory):
    """S4: what lived between two readings is in the peak, at its time."""
    with memory.track():
        kept = torch.ones(1000)
        large = torch.ones(500_000)
        del large
        torch.ones(10)
    found = memory.get_peak_analysis()
    timeline = memory.get_timeline()
    before = timeline[0]["allocated_mb"]
    highest = max(timeline, key=lambda point: point["allocated_mb"])
    assert found["peak_allocated_mb"] == highest["allocated_mb"] == highest["peak_mb"]
    assert found["peak_time_ms"] == pytest.approx(highest["time_ms"])
    assert 2.0 < found["peak_allocated_mb"] - before < 2.5
    assert found["current_allocated_mb"] < found["peak_allocated_mb"] - 1.9
    assert found["peak_reserved_mb"] is None
    assert len(timeline) > 4
    assert kept.nbytes == 4000


def test_what_was_there_before_counts_until_it_is_freed(memory):
    large = torch.ones(250_000)
    with memory.track():
        small = torch.ones(10)
        del large
        again = torch.ones(10)
    levels = [point["allocated_mb"] for point in memory.get_timeline()]
    assert max(levels) - levels[-1] == pytest.approx(1.0, abs=0.01)
    assert small.numel() == again.numel()


# --- whose it is ----------------------------------------------------------------------------------------------------


def test_categories_are_by_owner(memory, program):
    """S4: bytes of each category, exactly those of the owners."""
    state = sum(
        value.nbytes for one in program.optimizer.state.values() for value in one.values() if torch.is_tensor(value)
    )
    with memory.track():
        program.step()
    blocks = memory._done[0].found
    found = blocks.by_category(blocks.end_ns)
    others = sum(p.nbytes for p in _parameters_elsewhere(program))
    assert found["parameters"] - others == program.parameter_bytes
    assert found["gradients"] >= program.parameter_bytes
    assert found["optimizer_state"] >= state
    hidden = 256 * 64 * 4  # what the first layer and ReLU keep for the backward pass
    peak = memory.get_peak_analysis()
    assert peak["categories"]["activations"] >= hidden
    assert sum(peak["categories"].values()) / MB == pytest.approx(peak["peak_allocated_mb"])


def _parameters_elsewhere(program):
    """Parameters and buffers of other tests that are still alive."""
    import gc

    ours = {id(parameter) for parameter in program.model.parameters()}
    found = {}
    for one in gc.get_objects():
        if issubclass(type(one), torch.nn.Parameter) and id(one) not in ours:
            found[one.untyped_storage().data_ptr()] = one
        elif issubclass(type(one), torch.nn.Module):
            found |= {b.untyped_storage().data_ptr(): b for b in one._buffers.values() if torch.is_tensor(b)}
    return found.values()


def test_a_sparse_gradient_has_its_indices_and_values(memory):
    bag, rows = torch.nn.EmbeddingBag(1000, 16, sparse=True), torch.arange(1000).repeat(5).reshape(-1, 5)
    before = memory.get_memory_snapshot()
    with memory.track():
        bag(rows).sum().backward()
    whole = bag.weight.grad._values().nbytes + bag.weight.grad._indices().nbytes
    assert whole == 5000 * (16 * 4 + 8)
    blocks, after = memory._done[0].found, memory.get_memory_snapshot()
    start, end = blocks.by_category(blocks.begin_ns), blocks.by_category(blocks.end_ns)
    assert end["unknown"] == start["unknown"]
    others = before.by_category.get("gradients", 0)
    assert end["gradients"] - others == after.by_category["gradients"] - others == whole
    assert after.allocated_mb - before.allocated_mb == pytest.approx((whole - rows.nbytes) / MB), "it keeps the rows"


@pytest.mark.filterwarnings("ignore:Sparse:UserWarning")
@pytest.mark.parametrize(
    ("layout", "names"),
    [
        ("coo", ["_indices", "_values"]),
        ("csr", ["crow_indices", "col_indices", "values"]),
        ("bsr", ["crow_indices", "col_indices", "values"]),
        ("csc", ["ccol_indices", "row_indices", "values"]),
        ("bsc", ["ccol_indices", "row_indices", "values"]),
    ],
)
def test_tensors_of_every_sparse_layout_are_seen(memory, layout, names):
    dense, blocks = torch.eye(64), {"blocksize": (8, 8)} if layout.startswith("bs") else {}
    before = memory.get_memory_snapshot().allocated_mb
    kept = dense.to_sparse(layout=getattr(torch, f"sparse_{layout}"), **blocks)
    grown = memory.get_memory_snapshot().allocated_mb - before
    held = {part.data_ptr(): part.nbytes() for part in (getattr(kept, name)().untyped_storage() for name in names)}
    assert len(held) == len(names)
    assert grown == pytest.approx(sum(held.values()) / MB)


def test_new_optimizer_state_is_its_own(memory):
    fresh = Program()
    with memory.track():
        fresh.step()
    blocks = memory._done[0].found
    mine = [
        b
        for b in blocks.live_at(blocks.end_ns)
        if b.category == "optimizer_state" and b.begin_ns >= blocks.begin_ns - 10**9 and b.begin_ns
    ]
    assert sum(block.size for block in mine) >= 2 * fresh.parameter_bytes


def test_an_allocation_has_the_stack_that_asked_for_it(memory):
    def make_it_large():
        return torch.full((300_000,), 2.0)

    with memory.track():
        kept = make_it_large()
    row = next(row for row in memory.get_peak_analysis()["top_allocations"] if row["bytes"] == kept.nbytes)
    assert row["operator"] == "aten::full"
    assert "make_it_large" in row["stack"][0]
    without = MemoryProfiler(0, track_allocations=False)
    with without.track():
        again = make_it_large()
    rows = without.get_peak_analysis()["top_allocations"]
    assert any(row["bytes"] == again.nbytes and row["stack"] == [] for row in rows)


# --- growth ---------------------------------------------------------------------------------------------------------


def test_a_leak_is_a_leak(memory, program):
    kept = []

    def leaks():
        program.step()
        kept.append(torch.ones(20_000))

    found = memory.profile_memory(leaks, warmup=1, iterations=16)
    assert found["potential_leak"] is True
    assert found["leak"]["verdict"] == "grows"
    assert found["leak"]["bytes_per_step"] == 80_000
    assert found["leak"]["p"] < 0.01


def test_steady_steps_are_no_leak(memory, program):
    found = memory.profile_memory(program.step, warmup=1, iterations=16)
    assert found["potential_leak"] is False
    assert found["leak"]["bytes_per_step"] == 0
    assert memory.result < 1


def test_getting_started_is_no_leak():
    """S4: the last reading is more than 1.1 times the first because gradients and state came into being."""
    assert trend_of([100.0, 180.0, *[200.0] * 20])["verdict"] == "level"
    assert trend_of([100.0] * 6 + [150.0] * 14)["verdict"] == "level", "one step up"
    assert trend_of([200.0 - n for n in range(20)])["verdict"] == "level", "downward"
    assert trend_of([100.0 + n for n in range(20)])["verdict"] == "grows"
    few = trend_of([1.0, 2.0, 3.0])
    assert few["verdict"] is None
    assert "fewer than 10" in few["reason"]


def test_optimizers_tell_steps_by_themselves(memory, program):
    with memory.track():
        for _ in range(3):
            program.step()
    found = memory.get_peak_analysis()
    assert len(found["leak"]["levels"]) == 3
    assert found["potential_leak"] is None


# --- the end of memory ----------------------------------------------------------------------------------------------


def test_the_end_of_memory_leaves_a_report(memory):
    with pytest.raises(RuntimeError, match="can't allocate memory"):
        with memory.track("too much"):
            kept = torch.ones(100_000)
            torch.empty(1 << 60, dtype=torch.uint8)
    report = check(json.loads(memory.post_mortem_path.read_text()))
    assert report["requested_bytes"] == 1 << 60
    assert report["name"] == "too much"
    assert "can't allocate memory" in report["error"]
    assert any(row["bytes"] == kept.nbytes for row in report["analysis"]["top_allocations"])


def test_other_errors_leave_none(memory):
    with pytest.raises(ValueError, match="mine"):
        with memory.track():
            raise ValueError("mine")
    assert memory.post_mortem_path is None
    assert memory.get_timeline()


def test_what_was_asked_for_is_read_from_both_messages():
    assert requested_bytes("CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has") == 5 << 29
    assert requested_bytes("you tried to allocate 12 bytes. Error code 12") == 12
    assert requested_bytes("no more") is None


# --- the program is left as it was ----------------------------------------------------------------------------------


def test_results_and_hooks_are_those_without(memory):
    expected = [Program().step()]
    one = Program()
    module = __import__("importlib").import_module("torch.optim.optimizer")
    before = len(module._global_optimizer_pre_hooks), len(module._global_optimizer_post_hooks)
    with memory.track():
        found = [one.step()]
    assert found == expected
    assert (len(module._global_optimizer_pre_hooks), len(module._global_optimizer_post_hooks)) == before
    assert all(not parameter._post_accumulate_grad_hooks for parameter in one.model.parameters())
    assert not torch.autograd._profiler_enabled()


def test_a_profiler_that_records_already_is_left_alone(memory):
    with torch.profiler.profile():
        with memory.track():
            torch.ones(10)
        assert torch.autograd._profiler_enabled()
    found = memory.get_peak_analysis()
    assert found["peak_allocated_mb"] is None
    assert "another torch.profiler" in found["unavailable"]["history"]
    assert found["peak_resident_mb"] > 0


def test_the_order_of_calls_is_watched(memory):
    with pytest.raises(RuntimeError, match="nothing was tracked"):
        memory.get_peak_analysis()
    with pytest.raises(RuntimeError, match="not tracked"):
        memory.stop_tracking()
    with pytest.raises(RuntimeError, match="not tracked"):
        memory.mark_step()
    memory.start_tracking()
    with pytest.raises(RuntimeError, match="already"):
        memory.start_tracking()
    with pytest.raises(RuntimeError, match="being tracked"):
        memory.reset()
    with memory.track("inner"):
        pass
    memory.stop_tracking()
    assert [marker["name"] for marker in memory.markers] == ["inner"]
    memory.reset()
    assert memory.get_timeline() == []
    for wrong in (-1, float("nan")):
        with pytest.raises(ValueError, match="sample_interval_ms"):
            MemoryProfiler(wrong)
    with pytest.raises(ValueError, match="iterations"):
        memory.profile_memory(lambda: None, iterations=0)


# --- samples, host --------------------------------------------------------------------------------------------------


def test_memory_is_sampled(tmp_path):
    """S4: the interval is used."""
    memory = MemoryProfiler(sample_interval_ms=1.0, record_history=False)
    memory.start_tracking()
    deadline = time.monotonic() + 60
    while len(memory._open.samples) < 6 and time.monotonic() < deadline:
        time.sleep(0.002)
    memory.stop_tracking()
    timeline = memory.get_timeline()
    assert len(timeline) >= 6
    assert [point["time_ms"] for point in timeline] == sorted(point["time_ms"] for point in timeline)
    assert memory.get_peak_analysis()["peak_resident_mb"] > 0
    assert memory.get_peak_analysis()["unavailable"]["history"] == "record_history is off"
    assert memory.sample().resident_mb > 0


def test_lines_of_python_where_tracemalloc_runs(memory):
    tracemalloc.start()
    try:
        with memory.track():
            kept = [bytes(100) for _ in range(2_000)]
    finally:
        tracemalloc.stop()
    rows = memory.get_peak_analysis()["host"]["lines"]
    mine = next(row for row in rows if row["file"] == __file__ and row["bytes"] > 100 * len(kept))
    assert inspect.getsource(inspect.getmodule(Program)).splitlines()[mine["line"] - 1].strip().startswith("kept =")
    with memory.track():
        pass
    assert "tracemalloc is off" in memory._done[-1].host["unavailable"]


# --- exports --------------------------------------------------------------------------------------------------------


def test_exports_are_the_same_plain_document(memory, program, tmp_path):
    with memory.track("step"):
        program.step()
    document = check(json.loads(memory.export(tmp_path / "deep" / "m.json").read_text()))
    assert set(document) >= {"timeline", "peak_analysis", "markers"}
    assert set(document["timeline"][0]) == {"time_ms", "allocated_mb", "reserved_mb", "peak_mb"}
    assert document["markers"][0]["name"] == "step"
    with open(memory.export(tmp_path / "m.pickle", format="pickle"), "rb") as file:
        assert json.loads(json.dumps(PlainUnpickler(file).load())) == document
    with pytest.raises(ValueError, match="format"):
        memory.export(tmp_path / "m", format="xml")


def test_a_snapshot_of_now_has_owners(memory, program):
    found = memory.get_memory_snapshot()
    assert found.by_category["parameters"] >= program.parameter_bytes
    assert found.allocated_mb == pytest.approx(sum(found.by_category.values()) / MB)
    assert found.to_dict()["reserved_mb"] is None
    with pytest.raises(UnavailableError, match="no device"):
        found.dump("nowhere")
