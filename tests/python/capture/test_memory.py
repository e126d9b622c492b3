# SPDX-License-Identifier: Apache-2.0

"""Memory: true peaks of scopes from the device allocator, the resident set, the sampler."""

import json
import subprocess
import sys
import threading
import time

import pytest
from entries import by_name

from regimeter import _core
from regimeter.capture import device_memory
from regimeter.capture.device_memory import TorchMemoryProbe

MB = 1_000_000


@pytest.fixture
def tracking(make_profiler, fake_cuda):
    return make_profiler(enable_detailed_metrics=False, track_memory=True, memory_interval_ms=0)


# --- device memory --------------------------------------------------------------------------------------------


def test_allocated_and_peak_of_one_scope(tracking, fake_cuda):
    fake_cuda.use(10 * MB)
    with tracking.profile("a"):
        fake_cuda.use(50 * MB)
        fake_cuda.use(-30 * MB)
    (entry,) = tracking.get_entries()
    assert entry.memory_source == "device"
    assert entry.memory_allocated_mb == 20.0
    assert entry.memory_peak_mb == 60.0


def test_a_scope_that_frees(tracking, fake_cuda):
    fake_cuda.use(50 * MB)
    with tracking.profile("a"):
        fake_cuda.use(-20 * MB)
    (entry,) = tracking.get_entries()
    assert (entry.memory_allocated_mb, entry.memory_peak_mb) == (-20.0, 50.0)


def test_the_peak_of_the_process_is_not_the_scopes(tracking, fake_cuda):
    fake_cuda.use(900 * MB)
    fake_cuda.use(-890 * MB)
    with tracking.profile("a"):
        fake_cuda.use(5 * MB)
    assert by_name(tracking)["a"].memory_peak_mb == 15.0
    assert tracking.device_memory_peak() == 900 * MB


def test_nested_scopes(tracking, fake_cuda):
    with tracking.profile("outer"):
        fake_cuda.use(100 * MB)
        fake_cuda.use(-90 * MB)
        with tracking.profile("inner"):
            fake_cuda.use(20 * MB)
            with tracking.profile("innermost"):
                fake_cuda.use(5 * MB)
                fake_cuda.use(-5 * MB)
            fake_cuda.use(-10 * MB)
        fake_cuda.use(-20 * MB)
    found = by_name(tracking)
    assert {name: (e.memory_allocated_mb, e.memory_peak_mb) for name, e in found.items()} == {
        "outer": (0.0, 100.0),
        "inner": (10.0, 35.0),
        "innermost": (0.0, 35.0),
    }


def test_the_outer_peak_may_lie_in_any_part(tracking, fake_cuda):
    for place in range(3):
        with tracking.profile(f"outer {place}"):
            fake_cuda.use(70 * MB * (place == 0))
            fake_cuda.use(-70 * MB * (place == 0))
            with tracking.profile("inner"):
                fake_cuda.use(70 * MB * (place == 1))
                fake_cuda.use(-70 * MB * (place == 1))
            fake_cuda.use(70 * MB * (place == 2))
            fake_cuda.use(-70 * MB * (place == 2))
    entries = tracking.get_entries()
    assert [e.memory_peak_mb for e in entries if e.operation.startswith("outer")] == [70.0, 70.0, 70.0]
    assert [e.memory_peak_mb for e in entries if e.operation == "inner"] == [0.0, 70.0, 0.0]


def test_siblings(tracking, fake_cuda):
    for amount in (30, 10, 20):
        with tracking.profile(f"use {amount}"):
            fake_cuda.use(amount * MB)
            fake_cuda.use(-amount * MB)
    assert [e.memory_peak_mb for e in tracking.get_entries()] == [30.0, 10.0, 20.0]
    summary = tracking.get_summary()["use 30"]
    assert (summary.peak_memory_mb, summary.avg_memory_mb) == (30.0, 0.0)


def test_scopes_of_several_threads_overlap(tracking, fake_cuda):
    steps = [threading.Event() for _ in range(3)]

    def work():
        with tracking.profile("thread"):
            steps[0].set()
            steps[1].wait()
        steps[2].set()

    thread = threading.Thread(target=work)
    thread.start()
    steps[0].wait()
    fake_cuda.use(40 * MB)
    with tracking.profile("main"):
        fake_cuda.use(-40 * MB)
        steps[1].set()
        steps[2].wait()
        fake_cuda.use(7 * MB)
    thread.join()
    found = by_name(tracking)
    assert found["thread"].memory_peak_mb == 40.0
    assert found["main"].memory_peak_mb == 40.0


