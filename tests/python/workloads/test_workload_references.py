# SPDX-License-Identifier: Apache-2.0
"""The nine workloads: the C references, and the kernels themselves on a driver whose device is this processor, against
NumPy, SciPy and torch."""

import contextlib
import os
import zlib

import fakes
import numpy as np
import pytest
from needed import package
from workload_oracles import ORACLES, SIZES, compare, documented_inputs, random_inputs
from workload_worker import worker

from regimeter import _core

WORKLOADS = _core.workloads()
REFERENCE, DEVICE = None, 0


@pytest.fixture(scope="module", params=[0, 1, 2], ids=["by rank", "backwards", "mixed"])
def device(request, tmp_path_factory):
    """A process whose CUDA device is this processor; a missing barrier shows in one of the orders of threads."""
    variables = fakes.environment(cuda_host=f"order={request.param}", nvrtc="")
    variables["REGIMETER_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    with worker(variables) as made:
        yield made


@pytest.fixture(scope="module")
def one_device():
    with worker({**fakes.environment(cuda_host="", nvrtc=""), "REGIMETER_CACHE": "off"}) as made:
        yield made


@pytest.fixture(scope="module")
def devices():
    """One of each order of threads, at once."""
    with contextlib.ExitStack() as stack:
        orders = [fakes.environment(cuda_host=f"order={order}", nvrtc="") for order in range(3)]
        yield [stack.enter_context(worker({**order, "REGIMETER_CACHE": "off"})) for order in orders]


def dtypes(name):
    return {key: row["dtype"] for key, row in WORKLOADS[name]["buffers"].items()}


def values(name, **given):
    return {key: row["value"] for key, row in WORKLOADS[name]["parameters"].items()} | given


def test_there_are_nine():
    assert list(WORKLOADS) == list(ORACLES)


def ids(cases):
    return [f"{name}-{'-'.join(f'{value:g}' for value in p.values())}" for name, p in cases]


@pytest.mark.parametrize(("name", "parameters"), SIZES, ids=ids(SIZES))
def test_reference_against_numpy(name, parameters):
    inputs = random_inputs(name, parameters, np.random.default_rng(zlib.crc32(name.encode())))
    result = _core.run_workload(name, parameters=parameters, inputs=inputs)
    compare(name, result["outputs"], dtypes(name), ORACLES[name](inputs, parameters))


@pytest.mark.parametrize(("name", "parameters"), SIZES, ids=ids(SIZES))
def test_kernel_against_numpy(name, parameters, device):
    inputs = random_inputs(name, parameters, np.random.default_rng(zlib.crc32(name.encode())))
    result = device.run("run_workload", name, DEVICE, parameters=parameters, inputs=inputs, warmup=1, iterations=1)
    compare(name, result["outputs"], dtypes(name), ORACLES[name](inputs, parameters))
    assert result["arch"] == "sm_90"
    assert len(result["times_ns"]) == 1


@pytest.mark.parametrize("name", WORKLOADS)
def test_documented_inputs(name, one_device):
    """What the specification states about the inputs is what a run without inputs of its own computes on."""
    stated = documented_inputs(name)
    by_default = _core.run_workload(name)["outputs"]
    assert _core.run_workload(name, inputs=stated)["outputs"] == by_default
    on_device = one_device.run("run_workload", name, DEVICE, warmup=1, iterations=1)["outputs"]
    expected = {key: np.frombuffer(by_default[key], dtypes(name)[key]) for key in by_default}
    compare(name, on_device, dtypes(name), expected)
    if len(stated) == sum(row["role"] == "input" for row in WORKLOADS[name]["buffers"].values()):
        compare(name, by_default, dtypes(name), ORACLES[name](stated, values(name)))


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("dot_product", {"n": 30000}), ("matrix_multiply", {"m": 70, "n": 50, "k": 90}), ("ar_forecast", {"order": 32})],
)
def test_equal_inputs_give_equal_bits(name, parameters, devices):
    """Whatever order the threads run in, and however often."""
    inputs = random_inputs(name, values(name, **parameters), np.random.default_rng(3))
    found = set()
    for device in devices:
        for launches in (1, 4):
            made = device.run(
                "run_workload", name, DEVICE, parameters=parameters, inputs=inputs, warmup=1, iterations=launches
            )["outputs"]
            found.add(tuple(bytes(made[key]) for key in sorted(made)))
    assert len(found) == 1


# --- oracles that somebody else wrote -------------------------------------------------------------------------


def floats(result, key):
    return np.frombuffer(result["outputs"][key], np.float32)


def test_lstm_is_torchs():
    torch = package("torch")
    p = {"batch": 5, "inputs": 13, "hidden": 11}
    inputs = random_inputs("lstm_cell_forward", p, np.random.default_rng(1))
    cell = torch.nn.LSTMCell(13, 11)
    with torch.no_grad():
        cell.weight_ih.copy_(torch.from_numpy(inputs["weights_ih"].reshape(44, 13)))
        cell.weight_hh.copy_(torch.from_numpy(inputs["weights_hh"].reshape(44, 11)))
        cell.bias_ih.copy_(torch.from_numpy(inputs["bias"]))
        cell.bias_hh.zero_()
        states = [torch.from_numpy(inputs[key].reshape(5, 11)) for key in ("hidden_state", "cell_state")]
        h, c = cell(torch.from_numpy(inputs["input"].reshape(5, 13)), tuple(states))
    found = _core.run_workload("lstm_cell_forward", parameters=p, inputs=inputs)
    np.testing.assert_allclose(floats(found, "hidden_out"), h.numpy().ravel(), atol=2e-6)
    np.testing.assert_allclose(floats(found, "cell_out"), c.numpy().ravel(), atol=2e-6)


