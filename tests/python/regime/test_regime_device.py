# SPDX-License-Identifier: Apache-2.0
"""Profiles of calls on a CUDA device: a stub of torch and one of CuPy over the double of the driver, whose clock moves
by queued work alone. So times are those that the test gave to the kernels, and the verdicts follow by arithmetic."""

import json
import os
import textwrap

import fakes
import pytest
import small_calibration
import warm
from places import HELPERS

PRELUDE = """
import ctypes, json, os, sys
cuda = ctypes.CDLL(os.environ["REGIMETER_LIBCUDA"])
cuda.fake_cuda_get.restype = ctypes.c_longlong
def takes(name, ns):
    cuda.fake_cuda_kernel(name.encode(), None, ctypes.c_longlong(ns))
def put(name, value):
    cuda.fake_cuda_set(name.encode(), ctypes.c_longlong(value))
def waits():
    names = "calls_cuCtxSynchronize", "calls_cuEventSynchronize", "calls_cuStreamSynchronize"
    return [cuda.fake_cuda_get(name.encode()) for name in names]
# Ceilings: 3.0 TB/s of copies and triads, 687 TFLOP/s of half precision, a shortest kernel of 2.5 us.
for name, us in {"copy": 140, "triad": 210, "read": 70, "fill": 70, "read_l2": 3000, "empty": 2.5}.items():
    takes(f"rgm_{name}", int(us * 1000))
for name in ("fma_fp64 fma_fp32 fma_fp16 fma_bf16 mma_fp16_k8 mma_int8_k16 mma_fp16 mma_bf16 mma_tf32 mma_int8 "
             "mma_fp8").split():
    takes(f"rgm_{name}", 3_000_000)
for name, us in {"float64": 2800, "float32": 3000, "float16": 200, "bfloat16": 200}.items():
    takes(f"mm_{name}", us * 1000)
takes("_scaled_mm_bfloat16", 100_000)
takes("_int_mm_int32", 120_000)
from regimeter import GPUProfiler, UnavailableError
"""
TORCH = """
import torch
def floats(*shape, device="cuda", dtype=torch.float32):
    return torch.empty(*shape, device=device, dtype=dtype)
profile = GPUProfiler().profile_with_result
"""
COPY = 2 * 4 * 52_428_800 / 140e-6  # of buffers of four second-level caches, as a quick calibration takes them
HALF = 2 * 4096**3 / 200e-6


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """Calibrations of the double that the programs of this file share."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def on_device(tmp_path, cache):
    """Run a program with the stubs on the doubles; return what it printed as JSON."""

    def run(code, *, cuda="follow=0,paper=0", nvml=None, before=TORCH, stubs=("stub_torch",), **variables):
        program = PRELUDE + before + textwrap.dedent(code)
        variables = environment(cuda, nvml, stubs, **{"REGIMETER_CACHE": str(cache), **variables})
        done = warm.program(tmp_path, program, variables)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def environment(cuda, nvml, stubs, **variables):
    """Return the variables by which a program finds the stubs, and these the doubles."""
    doubles = fakes.environment(cuda=cuda, nvrtc="", **({} if nvml is None else {"nvml": nvml}))
    path = os.pathsep.join(filter(None, (*(str(HELPERS / stub) for stub in stubs), os.environ.get("PYTHONPATH"))))
    off = {"REGIMETER_LIBNVML": "off", "REGIMETER_LIBHIP": "off"}
    return {**os.environ, **off, **doubles, "PYTHONPATH": path, **variables}


# --- times and verdicts ---------------------------------------------------------------------------------------------


def test_a_product_near_the_peak_of_its_pipe_is_compute_bound(on_device):
    found = on_device("""
    takes("matmul_float16", 210_000)
    a = floats(4096, 4096, dtype=torch.float16)
    result, told = profile(torch.matmul, a, a)
    print(json.dumps([result.shape, told]))
    """)
    shape, told = found
    assert shape == [4096, 4096]
    assert told["runtime_ms"] == pytest.approx(0.21)
    assert (told["device"], told["pipe"], told["regime"]) == ("cuda:0", "fp16", "COMPUTE_BOUND"), told
    assert told["flops"] == 2 * 4096**3
    assert told["bytes"] == 2 * 2 * 4096**2  # one operand twice, and the result
    assert told["flops_utilization"] == pytest.approx(200 / 210, rel=1e-3)
    assert told["achieved_flops"] == pytest.approx(2 * 4096**3 / 210e-6)
    assert told["evidence"]["device_ms"] == pytest.approx(0.21)


def test_an_addition_near_the_bandwidth_is_memory_bound(on_device):
    told = on_device("""
    takes("add", 300_000)
    a, b = floats(1 << 26), floats(1 << 26)
    print(json.dumps(profile(torch.add, a, b, repeat=3)[1]))
    """)
    assert told["regime"] == "MEMORY_BOUND", told
    assert told["bytes"] == 3 * 4 * 2**26
    assert told["bandwidth_utilization"] == pytest.approx(3 * 4 * 2**26 / 300e-6 / COPY, rel=1e-3)
    assert told["calls"] == 3
    assert told["evidence"]["spread"] == 0


def test_a_kernel_as_short_as_one_without_work_is_overhead(on_device):
    told = on_device("""
    takes("add", 3_000)
    a = floats(8)
    print(json.dumps(profile(torch.add, a, a, repeat=2)[1]))
    """)
    assert (told["regime"], told["detail"]) == ("OVERHEAD_BOUND", "latency")


def test_a_time_below_the_resolution_of_events_has_no_rates(on_device):
    told = on_device("""
    takes("add", 100)
    a = floats(8)
    print(json.dumps(profile(torch.add, a, a)[1]))
    """)
    assert told["regime"] == "OVERHEAD_BOUND"
    assert told["achieved_flops"] is None
    assert told["achieved_bandwidth"] is None
    assert told["runtime_ms"] < 5e-4
    assert any("500 ns that events resolve" in note for note in told["warnings"])


def test_work_in_another_stream_has_no_verdict(on_device):
    """Events of the current stream do not see it; as overhead it would be the opposite of the truth."""
    told = on_device("""
    takes("matmul_float16", 210_000)
    a = floats(4096, 4096, dtype=torch.float16)
    side = torch.cuda.Stream()
    def aside(x):
        with torch.cuda.stream(side):
            return torch.matmul(x, x)
    print(json.dumps(profile(aside, a, flops=2 * 4096 ** 3, bytes=3 * 2 * 4096 ** 2)[1]))
    """)
    assert told["evidence"]["device_ms"] == 0
    assert (told["regime"], told["detail"], told["confidence"]) == ("UNKNOWN", "model_error", 0)
    assert any("another stream" in note for note in told["warnings"])


def test_the_clock_is_that_of_the_device_of_the_tensors(on_device):
    found = on_device(
        """
    takes("matmul_float16", 210_000)
    a = floats(4096, 4096, dtype=torch.float16, device="cuda:1")
    told = profile(torch.matmul, a, a)[1]
    print(json.dumps([torch.cuda.current_device(), told]))
    """,
        cuda="follow=0,paper=0,devices=2",
    )
    current, told = found
    assert current == 0
    assert told["device"] == "cuda:1"
    assert told["runtime_ms"] == pytest.approx(0.21)
    assert told["regime"] == "COMPUTE_BOUND"
    assert told["memory"]["allocated_mb"] == pytest.approx(2 * 2 * 4096**2 / 1e6)


def test_waits_are_those_that_are_stated(on_device):
    """One before the call, one for the second event; none at all in lightweight mode."""
    before, after, light, told = on_device("""
    a = floats(1 << 20)
    profile(torch.add, a, a)
    before = waits()
    profile(torch.add, a, a)
    after = waits()
    told = profile(torch.add, a, a, lightweight=True)[1]
    print(json.dumps([before, after, waits(), told]))
    """)
    assert [b - a for a, b in zip(before, after, strict=True)] == [1, 1, 0]
    assert light == after
    assert (told["regime"], told["detail"]) == ("UNKNOWN", "none")
    assert told["memory"]["peak_allocated_mb"] >= 4 * 2**20 / 1e6
    assert told["memory"]["oom_risk"] == "LOW"


def test_lightweight_takes_no_queued_call_for_a_short_one(on_device):
    rows = on_device("""
    takes("matmul_float16", 100_000_000)
    a = floats(4096, 4096, dtype=torch.float16)
    rows = [profile(torch.matmul, a, a, lightweight=True)[1],
            profile(torch.matmul, a, a, lightweight=True, flops=2 * 4096 ** 3, bytes=1e8)[1]]
    print(json.dumps(rows))
    """)
    assert [row["regime"] for row in rows] == ["UNKNOWN", "UNKNOWN"]


def test_operators_of_the_program_are_counted_on_a_device(on_device):
    told, again = on_device("""
    takes("matmul_float16", 210_000)
    a = floats(4096, 4096, dtype=torch.float16)
    step = lambda x: torch.matmul(x, x)
    print(json.dumps([profile(step, a)[1], profile(step, a, repeat=2)[1]]))
    """)
    assert told["flops"] == again["flops"] == 2 * 4096**3
    assert told["evidence"]["device_ms"] == pytest.approx(0.21)  # nothing is subtracted from the device's time
    assert any("may have waited" in note for note in told["warnings"])
    assert again["regime"] == "COMPUTE_BOUND", again
    assert not any("may have waited" in note for note in again["warnings"])


def test_a_block_finds_out_whether_the_device_worked(on_device):
    on, off = on_device(
        """
    from regimeter import profile_block
    takes("matmul_float16", 210_000)
    a = floats(4096, 4096, dtype=torch.float16)
    with profile_block("device") as one:
        torch.matmul(a, a)
    with profile_block("host") as two:
        sum(range(1000))
    print(json.dumps([one.analysis, two.analysis]))
    """,
        before=TORCH + small_calibration.PROGRAM,
        REGIMETER_CACHE="off",
    )
    assert on["device"] == "cuda:0"
    assert on["runtime_ms"] == pytest.approx(0.21)
    assert off["device"] == "cpu"
    assert off["evidence"]["device_ms"] is None


# --- memory -----------------------------------------------------------------------------------------------------------


def test_memory_is_that_of_the_allocator(on_device):
    told = on_device("""
    base = torch.cuda.memory_allocated()
    a = floats(1 << 24)
    def twice(x):
        y = x + x
        return y + y
    result, told = profile(twice, a)
    print(json.dumps(told["memory"]))
    """)
    one = 4 * 2**24 / 1e6
    assert told["allocated_mb"] == pytest.approx(2 * one)
    assert told["peak_allocated_mb"] == pytest.approx(3 * one)
    assert told["total_available_mb"] == pytest.approx(2**33 / 1e6)
    assert told["headroom_mb"] == pytest.approx(told["total_available_mb"] - told["allocated_mb"])


def test_out_of_memory_is_raised_as_it_is_and_told_by_the_safe_call(on_device):
    raised, told, risk = on_device("""
    from regimeter import safe_profile
    from regimeter.regime.errors import out_of_memory
    make = lambda x: floats(1 << 31)
    try:
        profile(make, floats(8))
    except torch.OutOfMemoryError as error:
        raised = [str(error), out_of_memory(error)]
    told = safe_profile(GPUProfiler(), make, floats(8))
    kept = floats(1_900_000_000)
    risk = profile(torch.neg, floats(8))[1]["memory"]["oom_risk"]
    print(json.dumps([raised, told, risk]))
    """)
    assert raised[0].startswith("CUDA out of memory")
    assert raised[1] is True
    assert told["error"].startswith("OOMError: CUDA out of memory")
    assert risk == "HIGH"


def test_a_full_device_costs_the_ceilings_and_not_the_result(on_device):
    found = on_device(
        """
    from regimeter import calibrate
    put("fail_cuMemAlloc_v2", 2)
    try:
        calibrate("cuda")
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
    a = floats(64, 64)
    result, told = profile(torch.matmul, a, a)
    print(json.dumps([text, result.shape, told["regime"], told["warnings"]]))
    """,
        REGIMETER_CACHE="off",
    )
    text, shape, regime, warnings = found
    assert "CUDA_ERROR_OUT_OF_MEMORY: free memory of the device" in text
    assert shape == [64, 64]
    assert regime == "UNKNOWN"
    assert any(note.startswith("no ceilings of cuda:0: ") for note in warnings)


# --- others on the device, several devices ----------------------------------------------------------------------------


def test_another_process_on_the_device_is_told_with_every_verdict(on_device):
    warnings = on_device(
        """
    a = floats(64, 64)
    print(json.dumps(profile(torch.matmul, a, a)[1]["warnings"]))
    """,
        nvml="",
        REGIMETER_CACHE="off",
    )
    assert any(note.startswith("shared: ") for note in warnings)


def test_two_devices_are_compared(on_device):
    found = on_device(
        """
    from regimeter import profile_multi_gpu
    takes("matmul_float16", 210_000)
    takes("add", 420_000)
    def work(number):
        a = floats(4096, 4096, dtype=torch.float16, device=f"cuda:{number}")
        return torch.matmul(a, a) if number == 0 else torch.add(a, a)
    got = profile_multi_gpu(work)
    print(json.dumps([{key: row["runtime_ms"] for key, row in got.per_gpu.items()}, got.bottleneck_gpu,
                      got.load_balance, got.warnings, [row["device"] for row in got.per_gpu.values()]]))
    """,
        cuda="follow=0,paper=0,devices=2",
    )
    times, slowest, balance, warnings, devices = found
    assert times == {"0": pytest.approx(0.21), "1": pytest.approx(0.42)}
    assert devices == ["cuda:0", "cuda:1"]
    assert slowest == 1
    assert balance == pytest.approx(0.315 / 0.42)
    assert "device 1 takes" in warnings[-1]


def test_ceilings_of_eight_bits_are_those_of_libraries(on_device):
    """Where no loop of ours multiplies 8-bit floats, torch's product is the ceiling; without torch a reason is."""
    calibrate = """
        from regimeter.calibration import calibrate
        made = calibrate("cuda", quick=True, force=True).ceilings
        told = {t: [made[t].value, made[t].source, made[t].reason] for t in ("compute_fp8", "compute_int8")}
        print(json.dumps(told))
    """
    told = on_device(calibrate, REGIMETER_CACHE="off")
    size = 4096
    assert told["compute_fp8"][0] == pytest.approx(2 * size**3 / 100e-6)
    assert told["compute_fp8"][1] == f"torch._scaled_mm {size} x {size} (float8_e4m3fn)"
    assert told["compute_int8"][0] == pytest.approx(2 * size**3 / 120e-6)
    alone = on_device(calibrate, before="", REGIMETER_CACHE="off")
    assert alone["compute_fp8"][0] is None
    assert "torch._scaled_mm" in alone["compute_fp8"][2]
    assert alone["compute_int8"][1] == "kernel rgm_mma_int8"


