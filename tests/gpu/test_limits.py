# SPDX-License-Identifier: Apache-2.0
"""Calibration, verdicts, workloads and suggestions on a device: what doubles cannot show. Seconds each; the whole
comparison with hardware counters is in the evidence (`regimes`, `calibration`)."""

import os
import sys
import time
from pathlib import Path

import pytest

from regimeter import GPUProfiler, UnavailableError, _core, calibrate

from . import hardware

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

import nvrtc_place

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no CUDA device"),
]
PLACE = nvrtc_place.find()
if PLACE is not None:
    os.environ.setdefault("REGIMETER_LIBNVRTC", str(PLACE))


@pytest.fixture(scope="module")
def ceilings(tmp_path_factory):
    """A quick calibration, kept for the tests of this file; skips where it cannot be made."""
    patch = pytest.MonkeyPatch()
    patch.setenv("REGIMETER_CACHE", str(tmp_path_factory.mktemp("cache")))
    torch.ones(1, device="cuda")
    try:
        yield calibrate("cuda", force=True)
    except UnavailableError as error:
        pytest.skip(str(error))
    finally:
        patch.undo()


@pytest.fixture
def profile(ceilings):
    profiler = GPUProfiler(enable_detailed_metrics=False)
    yield lambda *args, **options: profiler.profile_with_result(*args, repeat=5, **options)[1]
    profiler.close()


# --- calibration ------------------------------------------------------------------------------------------------------


def test_ceilings_lie_in_the_window_of_their_peaks(ceilings):
    if ceilings.peaks["source"] == "none":
        pytest.skip(f"no peaks of {ceilings.name}")
    low, high = (_core.calibrate_policy()[name]["default"] for name in ("sane_low", "sane_high"))
    peak = ceilings.peaks["bytes_per_s"]
    for token in ("memory_copy", "memory_triad"):
        assert low <= ceilings.ceilings[token].value / peak <= high
    # Tensor cores by mma.sync may stay below on 9.0 (docs/gpu/kernels.md); torch's products do not.
    for token in ("compute_fp32", "compute_fp16", "compute_bf16"):
        assert not ceilings.ceilings[token].suspect, ceilings.ceilings[token]


def test_ceilings_keep_their_order(ceilings):
    value = {token: found.value for token, found in ceilings.ceilings.items()}
    assert value["cache_l2"] > value["memory_read"]
    assert value["compute_fp16"] > value["compute_fp32"]
    assert value["shortest_kernel"] < 20_000
    with hardware.claim("pinned memory is copied no slower than pageable memory, and slower than the device's own"):
        assert value["h2d_pageable"] <= 1.1 * value["h2d_pinned"] < value["memory_copy"]
    assert value["dispatch_torch"] > value["dispatch_python"]


# --- verdicts ---------------------------------------------------------------------------------------------------------


def test_a_product_and_a_stream_and_a_call_without_work(profile):
    half = torch.randn(8192, 8192, device="cuda", dtype=torch.float16)
    large = torch.ones(1 << 28, device="cuda")
    tiny = torch.ones(16, device="cuda")
    assert profile(torch.matmul, half, half)["regime"] == "COMPUTE_BOUND"
    assert profile(torch.add, large, large)["regime"] == "MEMORY_BOUND"
    small = profile(torch.add, tiny, tiny)
    assert small["regime"] not in ("COMPUTE_BOUND", "MEMORY_BOUND")
    with hardware.claim("a call without work is bound by its launch"):
        assert small["regime"] == "OVERHEAD_BOUND"


def test_shares_of_the_ceilings_are_no_more_than_all(profile):
    large = torch.ones(1 << 27, device="cuda")
    half = torch.randn(8192, 8192, device="cuda", dtype=torch.float16)
    assert 0.6 < profile(large.clone)["bandwidth_utilization"] < 1.1
    assert 0.6 < profile(torch.matmul, half, half)["flops_utilization"] < 1.1


def test_the_time_is_that_of_the_device(profile):
    x = torch.ones(1, device="cuda")

    def spin(value):
        torch.cuda._sleep(20_000_000)
        return value

    told = profile(spin, x, flops=0.0, bytes=8.0)
    assert told["device"].startswith("cuda")
    assert told["evidence"]["device_ms"] > 5  # 20 million cycles at less than 4 GHz
    assert told["evidence"]["enqueue_ms"] < told["evidence"]["device_ms"]


def test_work_in_another_stream_has_no_verdict(profile):
    half = torch.randn(8192, 8192, device="cuda", dtype=torch.float16)
    side = torch.cuda.Stream()

    def aside(x):
        with torch.cuda.stream(side):
            return x @ x

    told = profile(aside, half, flops=2.0 * 8192**3, bytes=3.0 * 2 * 8192**2)
    torch.cuda.synchronize()
    assert told["regime"] == "UNKNOWN"


def test_lightweight_waits_for_nothing():
    profiler = GPUProfiler(enable_detailed_metrics=False)
    x = torch.ones(1, device="cuda")
    event = torch.cuda.Event()
    torch.add(x, x)  # its kernel is loaded when it first runs, which may wait
    torch.cuda._sleep(1)
    torch.cuda.synchronize()
    torch.cuda._sleep(200_000_000)
    event.record()
    _, told = profiler.profile_with_result(torch.add, x, x, lightweight=True)
    assert not event.query()
    assert told["regime"] == "UNKNOWN"
    torch.cuda.synchronize()
    profiler.close()


def test_memory_out_is_raised_as_it_is():
    profiler = GPUProfiler(enable_detailed_metrics=False)
    with pytest.raises(torch.cuda.OutOfMemoryError):
        profiler.profile_with_result(torch.empty, 1 << 60, device="cuda", count_work=False)
    profiler.close()


# --- workloads, suggestions ---------------------------------------------------------------------------------------


def test_the_suite_runs_on_the_device():
    from regimeter.workloads.suite import run_workloads

    found = run_workloads(["vector_add", "matrix_multiply"], backend="device", iterations=5)
    rows = {row["name"]: row for row in found.to_dict()["kernels"]}
    assert rows.keys() == {"vector_add", "matrix_multiply"}
    assert all(row["backend"] == "device" for row in rows.values())


def test_a_run_that_waits_for_the_host_is_told_so():
    profiler = GPUProfiler(profile_kernels=True)
    if profiler.kernels_reason:
        pytest.skip(profiler.kernels_reason)
    x = torch.ones(1 << 20, device="cuda")
    for _ in range(50):
        with profiler.profile("step"):
            time.sleep(0.004)
            x.mul_(1.0)
            torch.cuda.synchronize()
    profiler.close()
    run = profiler.run()
    (verdict,) = run.result("region-regimes", by="run")
    assert verdict["regime"] == "OVERHEAD_BOUND"
    assert run.suggestions()
