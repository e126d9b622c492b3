# SPDX-License-Identifier: Apache-2.0
"""Device time of scopes on real hardware, against torch's own events: ``make test-gpu``."""

import gc
import os
import threading

import pytest

from regimeter import GPUProfiler, _core

from . import hardware

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no CUDA device"),
]
STATES = _core.INTERVAL_STATES
# A spin of so many device cycles: some 6 ms at 1.7 GHz.
CYCLES = 10_000_000


@pytest.fixture
def profiler():
    torch.cuda.init()
    torch.ones(1, device="cuda")
    torch.cuda.synchronize()
    with GPUProfiler(enable_detailed_metrics=False) as made:
        with made.profile("first"):  # makes the pool
            pass
        made.run()
        yield made


def spin(cycles: int = CYCLES) -> None:
    torch.cuda._sleep(cycles)


def times(profiler):
    return {entry.operation: entry for entry in profiler.get_entries()}


def states(run):
    return [STATES[state] for state in run.tables.intervals.state.tolist()]


def close(ours_ms: float, theirs_ms: float) -> bool:
    """Two pairs of events, one around the other, differ by their own cost in the stream."""
    return abs(ours_ms - theirs_ms) <= 0.001 * 20 + 0.01 * theirs_ms


def test_against_torch_events(profiler):
    found = []
    for number in range(20):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        spin()  # so that both pairs are queued before any of them passes
        with profiler.profile(f"spin {number}"):
            begin.record()
            spin((number + 1) * CYCLES // 10)
            end.record()
        found.append((begin, end))
    torch.cuda.synchronize()
    entries = times(profiler)
    for number, (begin, end) in enumerate(found):
        ours, theirs = entries[f"spin {number}"].gpu_time_ms, begin.elapsed_time(end)
        # Ours lies around theirs; the resolution is half a microsecond on either side.
        assert ours >= theirs - 0.001
        assert ours - theirs <= 0.001 + 0.01 * theirs + 0.02, (ours, theirs)


def test_no_synchronisation(profiler):
    """A scope around a long kernel is left while the kernel still runs."""
    stream = torch.cuda.current_stream()
    with profiler.profile("long"):
        spin(100 * CYCLES)
    assert not stream.query()
    assert profiler._device_state()["ended"] > profiler._device_state()["resolved"]
    assert not stream.query()
    torch.cuda.synchronize()
    assert times(profiler)["long"].gpu_time_ms > times(profiler)["long"].duration_ms


def test_two_streams(profiler):
    first, second = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(first), profiler.profile("short"):
        spin(CYCLES)
    with torch.cuda.stream(second), profiler.profile("long"):
        spin(8 * CYCLES)
    with profiler.profile("given", stream=first):
        with torch.cuda.stream(first):
            spin(CYCLES)
    torch.cuda.synchronize()
    entries = times(profiler)
    assert entries["short"].gpu_time_ms < entries["long"].gpu_time_ms / 2
    assert close(entries["given"].gpu_time_ms, entries["short"].gpu_time_ms) or entries["given"].gpu_time_ms > 1
    assert {first.cuda_stream, second.cuda_stream} < set(profiler.run().tables.intervals.stream.tolist())


def test_the_default_stream_of_a_thread(profiler):
    """cudaStreamPerThread, a handle that means another stream in each thread."""
    own = torch.cuda.ExternalStream(2)
    with torch.cuda.stream(own), profiler.profile("own"):
        spin(CYCLES)
    with profiler.profile("shared"):
        spin(8 * CYCLES)
    torch.cuda.synchronize()
    entries = times(profiler)
    assert 0 < entries["own"].gpu_time_ms < entries["shared"].gpu_time_ms / 2


def test_default_streams_of_two_threads(profiler):
    """One handle for two streams: the short one has its time while the long one still runs."""

    def body(cycles):
        with torch.cuda.stream(torch.cuda.ExternalStream(2)), profiler.profile(f"{cycles}"):
            spin(cycles)

    threads = [threading.Thread(target=body, args=(cycles,)) for cycles in (CYCLES, 8 * CYCLES)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    torch.cuda.synchronize()
    entries = times(profiler)
    assert entries[f"{CYCLES}"].gpu_time_ms > 0
    with hardware.claim("eight times the spin takes longer"):
        assert entries[f"{CYCLES}"].gpu_time_ms < entries[f"{8 * CYCLES}"].gpu_time_ms / 2


def test_a_green_context(profiler):
    """A part of the device, current in this thread alone: its scopes are measured, as those before and after are."""
    try:
        part = torch.cuda.GreenContext.create(num_sms=8)
    except (AttributeError, RuntimeError) as error:  # an older torch, or a driver before CUDA 12.8
        pytest.skip(f"no green context: {error}")
    with profiler.profile("before"):
        spin()
    part.set_context()
    try:
        for number in range(20):
            with profiler.profile(f"part {number}"):
                spin()
            profiler._device_state()  # the reader of events looks at them beside this thread
        torch.cuda.synchronize()
    finally:
        part.pop_context()
    with profiler.profile("after"):
        spin()
    torch.cuda.synchronize()
    entries = times(profiler)
    assert all(entry.gpu_time_ms > 0 for entry in entries.values() if entry.operation != "first")
    assert states(profiler.run()) == ["measured"] * 23


def test_a_scope_that_changes_stream(profiler):
    other = torch.cuda.Stream()
    with profiler.profile("changes"):
        torch.cuda.set_stream(other)
    torch.cuda.set_stream(torch.cuda.default_stream())
    assert times(profiler)["changes"].gpu_time_ms is None
    assert "stream_changed" in states(profiler.run())


def test_a_capture_stays_intact(profiler):
    """Scopes inside a capture are told, the graph replays, and the resolver's queries beside it do no harm."""
    x = torch.ones(1024, 1024, device="cuda")
    y = torch.zeros_like(x)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        torch.mm(x, x, out=y)  # warm-up, as a capture needs
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="global"):
        # Begun here, because torch waits for all that was before a capture: pending, so that the resolver asks.
        with torch.cuda.stream(side), profiler.profile("beside"):
            spin(10 * CYCLES)
        with profiler.profile("captured"):
            torch.mm(x, x, out=y)
            threading.Event().wait(0.05)
    y.zero_()
    with profiler.profile("replay"):
        graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(y, torch.mm(x, x))
    entries = times(profiler)
    assert entries["captured"].gpu_time_ms is None
    assert "captured" in entries["captured"].unavailable["gpu_time_ms"]
    assert entries["beside"].gpu_time_ms > 0
    assert entries["replay"].gpu_time_ms > 0
    assert {row["code"] for row in profiler.run().anomaly_list()} == {"captured_scopes"}


def test_threads_have_streams_of_their_own(profiler):
    def body(number):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            spin(CYCLES // 100)  # makes the context current in this thread
            for _ in range(20):
                with profiler.profile(f"thread {number}"):
                    spin(CYCLES // 20)

    threads = [threading.Thread(target=body, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    torch.cuda.synchronize()
    summary = profiler.get_summary()
    assert all(summary[f"thread {number}"].gpu_calls == 20 for number in range(4))


@pytest.mark.skipif(torch.cuda.is_available() and torch.cuda.device_count() < 2, reason="one device only")
def test_two_devices(profiler):
    for device in range(2):
        with torch.cuda.device(device):
            torch.ones(1, device="cuda")
            with profiler.profile(f"device {device}"):
                spin()
    for device in range(2):
        torch.cuda.synchronize(device)
    assert set(profiler.run().tables.intervals.device.tolist()) == {0, 1}
    assert all(times(profiler)[f"device {device}"].gpu_time_ms > 0 for device in range(2))


class Items(torch.utils.data.Dataset):
    """Items whose reading is a scope, in workers that were forked from a process that uses CUDA."""

    def __init__(self, profiler):
        self.profiler = profiler

    def __len__(self):
        return 32

    def __getitem__(self, index):
        with self.profiler.profile("read"):
            return torch.full((8,), index)


def test_workers_of_a_data_loader(profiler):
    loader = torch.utils.data.DataLoader(Items(profiler), batch_size=8, num_workers=2, multiprocessing_context="fork")
    seen = []
    for batch in loader:
        with profiler.profile("step"):
            seen.append((batch.to("cuda", non_blocking=True) * 2).sum())
    torch.cuda.synchronize()
    with hardware.claim("what the workers read arrives on the device"):
        assert sum(int(value) for value in seen) == 2 * 8 * sum(range(32))
    assert profiler.get_summary()["step"].gpu_calls == 4


def test_torch_compile(profiler):
    if os.environ.get("REGIMETER_SKIP_COMPILE"):
        pytest.skip("REGIMETER_SKIP_COMPILE is set")
    try:
        function = torch.compile(lambda x: (x * 2 + 1).relu().sum())
        x = torch.randn(1 << 20, device="cuda")
        function(x)
    except Exception as error:  # no compiler, no Triton
        pytest.skip(f"torch.compile does not work here: {type(error).__name__}")
    with profiler.profile("compiled"):
        function(x)
    torch.cuda.synchronize()
    assert times(profiler)["compiled"].gpu_time_ms > 0


def test_many_scopes_reuse_their_events(profiler):
    for _ in range(20_000):
        with profiler.profile("many"):
            pass
    torch.cuda.synchronize()
    summary = profiler.get_summary()["many"]
    state = profiler._device_state()
    assert summary.gpu_calls + state["refused"] == 20_000
    assert state["pairs"] <= 65_536


def test_profilers_one_after_the_other_leave_nothing_behind():
    torch.ones(1, device="cuda")
    free = []
    for _ in range(30):
        with GPUProfiler(enable_detailed_metrics=False) as profiler:
            for _ in range(100):
                with profiler.profile("a"):
                    pass
        del profiler
        gc.collect()
        torch.cuda.synchronize()
        free.append(torch.cuda.mem_get_info()[0])
    assert free[-1] >= free[4] - (8 << 20)
