# SPDX-License-Identifier: Apache-2.0
"""Rates of the calibration kernels, beside the datasheet, measured twice."""

import ctypes
import os
from collections.abc import Callable
from typing import Any

from .claims import Claim, at_most, between, shown
from .common import UnavailableHere, find_compiler_of_kernels, spread

MIB = 1 << 20
# Attributes of the driver interface.
CLOCK_KHZ, MULTIPROCESSORS, MEMORY_KHZ, BUS_BITS, L2_BYTES, MAJOR, MINOR = 13, 16, 36, 37, 38, 75, 76

# Peaks of the datasheets, without sparsity: bytes or operations a second. Hopper's tensor figures are those of wgmma;
# these kernels use mma.sync, which cannot reach them.
_HOPPER = {"fp32": 67e12, "fp64": 34e12, "rgm_mma_fp16": 989e12, "rgm_mma_bf16": 989e12, "rgm_mma_tf32": 494e12,
           "rgm_mma_int8": 1979e12, "rgm_mma_fp8": 1979e12}  # fmt: skip
_AMPERE = {"fp32": 19.5e12, "fp64": 9.7e12, "rgm_mma_fp16": 312e12, "rgm_mma_bf16": 312e12, "rgm_mma_tf32": 156e12,
           "rgm_mma_int8": 624e12}  # fmt: skip
DATASHEETS = {
    "H200": {**_HOPPER, "memory": 4.8e12},
    "H100 80GB HBM3": {**_HOPPER, "memory": 3.35e12},
    "A100-SXM4-80GB": {**_AMPERE, "memory": 2.039e12},
    "A100-SXM4-40GB": {**_AMPERE, "memory": 1.555e12},
}
# Low enough for a lower bound, high enough that a wrong count of operations (a factor of two) shows at the top.
MEMORY_WINDOW, ARITHMETIC_WINDOW, TENSOR_WINDOW = (0.6, 1.05), (0.5, 1.05), (0.35, 1.05)
TENSOR_OPERATIONS = {"rgm_mma_fp16": 32_768, "rgm_mma_bf16": 32_768, "rgm_mma_tf32": 16_384, "rgm_mma_int8": 65_536,
                     "rgm_mma_fp8": 65_536}  # fmt: skip
PATTERNS = {"rgm_mma_fp16": 0x38003800, "rgm_mma_bf16": 0x3F003F00, "rgm_mma_tf32": 0x3F000000,
            "rgm_mma_int8": 0x02020202, "rgm_mma_fp8": 0x30303030}  # fmt: skip


