# SPDX-License-Identifier: Apache-2.0
"""Memory: who asked for what lived at the peak, what an allocator has reserved, when a device had too little."""

from collections.abc import Sequence
from typing import Any

from ..system.text import amount
from .memory_place import place_of, place_text
from .verb import LISTED, Column, Verb

OWNER = (Column("rank", "rank"), Column("process", "process"))


def _describe_peak(rows: Sequence[dict[str, Any]]) -> list[str]:
    lines = []
    for place in sorted({place_of(row) for row in rows}):
        of_place = [row for row in rows if place_of(row) == place]
        peak, end = (sum(row[name] for row in of_place) for name in ("peak_bytes", "end_bytes"))
        where = ("the " if place[0] < 0 else "") + place_text(of_place[0])
        lines.append(f"at most {amount(peak)} lived on {where} at once, {amount(end)} at the end")
    return lines


VERBS = (
    Verb(
        "allocations",
        "allocations",
        "who asked for the memory that lived at the peak and at the end",
        (
            Column("device", "device"),
            *OWNER,
            Column("peak_bytes", "at peak", "bytes", adds=True),
            Column("peak_share", "share", "share", adds=True),
            Column("peak_blocks", "blocks", adds=True),
            Column("end_bytes", "at end", "bytes", adds=True),
            Column("kept_bytes", "growth", "bytes", adds=True),
            Column("allocated_bytes", "asked for", "bytes", adds=True),
            Column("allocations", "times", adds=True),
            Column("category", "category"),
            Column("scope", "scope"),
            Column("function", "function"),
            Column("file", "file"),
            Column("line", "line"),
            Column("end_blocks", "blocks at end", adds=True, hidden=True),
            Column("kept_blocks", "blocks of growth", adds=True, hidden=True),
            Column("stack", "stack", hidden=True),
        ),
        by={"stack": 0, "line": 1, "category": 2, "own": 3, "scope": 4},
        empty="no allocations are in the recording: read a memory snapshot of torch, a trace with profile_memory,"
        " or a recording with --device-memory",
        rules=False,
        top=LISTED,
        headline=_describe_peak,
    ),
    Verb(
        "pools",
        "pools",
        "what an allocator had reserved at the end, and how much of it was of use",
        (
            Column("device", "device"),
            *OWNER,
            Column("kind", "blocks", "code:SEGMENT_KINDS"),
            Column("segments", "segments", adds=True),
            Column("reserved", "reserved", "bytes", adds=True),
            Column("active", "active", "bytes", adds=True),
            Column("idle_share", "idle", "share"),
            Column("inactive_split", "split free", "bytes", adds=True),
            Column("free_segments", "free segments", "bytes", adds=True),
            Column("largest_free", "largest free", "bytes"),
            Column("rounding_share", "rounding", "share"),
            Column("pending", "pending", "bytes", adds=True),
            Column("free_blocks", "free blocks", adds=True, hidden=True),
            Column("requested", "requested", "bytes", adds=True, hidden=True),
            Column("split_share", "split share", "share", hidden=True),
            Column("stream", "stream"),
            Column("pool_graph", "graph pool"),
            Column("pool_user", "user pool"),
        ),
        by={"device": 0, "pool": 1},
        empty="no segments of an allocator are in the recording: read a memory snapshot of torch",
        rules=False,
    ),
    Verb(
        "shortages",
        "shortages",
        "when a device had too little memory left: ends of memory, and retries",
        (
            Column("time_ns", "at", "at"),
            Column("device", "device"),
            *OWNER,
            Column("shortage", "what", "code:SHORTAGES"),
            Column("requested", "asked for", "bytes"),
            Column("device_free", "device had", "bytes"),
            Column("live", "live", "bytes"),
            Column("reserved", "reserved", "bytes"),
            Column("given_back", "given back", "bytes", adds=True),
            Column("function", "function"),
            Column("file", "file"),
            Column("line", "line"),
            Column("stack", "stack", hidden=True),
        ),
        empty="memory never ran short in the recording, or it has no history of an allocator",
        rules=False,
        top=LISTED,
    ),
)
