# SPDX-License-Identifier: Apache-2.0
"""The steps of contact.py about hardware counters: ranges of them, and samples in time."""

import ctypes
import sys
import time
from pathlib import Path
from typing import Any

from contact_answers import Answers, driver_path, ready
from evidence import doubles
from evidence.common import find_compiler_of_kernels

ROUNDS, BLOCKS, THREADS, WARP = 1000, 264, 256, 32
PATTERNS = {"fp16": 0x3C003C00, "bf16": 0x3F803F80, "tf32": 0x3F800000, "int8": 0x01010101, "fp8": 0x38383838}


def kernels(files: dict[str, str]) -> Any:
    """Return a device that launches kernels of ours, by their names and files."""
    find_compiler_of_kernels()
    from regimeter import _core

    sys.path.insert(0, str(doubles.PYTHON_TESTS))
    from device_driver import Device

    arch = _core.run_workload("vector_add", 0, iterations=1)["arch"]
    return Device(driver_path(), lambda entry: _core.compile_kernel(files[entry], arch))


def tensor_instructions(torch: Any) -> dict[str, float]:
    """Return what the device counts of each calibration kernel of the tensor pipes, for each warp and round of it.

    Each does eight products in a round: another count says that the compiler made other instructions of them than the
    ceiling counts.
    """
    from regimeter import _core
    from regimeter.capture import counters

    major, minor = torch.cuda.get_device_capability()
    files = {
        kernel["name"]: name
        for name, row in _core.kernels().items()
        if name.startswith("tensor") and row["lowest_capability"] <= 10 * major + minor
        for kernel in row["calibration"]
    }
    device = kernels(files)
    out = device.allocate(4 * BLOCKS * THREADS)
    with counters.count("roofline-hw") as measurement:
        for entry in files:
            bits = next(bits for name, bits in PATTERNS.items() if name in entry)
            measurement.push(entry)
            device.enqueue(entry, out, ctypes.c_uint(bits), ctypes.c_int(ROUNDS), grid=BLOCKS, block=THREADS)
            device.synchronize()
            measurement.pop()
    names = [row[0] for row in measurement.result.ranges]
    counted = measurement.result.series("tensor_instructions")[1].tolist()
    warps = BLOCKS * THREADS // WARP
    return {entry: value / (warps * ROUNDS) for entry, value in zip(names, counted, strict=True)}


def cupti() -> Any:
    """Return the CUPTI that the process has loaded, None where it has none."""
    loaded = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "cupti" in line}
    return ctypes.CDLL(min(loaded)) if loaded else None


def clocks(device: Any, place: Any) -> dict[str, int | None]:
    """Return the clocks that times of samples may be on, read one after the other; the device's own by a kernel."""
    found: dict[str, int | None] = {"monotonic_ns": time.monotonic_ns(), "realtime_ns": time.time_ns()}
    theirs, library, stamp = ctypes.c_uint64(), cupti(), (ctypes.c_longlong * 2)()
    known = library is not None and library.cuptiGetTimestamp(ctypes.byref(theirs)) == 0
    found["cupti_ns"] = theirs.value if known else None
    device.enqueue("rgm_timestamp", place, grid=1, block=1)
    device.call("cuMemcpyDtoHAsync_v2", stamp, place, ctypes.c_size_t(ctypes.sizeof(stamp)), device.stream)
    device.synchronize()
    return found | {"globaltimer_ns": stamp[0], "monotonic_after_ns": time.monotonic_ns()}


def ranges(answers: Answers, out: Path) -> None:
    """Whether push and pop wait for the device, counts of what is known, and ranges beside tracing."""
    from regimeter import GPUProfiler
    from regimeter.capture import counters

    torch = ready()
    values = torch.ones(1 << 20, device="cuda")
    with answers.part("drain") as row, counters.count("fp") as measurement:
        begin = time.perf_counter_ns()
        measurement.push("spin")
        torch.cuda._sleep(20_000_000)
        row["pushed_and_queued_ns"] = time.perf_counter_ns() - begin
        begin = time.perf_counter_ns()
        measurement.pop()
        row["pop_ns"] = time.perf_counter_ns() - begin  # the length of the spin, if it drains
        torch.cuda.synchronize()
    with answers.part("counts") as row:
        with counters.count("fp") as measurement:
            measurement.push("add")
            values + values
            torch.cuda.synchronize()
            measurement.pop()
        result = measurement.result
        row["fp"] = {role: float(result.series(role)[1][0]) for role in result.roles}
    with answers.part("calibration_kernels") as row:
        row |= tensor_instructions(torch)
    with answers.part("beside_tracing") as row:
        profiler = GPUProfiler(
            enable_detailed_metrics=False, profile_kernels=True, counters={"set": "fp", "scopes": "add"}
        )
        with profiler.profile("add"):
            values + values
        profiler.close()
        row["counters_reason"] = profiler.run().environment.get("device", {}).get("counters_reason")
        row["operations"] = {line["name"]: line.get("flops") for line in profiler.run().result("counter-flops").rows()}
        row["anomalies"] = {line["code"]: int(line["count"]) for line in profiler.run().anomaly_list()}


def samples(answers: Answers, out: Path) -> None:
    """Idle, a copy, idle, with host times: where the samples say that the copy was."""
    from regimeter.capture import counters

    torch, device = ready(), kernels({"rgm_timestamp": "latency"})
    place = device.allocate(16)
    size = 1 << (20 if doubles.ON else 30)
    source = torch.ones(size, device="cuda")
    target = torch.ones(size, device="cuda")
    for kind, seconds in (("pm", 0.3), ("gpm", 0.6)):
        with answers.part(kind) as row:
            with counters.sample(source=kind) as measurement:
                time.sleep(seconds)
                begin = time.monotonic_ns()
                while time.monotonic_ns() - begin < seconds * 1e9:
                    target.copy_(source)
                    torch.cuda.synchronize()
                row["copy_host_ns"] = [begin, time.monotonic_ns()]
                time.sleep(seconds)
                row["clocks"] = clocks(device, place)
            result = measurement.result
            wanted = [role for role in result.roles if "dram" in role or "active" in role]
            row["counts"] = result.counts
            row["times_ns_and_values"] = {
                role: [part.tolist()[:2000] for part in result.series(role)] for role in wanted
            }