def test_the_mean_and_the_peak_of_an_operation(tracking, fake_cuda):
    for amount in (10, 20, 60):
        with tracking.profile("grow"):
            fake_cuda.use(amount * MB)
    summary = tracking.get_summary()["grow"]
    assert summary.avg_memory_mb == pytest.approx(30.0)
    assert summary.peak_memory_mb == 90.0


def test_exceptions_and_generators_keep_the_books(tracking, fake_cuda):
    with pytest.raises(ValueError, match="x"):
        with tracking.profile("failed"):
            fake_cuda.use(10 * MB)
            raise ValueError("x")

    def produce():
        with tracking.profile("generator"):
            yield
            fake_cuda.use(30 * MB)

    generator = produce()
    next(generator)
    with tracking.profile("between"):
        pass
    list(generator)
    found = by_name(tracking)
    assert found["failed"].memory_allocated_mb == 10.0
    assert found["generator"].memory_allocated_mb == 30.0
    assert found["between"].memory_peak_mb == 10.0
    assert device_memory._allocator_of(fake_cuda).open.get(0) == []


def test_decorated_functions_are_measured(tracking, fake_cuda):
    @tracking.profile_function("work")
    def work():
        fake_cuda.use(10 * MB)

    work()
    assert by_name(tracking)["work"].memory_allocated_mb == 10.0


def test_scopes_for_the_cpu_measure_the_host(tracking, fake_cuda):
    with tracking.profile("a", device="cpu"):
        fake_cuda.use(10 * MB)
    (entry,) = tracking.get_entries()
    assert entry.memory_source == "scope"
    assert entry.memory_peak_mb > 1


def test_the_device_of_the_profiler_is_read(make_profiler, fake_cuda):
    profiler = make_profiler(device_id=1, track_memory=True, memory_interval_ms=0)
    with profiler.profile("a"):
        fake_cuda.use(10 * MB, device=0)
        fake_cuda.use(30 * MB, device=1)
    assert by_name(profiler)["a"].memory_allocated_mb == 30.0
    assert profiler.device_memory_peak() == 30 * MB
    memory = profiler.run().memory
    assert set(memory.device.tolist()) <= {-1, 1}


def test_large_amounts_are_kept_whole(tracking, fake_cuda):
    fake_cuda.use(140 * 10**9 + 7)
    with tracking.profile("a"):
        fake_cuda.use(1)
    run = tracking.run()
    assert 140 * 10**9 + 8 in run.memory.allocated.tolist()
    assert by_name(tracking)["a"].memory_peak_mb == 140_000.000008


def test_device_memory_survives_the_file(make_profiler, fake_cuda, tmp_path):
    from regimeter import load

    profiler = make_profiler(path=tmp_path / "run.rgm", track_memory=True, memory_interval_ms=0)
    for amount in range(50):
        with profiler.profile("a", amount=amount):
            with profiler.profile("b"):
                fake_cuda.use(amount * MB)
                fake_cuda.use(-amount * MB)
        if amount % 7 == 0:
            profiler.flush()
    profiler.close()
    entries = load(tmp_path / "run.rgm").get_entries()
    assert [e.memory_peak_mb for e in entries if e.operation == "a"] == [float(n) for n in range(50)]
    assert [e.memory_peak_mb for e in entries if e.operation == "b"] == [float(n) for n in range(50)]


class Failing:
    """An allocator whose calls fail from the given one on."""

    def __init__(self, cuda, fail_from):
        self.cuda, self.left = cuda, fail_from

    def __getattr__(self, name):
        value = getattr(self.cuda, name)
        if name in ("is_available", "is_initialized"):
            return value

        def call(*args):
            self.left -= 1
            if self.left < 0:
                raise RuntimeError("CUDA error: device-side assert triggered")
            return value(*args)

        return call


@pytest.mark.parametrize("fail_from", range(8))
def test_a_failing_allocator_breaks_nothing(make_profiler, fake_cuda, fail_from):
    sys.modules["torch"].cuda = Failing(fake_cuda, fail_from)
    profiler = make_profiler(track_memory=True, memory_interval_ms=0, enable_detailed_metrics=False)
    with pytest.raises(KeyError) as caught:
        with profiler.profile("a"):
            raise KeyError("mine")
    assert caught.value.__context__ is None
    with profiler.profile("b"):
        pass
    assert len(profiler.get_entries()) == 2
    codes = {row["code"]: row["count"] for row in profiler.run().anomaly_list()}
    assert codes.get("internal", 0) >= 1