def rates_of(device: Any, capability: int, lowest: dict[str, int]) -> dict[str, Callable[[], float]]:
    """Return, for each kernel that the device can run, a function that measures its rate."""
    processors = device.attribute(MULTIPROCESSORS)
    size = max(256 * MIB, 8 * device.attribute(L2_BYTES))
    a, b, c = (device.allocate(size) for _ in range(3))
    units = ctypes.c_ulonglong(size // 16)

    def rate(amount: float, entry: str, *arguments: Any, grid: int, block: int) -> float:
        return amount / float(spread(device.seconds(entry, *arguments, grid=grid, block=block))["median"])

    wide = {"grid": 16 * processors, "block": 512}
    made: dict[str, Callable[[], float]] = {
        "rgm_copy": lambda: rate(2 * size, "rgm_copy", a, b, units, **wide),
        "rgm_triad": lambda: rate(3 * size, "rgm_triad", a, b, c, ctypes.c_float(0.4), units, **wide),
        "rgm_read": lambda: rate(size, "rgm_read", c, b, units, **wide),
        "rgm_fill": lambda: rate(size, "rgm_fill", a, ctypes.c_uint(7), units, **wide),
    }
    grid, block, rounds = 8 * processors, 256, 2000

    def multiply_adds(entry: str, kind: Any, operations: int) -> float:
        arguments = (a, kind(0.999), kind(0.001), ctypes.c_int(rounds))
        return rate(operations * rounds * grid * block, entry, *arguments, grid=grid, block=block)

    made["fp32"] = lambda: multiply_adds("rgm_fma_fp32", ctypes.c_float, 256)
    made["fp64"] = lambda: multiply_adds("rgm_fma_fp64", ctypes.c_double, 256)

    def tensor(entry: str) -> float:
        amount = TENSOR_OPERATIONS[entry] * rounds * grid * block / 32
        return rate(amount, entry, a, ctypes.c_uint(PATTERNS[entry]), ctypes.c_int(rounds), grid=grid, block=block)

    for entry in TENSOR_OPERATIONS:
        if capability >= lowest[entry]:
            made[entry] = lambda entry=entry: tensor(entry)
    return made


def offered(device: Any, attribute: int) -> int:
    """Return an attribute, 0 where the driver does not tell it."""
    try:
        return int(device.attribute(attribute))
    except AssertionError:
        return 0


def measure() -> dict[str, Any]:
    """Measure every rate twice, the second time after all others."""
    find_compiler_of_kernels()
    from device_driver import Device

    from regimeter import UnavailableError, _core

    try:
        arch = _core.run_workload("vector_add", 0, iterations=1)["arch"]
    except UnavailableError as error:
        raise UnavailableHere(str(error)) from None
    files = _core.kernels()
    file_of = {row["name"]: file for file, rows in files.items() for row in rows["calibration"]}
    lowest = {entry: files[file]["lowest_capability"] for entry, file in file_of.items()}
    library = os.environ.get("REGIMETER_LIBCUDA") or "libcuda.so.1"
    device = Device(library, lambda entry: _core.compile_kernel(file_of[entry], arch))
    capability = 10 * device.attribute(MAJOR) + device.attribute(MINOR)
    functions = rates_of(device, capability, lowest)
    found: dict[str, Any] = {"rates": {name: [] for name in functions}, "failed": {}}
    for _ in range(2):
        for name, function in functions.items():
            try:
                found["rates"][name].append(function())
            except Exception as error:  # one kernel that fails is one rate less
                found["failed"][name] = f"{type(error).__name__}: {error}"
    empty = device.seconds("rgm_empty", grid=1, block=1, launches=200)
    name = ctypes.create_string_buffer(256)
    device.call("cuDeviceGetName", name, 256, device.number)
    return found | {
        "name": name.value.decode(),
        "arch": arch,
        "capability": capability,
        "empty_ns": spread(1e9 * value for value in empty),
        "memory_from_clock": 2 * offered(device, MEMORY_KHZ) * 1e3 * offered(device, BUS_BITS) / 8,
        "fp32_from_clock": 256 * device.attribute(MULTIPROCESSORS) * offered(device, CLOCK_KHZ) * 1e3,
    }


def peaks_of(found: dict[str, Any]) -> tuple[dict[str, float], str]:
    """Return the peaks to compare with and where they come from."""
    for name, peaks in DATASHEETS.items():
        if found["name"].startswith(f"NVIDIA {name}"):  # a GH200 is no H200
            return peaks, f"datasheet of {name}"
    made = {}
    if found["memory_from_clock"] > 0:
        made["memory"] = float(found["memory_from_clock"])
    if found["capability"] not in (75, 80) and found["fp32_from_clock"] > 0:  # those have 64 lanes
        made["fp32"] = float(found["fp32_from_clock"])
    return made, "clocks times width, as the driver tells them"


def judge(found: dict[str, Any]) -> list[Claim]:
    """Inside the window around the peak, and the same within 2 % the second time."""
    peaks, source = peaks_of(found)
    claims = [shown("peaks", source, found["name"])]
    claims += [Claim(f"{name} runs", reason, "runs", False) for name, reason in found["failed"].items()]
    for name, values in found["rates"].items():
        if len(values) < 2:
            continue
        memory = name in ("rgm_copy", "rgm_triad", "rgm_read", "rgm_fill")
        window = MEMORY_WINDOW if memory else TENSOR_WINDOW if name in TENSOR_OPERATIONS else ARITHMETIC_WINDOW
        peak = peaks.get("memory" if memory else name)
        claims.append(shown(f"{name}: rates", [f"{value:.4g}" for value in values], "per second"))
        if peak:
            claims.append(between(f"{name}: share of the peak", max(values) / peak, *window))
        claims.append(at_most(f"{name}: difference of the two", 100 * abs(values[1] / values[0] - 1), 2, "%"))
    claims.append(between("the shortest kernel", found["empty_ns"].get("median"), 1e3, 10e3, "ns"))
    return claims
