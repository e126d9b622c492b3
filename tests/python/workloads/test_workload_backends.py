# SPDX-License-Identifier: Apache-2.0
"""Every backend of the workload suite computes what NumPy in double precision computes, at documented and odd sizes."""

import functools
import json
import os
import subprocess
import sys
import zlib
from pathlib import Path

import fakes
import numpy as np
import pytest
from needed import package
from workload_oracles import ORACLES, SIZES, TOLERANCES, random_inputs

from regimeter import _core
from regimeter.workloads import backends, run_workloads
from regimeter.workloads.backend import Request
from regimeter.workloads.backend_torch import FUNCTIONS, NO_FORM
from regimeter.workloads.backends import BACKENDS, find, resolve
from regimeter.workloads.catalog import DESCRIPTIONS, SCALED, workloads

WORKLOADS = workloads()
ONCE = Request(warmup=0, iterations=1, calls=1)
SETS = [name for name in ("avx2", "portable") if name != "avx2" or " avx2 " in Path("/proc/cpuinfo").read_text()]
IDS = [f"{name}-{'-'.join(f'{value:g}' for value in p.values())}" for name, p in SIZES]


def check(name, outputs, expected):
    assert set(outputs) == set(expected)
    for key, wanted in expected.items():
        bound = TOLERANCES[name] * max(1.0, float(np.abs(wanted).max()))
        np.testing.assert_allclose(outputs[key], wanted.ravel(), rtol=0, atol=bound, err_msg=f"{name}.{key}")


def measure(backend, name, parameters, request=ONCE):
    inputs = random_inputs(name, parameters, np.random.default_rng(zlib.crc32(name.encode())))
    return find(backend).measure(WORKLOADS[name], parameters, request, inputs), ORACLES[name](inputs, parameters)


@pytest.mark.parametrize(("name", "parameters"), SIZES, ids=IDS)
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("backend", SETS)
def test_c_against_numpy_in_double(backend, threads, name, parameters):
    found, expected = measure(backend, name, parameters, Request(0, 1, 1, threads=threads))
    check(name, found.outputs, expected)
    assert found.facts["set"] == backend
    assert found.kernel.min_ns > 0
    assert found.host_call.min_ns > 0


@pytest.mark.parametrize(("name", "parameters"), SIZES, ids=IDS)
def test_numpy_against_numpy_in_double(name, parameters):
    found, expected = measure("numpy", name, parameters)
    check(name, found.outputs, expected)


@pytest.mark.parametrize(("name", "parameters"), SIZES, ids=IDS)
def test_torch_against_numpy_in_double(name, parameters):
    package("torch")
    if name in NO_FORM:
        with pytest.raises(_core.UnavailableError, match=NO_FORM[name].split(",")[0]):
            measure("torch", name, parameters)
        return
    found, expected = measure("torch", name, parameters)
    check(name, found.outputs, expected)


@functools.cache
def documented(name):
    workload = WORKLOADS[name]
    inputs = workload.inputs(workload.sizes())
    return ORACLES[name](inputs, workload.sizes())


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("backend", [*SETS, "c", "reference", "numpy", "torch"])
def test_documented_sizes(backend, name):
    if backend == "torch":
        package("torch")
        if name in NO_FORM:
            pytest.skip(NO_FORM[name])
    workload = WORKLOADS[name]
    found = find(backend).measure(workload, workload.sizes(), Request(0, 1, 0))
    check(name, found.outputs, documented(name))


def test_all_nine_have_every_list():
    assert list(WORKLOADS) == list(ORACLES) == list(DESCRIPTIONS) == list(SCALED)
    assert set(FUNCTIONS) | set(NO_FORM) == set(WORKLOADS)
    assert not set(FUNCTIONS) & set(NO_FORM)
    assert all(set(SCALED[name]) <= set(one.parameters) for name, one in WORKLOADS.items())


@pytest.mark.parametrize("name", ["dot_product", "matrix_multiply", "lstm_cell_forward", "pixel_entropy", "conv2d"])
def test_the_bits_do_not_depend_on_the_threads(name):
    sizes = WORKLOADS[name].sizes({"n": 300_001} if name == "dot_product" else {})
    inputs = random_inputs(name, sizes, np.random.default_rng(5))
    made = set()
    for threads in (1, 2, 5):
        outputs = find("c").measure(WORKLOADS[name], sizes, Request(0, 1, 0, threads=threads), inputs).outputs
        made.add(tuple(outputs[key].tobytes() for key in sorted(outputs)))
    assert len(made) == 1


