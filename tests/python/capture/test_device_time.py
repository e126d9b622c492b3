# SPDX-License-Identifier: Apache-2.0
"""Device time of scopes, against a double of the CUDA driver and stand-ins of torch, CuPy and Numba."""

import asyncio
import ctypes
import sys
import threading
import types

import fakes
import pytest
from entries import by_name
from event_driver import MS, PENDING, STREAM_CHANGED, Torch, driving, measured

from regimeter.capture import streams


@pytest.fixture
def driver(monkeypatch):
    """The double, with a clock that a test moves, in use by this thread."""
    yield from driving(monkeypatch)


@pytest.fixture
def profiler(driver, make_profiler):
    return make_profiler(enable_detailed_metrics=False, device_wait_ns=20_000 * MS, device_poll_ns=MS)


@pytest.fixture
def torch(monkeypatch):
    made = Torch()
    monkeypatch.setitem(sys.modules, "torch", made)
    return made


# --- what a scope gets ----------------------------------------------------------------------------------------


def test_a_scope_has_the_time_of_its_work(profiler, driver):
    with profiler.profile("a"):
        driver.work(0, 3 * MS)
    with profiler.profile("b", device="cuda"):
        driver.work(0, 5 * MS)
    found = measured(profiler, driver)
    assert found["a"].gpu_time_ms == 3.0
    assert found["b"].gpu_time_ms == 5.0
    assert "gpu_time_ms" not in found["a"].unavailable
    run = profiler.run()
    assert run.environment["device"]["available"] is True
    assert run.tables.intervals.device.tolist() == [0, 0]


def profile_captured(profiler, driver):
    """Profile a scope whose stream is being captured into a graph, so that its events cannot be timed."""
    graph = driver.stream()
    driver.call("cuStreamBeginCapture_v2", ctypes.c_void_p(graph), 0)
    with profiler.profile("a", stream=graph):
        pass
    driver.made_graph = ctypes.c_void_p()
    driver.call("cuStreamEndCapture", ctypes.c_void_p(graph), ctypes.byref(driver.made_graph))


def test_the_summary_adds_up_and_tells_how_many_calls(profiler, driver):
    for ns in (1, 2, 3):
        with profiler.profile("a"):
            driver.work(0, ns * MS)
    profile_captured(profiler, driver)
    driver.advance(1000 * MS)
    summary = profiler.get_summary()["a"]
    assert (summary.call_count, summary.gpu_calls, summary.total_gpu_time_ms) == (4, 3, 6.0)
    (row,) = profiler.run().result("scopes").rows()
    assert (row["device_ns"], row["measured"], row["source"]) == (6 * MS, 3, "events")


def test_a_summary_says_why_no_call_has_a_device_time(profiler, driver):
    profile_captured(profiler, driver)
    summary = profiler.get_summary()["a"]
    assert (summary.total_gpu_time_ms, summary.gpu_calls) == (None, 0)
    assert "captured into a graph" in summary.unavailable["total_gpu_time_ms"]
    assert "captured into a graph" in profiler.get_entries()[0].unavailable["gpu_time_ms"]


def test_calls_inside_another_call_of_the_operation_are_not_added(profiler, driver):
    def recurse(depth):
        with profiler.profile("a"):
            driver.work(0, MS)
            if depth:
                recurse(depth - 1)

    recurse(2)
    driver.advance(1000 * MS)
    summary = profiler.get_summary()["a"]
    assert (summary.gpu_calls, summary.total_gpu_time_ms, summary.recursive_count) == (1, 3.0, 2)


