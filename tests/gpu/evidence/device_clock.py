# SPDX-License-Identifier: Apache-2.0
"""The device's own clock (globaltimer), read by kernels before and after a spin, beside events and CUPTI's records.

Events and records are both made by NVIDIA's libraries; the stamps are written by a kernel of ours and are read back.
What a stamp kernel and the gaps around it cost is the same for every length, so slopes are compared, and offsets are
figures.
"""

import ctypes
import os
import sys
from typing import Any

from .claims import Claim, at_least, at_most, equal, physical, shown
from .common import (
    PYTHON_TESTS,
    UnavailableHere,
    find_compiler_of_kernels,
    finished,
    kernels_by_scope,
    name_of,
    ready,
    spread,
    tracing,
)

CYCLES = (1_000_000, 4_000_000, 10_000_000)
TIMES = 30
FILL_CYCLES = 2_000_000  # queued before each scope, so that the host is not in what is measured
SLOPE_PERCENT = 0.2
PAIR_BYTES = 16  # nanoseconds and cycles


def launcher(torch: Any) -> Any:
    """Return a device that launches our kernels in torch's stream; UnavailableHere where they cannot be compiled."""
    sys.path.insert(0, str(PYTHON_TESTS))
    from device_driver import Device

    from regimeter import UnavailableError, _core

    try:
        arch = _core.run_workload("vector_add", 0, iterations=1)["arch"]
    except UnavailableError as error:
        raise UnavailableHere(str(error)) from None
    library = os.environ.get("REGIMETER_LIBCUDA") or "libcuda.so.1"
    device = Device(library, lambda entry: _core.compile_kernel("latency", arch))
    device.stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    return device


def measure() -> dict[str, Any]:
    """Stamp, spin, stamp, in a scope, while kernels are traced; return all three for each scope."""
    find_compiler_of_kernels()
    torch = ready()
    device = launcher(torch)
    count = len(CYCLES) * TIMES
    stamps = device.allocate(2 * PAIR_BYTES * count)
    device.enqueue("rgm_timestamp", stamps, grid=1, block=1)  # its module is loaded now
    torch.cuda.synchronize()
    profiler = tracing()
    for number in range(count):
        cycles = CYCLES[number % len(CYCLES)]
        places = [ctypes.c_ulonglong(stamps.value + PAIR_BYTES * (2 * number + which)) for which in (0, 1)]
        torch.cuda._sleep(FILL_CYCLES)
        with profiler.profile(f"spin {cycles}"):
            device.enqueue("rgm_timestamp", places[0], grid=1, block=1)
            torch.cuda._sleep(cycles)
            device.enqueue("rgm_timestamp", places[1], grid=1, block=1)
        if number % len(CYCLES) == len(CYCLES) - 1:
            torch.cuda.synchronize()
    run = finished(profiler, torch)
    back = (ctypes.c_longlong * (4 * count))()
    device.call("cuMemcpyDtoHAsync_v2", back, stamps, ctypes.c_size_t(ctypes.sizeof(back)), device.stream)
    device.synchronize()
    return {"spins": rows_of(run, list(back)), "asked": count}


def rows_of(run: Any, stamps: list[int]) -> dict[str, list[list[float]]]:
    """Return by cycles [between the stamps, by events, of the spin's record] in ns, for each scope in its order."""
    kernels, found = kernels_by_scope(run), dict[str, list[list[float]]]()
    times = {
        int(span): int(value)
        for span, value, state in zip(
            run.tables.intervals.span,
            run.tables.intervals.duration_ns.tolist(),
            run.tables.intervals.state.tolist(),
            strict=True,
        )
        if state == 0
    }
    scopes = [row for row in sorted(times) if str(name_of(run, row)).startswith("spin ")]
    for number, scope in enumerate(scopes):
        inside = [row for row in kernels.get(scope, []) if "rgm_timestamp" not in str(name_of(run, row))]
        if len(inside) != 1:
            continue
        stamped = stamps[4 * number + 2] - stamps[4 * number]
        row = [float(stamped), float(times[scope]), float(run.spans.duration_ns[inside[0]])]
        found.setdefault(str(name_of(run, scope)).split()[1], []).append(row)
    return found


def judge(found: dict[str, Any]) -> list[Claim]:
    """Events and records grow with the spin as the device's own clock does, within 0.2 % of it."""
    claims = [
        at_least(f"scopes of {cycles} cycles with stamps, events and one record", len(rows), TIMES)
        for cycles, rows in ((c, found["spins"].get(str(c), [])) for c in CYCLES)
    ]
    if not all(found["spins"].get(str(cycles)) for cycles in CYCLES):
        return [*claims, equal("every length was measured", False, True)]
    medians = {
        cycles: [spread(row[which] for row in found["spins"][str(cycles)])["median"] for which in range(3)]
        for cycles in CYCLES
    }
    for shorter, longer in ((CYCLES[0], CYCLES[-1]), (CYCLES[1], CYCLES[-1])):
        stamped, events, record = (medians[longer][which] - medians[shorter][which] for which in range(3))
        for label, value in (("events", events), ("CUPTI's records", record)):
            text = f"{label} against the device's clock, {longer} less {shorter} cycles"
            claims.append(physical(at_most(text, 100 * abs(value / stamped - 1), SLOPE_PERCENT, "%")))
    for cycles, (stamped, events, record) in medians.items():
        claims.append(shown(f"events less stamps, {cycles} cycles", events - stamped, "ns"))
        claims.append(shown(f"stamps less record, {cycles} cycles", stamped - record, "ns"))
    return claims
