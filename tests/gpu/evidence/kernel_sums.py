# SPDX-License-Identifier: Apache-2.0
"""Sums of kernel times, against torch.profiler's trace of the same loop.

Both read CUPTI, which serves one tool in a process, so each traces processes of its own, in turn. What is compared is
the spread of each: where both see the same kernels, the least and the median of repeated runs agree.
"""

import statistics
from typing import Any

from . import loops
from .claims import Claim, at_most, equal, physical, shown
from .common import finished, in_process, keep, kernel_rows, name_of, ready, tracing

PROCESSES, RUNS = 2, 2  # of each side, and sums that each process takes
STEPS = 200


def sums_of(pairs: Any) -> dict[str, list[int]]:
    """Return count and sum by name."""
    found: dict[str, list[int]] = {}
    for name, duration in pairs:
        row = found.setdefault(name, [0, 0])
        row[0] += 1
        row[1] += int(duration)
    return found


def ours() -> list[dict[str, list[int]]]:
    """Trace the loop with regimeter."""
    torch = ready()
    work = loops.plain(torch)
    work(50)
    found = []
    for _ in range(RUNS):
        profiler = tracing()
        with profiler.profile("work"):
            work(STEPS)
        run = finished(profiler, torch)
        found.append(sums_of((name_of(run, row), run.spans.duration_ns[row]) for row in kernel_rows(run)))
    return found


def theirs() -> list[dict[str, list[int]]]:
    """Trace the loop with torch.profiler."""
    torch = ready()
    work = loops.plain(torch)
    work(50)
    cuda, found = torch.autograd.DeviceType.CUDA, []
    for _ in range(RUNS):
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as traced:
            work(STEPS)
        events = traced.profiler.kineto_results.events()
        found.append(sums_of((e.name(), e.duration_ns()) for e in events if e.device_type() == cuda))
    return found


def measure() -> dict[str, Any]:
    """Run both in turn."""
    found: dict[str, Any] = {"ours": [], "theirs": []}
    for _ in range(PROCESSES):
        found["ours"] += in_process("kernel_sums", "ours", limit_s=30)
        found["theirs"] += in_process("kernel_sums", "theirs", limit_s=30)
        keep(found)
    return found


def judge(found: dict[str, Any]) -> list[Claim]:
    """The same kernels, as often, and sums within half a percent."""
    ours, theirs = found["ours"], found["theirs"]
    shared = set.intersection(*(set(sums) for sums in ours + theirs))
    claims = [
        shown("kernels that all runs have", sorted(shared)),
        # torch.profiler lists copies and synchronisation beside kernels; no kernel of ours may be unknown to it.
        equal(
            "kernels that only regimeter has", sorted({k for s in ours for k in s} - {k for s in theirs for k in s}), []
        ),
        equal("there are kernels that both have", bool(shared), True),
    ]
    for name in sorted(shared):
        counts = {sums[name][0] for sums in ours + theirs}
        claims.append(equal(f"different counts of {name[:60]}", len(counts), 1))
    if shared:
        totals = [sorted(sum(sums[name][1] for name in shared) for sums in side) for side in (ours, theirs)]
        claims.append(shown("sums, ours and torch.profiler's", totals, "ns"))
        for label, of in (("least", min), ("median", statistics.median)):
            mine, other = map(of, totals)
            claims.append(physical(at_most(f"difference of the {label} sums", 100 * abs(mine / other - 1), 0.5, "%")))
    # Of the kernel that memory limits, whose clock stands still: here no power limit can be the excuse.
    for name in (name for name in shared if "add" in name.lower()):
        mine, other = (min(sums[name][1] for sums in side) for side in (ours, theirs))
        claims.append(
            physical(at_most(f"difference of the sums of {name[:60]}", 100 * abs(mine / other - 1), 0.5, "%"))
        )
    return claims
