# SPDX-License-Identifier: Apache-2.0
"""Memory over time for the page: a series each for the host and for every device."""

from typing import TYPE_CHECKING, Any

from .._core import MEMORY_ACTIONS
from ..system.arrays import distinct_pairs, np
from .pack import packed

if TYPE_CHECKING:
    from ..public.run import Run

MB = 1e6
HOST, DEVICE = "host resident set", "device allocated"


def memory_of(run: "Run", *, recorded: bool) -> dict[str, Any]:
    """Return what `memory_series` does with the columns of the series packed."""
    found = memory_series(run, recorded=recorded)
    columns = ("time_ns", "value")
    series = [one | {name: packed(one[name], steps=True) for name in columns} for one in found["series"]]
    return found | {"series": series}


def memory_series(run: "Run", *, recorded: bool) -> dict[str, Any]:
    """Return the series {name, unit, count, time_ns, value}, times in ns since the start of the run, as arrays.

    Of a file without any, what it states of the memory of its calls; `laid` then says whether these are laid end to
    end, as on the timeline. recorded: whether the run is a recording of ours, which says why a series is missing.
    """
    memory = run.memory
    host = np.flatnonzero((memory.action == MEMORY_ACTIONS.index("sample")) & (memory.device < 0))
    device = np.flatnonzero((memory.device >= 0) & (memory.allocated >= 0))
    series = [_series(run, HOST, host, memory.bytes)] if len(host) else []
    series += [_series(run, name, rows, memory.allocated) for name, rows in _by_device(run, device)]
    if not series and (calls := _of_calls(run)):
        return {"series": calls, "unavailable": [], "laid": not run.has_start_times}
    unavailable = []
    if recorded and not len(host):
        unavailable.append({"name": HOST, "reason": "the memory sampler was off"})
    if recorded and not len(device):
        described = run.environment.get("device")
        reason = described.get("memory_reason") if isinstance(described, dict) else None
        unavailable.append({"name": DEVICE, "reason": reason or run.device_reason})
    return {"series": series, "unavailable": unavailable}


def _by_device(run: "Run", rows: Any) -> list[tuple[str, Any]]:
    """Return the rows of each device of each rank, with a name that tells them apart where there are several."""
    memory, lanes = run.memory, run.lanes
    known = memory.lane[rows] >= 0
    rank = np.full(len(rows), -1)
    rank[known] = lanes.rank[memory.lane[rows][known]]
    keys = distinct_pairs(rank, memory.device[rows])
    found = []
    for of_rank, of_device in keys:
        place = f"rank {of_rank}, GPU {of_device}" if of_rank >= 0 else f"GPU {of_device}"
        name = DEVICE if len(keys) == 1 else f"{place}, allocated"
        found.append((name, rows[(rank == of_rank) & (memory.device[rows] == of_device)]))
    return found


def _of_calls(run: "Run") -> list[dict[str, Any]]:
    """Return what a file states of the memory of each call, at the call's end; the file picker does the same."""
    if run.source != "export":
        return []
    spans, rows = run.spans, run.entries.span
    time_ns = spans.start_ns[rows] + spans.duration_ns[rows] - run.start_ns
    entries = run.get_entries()
    found = []
    for name, values in (
        ("memory allocated per call", [entry.memory_allocated_mb for entry in entries]),
        ("memory peak per call", [entry.memory_peak_mb for entry in entries]),
    ):
        at = np.array([i for i, value in enumerate(values) if value is not None], dtype=np.int64)
        if len(at):
            at = at[time_ns[at].argsort(kind="stable")]
            value = (np.array(values, dtype=float)[at] * MB).round().astype(np.int64)
            found.append({"name": name, "unit": "bytes", "count": len(at), "time_ns": time_ns[at], "value": value})
    return found


def _series(run: "Run", name: str, rows: Any, values: Any) -> dict[str, Any]:
    time_ns = run.memory.time_ns[rows]
    order = time_ns.argsort(kind="stable")
    return {
        "name": name,
        "unit": "bytes",
        "count": len(rows),
        "time_ns": time_ns[order] - run.start_ns,
        "value": values[rows][order],
    }
