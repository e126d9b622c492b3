# SPDX-License-Identifier: Apache-2.0
"""Telemetry: values that can be true, energy that fits power, and what reading costs."""

import subprocess
import threading
import time
from typing import Any

from .claims import Claim, at_least, at_most, between, physical, shown
from .common import UnavailableHere, ready, spread

SECONDS = 3.0
# What nvidia-smi is asked in the same second -> our name, its unit in ours, and how far the two may be apart.
TOLD = {
    "memory.used": ("memory_used_bytes", 1 << 20, 256 << 20),
    "temperature.gpu": ("temperature_gpu_celsius", 1, 5),
    "enforced.power.limit": ("power_limit_watts", 1, 1),
    "clocks.mem": ("clock_memory_mhz", 1, 50),
}


def ask_smi(told: dict[str, float]) -> None:
    """Ask nvidia-smi for device 0 and put what it says, in its units, into `told`; nothing where it is not there."""
    command = ["nvidia-smi", "-i", "0", f"--query-gpu={','.join(TOLD)}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
        told |= {name: float(text) for name, text in zip(TOLD, done.stdout.split(","), strict=True)}
    except (OSError, subprocess.SubprocessError, ValueError):
        return


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
        first, samples, told = values(), list[dict[str, float]](), dict[str, float]()
        smi = threading.Thread(target=ask_smi, args=(told,))
        smi.start()
        while time.monotonic() - begin < SECONDS or smi.is_alive():
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
        "smi": told,
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
    claims.append(shown("nvidia-smi in the same seconds", found["smi"]))
    for name, (ours, unit, apart) in TOLD.items():
        if name in found["smi"] and ours in busy:
            text = f"{ours}: difference to nvidia-smi's {name}"
            claims.append(physical(at_most(text, abs(found["smi"][name] * unit - busy[ours]), apart)))
    if found["energy_joules"] is not None and power:
        ratio = found["energy_joules"] / (power * found["seconds"])
        claims.append(physical(between("energy over power times time", ratio, 0.75, 1.25)))
    return claims
