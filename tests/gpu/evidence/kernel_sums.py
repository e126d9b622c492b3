# SPDX-License-Identifier: Apache-2.0
"""Sums of kernel times, against torch.profiler's trace of the same loop.

Both read CUPTI, which serves one tool in a process, so each traces processes of its own, in turn. What is compared is
the spread of each: where both see the same kernels, the least and the median of repeated runs agree.
"""

from typing import Any

from . import loops
from .claims import Claim, at_most, equal, physical, shown
from .common import finished, in_process, kernel_rows, name_of, ready, tracing

RUNS = 3
STEPS = 200


def sums_of(pairs: Any) -> dict[str, list[int]]:
    """Return count and sum by name."""
    found: dict[str, list[int]] = {}
    for name, duration in pairs:
        row = found.setdefault(name, [0, 0])
        row[0] += 1
        row[1] += int(duration)
    return found


def ours() -> dict[str, list[int]]:
    """Trace the loop with regimeter."""
    torch = ready()
    work = loops.plain(torch)
    work(50)
    profiler = tracing()
    with profiler.profile("work"):
        work(STEPS)
    run = finished(profiler, torch)
    return sums_of((name_of(run, row), run.spans.duration_ns[row]) for row in kernel_rows(run))


def theirs() -> dict[str, list[int]]:
    """Trace the loop with torch.profiler."""
    torch = ready()
    work = loops.plain(torch)
    work(50)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as traced:
        work(STEPS)
    cuda = torch.autograd.DeviceType.CUDA
    events = traced.profiler.kineto_results.events()
    return sums_of((e.name(), e.duration_ns()) for e in events if e.device_type() == cuda)


def measure() -> dict[str, Any]:
    """Run both in turn."""
    found: dict[str, Any] = {"ours": [], "theirs": []}
    for _ in range(RUNS):
        found["ours"].append(in_process("kernel_sums", "ours", limit_s=60))
        found["theirs"].append(in_process("kernel_sums", "theirs", limit_s=60))
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
        for label, place in (("least", 0), ("median", RUNS // 2)):
            mine, other = (side[min(place, len(side) - 1)] for side in totals)
            claims.append(physical(at_most(f"difference of the {label} sums", 100 * abs(mine / other - 1), 0.5, "%")))
    # Of the kernel that memory limits, whose clock stands still: here no power limit can be the excuse.
    for name in (name for name in shared if "add" in name.lower()):
        mine, other = (min(sums[name][1] for sums in side) for side in (ours, theirs))
        claims.append(
            physical(at_most(f"difference of the sums of {name[:60]}", 100 * abs(mine / other - 1), 0.5, "%"))
        )
    return claims