# --- the command and the plots ----------------------------------------------------------------------------------------


def test_the_command_profiles_on_a_device(tmp_path):
    words = ["--profile", "matmul", "--size", "1000000", "--device", "cuda"]
    start = "import sys; from regimeter.cli.gpu_profile import main; sys.exit(main({}))"
    variables = environment("follow=0,paper=0,kernel_ns=60000", None, ("stub_torch",), REGIMETER_CACHE="off")
    done = warm.program(tmp_path, start.format([*words, "--json"]), variables)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["device"] == "cuda:0"
    assert told["runtime_ms"] == pytest.approx(0.06)
    assert told["flops"] == 2 * 1000**3
    done = warm.program(tmp_path, start.format(words), variables | {"REGIMETER_LIBCUDA": "off"})
    assert (done.returncode, done.stdout) == (1, "")


def test_plots_of_a_device(on_device, tmp_path):
    path = tmp_path / "plots.html"
    on_device(f"""
    from regimeter import create_performance_plots
    print(json.dumps(str(create_performance_plots({str(path)!r}, device="cuda", elements=(1024, 1 << 20)))))
    """)
    text = path.read_text()
    assert "NVIDIA H100 80GB HBM3" in text
    assert "OVERHEAD_BOUND" in text


# --- CuPy -------------------------------------------------------------------------------------------------------------

