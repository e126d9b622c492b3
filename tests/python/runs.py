# SPDX-License-Identifier: Apache-2.0
"""Small runs by hand, for tests that know what must come out, and what such tests read of a run."""

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from slow_links import set_parents

from regimeter import Run, _core

Table = Sequence[Mapping[str, Any]] | Mapping[str, Iterable[Any]]

KIND = {name: number for number, name in enumerate(_core.SPAN_KINDS)}
WORK = ("kernel", "memcpy", "memset", "accelerator")
# What a row does not say: ids and amounts are unknown, all else is 0.
UNKNOWN = {"correlation": -1, "bytes": -1, "step": -1, "external_id": -1}
# Lanes that most programs need: two threads, two streams of a device, one of another.
HOST, OTHER_HOST, STREAM, OTHER_STREAM, OTHER_DEVICE = range(5)
LANES = {
    "process": [100, 100, 0, 0, 1],
    "thread": [1, 2, 7, 20, 7],
    "device": [-1, -1, 0, 0, 1],
    "rank": [-1] * 5,
}


ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"


def build_run(
    spans: Table,
    lanes: Table = ({},),
    *,
    parents: bool = False,
    strings: Sequence[str] = ("",),
    start_unix_ns: int = -1,
    **tables: Table,
) -> Run:
    """Return a run. A table is a list of rows or a dictionary of columns; texts become names, in order of mention.

    Columns that nothing mentions keep their defaults. parents: work them out on each lane. strings: those that come
    first. start_unix_ns: -1 where nobody knows.
    """
    ids = {text: number for number, text in enumerate(strings)}
    lanes = [dict(row) or {"process": 0} for row in lanes] if not isinstance(lanes, Mapping) else lanes
    given = {name: _columns(table) for name, table in {"spans": spans, "lanes": lanes, **tables}.items()}
    if parents:
        given["spans"]["parent"] = _parents(given["spans"])

    def cell(value: Any, kind: bool) -> Any:
        return value if not isinstance(value, str) else KIND[value] if kind else ids.setdefault(value, len(ids))

    filled = {
        name: {
            key: np.array([cell(v, (name, key) == ("spans", "kind")) for v in values], dtype=_dtypes()[name][key])
            for key, values in columns.items()
        }
        for name, columns in given.items()
    }
    starts, durations = given["spans"].get("start_ns", []), given["spans"].get("duration_ns", [])
    end = max((start + duration for start, duration in zip(starts, durations, strict=True)), default=0)
    run: Run = Run._build(list(ids), filled, "{}", "kineto", min(starts, default=0), end, start_unix_ns, True)
    return run


