# SPDX-License-Identifier: Apache-2.0
"""The JSON form of a run: a superset of the documented file of entries and summary.

Written by ``export_json``, read back by ``regimeter.load``, which also takes the plain documented form.
"""

import array
import json
import math
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from .._core import ANOMALY_CODES, BACKENDS, DEVICES, FLAG_FAILED, FLAG_OPEN, FLAG_REPAIRED, MEMORY_ACTIONS
from ..system.files import atomic_writer
from . import records
from .fixed_shares import fixed_figures
from .format_error import BYTE_ORDER_MARK, format_error
from .profile_witness import StoredWitness, witness_columns

if TYPE_CHECKING:
    from pathlib import Path

    from ..public.run import Run

FORMAT = "regimeter.profile"
MEMORY_COLUMNS = ("time_ns", "device", "action", "bytes", "allocated", "reserved", "span")
VERSION = 1
MOST_BITS = 1000  # of an integer in a file; a double holds 1023
LONGEST_NS = 2**61
INVALID = "entries state a time that is none (not a number, negative, backward, out of range); each counts as invalid"
UNITS = {
    "*_time": "seconds on CLOCK_MONOTONIC",
    "*_ms": "milliseconds",
    "*_mb": "megabytes of 10**6 bytes",
    "*_gb_s": "10**9 bytes per second",
    "*_ns": "nanoseconds",
    "gpu_utilization": "percent",
    "share": "0 to 1",
    "cv": "standard deviation over mean",
}


def export_json(run: "Run", path: str | os.PathLike[str]) -> None:
    """Write the run to `path`, atomically; entries are streamed, so memory does not grow with their number."""
    with atomic_writer(path) as out:
        head = {
            "format": FORMAT,
            "version": VERSION,
            "units": UNITS,
            "environment": run.environment,
            "run": run_facts(run),
            "cost": run.cost,
            "anomalies": run.anomaly_list(),
            "memory": _memory_columns(run),
            "witness": witness_columns(run),
        }
        out.write(_dumps(head)[:-1])
        out.write(',\n"entries":[')
        samples: dict[str, array.array[int]] = {}
        unavailable: dict[str, dict[str, str]] = {"gpu": {}, "cpu": {}}
        separator = "\n"
        rows = run.entries.span
        # Seconds and milliseconds are doubles; the nanoseconds beside them are exact.
        columns = (run.spans.start_ns, run.spans.duration_ns, run.spans.own_ns)
        exact = records.in_blocks(len(rows), lambda block: [column[rows[block]] for column in columns])
        for entry, (start_ns, duration_ns, own_ns) in zip(records.iterate_entries(run), exact, strict=True):
            row = {name: getattr(entry, name) for name in records.ENTRY_FIELDS}
            row |= {"start_ns": start_ns, "duration_ns": duration_ns, "own_ns": own_ns}
            if not run.has_start_times:  # where they stand is the order of the file, not a time
                row |= {"start_ns": None, "start_time": None, "end_time": None}
            out.write(separator + _dumps(row))
            separator = ",\n"
            records.note_reasons(unavailable, entry.device, entry.unavailable)
            samples.setdefault(entry.operation, array.array("q")).append(duration_ns)
        out.write('],\n"unavailable":' + _dumps(unavailable))
        out.write(',\n"summary":')
        out.write(_dumps({key: summary_facts(summary) for key, summary in run.get_summary().items()}))
        launch = {"id": 0, "pid": run.environment.get("pid"), "unit": "ns"}
        out.write(',\n"launches":[' + _dumps(launch)[:-1] + ',"samples":')
        separator = "{"
        for operation, values in samples.items():
            out.write(f"{separator}{_dumps(operation)}:{_dumps(values.tolist())}")
            separator = ","
        out.write("}}]}\n" if samples else "{}}]}\n")


