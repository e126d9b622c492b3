# SPDX-License-Identifier: Apache-2.0
"""The memory pool: documented interface, the defects of its model (docs/tuning.md), host and device memory."""

import math
import threading
import warnings

import fakes
import numpy as np
import pytest

from regimeter import ActiveMemoryPool, ActivePoolConfig, _core


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_documented_defaults():
    config = ActivePoolConfig()
    assert (config.enabled, config.max_pool_bytes, config.max_buffers_per_class) == (True, 512 * 2**20, 16)
    assert (config.buffer_ttl_seconds, config.min_pooled_size) == (60, 4096)
    assert ActiveMemoryPool.with_defaults().config == config


def test_the_documented_calls_of_the_statistics_interface():
    pool = ActiveMemoryPool.with_defaults()
    first = pool.register_allocation(1 << 20)
    pool.register_deallocation(first)
    second = pool.register_allocation((1 << 20) - 100)
    assert second != first
    stats = pool.get_stats()
    assert f"Pool hit rate: {stats.hit_rate():.1f}%" == "Pool hit rate: 50.0%"
    assert (stats.hits, stats.misses, stats.reused_bytes) == (1, 1, (1 << 20) - 100)
    with pytest.raises(ValueError, match="freed before"):
        pool.register_deallocation(first)
    with pytest.raises(ValueError, match="gave out no buffer"):
        pool.register_deallocation(12345)


def test_no_figure_is_a_constant():
    stats = ActiveMemoryPool().get_stats()
    assert math.isnan(stats.hit_rate())
    assert math.isnan(stats.fragmentation())
    assert stats.time_saved_seconds() is None
    pool = ActiveMemoryPool()
    for _ in range(4):  # never given back: nothing can be reused
        pool.register_allocation(10000)
    assert pool.get_stats().hit_rate() == 0.0
    assert pool.get_stats().time_saved_seconds() is None  # registered allocations have no time


def test_evict_stale_respects_the_time_to_live_of_each_buffer(clock):
    pool = ActiveMemoryPool(ActivePoolConfig(buffer_ttl_seconds=60), clock=clock)
    a, b = pool.allocate(10000), pool.allocate(10000)
    pool.free(a)
    clock.now += 59
    assert pool.evict_stale() == 0
    pool.free(b)
    clock.now += 1
    assert pool.evict_stale() == 1
    held = pool.allocate(10000)
    assert held.reused
    clock.now += 1000  # in use: it has no age
    assert pool.evict_stale() == 0


def test_clear_gives_back_all_that_is_idle_and_nothing_else():
    pool = ActiveMemoryPool()
    kept, used = pool.allocate(10000), pool.allocate(20000)
    np.frombuffer(used, "u1")[:] = 7
    pool.free(kept)
    assert pool.clear() == 1
    assert pool.get_stats().total("idle_bytes") == 0
    assert bytes(memoryview(used)[:3]) == b"\7\7\7"


def test_host_memory_is_real_aligned_and_reused():
    pool = ActiveMemoryPool()
    buffer = pool.allocate(100_000)
    array = np.frombuffer(buffer, "f4")
    assert array.nbytes == len(buffer) == buffer.nbytes == 100_000
    assert array.ctypes.data == buffer.address
    assert buffer.address % 64 == 0
    assert buffer.device is None
    array[:] = np.arange(len(array))
    with pytest.raises(BufferError, match="1 views"):
        pool.free(buffer)
    del array
    address = buffer.address
    pool.free(buffer)
    with pytest.raises(BufferError):
        memoryview(buffer)
    again = pool.allocate(99_000)
    assert again.address == address
    assert again.reused
    assert np.frombuffer(again, "f4", 10).tolist() == list(range(10))  # the content stays, as documented
    with pytest.raises(AttributeError, match="host memory"):
        again.__cuda_array_interface__  # noqa: B018


def test_freeing_twice_elsewhere_or_something_else():
    one, other = ActiveMemoryPool(), ActiveMemoryPool()
    buffer = one.allocate(5000)
    with pytest.raises(ValueError, match="another pool"):
        other.free(buffer)
    one.free(buffer)
    with pytest.raises(ValueError, match="freed before"):
        one.free(buffer)
    with pytest.raises(TypeError, match="ndarray"):
        one.free(np.zeros(3))
    for size in (0, -1):
        with pytest.raises(ValueError):
            one.allocate(size)
    with pytest.raises((MemoryError, _core.Error)):
        one.allocate(1 << 62)


def test_a_buffer_that_nobody_holds_goes_back():
    pool = ActiveMemoryPool()
    address = pool.allocate(5000).address
    assert pool.allocate(5000).address == address
    with pool.allocate(5000) as buffer:
        view = memoryview(buffer)
    assert not buffer.freed  # a view is alive
    view[0] = 1
    del view, buffer
    assert pool.get_stats().total("live_buffers") == 0


def test_close_reports_leaks():
    pool = ActiveMemoryPool()
    held = pool.allocate(5000)
    pool.free(pool.allocate(9000))
    with pytest.warns(ResourceWarning, match=r"1 buffers of 5000 bytes.*5000 bytes \(host\)"):
        leaks = pool.close()
    assert [(leak.memory, leak.requested, leak.granted) for leak in leaks] == [("host", 5000, 5120)]
    assert pool.get_stats().total("idle_buffers") == 0
    with pytest.raises(ValueError, match="closed"):
        pool.allocate(5000)
    np.frombuffer(held, "u1")[:] = 1  # still valid
    pool.free(held)
    assert pool.get_stats().total("idle_buffers") == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with ActiveMemoryPool() as clean:
            clean.free(clean.allocate(5000))


