# SPDX-License-Identifier: Apache-2.0
"""What a profiler has recorded, by name; where a name occurs once, its entry."""

from regimeter import GPUProfiler, ProfileEntry, Run


def by_name(profiler: GPUProfiler) -> dict[str, ProfileEntry]:
    """Operation -> its entry."""
    return {entry.operation: entry for entry in profiler.get_entries()}


def parents(profiler: GPUProfiler) -> dict[str, str | None]:
    """Operation -> operation of the enclosing scope."""
    entries = profiler.get_entries()
    return {e.operation: None if e.parent is None else entries[e.parent].operation for e in entries}


def codes(run: Run) -> dict[str, int]:
    """Return how often each anomaly of a run is told of."""
    return {row["code"]: row["count"] for row in run.anomaly_list()}


def names(profiler: GPUProfiler) -> list[str]:
    """Return the operations of a profiler, in their order."""
    return [entry.operation for entry in profiler.get_entries()]
