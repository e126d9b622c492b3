# SPDX-License-Identifier: Apache-2.0
"""Bad input: what is refused, with which error."""

import ast
import math

import pytest

import regimeter
from regimeter import GPUProfiler, get_profiler


@pytest.fixture(params=[True, False], ids=["enabled", "disabled"])
def either(request, make_profiler):
    return make_profiler(enabled=request.param, enable_detailed_metrics=False)


@pytest.mark.parametrize("operation", [None, 5, b"bytes", ["list"], object(), 1.5])
def test_an_operation_that_is_not_text_is_refused(either, operation):
    kind = type(operation).__name__
    with pytest.raises(TypeError, match=f"operation must be a str, not {kind}"):
        either.profile(operation)
    with pytest.raises(TypeError, match=f"operation must be a str, not {kind}"):
        either.profile(operation, device="cpu", size=1)
    assert either.get_entries() == []


@pytest.mark.parametrize("device", ["tpu", "GPU", "", "gpu ", "cuda:0", "\ud800"])
def test_an_unknown_device_is_refused_with_the_valid_ones(either, device):
    for call in (
        lambda: either.profile("a", device=device),
        lambda: either.profile("a", device),
        lambda: either.profile("a", x=1, device=device),
        lambda: either.profile_function("a", device=device),
    ):
        with pytest.raises(ValueError, match=r"unknown device .*; valid are: gpu, cpu, cuda, rocm"):
            call()


@pytest.mark.parametrize("device", [None, 0, b"gpu"])
def test_a_device_that_is_not_text_is_refused(either, device):
    with pytest.raises(TypeError, match="device must be a str"):
        either.profile("a", device=device)
    with pytest.raises(TypeError, match="device must be a str"):
        either.profile_function("a", device=device)


@pytest.mark.parametrize("device", ["gpu", "cpu", "cuda", "rocm"])
def test_every_valid_device(profiler, device):
    with profiler.profile("a", device=device):
        pass
    assert profiler.get_entries()[0].device == device
    assert profiler.get_summary()["a"].device == device


def test_missing_and_double_arguments(either):
    with pytest.raises(TypeError, match="operation"):
        either.profile()
    with pytest.raises(TypeError, match="operation"):
        either.profile(device="gpu")
    with pytest.raises(TypeError, match="two values"):
        either.profile("a", "gpu", device="cpu")
    with pytest.raises(TypeError, match="two values"):
        either.profile("a", operation="b")
    with pytest.raises(TypeError):
        either.profile("a", "gpu", "third")
    with either.profile(operation="a", device="cpu"):
        pass


@pytest.mark.parametrize("rate", [math.nan, -0.1, 1.1, math.inf, -math.inf])
def test_a_bad_sample_rate_is_refused(profiler, rate):
    with pytest.raises(ValueError, match="sample rate lies between 0 and 1"):
        GPUProfiler(sample_rate=rate)
    with pytest.raises(ValueError, match="sample rate lies between 0 and 1"):
        profiler.set_sample_rate(rate)
    with pytest.raises(ValueError, match="sample rate lies between 0 and 1"):
        profiler.set_sample_rate(rate, "operation")


@pytest.mark.parametrize("interval", [math.nan, -1, math.inf, 1e12])
def test_a_bad_interval_is_refused(interval):
    with pytest.raises(ValueError, match="memory_interval_ms"):
        GPUProfiler(memory_interval_ms=interval)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"no_such_option": 1}, TypeError),
        ({"memory_budget_bytes": -1}, ValueError),
        ({"memory_budget_bytes": 1.5}, TypeError),
        ({"memory_budget_bytes": 2**70}, OverflowError),
        ({"drain_interval_ns": "fast"}, TypeError),
        ({"sample_rate": "half"}, ValueError),
        ({"device_id": "first"}, TypeError),
        ({"seed": 1.5}, TypeError),
        ({"path": 5.0}, TypeError),
        ({"path": "with\0zero"}, ValueError),
    ],
)
def test_bad_options_are_refused(options, error):
    with pytest.raises(error):
        GPUProfiler(**options)


@pytest.mark.parametrize("top_n", [-1, -100])
def test_a_negative_top_n_is_refused(profiler, top_n):
    for recorded in (False, True):
        if recorded:
            with profiler.profile("a"):
                pass
        for call in (profiler.get_bottlenecks, profiler.print_summary, profiler.print_bottlenecks):
            with pytest.raises(ValueError, match="top_n must not be negative"):
                call(top_n)


def test_bad_values_of_decorators(profiler):
    with pytest.raises(TypeError, match="operation must be a str, not int"):
        profiler.profile_function(5)
    with pytest.raises(TypeError, match="a function is expected, not int"):
        profiler.profile_function("name")(5)
    with pytest.raises(TypeError, match="decorator"):
        profiler.profile("a")(5)
    with pytest.raises(TypeError):
        profiler.disable(5)


def test_errors_of_the_profiler_have_one_base():
    assert issubclass(regimeter.FormatError, regimeter.Error)
    assert issubclass(regimeter.FormatError, ValueError)
    assert issubclass(regimeter.BusyError, regimeter.Error)
    assert issubclass(regimeter.UnavailableError, regimeter.Error)


@pytest.mark.parametrize(
    ("device", "error"), [(-1, ValueError), (2**15, ValueError), (1.0, TypeError), (True, TypeError)]
)
def test_a_device_is_an_ordinal(device, error):
    with pytest.raises(error, match="device_id"):
        GPUProfiler(device_id=device)
    with pytest.raises(error, match="device_id"):
        get_profiler(device_id=device)


def test_without_a_device_its_ordinal_is_noted(run_python):
    program = """
        import warnings
        warnings.simplefilter("error")
        from regimeter import GPUProfiler
        for asked in (0, 99):
            with GPUProfiler(device_id=asked) as profiler:
                about = profiler.run().environment["device"]
            print(about["device_id"], about["device_id_reason"])
    """
    off = {"REGIMETER_LIBNVML": "off", "REGIMETER_LIBCUDA": "off"}
    first, second = run_python(program, env=off).stdout.splitlines()
    assert first.strip() == "0"
    assert second.startswith("99 device_id 99: no device is known here: ")


def test_the_resident_set_is_not_above_its_peak(run_python):
    program = "from regimeter.system.memory import process_memory; print(process_memory())"
    for _ in range(3):
        memory = ast.literal_eval(run_python(program).stdout)
        assert 0 < memory["resident"] <= memory["resident_peak"]


def test_a_program_may_lose_its_folder_and_put_anything_on_its_path(run_python):
    """Of the interpreter's own entries some are empty, and stand for the folder."""
    program = """
    import os, sys, tempfile
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    os.rmdir(folder)
    sys.path[:0] = ["", "relative", None, b"bytes", folder]
    sys.path.remove("relative")
    from regimeter.system.description import describe
    print("package_folders" in describe())
    """
    assert run_python(program).stdout == "False\n"
