# SPDX-License-Identifier: Apache-2.0
"""Where the time of each device went."""

from typing import Any

from .verb import Column, Verb


def device_keys(rows: list[dict[str, Any]]) -> list[str]:
    """Return the process id of each device as text; RANK/PID where several ranks use the same."""
    keys = [row["process_name"] or str(row["process"]) for row in rows]
    if len(set(keys)) == len(keys):
        return keys
    return [f"{row['rank']}/{key}" if row["rank"] >= 0 else f"?/{key}" for row, key in zip(rows, keys, strict=True)]


def by_device(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the rows by device."""
    return {"devices": dict(zip(device_keys(rows), rows, strict=True))}


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
        keyed=by_device,
    ),
)
