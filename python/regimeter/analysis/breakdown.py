# SPDX-License-Identifier: Apache-2.0
"""Where the time of each device went."""

from .verb import Column, Verb

VERBS = (
    Verb(
        "breakdown",
        "breakdown",
        "where the time of each device went: compute, communication, memory, idle",
        (
            Column("rank", "rank"),
            Column("process", "process"),
            Column("device", "device"),
            Column("span_ns", "span", "ns"),
            Column("busy_ns", "busy", "ns"),
            Column("idle_ns", "idle", "ns"),
            Column("compute_ns", "compute", "ns"),
            Column("exposed_comm_ns", "exposed comm", "ns"),
            Column("exposed_mem_ns", "exposed mem", "ns"),
        ),
        empty="no device work is in the trace",
    ),
)
