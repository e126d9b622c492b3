# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin on a device: sessions end to end on the doubles of driver and tracing, and of torch's allocator."""

import json

import fakes
import pytest
from places import HELPERS
from plugin_session import run

pytest_plugins = ["pytester"]

STUB = HELPERS / "stub_torch"
SOURCE = """
    import pytest
    import torch
    torch.cuda.init()
    kept = []

    def launches(count):
        for number in range(count):
            torch.cuda.launch("relu")

    def waits():
        launches(2)
        torch.cuda.synchronize()

    def uses(size, keep=False):
        block = torch.cuda.allocate(size)
        kept.append(block) if keep else torch.cuda.free(block)
"""
# Calls of a few microseconds in few rounds: what is looked at are counts and sizes, not times.
FEW = "rounds=3, iterations=1, warmup_rounds=0"


@pytest.fixture
def on_device(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A folder for sessions in processes of their own that find the doubles in place of a device."""
    for name, value in fakes.environment(cuda="kernel_ns=40000,tell_waits=1", cupti="").items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("REGIMETER_LIBHIP", "off")
    monkeypatch.setenv("REGIMETER_LIBNVML", "off")
    monkeypatch.setenv("PYTHONPATH", str(STUB), prepend=":")
    return pytester


def written(pytester: pytest.Pytester, body: str) -> pytest.Pytester:
    pytester.makepyfile(SOURCE + body)
    return pytester


def test_what_a_session_measures_on_a_device(on_device: pytest.Pytester) -> None:
    """Launches and waits by tracing, memory of torch's allocator, times by events: a kernel of the double keeps the
    device busy for 40 us. The fixture itself waits for the device behind each call; that is not the code's own."""
    written(
        on_device,
        f"""
    @pytest.mark.limit_launches(4)
    def test_enough(gpu_benchmark): gpu_benchmark.pedantic(launches, (4,), {FEW})
    @pytest.mark.limit_launches(4)
    def test_many(gpu_benchmark): gpu_benchmark.pedantic(launches, (5,), {FEW})
    @pytest.mark.no_host_sync
    def test_asynchronous(gpu_benchmark): gpu_benchmark.pedantic(launches, (3,), {FEW})
    @pytest.mark.no_host_sync
    def test_waiting(gpu_benchmark): gpu_benchmark.pedantic(waits, {FEW})
    def test_keeps(): uses(1 << 20, keep=True)  # held before: not the next test's
    @pytest.mark.gpu_perf(limit_memory="3 MiB")
    def test_fits(gpu_benchmark): gpu_benchmark.pedantic(uses, (3 << 20,), {FEW})
    @pytest.mark.gpu_perf(limit_memory="3 MiB")
    def test_large(gpu_benchmark): gpu_benchmark.pedantic(uses, ((3 << 20) + 512,), {FEW})
    @pytest.mark.no_leak
    def test_leaks(gpu_benchmark): gpu_benchmark.pedantic(uses, (4096, True), {FEW})
    @pytest.mark.no_leak
    def test_returns(gpu_benchmark): gpu_benchmark.pedantic(uses, (4096,), {FEW})
    def test_timed(gpu_benchmark): gpu_benchmark.pedantic(launches, (10,), {FEW})
    """,
    )
    result = run(on_device, "--perf-save=main", apart=True)
    result.assert_outcomes(passed=6, failed=4)
    result.stdout.fnmatch_lines(["limit_launches: one call launched 5 pieces of device work and may launch 4"])
    result.stdout.fnmatch_lines(["*_ test_waiting _*", "no_host_sync: the host waited for the device once (*) in one*"])
    result.stdout.fnmatch_lines(
        [
            "limit_memory: the peak was * (torch's device allocator) and may be 3 MiB",
            "no_leak: device memory grows by 4,096 bytes a call over 30 calls",
        ]
    )
    (saved,) = (on_device.path / ".regimeter" / "perf").iterdir()
    records = {one["test"].rpartition("::")[2]: one for one in json.loads(saved.read_text())["tests"]}
    assert records["test_fits"]["metrics"]["memory_peak"] == [[3 << 20]]
    assert records["test_fits"]["memory_source"] == "torch's device allocator"
    (times,) = records["test_timed"]["metrics"]["device_time"]
    assert len(times) == 3
    assert all(time >= 400e-6 for time in times), "ten kernels of 40 us, behind one another"
    assert records["test_timed"]["unavailable"] == {}


def test_budgets_without_tracing_name_the_reason(on_device: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGIMETER_LIBCUPTI", "off")
    written(
        on_device,
        f"""
    @pytest.mark.limit_launches(9)
    def test_strict(gpu_benchmark): gpu_benchmark.pedantic(launches, (1,), {FEW})
    @pytest.mark.limit_launches(9, when="available")
    def test_lenient(gpu_benchmark): gpu_benchmark.pedantic(launches, (1,), {FEW})
    """,
    )
    result = run(on_device, apart=True)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["limit_launches cannot be checked: *REGIMETER_LIBCUPTI=off*"])


def test_a_larger_peak_and_more_launches_fail_the_comparison(on_device: pytest.Pytester) -> None:
    """Both are compared as they are: no noise of times can hide or make them."""
    body = f"""
    @pytest.mark.gpu_perf(metrics=["memory_peak", "launches"])
    def test_step(gpu_benchmark):
        def step():
            uses(SIZE)
            launches(COUNT)
        gpu_benchmark.pedantic(step, {FEW})
    """
    written(on_device, body.replace("SIZE", "1 << 20").replace("COUNT", "3"))
    assert run(on_device, "--perf-save=main", apart=True).ret == 0
    same = run(on_device, "--perf-compare=main", apart=True)
    assert same.ret == 0
    same.stdout.fnmatch_lines(["PERF GATE PASSED*2 unchanged*"])
    written(on_device, body.replace("SIZE", "2 << 20").replace("COUNT", "4"))
    more = run(on_device, "--perf-compare=main", apart=True)
    assert more.ret == pytest.ExitCode.TESTS_FAILED
    more.stdout.fnmatch_lines(["PERF GATE FAILED  2 regressions*"])
    text = more.stdout.str()
    assert "memory_peak" in text
    assert "launches" in text