def disjoint(pieces: Iterable[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Return the union of intervals as disjoint ones, by a loop."""
    merged: list[tuple[Any, Any]] = []
    for start, end in sorted(pieces):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def covered(pieces: Iterable[tuple[Any, Any]]) -> Any:
    """Return how long the union of intervals is."""
    return sum(end - start for start, end in disjoint(pieces))


def looked(
    throughput_ns: Iterable[float],
    memory_ns: Iterable[float] | None = None,
    *,
    every_ns: int = 50_000_000,
    processes: Sequence[int] = (0,),
    **tables: Table,
) -> Run:
    """Return a run whose looks at the machine took so long, in turn by each of the processes."""
    throughput = np.rint(list(throughput_ns)).astype(np.int64)
    looks = len(throughput)
    witness = {
        "time_ns": np.arange(looks) * every_ns,
        "lane": np.arange(looks) % len(processes),
        "throughput_ns": throughput,
        "memory_ns": [-1] * looks if memory_ns is None else np.rint(list(memory_ns)).astype(np.int64),
    }
    spans = [{"kind": "scope", "start_ns": 0, "duration_ns": looks * every_ns, "name": "all"}]
    return build_run(spans, [{"process": process} for process in processes], witness=witness, **tables)


def waits(waiting: Iterable[float], length_ns: int = 100_000_000, **columns: int) -> dict[str, Iterable[int]]:
    """Return intervals of `pressure`, one after the other: the part of each that threads that were ready waited."""
    waited = np.rint(np.asarray(list(waiting)) * length_ns).astype(np.int64)
    told = {
        "time_ns": (np.arange(len(waited)) + 1) * length_ns,
        "interval_ns": [length_ns] * len(waited),
        "running_ns": length_ns - waited,
        "waiting_ns": waited,
    }
    known = ("steal_ns", "throttled_ns", "involuntary")
    return told | {name: [columns.get(name, -1)] * len(waited) for name in known}


@functools.cache
def _dtypes() -> dict[str, dict[str, str]]:
    """Return the types of all columns by table; asking for the schema takes longer than building a small run."""
    return {name: {c["name"]: c["dtype"] for c in table["columns"]} for name, table in _core.schema()["run"].items()}


def _columns(table: Table) -> dict[str, list[Any]]:
    if isinstance(table, Mapping):
        return {key: list(values) for key, values in table.items()}
    keys = dict.fromkeys(key for row in table for key in row)
    return {key: [row.get(key, UNKNOWN.get(key, 0)) for row in table] for key in keys}


def _parents(spans: Mapping[str, list[Any]]) -> list[int]:
    rows = [dict(zip(spans, cells, strict=True)) for cells in zip(*spans.values(), strict=True)]
    set_parents(rows)
    return [row["parent"] for row in rows]


def span(kind: str, name: str, lane: int, start: int, duration: int, **more: int) -> dict[str, Any]:
    """Return a span; `more` are further columns (correlation, bytes, step)."""
    return {"kind": kind, "name": name, "lane": lane, "start_ns": start, "duration_ns": duration, **more}


def launch(name: str, start: int, duration: int, correlation: int, lane: int = HOST) -> dict[str, Any]:
    """Return a runtime call."""
    return span("runtime", name, lane, start, duration, correlation=correlation)


def kernel(
    start: int, duration: int, correlation: int = -1, lane: int = STREAM, name: str = "gemm", kind: str = "kernel"
) -> dict[str, Any]:
    """Return a piece of device work."""
    return span(kind, name, lane, start, duration, correlation=correlation)


def named_kernel(name: str, start: int, duration: int, lane: int = 0, **more: Any) -> dict[str, Any]:
    """Return a kernel where the name is what matters."""
    return span("kernel", name, lane, start, duration, **more)


def rank_run(
    rank: int,
    calls: list[tuple[int, int]],
    *,
    sequence: list[int] | None = None,
    clock: int = 0,
    names: list[str] | None = None,
) -> Run:
    """Return the run of a rank: (start, end) of its collectives, on a clock that is `clock` ns ahead."""
    names = names or [ALL_REDUCE] * len(calls)
    spans = [named_kernel(n, start + clock, end - start, step=1) for n, (start, end) in zip(names, calls, strict=True)]
    rows: list[dict[str, Any]] = []
    if sequence is not None:
        rows = [
            {"span": i, "collective": "allreduce", "element_type": "Float", "in_elements": 10, "out_elements": 10,
             "group_size": 8, "group_name": "0", "sequence": s}
            for i, s in enumerate(sequence)
        ]  # fmt: skip
    return build_run(spans, [{"process": rank, "device": rank, "rank": rank, "thread": 7}], collectives=rows)


def run_of(spans: Table, lanes: Table = LANES) -> Run:
    """Return the run of spans on the usual lanes, with their parents."""
    return build_run(spans, lanes, parents=True)


def is_work(run: Run) -> np.ndarray:
    """Which spans are device work."""
    return np.isin(run.spans.kind, [KIND[k] for k in WORK])


def names_of(run: Run) -> list[str]:
    """The names of all spans."""
    strings = run.strings
    return [strings[i] for i in run.spans.name.tolist()]


def rows_of(run: Run) -> list[tuple[Any, ...]]:
    """Start, duration, name and kind of all spans, sorted."""
    s = run.spans
    return sorted(zip(s.start_ns.tolist(), s.duration_ns.tolist(), names_of(run), s.kind.tolist(), strict=True))
