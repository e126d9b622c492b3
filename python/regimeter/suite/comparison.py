# SPDX-License-Identifier: Apache-2.0
"""Two sessions side by side: ratios and differences, and what the comparison engine makes of their timed calls."""

import math
from typing import Any

from ..compare import compare_samples
from .kernel import KernelInfo
from .session import ProfileSession

TOP, LEAST_US = 20, 100.0
LEAST_CALLS = 3
NOT_INTERLEAVED = (
    "the two sides ran one after the other in one process: what the machine did in between counts as a difference;"
    " `regimeter ab` runs them in turn"
)


def compare_sessions(baseline: ProfileSession, optimized: ProfileSession) -> dict[str, Any]:
    """Return {speedup, timing_diff, memory_diff, kernel_changes, verdict}; every difference is what was saved.

    speedup: total time of the baseline by that of the other. timing_diff {total_ms, cuda_ms, cpu_ms} and memory_diff
    {peak_mb} are the baseline minus the other. kernel_changes: the 20 largest beyond 100 µs. What one side lacks is
    nan. verdict: of the calls that were timed without the profiler, with an interval; why there is none otherwise.
    """
    return {
        "speedup": _ratio(baseline.total_time_ms, optimized.total_time_ms),
        "timing_diff": {
            "total_ms": baseline.total_time_ms - optimized.total_time_ms,
            "cuda_ms": baseline.cuda_time_ms - optimized.cuda_time_ms,
            "cpu_ms": baseline.cpu_time_ms - optimized.cpu_time_ms,
        },
        "memory_diff": {"peak_mb": baseline.peak_memory_mb - optimized.peak_memory_mb},
        "kernel_changes": _changes(baseline.kernels, optimized.kernels),
        "verdict": _verdict(baseline, optimized),
    }


def _ratio(before: float, after: float) -> float:
    return before / after if after > 0 else math.nan


def _changes(before: list[KernelInfo], after: list[KernelInfo]) -> list[dict[str, Any]]:
    sides = [{kernel.name: kernel.cuda_time_us for kernel in kernels} for kernels in (before, after)]
    rows: list[tuple[float, dict[str, Any]]] = []
    for name in dict.fromkeys((*sides[0], *sides[1])):
        old, new = (side.get(name) for side in sides)
        saved = (old or 0.0) - (new or 0.0)
        row = {"name": name, "baseline_us": old, "optimized_us": new, "diff_us": saved}
        if old is None or new is None:
            row["status"] = "added" if old is None else "removed"
        if abs(saved) > LEAST_US:
            rows.append((abs(saved), row))
    return [row for _, row in sorted(rows, key=lambda pair: (-pair[0], pair[1]["name"]))[:TOP]]


def _verdict(baseline: ProfileSession, optimized: ProfileSession) -> dict[str, Any]:
    if min(len(baseline.times_ms), len(optimized.times_ms)) < LEAST_CALLS:
        return {"unavailable": f"needs {LEAST_CALLS} calls of each side that were timed without the profiler"}
    times = [[ms / 1e3 for ms in session.times_ms] for session in (baseline, optimized)]
    found = compare_samples({"call": [times[0]]}, {"call": [times[1]]}, policy={"min_share": 0.0}).comparisons[0]
    return {
        "change": found.change_type.value,
        "change_percent": found.change_percent,
        "low_percent": found.low_percent,
        "high_percent": found.high_percent,
        "p": found.p,
        "detectable_percent": found.detectable_percent,
        "caution": NOT_INTERLEAVED,
    }
