# SPDX-License-Identifier: Apache-2.0
"""Whose memory a row tells of, and where: a device, of a rank or process where a run has several."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..public.run import Run

PLACE = ("device", "rank", "process")


def place_of(row: Mapping[str, Any]) -> tuple[int, ...]:
    """Return what is the same of rows of one place."""
    return tuple(-1 if row.get(name) is None else row[name] for name in PLACE)


def owner_text(row: Mapping[str, Any]) -> str:
    """Return "rank 1" or "process 4711"; "" where all memory of a run is of one."""
    _, rank, process = place_of(row)
    return f"rank {rank}" if rank >= 0 else f"process {process}" if process >= 0 else ""


def place_text(row: Mapping[str, Any]) -> str:
    """Return "host", or "device 0 of rank 1"."""
    owner = owner_text(row)
    return ("host" if row["device"] < 0 else f"device {row['device']}") + (f" of {owner}" if owner else "")


def are_of(run: "Run", table: Any, row: Mapping[str, Any]) -> Any:
    """Return which rows of `segments` or `blocks` are of the place of a row: [rows] of bool."""
    device, rank, process = place_of(row)
    found = table.device == device
    if rank >= 0:
        found &= run.lanes.rank[table.lane] == rank
    elif process >= 0:
        found &= run.lanes.process[table.lane] == process
    return found