# --- the probe ------------------------------------------------------------------------------------------------


def test_reasons(monkeypatch, fake_cuda):
    assert device_memory.reason() is None
    fake_cuda.initialized = False
    assert device_memory.reason() == "torch has not initialised CUDA"
    fake_cuda.available = False
    assert device_memory.reason() == "torch finds no CUDA device"
    monkeypatch.setattr(sys.modules["torch"], "cuda", Failing)
    assert "torch.cuda failed" in device_memory.reason()
    monkeypatch.delitem(sys.modules, "torch")
    assert device_memory.reason() == "torch is not loaded"


def test_a_probe_never_initialises_cuda(fake_cuda):
    fake_cuda.initialized = False
    probe = TorchMemoryProbe()
    assert probe.begin(0) is None
    assert probe.process_peak() is None
    assert fake_cuda.calls == []


def test_a_benchmark_inside_a_scope_takes_no_peak_from_it(tracking, make_profiler, fake_cuda):
    """Whoever resets the allocator's peak tells all that look at it: profilers, benchmarks, memory analyses."""
    from regimeter.compare.ab.memory import DEVICE, PeakMemory

    with tracking.profile("outer"):
        fake_cuda.use(50 * MB)
        fake_cuda.use(-50 * MB)
        watched = PeakMemory()
        fake_cuda.use(10 * MB)
        fake_cuda.use(-10 * MB)
        assert watched.source == DEVICE
        assert watched.read() == (10 * MB, "")
    other = make_profiler(track_memory=True, memory_interval_ms=0)
    with tracking.profile("second"):
        fake_cuda.use(30 * MB)
        fake_cuda.use(-30 * MB)
        with other.profile("inner"):
            fake_cuda.use(5 * MB)
            fake_cuda.use(-5 * MB)
    found = by_name(tracking)
    assert found["outer"].memory_peak_mb == 50
    assert found["second"].memory_peak_mb == 30
    assert tracking.device_memory_peak() == 50 * MB


def test_cuda_that_starts_inside_a_scope(tracking, fake_cuda):
    fake_cuda.initialized = False
    with tracking.profile("outer"):
        fake_cuda.initialized = True
        with tracking.profile("inner"):
            fake_cuda.use(10 * MB)
    found = by_name(tracking)
    assert found["inner"].memory_source == "device"
    assert found["outer"].memory_source == "scope"


def test_without_cuda_the_reason_is_given(make_profiler, fake_cuda):
    fake_cuda.available = fake_cuda.initialized = False
    profiler = make_profiler(track_memory=True)
    with profiler.profile("a"):
        pass
    run = profiler.run()
    assert run.environment["device"]["memory_reason"] == "torch finds no CUDA device"
    assert profiler.device_memory_peak() is None
    assert by_name(profiler)["a"].memory_source == "scope"


def test_torch_that_is_imported_only_halfway(make_profiler, monkeypatch):
    import types

    monkeypatch.setitem(sys.modules, "torch", types.ModuleType("torch"))
    profiler = make_profiler(track_memory=True, memory_interval_ms=0)
    with profiler.profile("a"):
        pass
    assert len(profiler.get_entries()) == 1
    assert profiler.run().anomaly_list() == []


# --- host memory ----------------------------------------------------------------------------------------------


def test_the_resident_set_at_begin_and_end(run_python):
    """In a process of its own: libraries that other tests use give memory back when they like."""
    done = run_python(
        """
        import json
        from regimeter import GPUProfiler
        with GPUProfiler(track_memory=True, memory_interval_ms=0, enable_detailed_metrics=False) as profiler:
            with profiler.profile("grow", device="cpu"):
                kept = bytearray(64_000_000)
                for at in range(0, len(kept), 4096):
                    kept[at] = 1
            with profiler.profile("still", device="cpu"):
                pass
            found = {entry.operation: entry for entry in profiler.get_entries()}
        values = {name: (e.memory_source, e.memory_allocated_mb, e.memory_peak_mb) for name, e in found.items()}
        print(json.dumps(values))
        """
    )
    found = json.loads(done.stdout)
    source, allocated, peak = found["grow"]
    assert source == "scope"
    assert 60 < allocated < 80
    assert peak > 60
    assert abs(found["still"][1]) < 10


