# SPDX-License-Identifier: Apache-2.0
"""Why the warps of kernels did not go on, as shown; docs/gpu/stalls.md."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from ..system.text import percent
from .verb import LISTED, Column, Verb

# NVIDIA's reasons, as Nsight Compute's guide explains them.
MEANINGS = {
    "barrier": "waiting for the other warps of the block at a barrier",
    "branch_resolving": "waiting for the target of a branch",
    "dispatch_stall": "the dispatcher held the instruction back",
    "drain": "waiting for stores at the end of the kernel",
    "imc_miss": "waiting for the cache of constants",
    "lg_throttle": "too many accesses to local or global memory queued",
    "long_scoreboard": "waiting for data from global, local, surface or texture memory",
    "math_pipe_throttle": "the arithmetic unit that it needs was taken",
    "membar": "waiting at a memory barrier",
    "mio_throttle": "the queue for shared memory and special functions was full",
    "misc": "for another reason",
    "no_instructions": "waiting for instructions to be fetched",
    "not_selected": "ready, while another warp was issued",
    "selected": "issued: no stall",
    "short_scoreboard": "waiting for data from shared memory or special functions",
    "sleeping": "asleep by its own instruction",
    "tex_throttle": "the queue of the texture unit was full",
    "wait": "a fixed latency between two instructions",
    "warpgroup_arrive": "waiting for the warps of its group",
    "gmma": "waiting for a product of a warp group",
}
TOLD = 3  # reasons in the headline


def headline(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return what most samples say, with the words for it; nothing without rows."""
    samples: dict[str, int] = defaultdict(int)
    for row in rows:
        samples[row["reason"]] += row["samples"]
    total = sum(samples.values())
    if not total:
        return []
    most = sorted(samples, key=lambda reason: (-samples[reason], reason))[:TOLD]
    told = [
        f"{reason} {percent(samples[reason] / total, 0)}" + (f" ({MEANINGS[reason]})" if reason in MEANINGS else "")
        for reason in most
    ]
    return [f"{total:,} samples of warps: {'; '.join(told)}."]


VERBS = (
    Verb(
        "stalls",
        "stall_shares",
        "why the warps of kernels did not go on, by samples of instructions",
        (
            Column("name", "name"),
            Column("reason", "reason", whole=True),
            Column("samples", "samples", adds=True),
            Column("share", "of all", "share", adds=True),
            Column("name_share", "of the name", "share"),
            Column("not_issued_share", "nothing issued", "share"),
            Column("scope", "scope"),
            Column("file", "file"),
            Column("line", "line"),
            Column("offset", "offset", "bytes"),
        ),
        by={"kernel": 0, "reason": 1, "instruction": 2, "scope": 3, "line": 4},
        empty="no samples of stalls are in the recording: record with --stalls, or GPUProfiler(stalls=True)",
        rules=False,
        top=LISTED,
        headline=headline,
    ),
)
