# SPDX-License-Identifier: Apache-2.0
"""What a run says of memory, as one document: levels over time, the peak and who asked, pools, shortages."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .. import _core
from ..analysis.memory_place import PLACE, place_of
from ..run.environment import drawn_bytes
from ..system.arrays import np
from ..system.text import amount

if TYPE_CHECKING:
    from ..public.run import Run

FORMAT, VERSION = "regimeter.memory", 1
POINTS = 2000  # of each device's timeline
TOP = 50  # rows of who asked
UNRECORDED, THERE_BEFORE = "not recorded", "there before the recording, who asked is not recorded"
NOTHING = (
    "nothing of memory is in it: expected a memory snapshot of torch, a trace with profile_memory, or a recording whose"
    " memory was read (--interval)"
)


def has_allocations(run: "Run") -> bool:
    """Return whether the run has events of an allocator or what one held."""
    return len(run.analyse("memory_levels")) > 0 or len(run.tables.segments) > 0


def memory_document(run: "Run", file: str, top: int = TOP) -> dict[str, Any]:
    """Return {format, version, file, devices, readings, allocations, growth, categories, kinds, scopes, cuda_pools,
    pools, shortages}.

    Ready for JSON. readings: of a recording {device, rank, process, peak_bytes, peak_ns, start_bytes, end_bytes, count,
    timeline: [{time_ns, live, reserved}]}, of the host the resident set of the process, of a device what torch's
    allocator had given out. drawn_bytes: of how many bytes one was drawn, where blocks are a sample (`record --memory`)
    and rows by lines of the program; else None. The rest is of allocations:

    devices: [{device, rank, process, peak_bytes, peak_ns (since the start of the run), start_bytes, end_bytes,
    reserved_bytes (most, None where not known), events, timeline: [{time_ns, live, reserved}]}]; of many events the
    timeline has the extremes. rank and process tell whose memory it is in a run of several, and are -1 elsewhere; rows
    of allocations have them, too. kinds: the same {device, rank, process, category, peak_bytes, end_bytes, timeline:
    [{time_ns, live}]} of each kind of memory that the recording tells apart. scopes: {device, scope, ...} of
    `regimeter allocations --by scope`, where the recording says which scope or operator asked. cuda_pools: [{device,
    rank, process, pool (its address), peak_bytes, end_bytes, peak_used_bytes, end_used_bytes, allocations}] of pools of
    CUDA, sizes None where not known. allocations and growth are rows of `regimeter allocations`, most bytes at the peak
    or most growth first, with `stack` as text, the innermost function first. ValueError where nothing is known of
    memory.
    """
    readings = _readings(run)
    if not readings and not has_allocations(run):
        raise ValueError(f"{file}: {NOTHING}")
    watched = drawn_bytes(run.environment) if has_allocations(run) else None
    rows = list(run.result("allocations", by="own" if watched else "stack"))
    # Without stacks nothing tells what asked for what is left.
    growing = sorted((row for row in rows if len(run.tables.stacks) and row["kept_bytes"]), key=_kept)
    return {
        "format": FORMAT,
        "version": VERSION,
        "file": file,
        "devices": _devices(run, rows),
        "readings": readings,
        "drawn_bytes": watched,
        "allocations": [_with_stack(run, row) for row in rows[:top]],
        "growth": [_with_stack(run, row) for row in growing[:top]],
        "categories": list(run.result("allocations", by="category")) if run.memory.category.any() else [],
        "kinds": _kinds(run),
        "scopes": [row for row in run.result("allocations", by="scope") if row["scope"]][:top],
        "cuda_pools": _cuda_pools(run),
        "pools": list(run.result("pools")),
        "shortages": [_known(_with_stack(run, row)) for row in run.result("shortages")],
    }


def sample_text(drawn: int) -> str:
    """Return how far the figures of a sample are to be believed."""
    return (
        f"A sample: of every {amount(drawn)} asked for, one byte was drawn with the block around it. What n small"
        " blocks say is known within some 1/√n: of 100 blocks 10 %."
    )


def frames_of(run: "Run", stack: int) -> Iterator[tuple[str, str, int]]:
    """Give (function, file, line) of a row of `stacks`, innermost first; line -1 where not known; nothing for -1."""
    stacks = run.tables.stacks
    while stack >= 0:
        yield run.string(int(stacks.function[stack])), run.string(int(stacks.file[stack])), int(stacks.line[stack])
        stack = int(stacks.parent[stack])


def stack_text(run: "Run", stack: int) -> list[str]:
    """Return the functions of a row of `stacks`, innermost first: "function (file:line)"; [] for -1."""
    return [
        f"{function} ({file}:{line})" if line >= 0 else f"{function} ({file})"
        for function, file, line in frames_of(run, stack)
    ]


def asked_by(row: Mapping[str, Any]) -> list[str]:
    """Return who asked, the innermost function first, of a row of allocations or shortages of the document."""
    return list(row["stack"]) or [THERE_BEFORE if row.get("allocations") == 0 else UNRECORDED]


def _kept(row: dict[str, Any]) -> int:
    return -int(row["kept_bytes"])


def _with_stack(run: "Run", row: dict[str, Any]) -> dict[str, Any]:
    return row | {"stack": stack_text(run, -1 if row["stack"] is None else int(row["stack"]))}


def _known(row: dict[str, Any]) -> dict[str, Any]:
    unknown = {name: None for name in ("requested", "device_free", "reserved") if row[name] < 0}
    return row | unknown


def _rows_by(*columns: Any) -> dict[tuple[int, ...], Any]:
    """Return the rows of each combination of values, in the order of these and of the rows."""
    code = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:  # few values each
        values = np.unique(column)
        code = code * len(values) + np.searchsorted(values, column)
    order = np.argsort(code, kind="stable")
    _, first = np.unique(code[order], return_index=True)
    return {tuple(int(column[at[0]]) for column in columns): at for at in np.split(order, first[1:]) if len(at)}


def _devices(run: "Run", rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    levels = run.analyse("memory_levels")
    found = []
    events = _rows_by(*(getattr(levels, name) for name in PLACE))
    asked: dict[tuple[int, ...], list[dict[str, Any]]] = {}
    for row in rows:
        asked.setdefault(place_of(row), []).append(row)
    held_at_end = {place_of(row): row["reserved"] for row in run.result("pools")}
    for place in sorted({*events, *held_at_end}):
        of_device = asked.get(place, [])
        at = events.get(place, np.zeros(0, dtype=np.intp))
        live, reserved = levels.live[at], levels.reserved[at]
        peak = sum(row["peak_bytes"] for row in of_device)
        first = np.flatnonzero(live == peak)
        held = held_at_end.get(place, 0) if held_at_end else _known_or_none(reserved[-1])
        most = int(reserved.max()) if reserved.max(initial=-1) >= 0 else held
        found.append(
            {
                **dict(zip(PLACE, place, strict=True)),
                "peak_bytes": peak,
                "peak_ns": int(levels.time_ns[at[first[0]]]) - run.start_ns if len(first) else None,
                "end_bytes": sum(row["end_bytes"] for row in of_device),
                "reserved_bytes": most,
                "reserved_at_end_bytes": held,
                "events": len(at),
                "timeline": _timeline(levels.time_ns[at] - run.start_ns, live, reserved),
            }
        )
    return found


def _kinds(run: "Run") -> list[dict[str, Any]]:
    """Return the level of each kind of memory on each device over time; [] where no kinds are told apart."""
    levels = run.analyse("memory_levels")
    found = []
    for (*place, category), at in _rows_by(*(getattr(levels, name) for name in (*PLACE, "category"))).items():
        if not category:
            continue
        live, time_ns = levels.live_of_category[at], levels.time_ns[at] - run.start_ns
        points = _timeline(time_ns, live, np.full(len(at), -1))
        found.append(
            {
                **dict(zip(PLACE, place, strict=True)),
                "category": run.string(category),
                "peak_bytes": int(live.max()),
                "end_bytes": int(live[-1]),
                "timeline": [{"time_ns": point["time_ns"], "live": point["live"]} for point in points],
            }
        )
    return found


def _cuda_pools(run: "Run") -> list[dict[str, Any]]:
    """Return what each pool of CUDA held and had given out, by what it said after each of its events."""
    memory = run.memory
    gone, alloc = (_core.MEMORY_ACTIONS.index(action) for action in ("pool_destroy", "alloc"))
    found = []
    rows = np.flatnonzero(memory.pool)
    for (*place, pool), at_pool in _rows_by(*_places_of(run, rows), memory.pool[rows]).items():
        at = rows[at_pool]
        at = at[np.argsort(memory.time_ns[at], kind="stable")]
        ended = memory.action[at[-1]] == gone
        found.append(
            {
                **dict(zip(PLACE, place, strict=True)),
                "pool": pool,
                "peak_bytes": _known_or_none(memory.reserved[at].max()),
                "end_bytes": 0 if ended else _known_or_none(memory.reserved[at[-1]]),
                "peak_used_bytes": _known_or_none(memory.allocated[at].max()),
                "end_used_bytes": 0 if ended else _known_or_none(memory.allocated[at[-1]]),
                "allocations": int((memory.action[at] == alloc).sum()),
            }
        )
    return found


def _known_or_none(size: Any) -> int | None:
    return int(size) if size >= 0 else None


def _readings(run: "Run") -> list[dict[str, Any]]:
    """Return what was read of the process and of devices while it ran; the first reading is the start."""
    memory = run.memory
    rows = np.flatnonzero(memory.action == _core.MEMORY_ACTIONS.index("sample"))
    places = _places_of(run, rows)
    found = []
    for place, at_place in _rows_by(*places).items():
        levels = memory.bytes if place[0] < 0 else memory.allocated
        at = rows[at_place]
        at = at[levels[at] >= 0]
        if not len(at):
            continue
        live, time_ns = levels[at], memory.time_ns[at] - run.start_ns
        most = int(np.argmax(live))
        found.append(
            {
                **dict(zip(PLACE, place, strict=True)),
                "peak_bytes": int(live[most]),
                "peak_ns": int(time_ns[most]),
                "start_bytes": int(live[0]),
                "end_bytes": int(live[-1]),
                "count": len(at),
                "timeline": _timeline(time_ns, live, memory.reserved[at]),
            }
        )
    return found


def _places_of(run: "Run", rows: Any) -> tuple[Any, ...]:
    """Return the columns PLACE of rows of memory; a rank or process, where lanes tell whose they are, in a run of
    several."""
    lane = run.memory.lane[rows]
    known = lane >= 0
    rank, process = np.full(len(rows), -1), np.full(len(rows), -1)
    rank[known] = run.lanes.rank[lane[known]]
    process[known] = np.where(rank[known] < 0, run.lanes.process[lane[known]], -1)
    if len({*zip(rank[known].tolist(), process[known].tolist(), strict=True)}) < 2:
        rank[:], process[:] = -1, -1
    return run.memory.device[rows], rank, process


def _timeline(time_ns: Any, live: Any, reserved: Any) -> list[dict[str, Any]]:
    """Return the levels of one device; of more than POINTS the least and the most of each of equal parts."""
    at = np.arange(len(live))
    if len(at) > POINTS:
        parts = np.array_split(at, POINTS // 2)
        both = [(part[np.argmin(live[part])], part[np.argmax(live[part])]) for part in parts]
        at = np.unique(np.array([*(one for pair in both for one in pair), at[0], at[-1]]))
    columns = (time_ns[at], live[at], reserved[at])
    return [
        {"time_ns": time_ns, "live": live, "reserved": reserved if reserved >= 0 else None}
        for time_ns, live, reserved in zip(*(column.tolist() for column in columns), strict=True)
    ]
