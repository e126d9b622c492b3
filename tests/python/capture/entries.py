# SPDX-License-Identifier: Apache-2.0
"""Entries of a profiler by name, for tests in which a name occurs once."""

from regimeter import GPUProfiler, ProfileEntry


def by_name(profiler: GPUProfiler) -> dict[str, ProfileEntry]:
    """Operation -> its entry."""
    return {entry.operation: entry for entry in profiler.get_entries()}


def parents(profiler: GPUProfiler) -> dict[str, str | None]:
    """Operation -> operation of the enclosing scope."""
    entries = profiler.get_entries()
    return {e.operation: None if e.parent is None else entries[e.parent].operation for e in entries}
