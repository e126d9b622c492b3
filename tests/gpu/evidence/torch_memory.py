# SPDX-License-Identifier: Apache-2.0
"""Peaks of nested scopes from torch's allocator, and what reading it costs."""

from time import perf_counter_ns
from typing import Any

from .claims import Claim, equal, shown
from .common import ready, spread

OUTER, INNER = 64 << 20, 256 << 20


def measure() -> dict[str, Any]:
    """Allocate known sizes in nested scopes; time scopes that read the allocator at both ends."""
    from regimeter import GPUProfiler
    from regimeter.run import cost

    torch = ready()
    torch.cuda.empty_cache()
    base = torch.cuda.memory_allocated()
    with GPUProfiler(track_memory=True) as profiler:
        with profiler.profile("outer"):
            first = torch.empty(OUTER, dtype=torch.uint8, device="cuda")
            with profiler.profile("inner"):
                torch.empty(INNER, dtype=torch.uint8, device="cuda")
        del first
        peaks = {entry.operation: entry.memory_peak_mb for entry in profiler.get_entries()}
        bursts = []
        for _ in range(200):
            begin = perf_counter_ns()
            for _ in range(10):
                with profiler.profile("op"):
                    pass
            bursts.append((perf_counter_ns() - begin) / 10)
    return {
        "peaks_mb": peaks,
        "expected_mb": (base + OUTER + INNER) / 1e6,
        "scope_ns": spread(bursts),
        "plain_ns": cost.scope_cost_ns(),
    }


def judge(found: dict[str, Any]) -> list[Claim]:
    """Both peaks are base, outer and inner together, to the byte."""
    wanted = round(found["expected_mb"] * 1e6)
    return [
        *(
            equal(f"peak of {name}", None if peak is None else round(peak * 1e6), wanted)
            for name, peak in found["peaks_mb"].items()
        ),
        shown("scope with device memory", found["scope_ns"], "ns"),
        shown("plain scope", found["plain_ns"], "ns"),
    ]