CUPY = """
import cupy
profile = GPUProfiler().profile_with_result
"""


def test_arrays_of_cupy(on_device):
    rows = on_device(
        """
    takes("cupy_add", 300_000)
    takes("cupy_unknown", 300_000)
    a, b = cupy.ndarray(1 << 26), cupy.ndarray(1 << 26)
    rows = [profile(cupy.add, a, b)[1], profile(cupy.unknown, a)[1], profile(cupy.matmul, cupy.ndarray((64, 32)),
            cupy.ndarray((32, 16)))[1], profile(cupy.add, a, b, lightweight=True)[1]]
    print(json.dumps(rows))
    """,
        before=CUPY,
        stubs=("stub_cupy",),
    )
    add, unknown, product, light = rows
    assert add["runtime_ms"] == pytest.approx(0.3)
    assert (add["device"], add["flops"], add["bytes"]) == ("cuda:0", 2**26, 3 * 4 * 2**26)
    assert add["regime"] == "MEMORY_BOUND"
    assert add["memory"]["allocated_mb"] == pytest.approx(3 * 4 * 2**26 / 1e6)
    assert add["memory"]["peak_allocated_mb"] is None  # its pool keeps none
    assert (unknown["flops"], unknown["source"]["bytes"][:11]) == (None, "lower bound")
    assert product["flops"] == 2 * 64 * 32 * 16
    assert light["regime"] == "UNKNOWN"


def test_cupy_on_a_device_that_is_not_current(on_device):
    told = on_device(
        """
    takes("cupy_add", 300_000)
    with cupy.cuda.Device(1):
        a = cupy.ndarray(1 << 26)
    print(json.dumps(profile(cupy.add, a, a)[1]))
    """,
        before=CUPY,
        stubs=("stub_cupy",),
        cuda="follow=0,paper=0,devices=2",
    )
    assert told["device"] == "cuda:1"
    assert told["runtime_ms"] == pytest.approx(0.3)