def test_fragmentation_is_what_was_granted_and_not_asked_for():
    pool = ActiveMemoryPool()
    held = [pool.allocate(4097), pool.allocate(8192)]
    assert pool.get_stats().fragmentation() == pytest.approx(1 - (4097 + 8192) / (5120 + 8192))
    assert len(held) == 2


def test_time_saved_is_hits_times_the_measured_difference():
    class Counts(dict):
        def __missing__(self, key):
            return 0

    from regimeter.tuning.active_memory_pool import PoolStats

    host = Counts(hits=10, misses=4, hit_ns=1000, miss_ns=8000)
    device = Counts(hits=3, misses=0, hit_ns=30)  # nothing to compare with
    assert PoolStats({"host": host, "cuda:0": device}, Counts()).time_saved_seconds() == pytest.approx(19e-6)


def test_a_switched_off_pool_keeps_nothing():
    pool = ActiveMemoryPool(ActivePoolConfig(enabled=False))
    pool.free(pool.allocate(5000))
    assert not pool.allocate(5000).reused
    assert pool.get_stats().total("unpooled") == 2
    assert "switched off" in pool.get_report()


def test_bounds_hold_and_are_reported():
    pool = ActiveMemoryPool(ActivePoolConfig(max_buffers_per_class=2, max_pool_bytes=12000))
    held = [pool.allocate(5000) for _ in range(5)]
    for buffer in held:
        pool.free(buffer)
    stats = pool.get_stats()
    assert stats.total("idle_buffers") == 2
    assert stats.total("evicted_room") == 3
    assert "3 for room" in pool.get_report()


@pytest.mark.parametrize(
    "bad",
    [{"max_pool_bytes": -1}, {"max_buffers_per_class": 1.5}, {"buffer_ttl_seconds": math.nan}, {"min_pooled_size": -1}],
)
def test_bounds_that_cannot_be(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        ActivePoolConfig(**bad)


def test_threads_share_a_pool():
    pool = ActiveMemoryPool()
    wrong = []

    def work(mark):
        for turn in range(300):
            buffer = pool.allocate(4096 * (1 + turn % 3))
            view = np.frombuffer(buffer, "u1")
            view[:] = mark
            if not (view == mark).all():
                wrong.append(mark)
            del view
            pool.free(buffer)

    threads = [threading.Thread(target=work, args=(mark,)) for mark in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stats = pool.get_stats()
    assert not wrong
    assert stats.hits + stats.misses == 1200
    assert stats.total("live_buffers") == 0


def test_a_forked_child_can_use_a_pool_that_was_in_use(run_python):
    run_python("""
        import os, signal, threading
        from regimeter import ActiveMemoryPool

        pool = ActiveMemoryPool()
        held, done = threading.Event(), threading.Event()

        def hold():
            with pool._lock:
                held.set()
                done.wait()

        thread = threading.Thread(target=hold, daemon=True)
        thread.start()
        held.wait()
        child = os.fork()
        if not child:
            signal.alarm(20)
            pool.free(pool.allocate(100_000))
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        done.set()
        thread.join()
    """)


def test_unknown_devices_are_refused(monkeypatch):
    with pytest.raises(ValueError, match="cuda:N"):
        ActiveMemoryPool().allocate(5000, "tpu:0")
    with pytest.raises(ValueError):
        ActiveMemoryPool().allocate(5000, -1)
    assert ActiveMemoryPool().allocate(5000, "cpu").device is None


DEVICE = """
    import ctypes, os
    import regimeter
    fake = ctypes.CDLL(os.environ["REGIMETER_LIBCUDA"])
    pool = regimeter.ActiveMemoryPool()
    buffer = pool.allocate(1 << 20, device=0)
    about = buffer.__cuda_array_interface__
    assert about["data"] == (buffer.address, False) and about["shape"] == (1 << 20,), about
    assert about["typestr"] == "|u1" and about["version"] == 3 and buffer.device == 0
    try:
        memoryview(buffer)
        raise SystemExit("device memory has a view")
    except BufferError as error:
        assert "__cuda_array_interface__" in str(error)
    address = buffer.address
    pool.free(buffer)
    again = pool.allocate(1 << 20, "cuda:0")
    assert again.reused and again.address == address
    fake.fake_cuda_set(b"fail_cuEventQuery", ctypes.c_longlong(600))  # the device is not done with it
    pool.free(again)
    other = pool.allocate(1 << 20, 0)
    assert not other.reused and pool.get_stats().total("busy_skips") == 1
    fake.fake_cuda_set(b"fail_cuEventQuery", ctypes.c_longlong(0))
    assert set(pool.get_stats().counts) == {"cuda:0"}
    fake.fake_cuda_set(b"fail_cuMemAlloc_v2", ctypes.c_longlong(2))
    try:
        pool.allocate(1 << 24, 0)
        raise SystemExit("allocated")
    except regimeter.Error as error:
        assert "CUDA_ERROR_OUT_OF_MEMORY" in str(error), error
    try:
        pool.allocate(1 << 20, 7)
        raise SystemExit("device 7")
    except ValueError as error:
        assert "no device 7" in str(error), error
    print(len(pool.close()), fake.fake_cuda_get(b"calls_cuMemFree_v2"))
"""


def test_device_memory_on_the_double_of_the_driver(run_python):
    done = run_python(DEVICE, env=fakes.environment(cuda=""))
    # One in use; given back: the one that was kept, when memory was short.
    assert done.stdout.split() == ["1", "1"]


def test_without_a_driver_device_memory_is_unavailable(run_python):
    script = """
        import regimeter
        try:
            regimeter.ActiveMemoryPool().allocate(5000, 0)
        except regimeter.UnavailableError as error:
            print(error)
    """
    assert "CUDA driver" in run_python(script, env={"REGIMETER_LIBCUDA": "off"}).stdout
