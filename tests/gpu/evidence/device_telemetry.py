# SPDX-License-Identifier: Apache-2.0
"""Telemetry: values that can be true, energy that fits power, and what reading costs."""

import time
from typing import Any

from .claims import Claim, at_least, between, physical, shown
from .common import UnavailableHere, ready, spread

SECONDS = 3.0


def values(**options: bool) -> dict[str, float]:
    """Return what device 0 says now."""
    from regimeter.system import telemetry

    return {name: reading.value for name, reading in telemetry.read(0, **options).items() if reading.value is not None}


def measure() -> dict[str, Any]:
    """Read at rest, under load and by the sampler of a recording."""
    from regimeter import GPUProfiler, UnavailableError
    from regimeter.system import telemetry

    torch = ready()
    try:
        idle = values()
    except UnavailableError as error:
        raise UnavailableHere(str(error)) from None
    costs = []
    for _ in range(50):
        begin = time.perf_counter_ns()
        values()
        costs.append(time.perf_counter_ns() - begin)
    begin = time.perf_counter_ns()
    values(expensive=True)
    expensive_ns = time.perf_counter_ns() - begin
    left = torch.randn(8192, 8192, device="cuda", dtype=torch.float16)
    with GPUProfiler(enable_detailed_metrics=False, telemetry=50.0) as profiler:
        begin = time.monotonic()
        first, samples = values(), []
        while time.monotonic() - begin < SECONDS:
            for _ in range(20):
                left @ left
            torch.cuda.synchronize()
            samples.append(values())
        last, seconds = values(), time.monotonic() - begin
    run = profiler.run()
    names = [run.strings[name] for name in run.tables.counters.series.tolist()]
    power = [row[key] for row in samples for key in ("power_instant_watts", "power_watts") if key in row]
    return {
        "idle": idle,
        "busy": samples[-1],
        "power": spread(power),
        "energy_joules": last["energy_joules"] - first["energy_joules"] if "energy_joules" in last else None,
        "seconds": seconds,
        "allocated_bytes": torch.cuda.memory_allocated(),
        "slowed_by": sorted({why for row in samples for why in telemetry.slowed_by(row.get("clock_reasons", 0))}),
        "read_ns": spread(costs),
        "expensive_ns": expensive_ns,
        "sampled": {name: names.count(name) for name in set(names)},
        "sampler": run.environment["device"].get("telemetry"),
        "reason": run.environment["device"].get("telemetry_reason"),
        "unavailable": {k: r.reason for k, r in telemetry.read(0).items() if not r.known},
        "library": telemetry.library(),
    }


def judge(found: dict[str, Any]) -> list[Claim]:
    """Under load: busy, warm, within the power limit; energy within a quarter of power times time."""
    busy, power = found["busy"], found["power"].get("median")
    limit = busy.get("power_limit_watts")
    claims = [
        physical(at_least("utilisation under load", busy.get("gpu_utilization_percent"), 50, "%")),
        physical(between("temperature", busy.get("temperature_gpu_celsius"), 10, 110, "celsius")),
        physical(between("clock of the multiprocessors under load", busy.get("clock_sm_mhz"), 200, 4000, "MHz")),
        physical(at_least("memory in use", busy.get("memory_used_bytes"), found["allocated_bytes"], "bytes")),
        physical(between("power under load", power, 10, 1.15 * limit if limit else 2000, "W")),
        shown("power", found["power"], "W"),
        shown("what slows it", found["slowed_by"]),
        shown("a reading", found["read_ns"], "ns"),
        shown("a reading with what is expensive", found["expensive_ns"], "ns"),
        at_least("series in a recording", len(found["sampled"]), 5),
        shown("sampler", found["sampler"], found["reason"] or ""),
        shown("not offered", found["unavailable"]),
    ]
    if found["energy_joules"] is not None and power:
        ratio = found["energy_joules"] / (power * found["seconds"])
        claims.append(physical(between("energy over power times time", ratio, 0.75, 1.25)))
    return claims
