# SPDX-License-Identifier: Apache-2.0
"""Hardware counters beside work whose limit is known: a copy is bound by memory, a product by the tensor pipes."""

import time
from collections.abc import Callable
from typing import Any

from .claims import Claim, at_least, at_most, between, equal, physical, shown
from .common import in_process, keep, ready, spread

MIB = 1 << 20
PART_S = 25  # three of them fit into the limit of the runner
SECONDS = {"pm": 0.5, "gpm": 2.0}
ROLES = ("dram_throughput", "tensor_active", "sm_active", "ipc", "sm_clock", "gr_active")


def busy(work: Callable[[], object], seconds: float, torch: Any) -> tuple[int, int]:
    """Repeat work; return a time well inside of it."""
    work()
    torch.cuda.synchronize()
    begin = time.monotonic_ns()
    while time.monotonic_ns() - begin < seconds * 1e9:
        for _ in range(4):
            work()
        torch.cuda.synchronize()
    end = time.monotonic_ns()
    return begin + (end - begin) // 5, end - (end - begin) // 5


def sampled(source: str, work: Callable[[], object], seconds: float, torch: Any) -> dict[str, Any]:
    """Sample the device during work; return medians of roles, or the reason."""
    from regimeter import UnavailableError
    from regimeter.capture import counters

    try:
        measurement = counters.sample(source=source)
    except UnavailableError as error:
        return {"reason": str(error)}
    with measurement:
        low, high = busy(work, seconds, torch)
    result = measurement.result
    assert result is not None
    found: dict[str, Any] = {"source": result.source, "why": result.reason, "counts": result.counts, "roles": {}}
    for role in ROLES:
        try:
            times, values = result.series(role)
        except KeyError:
            continue
        found["roles"][role] = spread(values[(times >= low) & (times < high)].tolist())
    return found


def counted(work: Callable[[], object], torch: Any) -> dict[str, Any]:
    """Count in a range around work; return values by role, or the reason."""
    from regimeter import UnavailableError
    from regimeter.capture import counters

    try:
        measurement = counters.count("regime")
    except UnavailableError as error:
        return {"reason": str(error)}
    with measurement:
        measurement.push("work")
        for _ in range(20):
            work()
        torch.cuda.synchronize()
        measurement.pop()
    result = measurement.result
    assert result is not None
    return {"counts": result.counts, "roles": {role: float(result.series(role)[1][0]) for role in result.roles}}


def part(kind: str) -> dict[str, Any]:
    """Sample or count a copy and a product in this process."""
    torch = ready()
    source = torch.empty(1024 * MIB, dtype=torch.uint8, device="cuda").fill_(1)
    target = torch.empty_like(source)
    left = torch.randn(8192, 8192, device="cuda", dtype=torch.float16)
    works: dict[str, Callable[[], object]] = {"copy": lambda: target.copy_(source), "product": lambda: left @ left}
    found: dict[str, Any] = {}
    for name, work in works.items():
        work()
        torch.cuda.synchronize()
        found[name] = counted(work, torch) if kind == "ranges" else sampled(kind, work, SECONDS[kind], torch)
    return found


def measure() -> dict[str, Any]:
    """Each way in a process of its own; one that fails leaves the others. PM sampling is last: it may hang."""
    found: dict[str, Any] = {}
    for kind in ("ranges", "gpm", "pm"):
        try:
            parts = in_process(
                "hardware_counters", "part", kind, limit_s=PART_S, on_doubles="gpm" if kind == "gpm" else None
            )
            found |= {f"{kind} {name}": row for name, row in parts.items()}
        except RuntimeError as error:
            found[f"{kind} copy"] = {"failed": str(error)}
        keep(found)
    return found


def median_of(row: dict[str, Any], role: str) -> float | None:
    """Return a role's value, None where it was not measured."""
    value = row["roles"].get(role)
    return value.get("median") if isinstance(value, dict) else value


def answered(name: str, row: dict[str, Any]) -> list[Claim]:
    """Return the claims that need no value: that there are values, none failed, and their times are known."""
    counts = row["counts"]
    claims = [equal(f"{name}: readings that failed", counts["failures"], 0)]
    if name.startswith("ranges"):
        return [*claims, equal(f"{name}: ranges", (counts["ranges"], counts["dropped"]), (1, 0))]
    inside = row["roles"].get("dram_throughput", {}).get("count", 0)
    claims.append(at_least(f"{name}: samples during the work", inside, 1))
    missing = 100 * counts["dropped"] / max(1, counts["dropped"] + counts["samples"])
    claims.append(physical(at_most(f"{name}: samples that went missing", missing, 1, "%")))
    return [*claims, equal(f"{name}: times had to be guessed", counts["times_guessed"], False)]


def judge(found: dict[str, Any]) -> list[Claim]:
    """A copy is near the peak of memory and leaves the tensor pipes alone; a product is the other way round."""
    claims = []
    for name, row in found.items():
        if "failed" in row:
            claims.append(Claim(f"{name}: runs", row["failed"], "runs", False))
            continue
        if "reason" in row:
            claims.append(shown(f"{name}: not available", row["reason"], "a reason is an answer"))
            continue
        dram, tensor = median_of(row, "dram_throughput"), median_of(row, "tensor_active")
        if name.endswith("copy"):
            claims.append(physical(between(f"{name}: memory bandwidth", dram, 40 if "gpm" in name else 60, 105, "%")))
            claims.append(physical(at_most(f"{name}: tensor pipes", tensor, 5, "%")))
        else:
            claims.append(physical(at_most(f"{name}: memory bandwidth", dram, 60, "%")))
            claims.append(physical(at_least(f"{name}: tensor pipes", tensor, 20, "%")))
        claims += answered(name, row)
        claims.append(shown(f"{name}: all roles", row["roles"]))
        claims.append(shown(f"{name}: counts", row["counts"]))
    return claims