@pytest.mark.parametrize(("stride", "padding"), [(1, 1), (2, 0), (2, 2)])
def test_convolution_is_torchs(stride, padding):
    torch = package("torch")
    p = {"height": 23, "width": 31, "side": 3, "stride": stride, "padding": padding}
    inputs = random_inputs("conv2d", p, np.random.default_rng(2))
    image = torch.from_numpy(inputs["image"].reshape(1, 1, 23, 31))
    kernel = torch.from_numpy(inputs["kernel"].reshape(1, 1, 3, 3))
    wanted = torch.nn.functional.conv2d(image, kernel, stride=stride, padding=padding)
    found = _core.run_workload("conv2d", parameters=p, inputs=inputs)
    np.testing.assert_allclose(floats(found, "out"), wanted.numpy().ravel(), atol=1e-5)


def test_edges_of_the_documented_kernel_are_scipys():
    ndimage = package("scipy.ndimage")
    image = np.random.default_rng(4).integers(0, 256, (256, 256)).astype(np.float32)
    found = floats(_core.run_workload("conv2d", inputs={"image": image}), "out").reshape(256, 256)
    np.testing.assert_array_equal(found, ndimage.sobel(image, axis=1, mode="constant"))


def test_entropy_is_scipys():
    stats = package("scipy.stats")
    p = {"height": 30, "width": 30, "window": 9, "range": 65536}
    image = np.random.default_rng(5).integers(0, 65536, (30, 30)).astype(np.float32)
    result = _core.run_workload("pixel_entropy", parameters=p, inputs={"image": image})
    found = floats(result, "entropy").reshape(30, 30)
    for y, x in ((4, 4), (15, 20), (0, 0), (29, 3)):
        part = image[max(y - 4, 0) : y + 5, max(x - 4, 0) : x + 5]
        counts, _ = np.histogram(part, bins=256, range=(0, 65536))
        assert found[y, x] == pytest.approx(stats.entropy(counts, base=2), abs=1e-5)


def test_forecast_is_a_linear_filters():
    signal = package("scipy.signal")
    coefficients = documented_inputs("ar_forecast")["coefficients"].astype(float)
    series = documented_inputs("ar_forecast")["series"].astype(float)
    denominator = np.concatenate([[1], -coefficients])
    state = signal.lfiltic([1], denominator, series[:-6:-1])
    wanted, _ = signal.lfilter([1], denominator, np.zeros(10), zi=state)
    np.testing.assert_allclose(floats(_core.run_workload("ar_forecast"), "forecast"), wanted, rtol=1e-6)


# --- the interface --------------------------------------------------------------------------------------------


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="no workload called nothing"):
        _core.run_workload("nothing")
    with pytest.raises(ValueError, match="conv2d has no parameter"):
        _core.run_workload("conv2d", parameters={"window": 3})
    with pytest.raises(ValueError, match="conv2d has no input"):
        _core.run_workload("conv2d", inputs={"out": np.zeros(9, np.float32)})
    with pytest.raises(ValueError, match=r"side is 3\.5; a whole number from 1 to 7"):
        _core.run_workload("conv2d", parameters={"side": 3.5})
    with pytest.raises(ValueError, match="image of conv2d holds 65536 values of float32"):
        _core.run_workload("conv2d", inputs={"image": np.zeros(9, np.float32)})
    with pytest.raises(TypeError):
        _core.run_workload("conv2d", parameters={"side": "three"})
    with pytest.raises(ValueError, match="out of bounds"):
        _core.run_workload("conv2d", -1)


def test_inputs_are_not_written_to():
    image = np.arange(256 * 256, dtype=np.float32)
    image.flags.writeable = False
    _core.run_workload("conv2d", inputs={"image": image})
    assert (image == np.arange(256 * 256)).all()


def test_without_a_driver_the_reason_is_told():
    with worker({"REGIMETER_LIBCUDA": "off"}) as here:
        with pytest.raises(RuntimeError, match="UnavailableError: CUDA driver: switched off by REGIMETER_LIBCUDA=off"):
            here.run("run_workload", "vector_add", DEVICE)
    variables = fakes.environment(cuda_host="") | {"REGIMETER_LIBNVRTC": "off"}
    with worker(variables) as here:
        with pytest.raises(RuntimeError, match="UnavailableError: NVRTC: switched off"):
            here.run("run_workload", "vector_add", DEVICE)


def test_a_cache_that_cannot_be_used_costs_only_time(tmp_path):
    (tmp_path / "file").write_text("no folder")
    variables = fakes.environment(cuda_host="", nvrtc="") | {"REGIMETER_CACHE": str(tmp_path / "file")}
    with worker(variables) as here:
        assert here.run("run_workload", "vector_add", DEVICE, iterations=1)["arch"] == "sm_90"
    assert os.listdir(tmp_path) == ["file"]
