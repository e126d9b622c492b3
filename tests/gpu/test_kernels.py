# SPDX-License-Identifier: Apache-2.0
"""Workloads and calibration kernels on a device: results against NumPy, rates against the device's own figures."""

import ctypes
import os
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

import nvrtc_place
from device_driver import Device
from workload_oracles import ORACLES, SIZES, compare, documented_inputs, random_inputs

from regimeter import _core

from . import hardware

PLACE = nvrtc_place.find()
if PLACE is not None:
    os.environ.setdefault("REGIMETER_LIBNVRTC", str(PLACE))


def obstacle():
    """Why no kernel can run here, or nothing."""
    try:
        _core.run_workload("vector_add", 0, iterations=1)
    except (_core.UnavailableError, OSError) as error:
        return str(error)
    return ""


OBSTACLE = obstacle()
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(bool(OBSTACLE), reason=OBSTACLE)]
WORKLOADS = _core.workloads()
KERNELS = _core.kernels()
FILE_OF = {row["name"]: file for file, rows in KERNELS.items() for row in rows["calibration"]}
MB = 1 << 20
# Attributes of the driver interface.
CLOCK_KHZ, MULTIPROCESSORS, MEMORY_KHZ, BUS_BITS, L2_BYTES, MAJOR, MINOR = 13, 16, 36, 37, 38, 75, 76


@pytest.fixture(scope="module")
def device():
    target: list[str] = []
    library = os.environ.get("REGIMETER_LIBCUDA") or "libcuda.so.1"
    made = Device(library, lambda entry: _core.compile_kernel(FILE_OF[entry], target[0]))
    target.append(_core.run_workload("vector_add", 0, iterations=1)["arch"])
    yield made
    made.close()


@pytest.fixture(scope="module")
def capability(device):
    return 10 * device.attribute(MAJOR) + device.attribute(MINOR)


# --- the nine workloads ---------------------------------------------------------------------------------------


def dtypes(name):
    return {key: row["dtype"] for key, row in WORKLOADS[name]["buffers"].items()}


@pytest.mark.parametrize(("name", "parameters"), SIZES)
def test_workload_against_numpy(name, parameters):
    inputs = random_inputs(name, parameters, np.random.default_rng(zlib.crc32(name.encode())))
    result = _core.run_workload(name, 0, parameters=parameters, inputs=inputs, warmup=1, iterations=2)
    compare(name, result["outputs"], dtypes(name), ORACLES[name](inputs, parameters))


@pytest.mark.parametrize("name", WORKLOADS)
def test_documented_workload(name):
    """Right, with the same bits every time, and with times that can be true."""
    first = _core.run_workload(name, 0, inputs=documented_inputs(name))
    again = _core.run_workload(name, 0)
    assert again["outputs"] == first["outputs"]
    reference = _core.run_workload(name)["outputs"]
    expected = {key: np.frombuffer(reference[key], dtypes(name)[key]) for key in reference}
    compare(name, first["outputs"], dtypes(name), expected)
    assert len(first["times_ns"]) == 20
    assert first["gaps"] == 0
    with hardware.claim("from the shortest kernel there is to the largest of the specification's budgets, 8 ms"):
        assert 500 <= np.median(first["times_ns"]) <= 8_000_000


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_host_call_takes_longer_than_its_kernel(name):
    """It allocates, copies and waits besides; the kernel is the same one."""
    found = _core.run_workload(name, 0, calls=20)
    assert len(found["call_times_ns"]) == 20
    with hardware.claim("a host call takes longer than its kernel"):
        assert np.median(found["call_times_ns"]) > np.median(found["times_ns"])