def test_overhead_is_what_the_host_took_longer(profiler, driver):
    driver.set("follow", 1)  # the device's clock runs with the host's
    stream = driver.stream()
    driver.work(stream, 100_000 * MS)  # in the way, so that both events pass late, however busy this machine is
    with profiler.profile("host", stream=stream):
        driver.work(stream, MS)
        threading.Event().wait(0.06)
    with profiler.profile("device", stream=stream):
        driver.work(stream, 100_000 * MS)
    driver.advance(300_000 * MS)
    found = by_name(profiler)
    host = found["host"]
    assert host.overhead_ms == pytest.approx(host.duration_ms - host.gpu_time_ms, abs=1e-9)
    assert host.overhead_ms > 20
    summary = profiler.get_summary()
    assert summary["host"].total_overhead_ms == pytest.approx(host.overhead_ms)
    assert "total_overhead_ms" not in summary["host"].unavailable
    assert "longer than the host's" in summary["device"].unavailable["total_overhead_ms"]
    late = found["device"]
    assert late.gpu_time_ms > late.duration_ms
    assert late.overhead_ms is None
    assert "longer than the host's" in late.unavailable["overhead_ms"]


def test_scopes_of_the_processor_get_no_events(profiler, driver):
    with profiler.profile("a", device="cpu"):
        driver.work(0, MS)
    assert measured(profiler, driver)["a"].gpu_time_ms is None
    assert driver.get("calls_cuEventRecord") == 0


def test_nested_scopes(profiler, driver):
    with profiler.profile("outer"):
        driver.work(0, MS)
        with profiler.profile("inner"):
            driver.work(0, 2 * MS)
        driver.work(0, 4 * MS)
    found = measured(profiler, driver)
    assert (found["outer"].gpu_time_ms, found["inner"].gpu_time_ms) == (7.0, 2.0)


def test_an_exception_passes_and_the_scope_is_measured(profiler, driver, torch):
    with pytest.raises(KeyError, match="mine"), profiler.profile("a"):
        driver.work(0, 2 * MS)
        raise KeyError("mine")

    @profiler.profile_function(operation="b")
    def fails():
        driver.work(0, 3 * MS)
        raise ValueError("mine too")

    with pytest.raises(ValueError, match="mine too"):
        fails()
    found = measured(profiler, driver)
    assert (found["a"].gpu_time_ms, found["b"].gpu_time_ms) == (2.0, 3.0)
    assert found["a"].failed
    assert found["b"].failed


def test_functions_and_generators(profiler, driver):
    @profiler.profile_function(operation="function")
    def function():
        driver.work(0, MS)

    @profiler.profile_function(operation="generator")
    def generator():
        driver.work(0, 2 * MS)
        yield 1
        driver.work(0, 3 * MS)

    function()
    for _ in generator():
        driver.work(0, 100 * MS)  # the consumer's
    driver.advance(1000 * MS)
    summary = profiler.get_summary()
    assert summary["function"].total_gpu_time_ms == 1.0
    assert summary["generator"].total_gpu_time_ms == 5.0


def test_a_scope_that_a_generator_leaves_open_gives_its_events_back(profiler, driver):
    def steps():
        with profiler.profile("open"):
            yield

    for _ in range(200):
        stepper = steps()
        next(stepper)
        del stepper
    driver.advance(1000 * MS)
    profiler.run()
    for _ in range(10):
        with profiler.profile("a"):
            driver.work(0, MS)
    driver.advance(1000 * MS)
    assert profiler.get_summary()["a"].total_gpu_time_ms == 10.0
    assert profiler._device_state()["pairs"] <= 256