def _memory_columns(run: "Run") -> dict[str, list[int]]:
    """Return the memory that was read at and between scopes, a list a column; `span` numbers the entries."""
    entry_of = dict(zip(run.entries.span.tolist(), range(len(run.entries)), strict=True))
    columns = {name: getattr(run.memory, name).tolist() for name in MEMORY_COLUMNS}
    columns["span"] = [entry_of.get(span, -1) for span in columns["span"]]
    of_scope = [MEMORY_ACTIONS.index(action) for action in ("begin", "end", "peak")]
    kept = [
        row
        for row, (action, span) in enumerate(zip(columns["action"], columns["span"], strict=True))
        if MEMORY_ACTIONS[action] == "sample" or (action in of_scope and span >= 0)
    ]
    return {name: [values[row] for row in kept] for name, values in columns.items()} if kept else {}


def run_facts(run: "Run") -> dict[str, Any]:
    """Return the scalars of a run."""
    return {
        "source": run.source,
        "complete": run.complete,
        "start_ns": run.start_ns,
        "end_ns": run.end_ns,
        "duration_ns": run.duration_ns if run.has_start_times else None,
        "started_unix_ns": run.start_unix_ns,
        "span_count": len(run.spans),
        "lane_count": len(run.lanes),
    }


def summary_facts(summary: records.ProfileSummary) -> dict[str, Any]:
    """Return a summary as a dictionary, without its operation, which is its key."""
    return {name: getattr(summary, name) for name in records.SUMMARY_FIELDS if name != "operation"} | {
        "operation": summary.operation
    }


# One encoder for all values: json.dumps makes one a call when its arguments are not the defaults.
_dumps = json.JSONEncoder(ensure_ascii=False, default=str, allow_nan=False).encode


# --- read -----------------------------------------------------------------------------------------------------


def read_export(kind: "type[Run]", path: "Path", data: bytes) -> "Run":
    """Read an exported file's text. FormatError names the file, the place and what was expected."""
    document = parse_export(path, data)
    if not isinstance(document.get("entries"), list):
        raise format_error(
            f"{path}: neither a trace nor an exported profile: expected a JSON object with a list"
            ' "traceEvents" or a list "entries"',
            0,
        )
    return run_of_document(kind, document, path)


def run_of_document(kind: "type[Run]", document: Mapping[str, Any], path: object) -> "Run":
    """Return the run that a document of entries describes. FormatError names `path`, the place and what is wrong."""
    entries = document["entries"]
    try:
        memory = _memory_of(document.get("memory"), len(entries))
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise format_error(f"{path}: memory: {error}") from None
    try:
        witness = StoredWitness.of(document.get("witness"))
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise format_error(f"{path}: witness: {error}") from None
    columns = _Columns(fixed_figures(entries), memory, _anomalies_of(document.get("anomalies")), witness)
    for number, entry in enumerate(entries):
        if not isinstance(entry, dict):
            raise format_error(f"{path}: entry {number} is not an object")
        try:
            columns.add(entry)
        except KeyError as error:
            raise format_error(f"{path}: entry {number} has no {error}") from None
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise format_error(f"{path}: entry {number}: {error}") from None
    facts = document.get("run")
    facts = facts if isinstance(facts, dict) else {}
    environment = document.get("environment")
    environment = dict(environment) if isinstance(environment, dict) else {}
    units = foreign_units(document)
    if units:
        environment["units"] = units
    if isinstance(document.get("cost"), dict):
        environment.setdefault("cost", document["cost"])
    try:
        described = _dumps(_finite(environment)).encode("utf-8", "replace").decode("utf-8")
        run: Run = columns.build(kind, described, facts)
    except (ValueError, OverflowError, RecursionError) as error:  # among them FormatError, which does not know the file
        raise format_error(f"{path}: {error}") from None
    return run