def test_values_that_are_no_numbers_and_extremes_of_the_exponential():
    """What the vectorised exponential has to bear: sums far out on both sides, and pixels that are no numbers."""
    p = {"batch": 3, "inputs": 4, "hidden": 9}
    inputs = random_inputs("lstm_cell_forward", p, np.random.default_rng(1))
    inputs["bias"] *= np.float32(200)
    found = find("c").measure(WORKLOADS["lstm_cell_forward"], p, ONCE, inputs)
    with np.errstate(over="ignore"):
        check("lstm_cell_forward", found.outputs, ORACLES["lstm_cell_forward"](inputs, p))
    image = np.full((9, 20), 700.0, np.float32)
    image[4, 7] = np.nan
    sizes = WORKLOADS["pixel_entropy"].sizes({"height": 9, "width": 20, "window": 5})
    both = [
        find(backend).measure(WORKLOADS["pixel_entropy"], sizes, ONCE, {"image": image.ravel()}).outputs["entropy"]
        for backend in ("c", "reference")
    ]
    np.testing.assert_allclose(*both, atol=1e-6)


# --- choosing -------------------------------------------------------------------------------------------------


def test_backends_say_what_they_are():
    assert backends() == BACKENDS
    assert all(BACKENDS.values())
    with pytest.raises(ValueError, match="no backend is called 'gpu'; there are: device, c"):
        find("gpu")


def test_a_set_that_this_processor_lacks_is_refused():
    with pytest.raises(ValueError, match="no backend called sse9"):
        _core.run_workload("vector_add", backend="sse9")
    with pytest.raises(ValueError, match="not both"):
        _core.run_workload("vector_add", 0, backend="c")
    with pytest.raises(ValueError, match="threads"):
        _core.run_workload("vector_add", backend="c", threads=1000)


def test_torch_on_a_device_that_is_not_there():
    torch = package("torch")
    with pytest.raises(ValueError, match="device 'nowhere' of backend torch"):
        find("torch").measure(WORKLOADS["vector_add"], {"n": 4.0}, Request(device="nowhere"))
    if not torch.cuda.is_available():
        with pytest.raises(_core.UnavailableError, match="cuda:0 is not available"):
            run_workloads("vector_add", backend="torch", device="cuda:0")


def test_auto_without_a_device_says_why(tmp_path):
    code = "from regimeter.workloads.backends import resolve; b, why = resolve('auto'); print(b.name, why)"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "REGIMETER_LIBCUDA": "off"}, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert done.stdout.startswith("c backend c, because no device can run a workload: CUDA driver: switched off")
    assert resolve("numpy")[0].name == "numpy"


@pytest.fixture(scope="module")
def on_device(tmp_path_factory):
    """The suite through the command, on a driver whose device is this processor."""
    variables = {**os.environ, **fakes.environment(cuda_host="", nvrtc="", nvml="")}
    variables["REGIMETER_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    command = [sys.executable, "-m", "regimeter", "workloads", "run", "--json", "--iterations", "7", "--warmup", "1"]
    done = subprocess.run(
        [*command, "--kernel", "vector_add", "conv2d"], env=variables, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_the_device_is_chosen_where_there_is_one(on_device):
    assert on_device["note"] == "backend device: one is here"
    assert [one["backend"] for one in on_device["kernels"]] == ["device", "device"]


def test_kernels_and_host_calls_of_a_device_are_kept_apart(on_device):
    for one in on_device["kernels"]:
        assert one["basis"] == "host_call"
        assert one["kernel"]["iterations"] == one["host_call"]["iterations"] == 7
        assert one["kernel"]["totals_ns"] != one["host_call"]["totals_ns"]
        assert one["facts"]["arch"] == "sm_90"


def test_what_slows_a_device_is_known_or_has_a_reason(on_device):
    for one in on_device["kernels"]:
        assert isinstance(one["facts"]["slowed_by"], list)
        assert one["device"]
