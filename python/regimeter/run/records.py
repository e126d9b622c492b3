# SPDX-License-Identifier: Apache-2.0
"""Entries and summaries as Python objects, built from the result tables of the core.

Milliseconds, megabytes (1 MB = 10**6 bytes) and seconds where a specification fixed the name; a figure that
was not measured is None, and `unavailable` says why.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, NoReturn

from .._core import BACKENDS, DEVICES, FLAG_FAILED, FLAG_OPEN, MEMORY_SOURCES
from .reasons import Reasons, Why, state_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..public.run import Run

AT_ONCE = 16_384  # rows that exist as Python's values
# Values of an entry that came from a file and that regimeter cannot derive again are kept in the span's
# metadata under this key.
IMPORTED = "regimeter.imported"
# By the four bits of a span's flags; a number that only a later version knows is read as the core does.
DEVICE_OF = tuple(DEVICES[number % len(DEVICES)] for number in range(16))
BACKEND_OF = (*BACKENDS, *["unknown"] * (16 - len(BACKENDS)))
CARRIED = {
    "gpu_time_ms",
    "cpu_time_ms",
    "transfer_time_ms",
    "overhead_ms",
    "memory_allocated_mb",
    "memory_peak_mb",
    "gpu_utilization",
    "memory_bandwidth_gb_s",
}


class _Figures:
    """What entries and summaries share: figures as text."""

    __slots__ = ()
    unavailable: Mapping[str, str]

    def text(self, field: str, spec: str = ".2f") -> str:
        """Return a figure as ``format(value, spec)``, and "n/a" with the reason where it was not measured.

        AttributeError for a field that there is not; ValueError for a format that does not suit it.
        """
        value = getattr(self, field)
        if value is not None:
            return format(value, spec)
        reason = self.unavailable.get(field)
        return f"n/a ({reason})" if reason else "n/a"


@dataclass(frozen=True, slots=True)
class ProfileEntry(_Figures):
    """One recorded block.

    A figure that was not measured is None, never 0, and `unavailable` has the reason; ``entry.text("gpu_time_ms")``
    prints either. start_time, end_time: seconds on CLOCK_MONOTONIC, the clock of ``time.monotonic``.
    device: as declared by the user. backend: the library that the block used, by the name of its package: 'torch' (read
    from files as 'pytorch' too), 'numpy', 'cupy'; 'cpu' for none of them, 'unknown' before it was seen.
    gpu_time_ms: from one event to another in the stream of the block, an upper bound of the work in it; of a block
    without events the time in which the device worked on what was launched inside, where that is recorded.
    overhead_ms: duration_ms - gpu_time_ms where that is not negative.
    Of recorded device work that was launched inside, in nested blocks too: transfer_time_ms, the time with a copy,
    between host and device or within it; memory_bandwidth_gb_s, the bytes of these copies by that time;
    gpu_utilization, the percentage of the block in which the device worked on it, where the block counts as lasting
    until that work has ended, and the mean over the devices that it used. cpu_time_ms: host time, for a block
    declared as device='cpu'. Each is None, with a reason in `unavailable`, when it was not measured.
    exclusive_time_ms: without nested scopes and the profiler's own time. memory_allocated_mb: allocated at the end
    minus at the start. memory_peak_mb: largest amount inside. memory_source: 'device' (torch's allocator), 'scope' or
    'sampler' (resident set).
    """

    operation: str
    start_time: float
    end_time: float
    duration_ms: float
    device: str
    backend: str
    gpu_time_ms: float | None = None
    cpu_time_ms: float | None = None
    transfer_time_ms: float | None = None
    overhead_ms: float | None = None
    memory_allocated_mb: float | None = None
    memory_peak_mb: float | None = None
    gpu_utilization: float | None = None
    memory_bandwidth_gb_s: float | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    exclusive_time_ms: float | None = 0.0
    failed: bool = False
    open: bool = False
    depth: int = 0
    parent: int | None = None
    thread: str = ""
    memory_source: str = "none"
    unavailable: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class ProfileSummary(_Figures):
    """Statistics of one operation on one declared device. A figure that was not measured is None, as in an entry.

    total_time_ms leaves out calls inside another call of the same operation; the statistics per call cover
    all calls. std_dev_ms is the population standard deviation (divisor n). Percentiles interpolate linearly
    (Hyndman-Fan type 7). exclusive_time_ms is time without nested scopes; share is its part of the sum over
    all operations, 0 to 1. total_gpu_time_ms sums over the gpu_calls calls that have a device time and are not
    inside another call of the operation, total_overhead_ms over those of them that lasted longer on the host.
    total_transfer_time_ms sums over calls with recorded device work that are not inside another one,
    avg_gpu_utilization is the mean over all calls with such work.
    skipped_count: calls that a sample rate left out.
    """

    operation: str
    call_count: int
    total_time_ms: float
    avg_time_ms: float
    min_time_ms: float
    max_time_ms: float
    std_dev_ms: float
    total_gpu_time_ms: float | None = None
    total_cpu_time_ms: float | None = None
    avg_memory_mb: float | None = None
    avg_gpu_utilization: float | None = None
    # The fields so far are those of the specification, in its order.
    total_transfer_time_ms: float | None = None
    total_overhead_ms: float | None = None
    peak_memory_mb: float | None = None
    device: str = "gpu"
    backend: str = "unknown"
    median_ms: float = 0.0
    p95_ms: float = 0.0
    p99_ms: float = 0.0
    cv: float | None = None
    exclusive_time_ms: float | None = 0.0
    share: float | None = None
    failed_count: int = 0
    recursive_count: int = 0
    gpu_calls: int = 0
    skipped_count: int = 0
    unavailable: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)


def _number(value: float, divisor: float = 1.0) -> float | None:
    return None if math.isnan(value) else value / divisor


def _duration(value: int) -> float | None:
    return None if value < 0 else value / MS


def _scaled(divisor: float) -> Callable[[Any], Any]:
    return lambda value: _number(value, divisor)


MS = 1e6
MB = 1e6
# ProfileSummary field -> (column of the summary table, conversion).
SUMMARY_COLUMNS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "call_count": ("call_count", int),
    "total_time_ms": ("total_ns", _scaled(MS)),
    "avg_time_ms": ("mean_ns", _scaled(MS)),
    "min_time_ms": ("min_ns", _scaled(MS)),
    "max_time_ms": ("max_ns", _scaled(MS)),
    "std_dev_ms": ("std_dev_ns", _scaled(MS)),
    "median_ms": ("median_ns", _scaled(MS)),
    "p95_ms": ("p95_ns", _scaled(MS)),
    "p99_ms": ("p99_ns", _scaled(MS)),
    "cv": ("cv", _number),
    "exclusive_time_ms": ("exclusive_ns", _scaled(MS)),
    "share": ("share", _number),
    "failed_count": ("failed_count", int),
    "recursive_count": ("recursive_count", int),
    "total_gpu_time_ms": ("device_ns", _duration),
    "total_overhead_ms": ("overhead_ns", _duration),
    "gpu_calls": ("device_count", int),
    "total_transfer_time_ms": ("copy_ns", _duration),
    "avg_gpu_utilization": ("device_share", _scaled(0.01)),
    "avg_memory_mb": ("memory_allocated_bytes", _scaled(MB)),
    "peak_memory_mb": ("memory_peak_bytes", _scaled(MB)),
    "device": ("device", DEVICE_OF.__getitem__),
    "backend": ("backend", BACKEND_OF.__getitem__),
}


def decode_metadata(text: str) -> dict[str, Any]:
    """Return a span's metadata; text that is no JSON object is kept whole under the key 'text'."""
    if not text:
        return {}
    try:
        value = json.loads(text)
    except ValueError:
        return {"text": text}
    return value if isinstance(value, dict) else {"text": text}


def carried_values(metadata: Mapping[str, Any]) -> dict[str, float]:
    """Return the values of an imported entry among its metadata; none where a program used our key itself."""
    found = metadata.get(IMPORTED)
    if not isinstance(found, dict) or not found.keys() <= CARRIED:
        return {}
    return found if all(type(value) in (int, float) for value in found.values()) else {}


def _told_by(text: str) -> tuple[dict[str, Any], dict[str, float]]:
    """Return the user's part of a span's metadata, and the values of an imported entry among it."""
    found = decode_metadata(text)
    carried = carried_values(found)
    return ({key: value for key, value in found.items() if key != IMPORTED} if carried else found), carried


def entries_of(run: "Run") -> list[ProfileEntry]:
    """Return one ProfileEntry per scope of the run, in order of start."""
    return list(iterate_entries(run))


def in_blocks(count: int, columns: "Callable[[slice], Iterable[NDArray[Any]]]") -> Iterator[tuple[Any, ...]]:
    """Yield rows of columns as Python's values, of which only some exist at a time."""
    for begin in range(0, count, AT_ONCE):
        block = slice(begin, begin + AT_ONCE)
        yield from zip(*(column.tolist() for column in columns(block)), strict=True)


# What is known of an entry, as bits of one number; above them stands the state of its events.
ON_CPU, TIMED, EVENTS, OVERHEAD, WORK, BANDWIDTH, ALLOCATED, PEAK = (1 << bit for bit in range(8))
STATE_SHIFT = 8


def _rows_of(run: "Run") -> Iterator[tuple[Any, ...]]:
    """Yield what the columns say of each entry."""
    import numpy as np

    table, spans = run.entries, run.spans
    entry_of_span = np.full(len(spans) + 1, -1, dtype=np.int64)  # the last one is that of no span
    entry_of_span[table.span] = np.arange(len(table.span))

    def columns(block: slice) -> Iterable["NDArray[Any]"]:
        rows = table.span[block]
        events, busy = table.device_ns[block], table.busy_ns[block]
        device = np.where(events >= 0, events, busy)
        bits = {
            ON_CPU: (spans.flags[rows] >> 8 & 0xF) % len(DEVICES) == DEVICES.index("cpu"),
            TIMED: device >= 0,
            EVENTS: events >= 0,
            OVERHEAD: (device >= 0) & (device <= spans.duration_ns[rows]),
            WORK: busy >= 0,
            BANDWIDTH: (table.copy_ns[block] > 0) & (table.copy_bytes[block] >= 0),
            ALLOCATED: ~np.isnan(table.memory_allocated_bytes[block]),
            PEAK: ~np.isnan(table.memory_peak_bytes[block]),
        }
        known = table.device_state[block].astype(np.int64) << STATE_SHIFT
        for bit, column in bits.items():
            known[column] |= bit
        return (
            spans.name[rows],
            spans.start_ns[rows],
            spans.duration_ns[rows],
            spans.flags[rows],
            spans.lane[rows],
            entry_of_span[spans.parent[rows]],
            spans.metadata[rows],
            table.exclusive_ns[block],
            table.depth[block],
            table.memory_allocated_bytes[block],
            table.memory_peak_bytes[block],
            table.memory_source[block],
            device,
            known,
        )

    return in_blocks(len(table.span), columns)


def _work_of(run: "Run") -> Iterator[dict[str, float | None]]:
    """Yield the figures that only recorded device work tells, of each entry that has some."""
    table = run.entries
    rows = (table.busy_ns >= 0).nonzero()[0]
    columns = (table.busy_ns, table.window_ns, table.copy_ns, table.copy_bytes)
    for busy, window, copied, size in in_blocks(len(rows), lambda block: [column[rows[block]] for column in columns]):
        yield {
            "transfer_time_ms": copied / MS,
            "gpu_utilization": 100 * busy / window if window > 0 else 0.0,
            "memory_bandwidth_gb_s": size / copied if copied > 0 and size >= 0 else None,
        }


def _reasons_of(why: Why, known: int) -> Reasons:
    """Return why figures of an entry are missing, those alone that are."""
    work, on_cpu = bool(known & WORK), bool(known & ON_CPU)
    found = why.reasons(
        on_cpu=on_cpu,
        state=state_name(known >> STATE_SHIFT),
        timed=bool(known & TIMED),
        events=bool(known & EVENTS),
        work=work,
    )
    there = {
        "gpu_time_ms": TIMED,
        "overhead_ms": OVERHEAD,
        "transfer_time_ms": WORK,
        "gpu_utilization": WORK,
        "memory_bandwidth_gb_s": BANDWIDTH,
        "memory_allocated_mb": ALLOCATED,
        "memory_peak_mb": PEAK,
    }
    return Reasons({name: reason for name, reason in found.items() if not known & there.get(name, 0)})


def iterate_entries(run: "Run") -> Iterator[ProfileEntry]:
    """Yield the entries of a run one by one."""
    strings = run.strings
    lanes = [strings[name] for name in run.lanes.name.tolist()]
    metadata: dict[int, tuple[dict[str, Any], dict[str, float]]] = {}
    why = Why(run)
    reasons: dict[int, Reasons] = {}
    others: dict[tuple[int | str, ...], Reasons] = {}  # of entries that carry figures
    nested = run.has_start_times
    work = _work_of(run)
    rows = _rows_of(run)
    for name, start, length, flags, lane, parent, text, exclusive, depth, allocated, peak, source, gpu, known in rows:
        if text not in metadata:
            metadata[text] = _told_by(strings[text])
        values: dict[str, Any] = {
            "cpu_time_ms": length / MS if known & ON_CPU else None,
            "gpu_time_ms": gpu / MS if known & TIMED else None,
            "overhead_ms": (length - gpu) / MS if known & OVERHEAD else None,
            "memory_allocated_mb": allocated / MB if known & ALLOCATED else None,
            "memory_peak_mb": peak / MB if known & PEAK else None,
        }
        if known & WORK:
            values |= next(work)
        user, carried = metadata[text]
        if known not in reasons:
            reasons[known] = _reasons_of(why, known)
        missing = reasons[known]
        if carried:
            values |= carried
            key = (known, *carried)
            if key not in others:
                others[key] = Reasons({field: reason for field, reason in missing.items() if field not in carried})
            missing = others[key]
        yield ProfileEntry(
            operation=strings[name],
            start_time=start / 1e9,
            end_time=(start + length) / 1e9,
            duration_ms=length / MS,
            device=DEVICE_OF[(flags >> 8) & 0xF],
            backend=BACKEND_OF[(flags >> 12) & 0xF],
            metadata=user,
            exclusive_time_ms=exclusive / MS if nested else None,
            failed=bool(flags & FLAG_FAILED),
            open=bool(flags & FLAG_OPEN),
            depth=depth,
            parent=parent if parent >= 0 else None,
            thread=lanes[lane] if lane < len(lanes) else "",
            memory_source=MEMORY_SOURCES[source],
            unavailable=missing,
            **values,
        )


def summaries_of(run: "Run") -> list[ProfileSummary]:
    """Return the summaries of a run, most exclusive time first."""
    table = run.summary
    strings = run.strings
    skipped = run.skipped
    imported = _imported_totals(run)
    why = Why(run)
    found = []
    for row in map(table.row, range(len(table))):
        values = {name: convert(row[column]) for name, (column, convert) in SUMMARY_COLUMNS.items()}
        operation = strings[row["operation"]]
        device = values["device"]
        if device == "cpu":
            values["total_cpu_time_ms"] = values["total_time_ms"]
        values |= imported.get((operation, device), {})
        if not run.has_start_times:
            values["exclusive_time_ms"] = None
        reasons = why.reasons(
            on_cpu=device == "cpu",
            state=None if row["device_count"] else _state_of(run, row),
            timed=row["device_count"] > 0,
            events=row["event_count"] > 0,
            work=row["work_count"] > 0,
        )
        missing = {name: reasons.get(entry) for name, entry in SUMMARY_REASONS.items() if values.get(name) is None}
        found.append(
            ProfileSummary(
                operation=operation,
                skipped_count=skipped.get(f"{operation}\0{device}", 0),
                unavailable=Reasons({name: reason for name, reason in missing.items() if reason}),
                **values,
            )
        )
    return found


def _state_of(run: "Run", row: Mapping[str, Any]) -> str | None:
    """Return the state of the events of most calls of an operation that has no device time, None without events."""
    if not len(run.tables.intervals):
        return None
    rows = run.entries.span
    devices = (run.spans.flags[rows] >> 8 & 0xF) % len(DEVICES)
    calls = (run.spans.name[rows] == row["operation"]) & (devices == row["device"])
    states = run.entries.device_state[calls].tolist()
    return state_name(max(set(states), key=states.count)) if states else None


def note_reasons(found: dict[str, dict[str, str]], device: str, reasons: Mapping[str, str]) -> None:
    """Add reasons by the name of the entry's field to those of declared devices, "cpu" and "gpu" for every other."""
    group = found.setdefault("cpu" if device == "cpu" else "gpu", {})
    for name, reason in reasons.items():
        group.setdefault(name, reason)


# Summary field -> the entry field whose reason explains it.
SUMMARY_REASONS = {
    "total_gpu_time_ms": "gpu_time_ms",
    "total_cpu_time_ms": "cpu_time_ms",
    "total_transfer_time_ms": "transfer_time_ms",
    "total_overhead_ms": "overhead_ms",
    "avg_gpu_utilization": "gpu_utilization",
    "avg_memory_mb": "memory_allocated_mb",
    "peak_memory_mb": "memory_peak_mb",
    "exclusive_time_ms": "exclusive_time_ms",
}


def unavailable_of(summaries: Iterable[ProfileSummary]) -> dict[str, dict[str, str]]:
    """Return why figures of summaries are missing, by declared device and by the name of the entry's field."""
    found: dict[str, dict[str, str]] = {"gpu": {}, "cpu": {}}
    for one in summaries:
        note_reasons(found, one.device, {SUMMARY_REASONS[name]: reason for name, reason in one.unavailable.items()})
    return found


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


# Summary field -> (entry field in an imported file, what is made of its values).
IMPORTED_TOTALS: dict[str, tuple[str, Callable[[list[float]], float]]] = {
    "total_gpu_time_ms": ("gpu_time_ms", sum),
    "total_cpu_time_ms": ("cpu_time_ms", sum),
    "total_transfer_time_ms": ("transfer_time_ms", sum),
    "total_overhead_ms": ("overhead_ms", sum),
    "avg_gpu_utilization": ("gpu_utilization", _mean),
    "peak_memory_mb": ("memory_peak_mb", max),
    "avg_memory_mb": ("memory_allocated_mb", _mean),
}


def _imported_totals(run: "Run") -> dict[tuple[str, str], dict[str, float]]:
    """Sum up what entries of an imported file carried and regimeter did not measure itself."""
    if run.source != "export" or not any(IMPORTED in text for text in run.strings):
        return {}
    values: dict[tuple[str, str], dict[str, list[float]]] = {}
    for entry in iterate_entries(run):
        group = values.setdefault((entry.operation, entry.device), {})
        for total, (name, _) in IMPORTED_TOTALS.items():
            value = getattr(entry, name)
            if value is not None:
                group.setdefault(total, []).append(value)
    return {
        key: {total: IMPORTED_TOTALS[total][1](found) for total, found in group.items()}
        for key, group in values.items()
    }


class Summaries(dict[str, ProfileSummary]):
    """Summaries by operation; of one that was declared on several devices, by "operation [device]"."""

    def __missing__(self, operation: str) -> NoReturn:
        keys = [repr(key) for key, summary in self.items() if summary.operation == operation]
        if not keys:
            raise KeyError(operation)
        # The calls on two devices are two distributions: neither is the answer, nor is a mixture of both.
        raise KeyError(f"{operation!r} ran on several devices: ask for {' or '.join(keys)}")


def by_operation(summaries: list[ProfileSummary]) -> Summaries:
    """Key the summaries by operation; one that was declared on several devices gets the device in its key."""
    counts: dict[str, int] = {}
    for summary in summaries:
        counts[summary.operation] = counts.get(summary.operation, 0) + 1
    return Summaries({s.operation if counts[s.operation] == 1 else f"{s.operation} [{s.device}]": s for s in summaries})


ENTRY_FIELDS = tuple(f.name for f in fields(ProfileEntry) if f.name != "unavailable")
SUMMARY_FIELDS = tuple(f.name for f in fields(ProfileSummary) if f.name != "unavailable")