# --- calibration: results -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("entry", "pattern", "element", "elements"), [
    ("rgm_mma_fp16_k8", 0x38003800, 8 * 0.25, 4),  # 0.5 in every place
    ("rgm_mma_int8_k16", 0x02020202, 16 * 4, 2),
    ("rgm_mma_fp16", 0x38003800, 16 * 0.25, 4),
    ("rgm_mma_bf16", 0x3F003F00, 16 * 0.25, 4),
    ("rgm_mma_tf32", 0x3F000000, 8 * 0.25, 4),
    ("rgm_mma_int8", 0x02020202, 32 * 4, 4),
    ("rgm_mma_fp8", 0x30303030, 32 * 0.25, 4),
])  # fmt: skip
def test_tensor_cores_do_what_is_counted(device, capability, entry, pattern, element, elements):
    if capability < KERNELS[FILE_OF[entry]]["lowest_capability"]:
        pytest.skip(f"capability {capability}")
    hardware.only("tensor cores are reached by PTX, which no processor runs")
    rounds = 4
    out = np.zeros(64, np.int32 if "int8" in entry else np.float32)
    device.launch(entry, out, ctypes.c_uint(pattern), ctypes.c_int(rounds), grid=1, block=64)
    assert (out == rounds * element * elements * 8).all()


@pytest.mark.parametrize(("entry", "one"), [("rgm_fma_fp16", 0x3C003C00), ("rgm_fma_bf16", 0x3F803F80)])
def test_packed_multiply_adds_keep_their_values(device, capability, entry, one):
    """x * 1 + 0, over and over."""
    hardware.only("packed arithmetic is PTX, which no processor runs")
    if capability < KERNELS[FILE_OF[entry]]["lowest_capability"]:
        pytest.skip(f"capability {capability}")
    out = np.zeros(64, np.uint32)
    device.launch(entry, out, ctypes.c_uint(one), ctypes.c_uint(0), ctypes.c_int(2), grid=1, block=64)
    chains = np.arange(64)[:, None] + np.arange(8)
    assert (out == np.bitwise_xor.reduce(chains * 0x10001, axis=1)).all()


@pytest.mark.parametrize(("entry", "kind", "dtype"), [
    ("rgm_fma_fp32", ctypes.c_float, np.float32),
    ("rgm_fma_fp64", ctypes.c_double, np.float64),
])  # fmt: skip
def test_multiply_adds_are_as_many_as_promised(device, entry, kind, dtype):
    out = np.zeros(5 * 64, dtype)
    device.launch(entry, out, kind(1.0), kind(0.25), ctypes.c_int(5))
    wanted = 8 * (np.arange(320) % 64) + sum(chain / 8 for chain in range(8)) + 8 * 16 * 5 * 0.25
    np.testing.assert_array_equal(out, wanted.astype(dtype))


# --- calibration: rates ---------------------------------------------------------------------------------------


def best(times):
    return float(np.median(times))