def test_tasks_in_streams_of_their_own(profiler, driver):
    async def task(number, stream):
        with profiler.profile(f"task {number}", stream=stream):
            await asyncio.sleep(0)
            driver.work(stream, (number + 1) * MS)
            await asyncio.sleep(0)

    async def main():
        await asyncio.gather(*(task(number, driver.stream()) for number in range(5)))

    asyncio.run(main())
    found = measured(profiler, driver)
    assert [found[f"task {number}"].gpu_time_ms for number in range(5)] == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_threads(profiler, driver):
    def body(number):
        driver.use(number % 2)
        stream = driver.stream()
        for _ in range(50):
            with profiler.profile(f"thread {number}", stream=stream):
                driver.work(stream, number * MS)

    threads = [threading.Thread(target=body, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    driver.advance(1000 * MS)
    summary = profiler.get_summary()
    assert [summary[f"thread {n}"].total_gpu_time_ms for n in range(1, 5)] == [50.0, 100.0, 150.0, 200.0]
    assert set(profiler.run().tables.intervals.device.tolist()) == {0, 1}


# --- which stream ---------------------------------------------------------------------------------------------


def test_the_current_stream_of_torch(driver, torch, make_profiler):
    profiler = make_profiler(enable_detailed_metrics=False)
    stream = driver.stream()
    torch.current.value = stream
    with profiler.profile("a"):
        driver.work(stream, 2 * MS)
    torch.current.value = 0
    with profiler.profile("b"):
        driver.work(0, 3 * MS)
    found = measured(profiler, driver)
    assert (found["a"].gpu_time_ms, found["b"].gpu_time_ms) == (2.0, 3.0)
    assert profiler.run().tables.intervals.stream.tolist() == [stream, 0]
    assert torch.asked == 4


def test_the_first_scope_of_a_thread(driver, torch, make_profiler):
    """torch tells the device, whose context is not current in the thread before the block uses it."""
    profiler = make_profiler(enable_detailed_metrics=False)

    def body():
        with profiler.profile("a"):
            driver.use()
            driver.work(0, 2 * MS)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    assert measured(profiler, driver)["a"].gpu_time_ms == 2.0


def test_a_scope_that_changes_stream(driver, torch, make_profiler):
    profiler = make_profiler(enable_detailed_metrics=False)
    with profiler.profile("a"):
        torch.current.value = driver.stream()
    entry = measured(profiler, driver)["a"]
    assert entry.gpu_time_ms is None
    assert "another stream" in entry.unavailable["gpu_time_ms"]
    assert profiler.run().tables.intervals.state.tolist() == [STREAM_CHANGED]


def test_torch_is_not_asked_before_it_uses_the_device(driver, monkeypatch, make_profiler):
    torch = Torch(initialised=False)
    monkeypatch.setitem(sys.modules, "torch", torch)
    profiler = make_profiler(enable_detailed_metrics=False)
    with profiler.profile("a"):
        pass
    assert torch.asked == 0


def test_a_library_that_fails_to_tell_its_stream(driver, torch, make_profiler):
    def fails(device):
        raise RuntimeError("no stream today")

    profiler = make_profiler(enable_detailed_metrics=False)
    torch._C._cuda_getCurrentRawStream = fails
    with profiler.profile("a"):
        pass
    entry = measured(profiler, driver)["a"]
    assert entry.gpu_time_ms is None
    assert {row["code"] for row in profiler.run().anomaly_list()} == {"internal"}


def test_cupy_and_numba(driver, monkeypatch, make_profiler):
    stream, default = driver.stream(), driver.stream()
    cupy = types.SimpleNamespace(
        cuda=types.SimpleNamespace(get_current_stream=lambda: types.SimpleNamespace(ptr=stream))
    )
    inner = types.SimpleNamespace(driver=types.SimpleNamespace(driver=types.SimpleNamespace(is_initialized=True)))
    numba = types.SimpleNamespace(
        cudadrv=inner, default_stream=lambda: types.SimpleNamespace(handle=ctypes.c_void_p(default))
    )
    monkeypatch.setitem(sys.modules, "numba.cuda", numba)
    first = make_profiler(enable_detailed_metrics=False)
    with first.profile("a"):
        driver.work(default, 2 * MS)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    second = make_profiler(enable_detailed_metrics=False)
    with second.profile("a"):
        driver.work(stream, 3 * MS)
    driver.advance(1000 * MS)
    assert by_name(first)["a"].gpu_time_ms == 2.0
    assert by_name(second)["a"].gpu_time_ms == 3.0


@pytest.mark.parametrize("variable", ["NUMBA_CUDA_PER_THREAD_DEFAULT_STREAM", None])
def test_numbas_default_stream_of_each_thread(driver, monkeypatch, make_profiler, variable):
    """The same handle to Numba, another stream to the driver: the legacy one would wait for all that block it."""
    blocking = driver.made("cuStreamCreate", 0)
    inner = types.SimpleNamespace(driver=types.SimpleNamespace(driver=types.SimpleNamespace(is_initialized=True)))
    numba = types.SimpleNamespace(
        cudadrv=inner, default_stream=lambda: types.SimpleNamespace(handle=ctypes.c_void_p(0))
    )
    monkeypatch.setitem(sys.modules, "numba.cuda", numba)
    if variable:
        monkeypatch.setenv(variable, "1")
    profiler = make_profiler(enable_detailed_metrics=False)
    with profiler.profile("a"):
        driver.work(blocking, 5 * MS)
        driver.work(2 if variable else 0, 3 * MS)
    assert measured(profiler, driver)["a"].gpu_time_ms == (3.0 if variable else 8.0)


AMD = """
import ctypes, os, sys, types
hip = ctypes.CDLL(os.environ["REGIMETER_LIBHIP"])
assert hip.hipSetDevice(1) == 0
stream = ctypes.c_void_p()
assert hip.hipStreamCreateWithFlags(ctypes.byref(stream), 1) == 0
sys.modules["torch"] = types.SimpleNamespace(
    cuda=types.SimpleNamespace(is_initialized=lambda: True),
    _C=types.SimpleNamespace(_cuda_getCurrentRawStream=lambda number: stream.value, _cuda_getDevice=lambda: 1),
)
from regimeter import GPUProfiler
profiler = GPUProfiler(enable_detailed_metrics=False)
for name, ns in (("a", 3_000_000), ("b", 5_000_000)):
    with profiler.profile(name):
        assert hip.fake_hip_work(stream, ctypes.c_longlong(ns)) == 0
hip.fake_hip_advance(ctypes.c_longlong(1_000_000_000))
print([(entry.operation, entry.gpu_time_ms) for entry in profiler.get_entries()])
print(profiler.run().tables.intervals.device.tolist())
"""


def test_scopes_of_a_torch_for_amd(run_python):
    """Its streams are HIP's, which are timed as CUDA's are; no driver of NVIDIA is there."""
    variables = fakes.environment(hip="follow=0") | {"REGIMETER_LIBCUDA": "off"}
    assert run_python(AMD, env=variables).stdout.splitlines() == ["[('a', 3.0), ('b', 5.0)]", "[1, 1]"]


def test_cupy_is_not_asked_before_somebody_uses_the_device(driver, monkeypatch, make_profiler):
    def asked():
        raise AssertionError("this would initialise the device")

    driver.library.fake_cuda_restart()
    monkeypatch.setitem(sys.modules, "cupy_backends.cuda.stream", types.SimpleNamespace(get_current_stream_ptr=asked))
    monkeypatch.setitem(sys.modules, "cupy", types.SimpleNamespace())
    profiler = make_profiler(enable_detailed_metrics=False)
    with profiler.profile("a"):
        pass
    assert profiler.run().anomaly_list() == []
    assert driver.get("calls_cuInit") == 0


@pytest.mark.parametrize(
    "wrap",
    [
        lambda handle: handle,
        lambda handle: types.SimpleNamespace(cuda_stream=handle),
        lambda handle: types.SimpleNamespace(ptr=handle),
        lambda handle: types.SimpleNamespace(handle=ctypes.c_void_p(handle)),
        lambda handle: types.SimpleNamespace(__cuda_stream__=lambda: (0, handle)),
        lambda handle: types.SimpleNamespace(__cuda_stream__=(0, handle)),
    ],
    ids=["handle", "torch", "cupy", "numba", "protocol", "protocol of a property"],
)
def test_a_given_stream(profiler, driver, torch, wrap):
    stream = driver.stream()
    with profiler.profile("a", stream=wrap(stream), batch=3):
        driver.work(stream, 4 * MS)
        torch.current.value = driver.stream()  # does not matter
    entry = measured(profiler, driver)["a"]
    assert entry.gpu_time_ms == 4.0
    assert entry.metadata == {"batch": 3}


@pytest.mark.parametrize("value", ["a name", None, True, -1, 3, 65_535, 2**64, 1.5, [3]])
def test_what_is_no_stream_stays_metadata(profiler, driver, value):
    with profiler.profile("a", stream=value):
        driver.work(0, MS)
    entry = measured(profiler, driver)["a"]
    assert "stream" in entry.metadata
    assert entry.gpu_time_ms == 1.0


def test_a_given_stream_does_not_stick_to_the_next_scope(profiler, driver):
    stream = driver.stream()
    with profiler.profile("a", stream=stream):
        pass
    with profiler.profile("b"):
        driver.work(0, MS)
    driver.advance(1000 * MS)
    assert profiler.run().tables.intervals.stream.tolist() == [stream, 0]


def test_handles():
    assert streams.handle(types.SimpleNamespace(handle=ctypes.c_void_p(0))) == 0
    assert streams.handle(types.SimpleNamespace(ptr="text")) is None
    assert streams.handle(object()) is None


# --- what is not measured -------------------------------------------------------------------------------------


def test_what_the_device_has_not_finished_is_pending_and_comes_later(driver, make_profiler):
    profiler = make_profiler(enable_detailed_metrics=False, device_wait_ns=1000 * MS)
    with profiler.profile("a"):
        driver.work(0, 5 * MS)
    entry = by_name(profiler)["a"]  # waits for device_wait_ns
    assert entry.gpu_time_ms is None
    assert "not finished" in entry.unavailable["gpu_time_ms"]
    assert measured(profiler, driver)["a"].gpu_time_ms == 5.0


def test_closing_does_not_wait_for_ever(driver, make_profiler):
    profiler = make_profiler(enable_detailed_metrics=False, device_wait_ns=10 * MS)
    with profiler.profile("a"):
        driver.work(0, 5 * MS)
    profiler.close()
    run = profiler.run()
    assert run.tables.intervals.state.tolist() == [PENDING]
    assert {row["code"]: row["count"] for row in run.anomaly_list()} == {"pending_intervals": 1}


def test_switched_off(driver, make_profiler):
    profiler = make_profiler(enable_detailed_metrics=False, device_timing=False)
    with profiler.profile("a", stream=driver.stream()):
        pass
    entry = by_name(profiler)["a"]
    assert entry.unavailable["gpu_time_ms"] == "device_timing is off"
    assert entry.metadata == {}
    assert driver.get("calls_cuEventRecord") == 0
    assert profiler._device_state() is None


def test_where_no_gpu_can_turn_up_scopes_do_not_ask(run_python):
    """In a process of its own: the libraries that others have loaded, and what was found out about them, stay."""
    program = """
        from regimeter import GPUProfiler
        from regimeter.system import gpus
        gpus.DRIVERS = {"/nonexistent": "no driver"}
        with GPUProfiler(enable_detailed_metrics=False) as profiler, profiler.profile("a"):
            pass
        print(profiler._device_state())
        print(profiler.get_entries()[0].unavailable["gpu_time_ms"])
    """
    state, reason = run_python(program, env={"REGIMETER_LIBCUDA": "off", "REGIMETER_LIBHIP": "off"}).stdout.splitlines()
    assert state == "None"
    assert "no GPU driver" in reason


def test_sampled_out_scopes_get_no_events(driver, make_profiler):
    profiler = make_profiler(enable_detailed_metrics=False, sample_rate=0.0)
    with profiler.profile("a"):
        pass
    assert driver.get("calls_cuEventRecord") == 0


def test_memory_and_device_time_together(driver, make_profiler):
    profiler = make_profiler(enable_detailed_metrics=False, track_memory=True)
    with profiler.profile("outer"), profiler.profile("inner"):
        driver.work(0, 2 * MS)
    found = measured(profiler, driver)
    assert found["inner"].gpu_time_ms == found["outer"].gpu_time_ms == 2.0
    assert found["inner"].memory_source == "scope"


def test_the_cost_of_events_is_stated(profiler, driver):
    for _ in range(100):
        with profiler.profile("a"):
            pass
    driver.advance(1000 * MS)
    run = profiler.run()
    assert run.cost["device_ns"] > 0
    assert run.cost["total_ns"] >= run.cost["device_ns"]
