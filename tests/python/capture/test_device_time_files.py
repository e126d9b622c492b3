# SPDX-License-Identifier: Apache-2.0
"""Device time of scopes in files and reports, at the end of a process and in forked children."""

import json

import fakes
import pytest
from event_driver import MS, driving

from regimeter import load


@pytest.fixture
def driver(monkeypatch):
    """The double, with a clock that a test moves, in use by this thread."""
    yield from driving(monkeypatch)


@pytest.fixture
def profiler(driver, make_profiler):
    return make_profiler(enable_detailed_metrics=False, device_wait_ns=20_000 * MS, device_poll_ns=MS)


def test_a_journal_holds_the_intervals(driver, make_profiler, tmp_path):
    path = tmp_path / "a.rgm"
    with make_profiler(enable_detailed_metrics=False, path=path) as profiler:
        with profiler.profile("a"):
            driver.work(0, 7 * MS)
        driver.advance(1000 * MS)
    (entry,) = load(path).get_entries()
    assert entry.gpu_time_ms == 7.0


def test_exports_carry_the_device_time(profiler, driver, tmp_path):
    with profiler.profile("a"):
        driver.work(0, 7 * MS)
    driver.advance(1000 * MS)
    profiler.export_json(tmp_path / "a.json")
    exported = json.loads((tmp_path / "a.json").read_text())
    assert exported["entries"][0]["gpu_time_ms"] == 7.0
    profiler.write_html(tmp_path / "a.html")
    assert '"gpu_ns":7000000' in (tmp_path / "a.html").read_text().replace(" ", "")


def test_the_printed_summary_says_that_it_is_an_upper_bound(profiler, driver, capsys):
    with profiler.profile("a"):
        driver.work(0, 7 * MS)
    driver.advance(1000 * MS)
    profiler.print_summary()
    profiler.print_bottlenecks()
    printed = capsys.readouterr().out
    assert "device time" in printed
    assert "7.00 ms" in printed
    assert printed.count("upper bound") == 2


PROGRAM = """
    import ctypes, os, regimeter
    cu = ctypes.CDLL(os.environ["REGIMETER_LIBCUDA"])
    cu.fake_cuda_get.restype = ctypes.c_longlong
    cu.cuInit(0)
    def get(name): return cu.fake_cuda_get(name.encode())
    def work(ms): cu.fake_cuda_work(ctypes.c_void_p(0), ctypes.c_longlong(ms * 1000000))
    profiler = regimeter.GPUProfiler(path="a.rgm", enable_detailed_metrics=False)
"""


@pytest.fixture
def program(run_python, monkeypatch):
    for name, value in fakes.environment(cuda="ready=1").items():
        monkeypatch.setenv(name, value)
    return lambda body: run_python(PROGRAM + body)


def test_a_program_that_just_ends(program, tmp_path):
    """Device work is awaited at exit, within the bound, and the file is complete."""
    program("""
    with profiler.profile("a"):
        work(50)
    """)
    run = load(tmp_path / "a.rgm")
    assert run.complete
    assert run.get_entries()[0].gpu_time_ms >= 50.0


def test_a_driver_that_is_gone_at_exit(program, tmp_path):
    done = program("""
    import atexit
    with profiler.profile("a"):
        work(50)
    cu.fake_cuda_set(b"gone", ctypes.c_longlong(1))
    """)
    assert done.stderr == ""
    assert load(tmp_path / "a.rgm").get_entries()[0].gpu_time_ms is None


def test_a_forked_child_never_calls_the_driver_and_goes_on(program, tmp_path):
    done = program("""
    with profiler.profile("before"):
        work(1)
    scope = profiler.profile("across")
    scope.__enter__()
    child = os.fork()
    if child == 0:
        scope.__exit__(None, None, None)
        with profiler.profile("in child"):
            pass
        entry = profiler.get_entries()[-1]
        reason = profiler.run().environment["device"]["reason"]
        profiler.close()
        print(entry.operation, entry.gpu_time_ms, get("calls_in_child"), reason, flush=True)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    scope.__exit__(None, None, None)
    with profiler.profile("after"):
        work(2)
    """)
    assert done.stdout.startswith("in child None 0 ")
    assert "forked" in done.stdout
    found = {entry.operation: entry for entry in load(tmp_path / "a.rgm").get_entries()}
    assert found["after"].gpu_time_ms >= 2.0
    assert found["across"].gpu_time_ms is not None


def test_a_child_of_a_process_that_did_not_use_the_device_measures(run_python, monkeypatch, tmp_path):
    for name, value in fakes.environment(cuda="").items():
        monkeypatch.setenv(name, value)
    done = run_python("""
    import ctypes, os, regimeter
    profiler = regimeter.GPUProfiler(enable_detailed_metrics=False)
    with profiler.profile("before"):
        pass
    child = os.fork()
    if child == 0:
        cu = ctypes.CDLL(os.environ["REGIMETER_LIBCUDA"])
        cu.cuInit(0)
        context = ctypes.c_void_p()
        cu.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
        cu.cuCtxSetCurrent(context)
        import time
        time.sleep(0.3)  # well past the next look for a driver
        with profiler.profile("in child"):
            cu.fake_cuda_work(ctypes.c_void_p(0), ctypes.c_longlong(1000000))
        print(profiler.get_entries()[-1].gpu_time_ms, flush=True)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    """)
    assert float(done.stdout) >= 1.0
