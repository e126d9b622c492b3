# SPDX-License-Identifier: Apache-2.0
"""Recordings for tests of their files."""

from pathlib import Path

from regimeter import GPUProfiler, Run

MAGIC = b"\x89RGM\r\n\x1a\n"
# The drainer wakes up by itself never, so what a file holds depends on the calls of flush alone.
ON_FLUSH = {"enable_detailed_metrics": False, "drain_interval_ns": 3_600_000_000_000}


def fill(profiler: GPUProfiler, count: int, start: int = 0) -> None:
    """Record scopes in pairs."""
    for number in range(start, start + count):
        with profiler.profile("outer", device="cpu", number=number % 10):
            with profiler.profile("inner"):
                pass


def codes(run: Run) -> dict[str, int]:
    """Return how often each anomaly is there."""
    return {row["code"]: row["count"] for row in run.anomaly_list()}


def record_in_blocks(path: Path) -> Path:
    """Record 1000 scopes, complete, in several blocks."""
    with GPUProfiler(path=path, **ON_FLUSH) as profiler:
        for part in range(10):
            fill(profiler, 50, part * 50)
            profiler.flush()
    return path
