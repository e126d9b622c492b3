# SPDX-License-Identifier: Apache-2.0
"""The two sides of a comparison: samples of each operation by process, from whatever they are given as."""

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._core import DEVICES, FLAG_REPAIRED, MEMORY_SOURCES, SPAN_KINDS
from .wholes import UNITS as WHOLES
from .wholes import add_wholes

if TYPE_CHECKING:
    from ..trace import Run

Floats = NDArray[np.float64]
MS = 1e-3
NS = 1e-9
# Metrics with noise, in the order of the core's numbers; the others are compared exactly.
TIMES = ("time", "device_time")
EXACT = ("memory_peak", "memory_allocated", "launches", "bytes", "calls")
UNITS = {
    "time": "s",
    "device_time": "s",
    "memory_peak": "bytes",
    "memory_allocated": "bytes",
    "launches": "",
    "bytes": "bytes",
    "calls": "",
}
WORK = tuple(SPAN_KINDS.index(kind) for kind in ("kernel", "memcpy", "memset"))
SCOPE = SPAN_KINDS.index("scope")
ANNOTATION = SPAN_KINDS.index("annotation")
DEVICE_MEMORY = MEMORY_SOURCES.index("device")


@dataclass(slots=True)
class Samples:
    """One metric of one side: samples per operation and process, and the whole of each operation."""

    launches: dict[str, list[Floats]] = field(default_factory=dict)
    totals: dict[str, float] = field(default_factory=dict)
    calls: dict[str, float] = field(default_factory=dict)

    def add(self, operation: str, values: Any, total: float | None = None, calls: float | None = None) -> None:
        """Add what one process has of an operation; total and calls are those of the values unless given."""
        sample = np.ascontiguousarray(values, dtype=np.float64)
        if sample.ndim != 1:
            raise ValueError(f"{operation!r}: samples of a launch are a flat sequence of numbers")
        self.launches.setdefault(operation, []).append(sample)
        whole = float(sample.sum()) if total is None else total
        self.totals[operation] = self.totals.get(operation, 0.0) + whole
        self.calls[operation] = self.calls.get(operation, 0.0) + (len(sample) if calls is None else calls)

    def extend(self, other: "Samples") -> None:
        """Add the launches of other processes."""
        for operation, launches in other.launches.items():
            self.launches.setdefault(operation, []).extend(launches)
            self.totals[operation] = self.totals.get(operation, 0.0) + other.totals[operation]
            self.calls[operation] = self.calls.get(operation, 0.0) + other.calls[operation]


