# SPDX-License-Identifier: Apache-2.0
"""Comparison on real kernels: no regression where nothing differs, and one where a tenth of the work was added."""

from typing import Any

from .claims import Claim, between, equal, physical, shown
from .common import in_process, ready, spread

LAUNCHES = 6
SAMPLES = 30
KERNELS = 100
# Operation -> kernels in it. "again" is the baseline's own work under another name.
SIDES = {"baseline": KERNELS, "again": KERNELS, "slower": KERNELS * 11 // 10}


def clock_mhz() -> float | None:
    """Return the clock of the multiprocessors now, None where NVML does not tell it."""
    from regimeter import UnavailableError
    from regimeter.system import telemetry

    try:
        return telemetry.read(0)["clock_sm_mhz"].value
    except (UnavailableError, KeyError):
        return None


def launch(seed: int, samples: int = SAMPLES) -> dict[str, Any]:
    """Time all sides in this process, in random order, in seconds of device time by the profiler's events.

    clocks_mhz: of the multiprocessors, while the device was busy, at each tenth sample.
    """
    import random

    from regimeter import GPUProfiler

    torch = ready()
    a = torch.randn(1024, 1024, device="cuda", dtype=torch.float16)
    out = torch.empty_like(a)

    def work(kernels: int) -> None:
        for _ in range(kernels):
            torch.mm(a, a, out=out)

    chance = random.Random(seed)
    for _ in range(10):
        work(KERNELS)
    torch.cuda.synchronize()
    clocks = []
    with GPUProfiler(enable_detailed_metrics=False) as profiler:
        for number in range(samples):
            for side in chance.sample(list(SIDES), len(SIDES)):
                torch.cuda._sleep(3_000_000)  # the host gets ahead, so that it is not in the device time
                with profiler.profile(side):
                    work(SIDES[side])
                if number % 10 == 0:
                    clocks.append(clock_mhz())
                torch.cuda.synchronize()
        entries = profiler.get_entries()
    found: dict[str, list[float]] = {side: [] for side in SIDES}
    for entry in entries:
        if entry.gpu_time_ms is not None:
            found[entry.operation].append(entry.gpu_time_ms / 1e3)
    return {"sides": found, "clocks_mhz": [clock for clock in clocks if clock is not None]}


def measure() -> dict[str, Any]:
    """Launch processes, each with all sides."""
    rows = [in_process("comparison", "launch", seed, limit_s=40) for seed in range(LAUNCHES)]
    return {"launches": [row["sides"] for row in rows], "clocks_mhz": [row["clocks_mhz"] for row in rows]}


def verdict(launches: list[dict[str, list[float]]], other: str, paired: bool) -> dict[str, Any]:
    """Return what compare_samples says of a side against the baseline."""
    from regimeter import compare_samples

    sides = [{"product": [launch[side] for launch in launches]} for side in ("baseline", other)]
    (row,) = compare_samples(*sides, paired=paired).comparisons
    return {
        "change": row.change_type.value,
        "percent": row.change_percent,
        "low": row.low_percent,
        "high": row.high_percent,
        "conclusive": row.conclusive,
        "reason": row.reason,
        "tier": row.tier,
        "detectable": row.detectable_percent,
    }


def judge(found: dict[str, Any]) -> list[Claim]:
    """Duets and independent launches give the verdict; one process alone is a figure."""
    launches = found["launches"]
    claims = [equal("launches with all samples", sum(all(map(len, row.values())) for row in launches), LAUNCHES)]
    claims.append(
        shown("clock of the multiprocessors, by process", [spread(row) for row in found["clocks_mhz"]], "MHz")
    )
    half = len(launches) // 2
    for label, paired in (("duet", True), ("launches", False)):
        same, slower = verdict(launches, "again", paired), verdict(launches, "slower", paired)
        claims += [
            physical(equal(f"{label}: nothing changed", same["change"], "no_change")),
            shown(f"{label}: what it says of that", same),
            physical(equal(f"{label}: a tenth more work", slower["change"], "regression")),
            physical(between(f"{label}: its change", slower["percent"], 8, 12, "%")),
            shown(f"{label}: what it says of that", slower),
        ]
    # Both sides from different processes, as two runs of a gate are.
    from regimeter import compare_samples

    sides = [{"product": [row["baseline"] for row in part]} for part in (launches[:half], launches[half:])]
    (row,) = compare_samples(*sides).comparisons
    halves = equal("half of the launches against the other half", row.change_type.value, "no_change")
    claims.append(physical(halves))
    alone = verdict(launches[:1], "slower", False)
    claims.append(shown("one process alone, a tenth more work", alone))
    return claims
