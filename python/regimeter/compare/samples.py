# SPDX-License-Identifier: Apache-2.0
"""The two sides of a comparison: samples of each operation by process, from whatever they are given as."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._core import DEVICES, FLAG_REPAIRED, MEMORY_SOURCES, SPAN_KINDS
from ..run.device_clock import clocks_of
from ..run.processes import launch_of
from ..run.turns import Turns
from ..run.witness import Witness
from .side import COUNTED, NS, Floats, Numbers, Samples, Side
from .wholes import add_wholes, by_chance

if TYPE_CHECKING:
    from ..public.run import Run

WORK = tuple(SPAN_KINDS.index(kind) for kind in ("kernel", "memcpy", "memset"))
SCOPE = SPAN_KINDS.index("scope")
ANNOTATION = SPAN_KINDS.index("annotation")
DEVICE_MEMORY = MEMORY_SOURCES.index("device")


def _label(name: str, device: str) -> str:
    return f"{name} [{device}]"


# --- dictionaries ---------------------------------------------------------------------------------------------


# --- runs -----------------------------------------------------------------------------------------------------


def add_run(side: Side, run: "Run") -> None:
    """Add what one process recorded: its operations, and what it did as a whole."""
    side.environments.append(run.environment)
    side.launches += filter(None, [launch_of(run)])
    side.witnesses.append(Witness.of(run))
    side.run = run if side.run is None else side.run
    side.program = side.program or _program_of(run)
    for row in run.anomaly_list():
        if row["code"] in ("unfinished", "truncated", "dropped_scopes", "corrupt_bytes"):
            side.warnings.append(f"{side.label}: {row['count']} x {row['detail']}")
    kinds = run.spans.kind
    if (kinds == SCOPE).any():
        _add_scopes(side, run)
    else:
        _add_trace(side, run, kinds)
    if "instructions" not in side.metrics:
        add_wholes(side, run)


def _program_of(run: "Run") -> str:
    """Return the name of the scope that `regimeter record` makes of a program without scopes of its own."""
    if not run.environment.get("stand_in") or not len(run.spans):
        return ""
    return run.string(int(run.spans.name[int(np.argmin(run.spans.start_ns))]))


def _add_groups(
    samples: Samples, names: list[str], keys: NDArray[Any], values: NDArray[Any], turns: Numbers | None = None
) -> None:
    """Add the values grouped by key, in order of the first of each."""
    if not len(keys):
        return
    order = np.argsort(keys, kind="stable")
    found, first = np.unique(keys[order], return_index=True)
    groups = np.split(values[order], first[1:])
    parts = None if turns is None else np.split(turns[order], first[1:])
    for at in np.argsort([order[start] for start in first], kind="stable"):
        samples.add(names[int(found[at])], groups[at], turns=None if parts is None else parts[at])


def _add_scopes(side: Side, run: "Run") -> None:
    spans, rows = run.spans, run.entries.span
    declared = (spans.flags[rows] >> 8) & 0xF
    pairs = spans.name[rows].astype(np.int64) * 16 + declared
    known, keys = np.unique(pairs, return_inverse=True)
    texts = run.strings
    names = [texts[int(pair) // 16] for pair in known]
    twice = {name for name in names if names.count(name) > 1} if len(set(names)) < len(names) else set()
    devices = [DEVICES[(int(pair) % 16) % len(DEVICES)] for pair in known]
    labels = [_label(name, device) if name in twice else name for name, device in zip(names, devices, strict=True)]
    side.devices |= dict(zip(labels, zip(names, devices, strict=True), strict=True))
    side.not_counted |= {labels[key] for key in np.unique(keys[by_chance(run, rows)]).tolist()}
    asked = len(run.tables.counters) or len(run.tables.intervals)
    where = {int(span): at for at, span in enumerate(rows.tolist())} if asked else {}
    if _add_counts(side, run, labels, keys, where):
        return  # how long an emulated processor took says nothing
    # Of an entry whose times are none in the file the reader keeps the name alone: its operation is invalid.
    invalid = spans.flags[rows] & FLAG_REPAIRED != 0
    turns = Turns.of(run)
    _add_groups(
        side.metric("time"), labels, keys, np.where(invalid, np.nan, spans.duration_ns[rows] * NS),
        None if turns is None else turns.at(spans.start_ns[rows]),
    )  # fmt: skip
    _add_device_times(side, run, labels, keys, where)
    _add_memory(side, run, labels, keys)
    if len(run.tables.launches):
        _add_launches(side, run, labels)


def _add_counts(side: Side, run: "Run", labels: list[str], keys: NDArray[Any], where: dict[int, int]) -> bool:
    """Add the instructions of a call of each operation, and return whether any were counted.

    Of the calls of a process the median of the later half stands for it: what only the first ones do (imports, caches
    that fill, code that the interpreter specialises) is not in it, nor what the allocator does now and then.
    """
    counters, texts = run.tables.counters, run.strings
    rows = [at for at in np.flatnonzero(counters.span >= 0) if texts[int(counters.series[at])] == COUNTED[0]]
    values: dict[int, list[float]] = {}
    for at in sorted(rows, key=lambda at: int(counters.span[at])):
        span = int(counters.span[at])
        if span in where:
            values.setdefault(int(keys[where[span]]), []).append(float(counters.value[at]))
    counted = side.metric(COUNTED[0]) if values else Samples()
    for key, found in values.items():
        counted.add(labels[key], [float(np.median(found[len(found) // 2 :]))], sum(found), len(found))
    return bool(values)


def _add_device_times(side: Side, run: "Run", labels: list[str], keys: NDArray[Any], where: dict[int, int]) -> None:
    table = run.tables.intervals
    timed = np.array([d >= 0 and int(s) in where for s, d in zip(table.span, table.duration_ns, strict=True)], bool)
    if timed.any():
        of = keys[[where[int(span)] for span in table.span[timed]]]
        _add_groups(side.metric("device_time"), labels, of, table.duration_ns[timed] * NS)
        work = (table.device[timed], table.start_ns[timed], table.duration_ns[timed])
        side.add_clocks("device_time", clocks_of(run, labels, of, *work))


def _add_memory(side: Side, run: "Run", labels: list[str], keys: NDArray[Any]) -> None:
    """Add the largest peak and the largest net allocation of a call, where the device's allocator told them.

    The resident set of a process has noise of its own and is no exact quantity, so it is not among them.
    """
    entries = run.entries
    measured = entries.memory_source == DEVICE_MEMORY
    for metric, values in (
        ("memory_peak", entries.memory_peak_bytes),
        ("memory_allocated", entries.memory_allocated_bytes),
    ):
        usable = measured & ~np.isnan(values)
        for number in np.unique(keys[usable]):
            largest = float(values[usable & (keys == number)].max())
            side.metric(metric).add(labels[int(number)], [largest])
            if metric == "memory_peak":
                known = side.memory_mb.get(labels[int(number)], largest / 1e6)
                side.memory_mb[labels[int(number)]] = max(known, largest / 1e6)


def _add_launches(side: Side, run: "Run", labels: list[str]) -> None:
    """Add how many calls that launch device work stood in each operation, where kernels were traced."""
    table = run.result("scopes").table
    texts = run.strings
    for operation, launches in zip(table.operation.tolist(), table.launches.tolist(), strict=True):
        if launches >= 0 and texts[operation] in labels:  # one that is declared on two devices has two labels
            side.metric("launches").add(texts[operation], [float(launches)])


def _add_trace(side: Side, run: "Run", kinds: NDArray[np.uint8]) -> None:
    """Add a trace: its device work by name, and its annotations (steps count as one operation)."""
    spans, texts = run.spans, run.strings
    work = np.flatnonzero(np.isin(kinds, WORK))
    ids, keys = np.unique(spans.name[work], return_inverse=True)
    _add_groups(side.metric("time"), [texts[int(i)] for i in ids], keys, spans.duration_ns[work] * NS)
    if len(work):
        where = (run.lanes.device[spans.lane[work]], spans.start_ns[work], spans.duration_ns[work])
        side.add_clocks("time", clocks_of(run, [texts[int(i)] for i in ids], keys, *where))
        counts = np.bincount(keys)
        for name, count in zip([texts[int(i)] for i in ids], counts.tolist(), strict=True):
            side.metric("launches").add(name, [float(count)])
        _add_bytes(side, [texts[int(i)] for i in ids], keys, spans.bytes[work])
    marks = np.flatnonzero(kinds == ANNOTATION)
    names = [_step_name(texts[int(i)]) for i in spans.name[marks]]
    known = {name: number for number, name in enumerate(dict.fromkeys(names))}
    keys = np.array([known[name] for name in names], dtype=np.int64)
    _add_groups(side.metric("time"), list(known), keys, spans.duration_ns[marks] * NS)


def _add_bytes(side: Side, names: list[str], keys: NDArray[Any], moved: NDArray[np.int64]) -> None:
    """Add the bytes that copies and sets of each name moved in all."""
    for number in np.unique(keys[moved >= 0]):
        side.metric("bytes").add(names[int(number)], [float(moved[(keys == number) & (moved >= 0)].sum())])


def _step_name(name: str) -> str:
    return "ProfilerStep" if name.startswith("ProfilerStep") else name


# --- for the core ---------------------------------------------------------------------------------------------


def pack(samples: Samples, operations: Sequence[str]) -> tuple[NDArray[Any], NDArray[Any], Floats, Floats]:
    """Return (bounds of launches, bounds of samples, values, totals) in the order of the operations."""
    launches, lengths, values = [0], [0], []
    for operation in operations:
        for launch in samples.launches.get(operation, ()):
            lengths.append(lengths[-1] + len(launch))
            values.append(launch)
        launches.append(len(lengths) - 1)
    totals = [samples.totals.get(operation, 0.0) for operation in operations]
    return (
        np.array(launches, dtype=np.uint32),
        np.array(lengths, dtype=np.uint64),
        np.concatenate(values) if values else np.empty(0),
        np.array([total if math.isfinite(total) else 0.0 for total in totals]),
    )