def parse_export(path: "Path", data: bytes) -> dict[str, Any]:
    """Return the JSON object of a profile: of entries, of a summary or both. FormatError where it is none."""
    mark = len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0
    try:
        document = json.loads(data[mark:].decode("utf-8"))
    except UnicodeDecodeError as error:
        raise format_error(
            f"{path}: neither a regimeter recording nor JSON: byte {mark + error.start} is not UTF-8",
            mark + error.start,
        ) from None
    except json.JSONDecodeError as error:
        offset = mark + len(error.doc[: error.pos].encode("utf-8", "surrogatepass"))
        what = "an empty file" if not data.strip() else f"not valid JSON at byte {offset}: {error.msg}"
        raise format_error(
            f"{path}: {what}; expected a recording (.rgm), an exported profile or a trace", offset
        ) from None
    except ValueError as error:  # a number of thousands of digits
        raise format_error(f"{path}: {error}", 0) from None
    except RecursionError:
        raise format_error(f"{path}: JSON nested too deeply to be an exported profile", 0) from None
    if not isinstance(document, dict):
        raise format_error(
            f"{path}: neither a trace nor an exported profile: expected a JSON object with a list"
            ' "traceEvents" or a list "entries"',
            0,
        )
    check_form(document, path)
    return document


def check_form(document: Mapping[str, Any], name: object) -> None:
    """Refuse a document of another format or of a later version: FormatError, which begins with the name."""
    if document.get("format", FORMAT) != FORMAT:
        hint = "; regimeter.ProfilerComparison.load reads it" if document["format"] == "regimeter.comparison" else ""
        raise format_error(f"{name}: format {document['format']!r}, expected {FORMAT!r}{hint}", 0)
    version = document.get("version", VERSION)
    if not isinstance(version, int) or version > VERSION:
        raise format_error(
            f"{name}: version {version!r} of the format, this regimeter reads up to {VERSION}; upgrade regimeter", 0
        )


def _memory_of(given: object, entries: int) -> dict[str, list[int]]:
    """Return the columns of a document's memory, checked; ValueError where they are none."""
    if not isinstance(given, dict) or not given:
        return {}
    columns: dict[str, list[int]] = {name: given[name] for name in MEMORY_COLUMNS}
    if len({len(values) for values in columns.values()}) != 1:
        raise ValueError("its columns are not of one length")
    if any(type(value) is not int or abs(value) >= 2**62 for values in columns.values() for value in values):
        raise ValueError("its values must be whole numbers")
    if not all(0 <= action < len(MEMORY_ACTIONS) for action in columns["action"]):
        raise ValueError(f"an action is a number from 0 to {len(MEMORY_ACTIONS) - 1}")
    if not all(-1 <= span < entries for span in columns["span"]):
        raise ValueError("a span is the number of an entry, or -1")
    if not all(-1 <= device < 2**15 for device in columns["device"]):
        raise ValueError("a device is a number from -1")
    return columns


def _anomalies_of(given: object) -> list[tuple[int, int, str]]:
    """Return the anomalies of a document as code, count and detail; those that nobody knows are left out."""
    rows = [row for row in given if isinstance(row, dict)] if isinstance(given, list) else []
    return [
        (ANOMALY_CODES.index(row["code"]), row["count"], str(row.get("detail") or ""))
        for row in rows
        if row.get("code") in ANOMALY_CODES and type(row.get("count")) is int and 0 < row["count"] < 2**62
    ]


def foreign_units(document: Mapping[str, Any]) -> dict[str, str]:
    """Return the units that a document states for its fields where they are not those of the format."""
    units = document.get("units")
    if not isinstance(units, Mapping):
        return {}
    return {str(name): str(unit) for name, unit in units.items() if UNITS.get(str(name), unit) != unit}


def _is_number(value: object) -> bool:
    if type(value) is int:
        return value.bit_length() < MOST_BITS
    return type(value) is float and math.isfinite(value)


def _in_time(value: Any, factor: float, what: str) -> int | None:
    """Return a number of the file as nanoseconds, None for one that is no time: NaN, an infinity, out of range.

    TypeError for what is no number.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{what} must be a number, not {value!r}")
    if not _is_number(value) or abs(value * factor) >= LONGEST_NS:
        return None
    return round(value * factor)


def _finite(value: Any) -> Any:
    """Return a copy in which NaN and infinities, which Python writes and JSON has no form for, are text."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return value


