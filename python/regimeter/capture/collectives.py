# SPDX-License-Identifier: Apache-2.0
"""Collectives of torch.distributed, as its flight recorder tells of them: what the kernels of NCCL do.

The flight recorder keeps the last ones alone (TORCH_FR_BUFFER_SIZE), so it is asked when a recording is read and when
it ends. Which kernel is whose is found when the run is made, by thread, time and name.
"""

import contextlib
import json
import math
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

# NCCL has a recorder of its own beside that of the other backends; in some builds both names tell the same.
DUMPS = ("_dump_nccl_trace_json", "_dump_fr_trace_json")
NOT_USED = "torch.distributed is not used"
NONE_TOLD = (
    "torch's flight recorder tells of none: TORCH_FR_BUFFER_SIZE=20000, set before the program starts, has it keep them"
)

Row = tuple[int, int, int, int, int, str, str, str, str, str, int]


class Told(NamedTuple):
    """What was read so far: how many, the number and time of the last, and how many had been overwritten before."""

    entries: int = 0
    last: int = -1
    time_ns: int = 0
    lost: int = 0


def _dumped(c10d: Any) -> list[dict[str, Any]]:
    """Return the entries of the recorder that has any."""
    for name in DUMPS:
        dump = getattr(c10d, name, None)
        if dump is None:
            continue
        try:
            entries = json.loads(dump()).get("entries")
        except (RuntimeError, TypeError, ValueError):  # a recorder that is being taken down, or another form
            continue
        if entries:
            return list(entries)
    return []


def _groups() -> dict[str, list[int]]:
    """Return the global ranks of each process group, by its name."""
    module: Any = sys.modules.get("torch.distributed.distributed_c10d")
    found: dict[str, list[int]] = {}
    with contextlib.suppress(Exception):  # a world that is no more, or is kept elsewhere in this version
        for group, name in module._world.pg_names.items():
            found[str(name)] = sorted(int(rank) for rank in module._world.pg_group_ranks[group])
    return found


def _elements(sizes: Any) -> int:
    """Return how many elements all tensors have, -1 where there are none."""
    return sum(math.prod(size) for size in sizes) if sizes else -1


def _row(entry: Mapping[str, Any], shift_ns: int, threads: Mapping[str, int], groups: Mapping[str, list[int]]) -> Row:
    name, description = (*map(str, entry.get("process_group") or ()), "", "")[:2]
    ranks = groups.get(name)
    types: Sequence[str] = entry.get("input_dtypes") or entry.get("output_dtypes") or ()
    return (
        int(entry["time_created_ns"]) - shift_ns,
        threads.get(str(entry.get("thread_id")), -1),
        _elements(entry.get("input_sizes")),
        _elements(entry.get("output_sizes")),
        int(entry.get("p2p_seq_id" if entry.get("is_p2p") else "collective_seq_id", -1)),
        str(entry.get("profiling_name", "")).rpartition(":")[2],
        str(types[0]) if types else "",
        name,
        description,
        str(ranks) if ranks else "",
        len(ranks) if ranks else -1,
    )


def read(told: Told) -> tuple[list[Row], Told]:
    """Return the rows of what was queued since `told`, for ``Profiler._collectives``, and what has been told now."""
    c10d = sys.modules.get("torch._C._distributed_c10d")
    if c10d is None or "torch.distributed" not in sys.modules:
        return [], told
    new = [entry for entry in _dumped(c10d) if int(entry.get("time_created_ns", 0)) > told.time_ns]
    if not new:
        return [], told
    new.sort(key=lambda entry: int(entry["time_created_ns"]))
    shift_ns = time.time_ns() - time.monotonic_ns()
    # The recorder names threads as pthreads does, records of kernels as the system does.
    threads = {str(thread.ident): int(thread.native_id or -1) for thread in threading.enumerate()}
    groups = _groups()
    first, last = (int(entry.get("record_id", -1)) for entry in (new[0], new[-1]))
    lost = max(first - told.last - 1, 0)
    rows = [_row(entry, shift_ns, threads, groups) for entry in new]
    return rows, Told(told.entries + len(rows), last, int(new[-1]["time_created_ns"]), told.lost + lost)


def begin() -> Told:
    """Return where the recorder stands: what it has kept from before is not of this recording."""
    return read(Told())[1]._replace(entries=0, lost=0)


def describe(told: Told) -> dict[str, Any]:
    """Return what a run's environment says of collectives: how many were told, how many were overwritten before."""
    reason = "" if told.entries else NONE_TOLD if "torch.distributed" in sys.modules else NOT_USED
    return {"collectives": {"told": told.entries, "lost": told.lost, "reason": reason}}
