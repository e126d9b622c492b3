# SPDX-License-Identifier: Apache-2.0
"""Memory snapshots as torch writes them, made of a run: what pytorch.org/memory_viz and torch's own tools load."""

import json
import pickle
from typing import TYPE_CHECKING, Any

from .. import _core

if TYPE_CHECKING:
    from ..public.run import Run

PROTOCOL = 4  # that of torch.cuda.memory._dump_snapshot
ACTIONS = {
    "alloc": "alloc", "free_requested": "free_requested", "free": "free_completed", "segment_alloc": "segment_alloc",
    "segment_free": "segment_free", "segment_map": "segment_map", "segment_unmap": "segment_unmap", "oom": "oom",
    "snapshot": "snapshot",
}  # fmt: skip


def write_snapshot(run: "Run", path: str) -> None:
    """Write the run's memory as a snapshot; errors as of `snapshot_of`."""
    found = snapshot_of(run)
    with open(path, "wb") as file:
        pickle.dump(found, file, PROTOCOL)


def snapshot_of(run: "Run") -> dict[str, Any]:
    """Return {segments, device_traces, allocator_settings, external_annotations}, with torch's keys.

    What is of the host stands under `host_segments` and `host_traces`, where there is any. ValueError where the run has
    no history of a device's allocator and no segments, or those of several ranks.
    """
    frames = _Frames(run)
    levels, pools = run.analyse("memory_levels"), run.analyse("pools")
    owners = {
        owner for table in (levels, pools) for owner in zip(table.rank.tolist(), table.process.tolist(), strict=True)
    }
    if len(owners) > 1:
        raise ValueError("the run has the memory of several ranks, and a snapshot that of one: export each by itself")
    traces, host = _traces(run, frames)
    segments = _segments(run, frames)
    if not segments and not any(traces):
        raise ValueError("the run has no segments and no history of a device's allocator to write as a snapshot")
    said: dict[str, Any] = {}
    for number in run.tables.files.environment.tolist():
        said |= json.loads(run.string(number) or "{}")
    found = {
        "segments": [one for one in segments if one["device"] >= 0],
        "device_traces": traces,
        "allocator_settings": said.get("allocator_settings", {}),
        "external_annotations": said.get("external_annotations", []),
    }
    pinned = [one for one in segments if one["device"] < 0]
    return found | ({"host_segments": pinned} if pinned else {}) | ({"host_traces": [host]} if host else {})


class _Frames:
    """The frames of each stack; equal ones are one object, which a pickle holds once."""

    def __init__(self, run: "Run") -> None:
        stacks = run.tables.stacks
        columns = (stacks.parent, stacks.function, stacks.file, stacks.line)
        self._rows = list(zip(*(column.tolist() for column in columns), strict=True))
        self._run = run
        self._frames: dict[tuple[int, int, int], dict[str, Any]] = {}
        self._stacks: dict[int, list[dict[str, Any]]] = {}

    def of(self, stack: int) -> list[dict[str, Any]]:
        """Return the frames of a row of `stacks`, innermost first."""
        if stack < 0:
            return []
        if stack not in self._stacks:
            found, at = [], stack
            while at >= 0:
                parent, *place = self._rows[at]
                found.append(self._frame(*place))
                at = parent
            self._stacks[stack] = found
        return self._stacks[stack]

    def _frame(self, function: int, file: int, line: int) -> dict[str, Any]:
        key = (function, file, line)
        if key not in self._frames:
            text = self._run.string
            self._frames[key] = {"name": text(function), "filename": text(file), "line": line}
        return self._frames[key]


def _rows(table: Any) -> list[dict[str, Any]]:
    names = table.columns
    columns = [getattr(table, name).tolist() for name in names]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _segments(run: "Run", frames: _Frames) -> list[dict[str, Any]]:
    blocks: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for row in _rows(run.tables.blocks):
        blocks.setdefault((row["device"], row["segment_address"]), []).append(
            {"address": row["address"], "size": row["bytes"], "requested_size": row["requested"],
             "state": _core.BLOCK_STATES[row["state"]], "frames": frames.of(row["stack"])}
        )  # fmt: skip
    return [
        {
            "device": row["device"],
            "address": row["address"],
            "total_size": row["bytes"],
            "allocated_size": row["allocated"],
            "active_size": row["active"],
            "requested_size": row["requested"],
            "stream": row["stream"],
            "segment_type": _core.SEGMENT_KINDS[row["kind"]],
            "segment_pool_id": (row["pool_graph"], row["pool_user"]),
            "is_expandable": bool(row["expandable"]),
            "frames": frames.of(row["stack"]),
            "blocks": blocks.get((row["device"], row["address"]), []),
        }
        for row in _rows(run.tables.segments)
    ]


def _traces(run: "Run", frames: _Frames) -> tuple[list[list[Any]], list[Any]]:
    """Return the history of each device, and that of the host's pinned memory, which has segments."""
    memory = run.memory
    pinned = bool((run.tables.segments.device < 0).any())
    traces: list[list[Any]] = [[] for _ in range(1 + int(memory.device.max(initial=-1)))]
    host: list[Any] = []
    notes: dict[int, dict[str, Any]] = {}
    base = (run.start_unix_ns or 0) - run.start_ns
    for row in _rows(memory):
        action = ACTIONS.get(_core.MEMORY_ACTIONS[row["action"]])
        if action is None or (row["device"] < 0 and not pinned):
            continue
        if row["note"] not in notes:
            notes[row["note"]] = json.loads(run.string(row["note"]) or "{}")
        place = {"device_free": row["device_free"]} if action == "oom" else {"addr": row["address"]}
        time_us = (row["time_ns"] + base) // 1000
        entry = {"action": action, "size": row["bytes"], "stream": row["stream"], "time_us": time_us}
        one = {**entry, **place, **notes[row["note"]], "frames": frames.of(row["stack"])}
        (host if row["device"] < 0 else traces[row["device"]]).append(one)
    return traces, host
