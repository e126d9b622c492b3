# SPDX-License-Identifier: Apache-2.0
"""Where samples of host stacks found the threads."""

from .verb import LISTED, Column, Verb

VERBS = (
    Verb(
        "lines",
        "lines",
        "lines or functions by how often samples found threads of the host there",
        (
            Column("function", "function"),
            Column("file", "file"),
            Column("line", "line"),
            Column("self", "samples", adds=True),
            Column("self_share", "self", "share", adds=True),
            Column("total_share", "total", "share"),
            Column("running_share", "running", "share"),
            Column("lock_share", "for lock", "share"),
            Column("processor_share", "for processor", "share"),
            Column("waiting_share", "waiting", "share"),
        ),
        by={"line": 0, "function": 1, "own": 2},
        empty="no call stacks are in the recording: record with --stacks, or GPUProfiler(stacks=100)",
        rules=False,
        top=LISTED,
    ),
)