@dataclass(slots=True)
class Side:
    """All metrics of one side, and what is known of where they were measured.

    devices: (name, device) of the operations whose device is known, by label. run: the first run, for its stacks.
    """

    label: str
    metrics: dict[str, Samples] = field(default_factory=dict)
    memory_mb: dict[str, float] = field(default_factory=dict)
    devices: dict[str, tuple[str, str]] = field(default_factory=dict)
    environments: list[dict[str, Any]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    run: "Run | None" = None

    def metric(self, name: str) -> Samples:
        """Return the samples of a metric, made when it is new."""
        return self.metrics.setdefault(name, Samples())

    def rename(self, old: str, new: str) -> None:
        """Give an operation another label, in all metrics but those of the whole; its place in the order stays."""
        for metric, samples in self.metrics.items():
            if metric not in WHOLES:
                for table in (samples.launches, samples.totals, samples.calls):
                    _rename(table, old, new)
        _rename(self.memory_mb, old, new)
        _rename(self.devices, old, new)


def _rename(table: dict[str, Any], old: str, new: str) -> None:
    if old in table:
        rows = [(new if name == old else name, value) for name, value in table.items()]
        table.clear()
        table.update(rows)


def side_of(source: Any, label: str) -> Side:
    """Return the side that a source describes.

    source: a path or a Run; a dictionary of the documented form ({"entries": [...], "summary": {...}}) or of
    samples by operation ({operation: [[seconds, ...] per launch, ...]}); or a list of these, one a process.
    FormatError for an unreadable file, TypeError or ValueError for anything else.
    """
    sides = [process_side(part, label) for part in _parts(source)]
    aligned(sides)
    return merged(sides, label)


def process_side(part: Any, label: str) -> Side:
    """Return what one source of a side describes."""
    from ..trace import Run, load
    from .documents import add_document, profile_of

    side = Side(label)
    if isinstance(part, str | os.PathLike):
        document = profile_of(part)
        if document is None:
            add_run(side, load(part))
        else:
            add_document(side, document, os.fspath(part))
    elif isinstance(part, Run):
        add_run(side, part)
    elif isinstance(part, Mapping) and ("entries" in part or "summary" in part):
        add_document(side, part, label)
    elif isinstance(part, Mapping):
        time = side.metric("time")
        for operation, launches in part.items():
            for launch in launches_of(operation, launches):
                time.add(str(operation), launch)
    else:
        raise TypeError(f"{label}: a path, a Run or a dictionary is expected, not {type(part).__name__}")
    return side


def merged(sides: Sequence[Side], label: str) -> Side:
    """Return processes as one side, each a launch of its own."""
    if len(sides) == 1:
        return sides[0]
    found = Side(label)
    for side in sides:
        for metric, samples in side.metrics.items():
            found.metric(metric).extend(samples)
        for name, value in side.memory_mb.items():
            found.memory_mb[name] = max(value, found.memory_mb.get(name, value))
        found.devices |= side.devices
        found.environments += side.environments
        found.warnings += side.warnings
        found.run = side.run if found.run is None else found.run
    return found


def aligned(sides: Sequence[Side]) -> None:
    """Give operations one label on all sides: where one side tells an operation's devices apart, all do.

    An operation that ran on one device alone carries its plain name; beside a side on which it also ran on another, it
    gets its device's, so that what both have is compared and what is new is new.
    """
    split = {name for side in sides for label, (name, _) in side.devices.items() if label != name}
    for side in sides:
        for name in split & side.devices.keys():
            if side.devices[name][0] == name:
                side.rename(name, _label(*side.devices[name]))


def _label(name: str, device: str) -> str:
    return f"{name} [{device}]"


def _parts(source: Any) -> Iterable[Any]:
    if isinstance(source, list | tuple):
        if not source:
            raise ValueError("an empty list of runs")
        return source
    return [source]


# --- dictionaries ---------------------------------------------------------------------------------------------


def launches_of(operation: object, launches: Any) -> list[Any]:
    """Return the launches of an operation; a bare number stands for a launch of one sample. TypeError otherwise."""
    if not isinstance(launches, Sequence | np.ndarray) or isinstance(launches, str):
        raise TypeError(f"{operation!r}: a list of launches, each a list of seconds, is expected")
    return [[launch] if isinstance(launch, int | float | np.number) else launch for launch in launches]


# --- runs -----------------------------------------------------------------------------------------------------


def add_run(side: Side, run: "Run") -> None:
    """Add what one process recorded: its operations, and what it did as a whole."""
    side.environments.append(run.environment)
    side.run = run if side.run is None else side.run
    for row in run.anomaly_list():
        if row["code"] in ("unfinished", "truncated", "dropped_scopes", "corrupt_bytes"):
            side.warnings.append(f"{side.label}: {row['count']} x {row['detail']}")
    kinds = run.spans.kind
    if (kinds == SCOPE).any():
        _add_scopes(side, run)
    else:
        _add_trace(side, run, kinds)
    add_wholes(side, run)


def _add_groups(samples: Samples, names: list[str], keys: NDArray[Any], values: NDArray[Any]) -> None:
    """Add the values grouped by key, in order of the first of each."""
    if not len(keys):
        return
    order = np.argsort(keys, kind="stable")
    found, first = np.unique(keys[order], return_index=True)
    groups = np.split(values[order], first[1:])
    for at in np.argsort([order[start] for start in first], kind="stable"):
        samples.add(names[int(found[at])], groups[at])


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
    # Of an entry whose times are none in the file the reader keeps the name alone: its operation is invalid.
    invalid = spans.flags[rows] & FLAG_REPAIRED != 0
    _add_groups(side.metric("time"), labels, keys, np.where(invalid, np.nan, spans.duration_ns[rows] * NS))
    where = {int(span): at for at, span in enumerate(rows.tolist())}
    _add_device_times(side, run, labels, keys, where)
    _add_memory(side, run, labels, keys)
    if len(run.launches):
        _add_launches(side, run, labels)


def _add_device_times(side: Side, run: "Run", labels: list[str], keys: NDArray[Any], where: dict[int, int]) -> None:
    spans, lengths = run.intervals.span, run.intervals.duration_ns
    timed = [(where[int(s)], int(d)) for s, d in zip(spans, lengths, strict=True) if d >= 0 and int(s) in where]
    if timed:
        at = np.array([row for row, _ in timed])
        _add_groups(side.metric("device_time"), labels, keys[at], np.array([d for _, d in timed]) * NS)


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