def test_the_sampler_sees_a_peak_in_the_middle(make_profiler):
    profiler = make_profiler(track_memory=True, memory_interval_ms=1, enable_detailed_metrics=False)
    with profiler.profile("spike", device="cpu"):
        begin = profiler.stats()["samples"]
        kept = bytearray(128 * MB)
        for at in range(0, len(kept), 4096):
            kept[at] = 1
        deadline = time.monotonic() + 300
        while profiler.stats()["samples"] < begin + 3 and time.monotonic() < deadline:
            time.sleep(0.005)
        del kept
    entry = by_name(profiler)["spike"]
    assert entry.memory_peak_mb > 128
    assert entry.memory_peak_mb - entry.memory_allocated_mb > 100


def test_the_sampler_can_be_off_and_on(make_profiler):
    profiler = make_profiler(memory_interval_ms=0)
    with profiler.profile("a", device="cpu"):
        time.sleep(0.02)
    run = profiler.run()
    assert profiler.stats()["samples"] == 0
    (entry,) = run.get_entries()
    assert (entry.memory_allocated_mb, entry.memory_peak_mb, entry.memory_source) == (None, None, "none")
    assert "track_memory=True" in entry.unavailable["memory_peak_mb"]
    profiler._sampler(1_000_000)
    deadline = time.monotonic() + 300
    while not profiler.stats()["samples"] and time.monotonic() < deadline:
        time.sleep(0.005)
    profiler._sampler(0)
    count = profiler.stats()["samples"]
    assert count > 0
    memory = profiler.run().memory
    assert (memory.device == -1).all()
    assert (memory.bytes > 0).all()


def test_host_memory_of_the_process():
    memory = _core.host_memory()
    assert memory["resident"] > MB
    if memory["malloc_known"]:
        assert memory["malloc_held"] >= 0


# --- numbers that were not measured ---------------------------------------------------------------------------

DEVICE_FIELDS = ("gpu_time_ms", "transfer_time_ms", "overhead_ms", "gpu_utilization", "memory_bandwidth_gb_s")


def test_what_was_not_measured_is_none_with_a_reason(make_profiler):
    profiler = make_profiler(memory_interval_ms=0)
    for device in ("gpu", "cpu", "cuda", "rocm"):
        with profiler.profile(device, device=device):
            time.sleep(0.002)
    for entry in profiler.get_entries():
        for name in (*DEVICE_FIELDS, "memory_allocated_mb", "memory_peak_mb"):
            assert getattr(entry, name) is None, name
            assert len(entry.unavailable[name]) > 10
        if entry.device == "cpu":
            assert entry.cpu_time_ms == entry.duration_ms
        else:
            assert entry.cpu_time_ms is None
            assert entry.unavailable["cpu_time_ms"]
    for summary in profiler.get_summary().values():
        for name in ("total_gpu_time_ms", "avg_gpu_utilization", "avg_memory_mb", "peak_memory_mb"):
            assert getattr(summary, name) is None, name
            assert summary.unavailable[name]


def test_what_was_measured_has_no_reason(make_profiler, tmp_path):
    profiler = make_profiler(memory_interval_ms=0, track_memory=True)
    with profiler.profile("a"):
        kept = bytearray(30_000_000)
    assert len(kept) == 30_000_000
    (entry,), summary = profiler.get_entries(), profiler.get_summary()["a"]
    profiler.export_json(tmp_path / "a.json")
    exported = json.loads((tmp_path / "a.json").read_text())["unavailable"]["gpu"]
    for name, total in (("memory_allocated_mb", "avg_memory_mb"), ("memory_peak_mb", "peak_memory_mb")):
        assert getattr(entry, name) is not None
        assert getattr(summary, total) is not None
        assert name not in entry.unavailable
        assert name not in exported
        assert total not in summary.unavailable
    assert "gpu_time_ms" in exported


NAMES_THE_MACHINE = """
import sys
from regimeter import GPUProfiler
from regimeter.system import gpus
there = {"none": None, "nvidia": gpus.NVIDIA, "amd": gpus.AMD}[sys.argv[1]]
gpus.os.path.exists = lambda path: path == there
profiler = GPUProfiler(memory_interval_ms=0)
with profiler.profile("a"):
    pass
print(profiler.get_entries()[0].unavailable["gpu_time_ms"])
"""


@pytest.mark.parametrize(
    ("there", "text"),
    [
        ("none", "no GPU driver on this machine"),
        ("nvidia", "an NVIDIA driver is on this machine"),
        ("amd", "an AMD driver is on this machine"),
    ],
)
def test_the_reason_names_the_machine(there, text):
    """In a process of its own: another test may have loaded a driver's double."""
    done = subprocess.run([sys.executable, "-c", NAMES_THE_MACHINE, there], capture_output=True, text=True, check=False)
    assert text in done.stdout, done.stderr