def _exact(entry: Mapping[str, Any], name: str) -> int | None:
    """Return a field of nanoseconds if the entry has a sound one."""
    value = entry.get(name)
    return value if type(value) is int and abs(value) < LONGEST_NS else None


class _Columns:
    """Collects entries as columns of a Run."""

    def __init__(
        self,
        constants: Iterable[str],
        memory: dict[str, list[int]],
        anomalies: list[tuple[int, int, str]],
        witness: StoredWitness,
    ) -> None:
        self.witness = witness
        self.constants = frozenset(constants)
        self.memory = memory
        self.anomalies = anomalies
        # What is derived again from the memory table is not carried along.
        self.carried = records.CARRIED - ({"memory_allocated_mb", "memory_peak_mb"} if memory else set())
        self.untimed = self.withheld = 0
        self.strings: dict[str, int] = {"": 0}
        self.starts = array.array("q")
        self.durations = array.array("q")
        self.own = array.array("q")
        self.names = array.array("I")
        self.lanes = array.array("I")
        self.parents = array.array("i")
        self.flags = array.array("I")
        self.metadata = array.array("I")
        self.threads: dict[str, int] = {}
        self.clock = 0  # end of the last entry without a start time
        self.invalid = 0  # entries whose times are no times

    def add(self, entry: Mapping[str, Any]) -> None:
        operation = entry["operation"]
        if not isinstance(operation, str):
            raise TypeError(f"operation must be text, not {type(operation).__name__}")
        duration, start = self._duration(entry), self._start(entry)
        invalid = duration is None or duration < 0 or start is None
        self.invalid += invalid
        # An entry without a sound time is kept, so that a comparison can call its operation invalid.
        duration = 0 if invalid or duration is None else duration
        # The documented form has no times of day; such entries are laid end to end.
        is_laid = start is None or (entry.get("start_time") is None and _exact(entry, "start_ns") is None)
        start_ns = self.clock if start is None or is_laid else start
        self.clock = start_ns + duration if is_laid else self.clock
        self.untimed += is_laid and not invalid
        self.starts.append(start_ns)
        self.durations.append(duration)
        self.own.append(min(max(_exact(entry, "own_ns") or 0, 0), duration))
        self.names.append(self._string(operation))
        self.lanes.append(self.threads.setdefault(str(entry.get("thread") or ""), len(self.threads)))
        parent = entry.get("parent")
        self.parents.append(int(parent) if parent is not None else -1)
        self.flags.append(self._flags(entry) | (FLAG_REPAIRED if invalid else 0))
        self.metadata.append(self._string(self._metadata(entry)))

    def _start(self, entry: Mapping[str, Any]) -> int | None:
        """Return where the entry begins, None where the file states no time in range."""
        exact = _exact(entry, "start_ns")
        stated = entry.get("start_time")
        if exact is None and stated is None:
            return self.clock
        return exact if exact is not None else _in_time(stated, 1e9, "start_time")

    @staticmethod
    def _duration(entry: Mapping[str, Any]) -> int | None:
        """Return how long the entry lasted, None where the file states no time in range, or an end before the start."""
        stated = (entry.get("start_time"), entry.get("end_time"))
        start, end = (None if time is None else _in_time(time, 1e9, "a time") for time in stated)
        if start is not None and end is not None and end < start:
            return None
        exact, value = _exact(entry, "duration_ns"), entry.get("duration_ms")
        if exact is not None:
            return exact
        if value is not None or None in stated:
            return _in_time(value, 1e6, "duration_ms")
        return None if start is None or end is None else end - start

    def _string(self, text: str) -> int:
        if not text.isascii():
            text = text.encode("utf-8", "replace").decode("utf-8")  # JSON can escape half a character
        return self.strings.setdefault(text, len(self.strings))

    @staticmethod
    def _flags(entry: Mapping[str, Any]) -> int:
        device = str(entry.get("device", "gpu")).partition(":")[0].lower()
        if device not in DEVICES:
            raise ValueError(f"device {entry['device']!r} is none of {', '.join(DEVICES)}")
        backend = str(entry.get("backend", "unknown"))
        backend = {"pytorch": "torch"}.get(backend, backend)
        flags = FLAG_FAILED if entry.get("failed") else 0
        flags |= FLAG_OPEN if entry.get("open") else 0
        flags |= DEVICES.index(device) << 8
        return flags | BACKENDS.index(backend if backend in BACKENDS else "unknown") << 12

    def _metadata(self, entry: Mapping[str, Any]) -> str:
        user = entry.get("metadata")
        for name in records.CARRIED:
            if type(value := entry.get(name)) is int and not _is_number(value):
                raise ValueError(f"{name} is out of range: a number of {len(str(value))} digits")
        stated = {name: entry[name] for name in sorted(self.carried) if _is_number(entry.get(name))}
        carried = {name: value for name, value in stated.items() if name not in self.constants}
        self.withheld += len(stated) - len(carried)
        if entry.get("device") == "cpu" and carried.get("cpu_time_ms") == entry.get("duration_ms"):
            carried.pop("cpu_time_ms", None)  # derived again
        known = dict(user) if isinstance(user, dict) else {} if user is None else {"text": user}
        if carried:
            known[records.IMPORTED] = carried
        return _dumps(_finite(known)) if known else ""

    def build(self, kind: type["Run"], environment: str, facts: Mapping[str, Any]) -> "Run":
        order = sorted(range(len(self.starts)), key=lambda row: (self.starts[row], -self.durations[row]))
        place = {row: index for index, row in enumerate(order)}
        if any(parent not in place for parent in self.parents if parent != -1):
            raise format_error("an entry's parent is not the number of an entry")
        parents = array.array("i", (place.get(self.parents[row], -1) for row in order))
        lane_names = array.array("I", (self._string(name) for name in self.threads))
        tables = {
            "spans": {
                "start_ns": array.array("q", (self.starts[row] for row in order)),
                "duration_ns": array.array("q", (self.durations[row] for row in order)),
                "own_ns": array.array("q", (self.own[row] for row in order)),
                "name": array.array("I", (self.names[row] for row in order)),
                "lane": array.array("I", (self.lanes[row] for row in order)),
                "parent": parents,
                "flags": array.array("I", (self.flags[row] for row in order)),
                "metadata": array.array("I", (self.metadata[row] for row in order)),
            },
            "lanes": {"name": lane_names},
            "memory": self._memory_table(place),
            **self.witness.tables(self.threads),
            "anomalies": self._anomaly_table(),
        }
        start = self._fact(facts, "start_ns", min(self.starts, default=0))
        end = self._fact(
            facts,
            "end_ns",
            max((a + d for a, d in zip(self.starts, self.durations, strict=True)), default=start),
        )
        unix = self._fact(facts, "started_unix_ns", -1)
        return kind._build(
            list(self.strings), tables, environment, "export", start, end, unix, bool(facts.get("complete", True))
        )

    def _memory_table(self, place: Mapping[int, int]) -> "dict[str, array.array[int]]":
        types = {"device": "h", "action": "B"}
        spans = [place.get(span, -1) for span in self.memory.get("span", ())]
        return {
            name: array.array(types.get(name, "q"), spans if name == "span" else values)
            for name, values in self.memory.items()
        }

    def _anomaly_table(self) -> "dict[str, array.array[int]]":
        found = {code: (count, detail) for code, count, detail in self.anomalies}
        own = (("invalid_times", self.invalid, INVALID), ("no_start_times", self.untimed, ""))
        for name, count, detail in (*own, ("stated_constants", self.withheld, "")):
            if count:
                found[ANOMALY_CODES.index(name)] = (count, detail)
        if not found:
            return {}
        return {
            "code": array.array("B", found),
            "count": array.array("q", (count for count, _ in found.values())),
            "detail": array.array("I", (self._string(detail) for _, detail in found.values())),
        }

    @staticmethod
    def _fact(facts: Mapping[str, Any], name: str, fallback: int) -> int:
        value = facts.get(name)
        return value if isinstance(value, int) and abs(value) < 2**62 else fallback