def test_bandwidth_is_near_the_datasheets(device):
    """Twice the memory clock times the width of the bus is what a datasheet prints; 40 to 105 % of it can be true."""
    hardware.only("rates of a processor that stands in for a device")
    size = max(256 * MB, 8 * device.attribute(L2_BYTES))
    peak = 2 * device.attribute(MEMORY_KHZ) * 1e3 * device.attribute(BUS_BITS) / 8
    if not peak:
        pytest.skip("the driver does not tell the memory clock")
    a, b, c = (device.allocate(size) for _ in range(3))
    units = ctypes.c_ulonglong(size // 16)
    grid = 16 * device.attribute(MULTIPROCESSORS)
    launches = {
        "rgm_copy": (2, (a, b, units)),
        "rgm_triad": (3, (a, b, c, ctypes.c_float(0.4), units)),
        "rgm_read": (1, (c, b, units)),
        "rgm_fill": (1, (a, ctypes.c_uint(7), units)),
    }
    rates = {}
    try:
        for entry, (streams, arguments) in launches.items():
            rates[entry] = streams * size / best(device.seconds(entry, *arguments, grid=grid, block=512))
    finally:
        for address in (a, b, c):
            device.free(address)
    print({entry: f"{rate / 1e9:.0f} GB/s, {rate / peak:.0%}" for entry, rate in rates.items()})
    assert all(0.4 <= rate / peak <= 1.05 for rate in rates.values())


def test_the_second_level_cache_is_faster_than_memory(device):
    hardware.only("rates of a processor that stands in for a device")
    size = device.attribute(L2_BYTES) // 4 // 4096 * 4096
    passes = 32
    grid = 8 * device.attribute(MULTIPROCESSORS)
    a, total = device.allocate(size), device.allocate(16)
    try:
        arguments = (total, a, ctypes.c_ulonglong(size // 16), ctypes.c_int(passes))
        rate = size * passes / best(device.seconds("rgm_read_l2", *arguments, grid=grid, block=512))
    finally:
        device.free(a)
        device.free(total)
    peak = 2 * device.attribute(MEMORY_KHZ) * 1e3 * device.attribute(BUS_BITS) / 8
    print(f"{rate / 1e9:.0f} GB/s, {rate / peak:.1f} times the memory's peak")
    assert rate > 1.1 * peak


def test_fp32_peak(device, capability):
    hardware.only("rates of a processor that stands in for a device")
    lanes = {75: 64, 80: 64}.get(capability, 128)
    processors = device.attribute(MULTIPROCESSORS)
    peak = 2 * lanes * processors * device.attribute(CLOCK_KHZ) * 1e3
    grid, block, rounds = 8 * processors, 256, 2000
    out = device.allocate(4 * grid * block)
    try:
        arguments = (out, ctypes.c_float(0.999), ctypes.c_float(0.001), ctypes.c_int(rounds))
        seconds = best(device.seconds("rgm_fma_fp32", *arguments, grid=grid, block=block))
    finally:
        device.free(out)
    rate = 256 * rounds * grid * block / seconds
    print(f"{rate / 1e12:.1f} TFLOP/s, {rate / peak:.0%} of lanes times clock")
    assert 0.5 <= rate / peak <= 1.05


def test_the_shortest_kernel_takes_one_to_ten_microseconds(device):
    times = device.seconds("rgm_empty", grid=1, block=1, launches=200)
    print(f"{1e6 * best(times):.2f} us")
    assert len(times) > 0
    with hardware.claim("the shortest kernel takes 1 to 10 us"):
        assert 1e-6 <= best(times) <= 10e-6


def test_the_device_clock_agrees_with_events(device):
    """A hold of 20 ms that nobody ends lasts 20 ms, on both clocks."""
    flag, gave_up = np.zeros(4, np.int32), np.zeros(4, np.int32)
    stamps = np.zeros((2, 2), np.int64)
    device.launch("rgm_timestamp", stamps[0], grid=1, block=1)
    device.launch("rgm_hold", flag, gave_up, ctypes.c_ulonglong(20_000_000), grid=1, block=1)
    device.launch("rgm_timestamp", stamps[1], grid=1, block=1)
    assert gave_up[0] == 1
    with hardware.claim("20 ms of the device's clock are 20 ms"):
        assert 20e6 <= stamps[1, 0] - stamps[0, 0] <= 200e6


def test_dependent_loads_take_as_long_as_memory(device):
    n, steps = 64 * MB // 4, 20_000
    rng = np.random.default_rng(0)
    lines = rng.permutation(n // 32).astype(np.uint32) * 32  # one step, one line of 128 bytes
    following = np.zeros(n, np.uint32)
    following[lines] = np.roll(lines, -1)
    last, cycles = np.zeros(4, np.uint32), np.zeros(2, np.int64)
    arguments = (following, ctypes.c_uint(int(lines[0])), ctypes.c_int(steps), last, cycles)
    device.launch("rgm_chase", *arguments, grid=1, block=1)
    assert last[0] == lines[steps]
    print(f"{cycles[0] / steps:.0f} cycles")
    with hardware.claim("a load from memory takes 100 to 3000 cycles"):
        assert 100 <= cycles[0] / steps <= 3000
