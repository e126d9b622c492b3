# SPDX-License-Identifier: Apache-2.0
"""Nsight Systems reports, as `nsys export --type sqlite` writes them, as a Run.

What a table holds is found by its columns, which differ between versions. Kernels, copies, sets and waits lie on
a lane per device and stream; calls, ranges and overheads on one per thread. Names follow torch.profiler's, so that
analyses and comparisons see the same: copies are called "Memcpy HtoD (Pinned -> Device)", calls have no version
suffix (cudaLaunchKernel, not cudaLaunchKernel_v7000). The ranges of torch.autograd.profiler.emit_nvtx become
operators with their sequence numbers; every other NVTX range is an annotation.
"""

import json
import re
import sqlite3
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from . import _core
from .inputs import format_error

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .trace import Run

    Columns: TypeAlias = "dict[str, NDArray[Any]]"

KIND = {name: number for number, name in enumerate(_core.SPAN_KINDS)}
RANGES, STARTED_RANGES, MARKS = (59, 70), (60, 71), (34, 65)  # NVTX event types: push/pop, start/end, mark
DRIVER_CLASS = 1  # of ENUM_NSYS_EVENT_CLASS
PROCESS_BITS = 40  # ids of each process get a range of their own
_ALLOCATION = 0
_VERSION = re.compile(r"_v\d+$")
_OPERATOR = re.compile(r"(?:, seq = (-?\d+))?, op_id = \d+(?:, .*)?$", re.DOTALL)
_MEMORY = {0: "Pageable", 1: "Pinned", 2: "Device", 3: "Array", 4: "Managed", 5: "Device", 6: "Managed"}
_COPIES = {1: "HtoD", 2: "DtoH", 3: "HtoA", 4: "AtoH", 5: "AtoA", 6: "AtoD", 7: "DtoA", 8: "DtoD", 9: "HtoH",
           10: "PtoP", 11: "HtoD", 12: "DtoH", 13: "DtoD"}  # fmt: skip
_SYNCS = {1: "Event Sync", 2: "Stream Wait Event", 3: "Stream Sync", 4: "Context Sync"}
_PREFIX = "CUPTI_ACTIVITY_KIND_"


class _Database:
    """The tables of an export, read by the columns that are there."""

    def __init__(self, path: str, name: str) -> None:
        self.name = name
        from urllib.parse import quote

        self._link = sqlite3.connect(f"file:{quote(path)}?mode=ro&immutable=1", uri=True)
        self._link.text_factory = lambda text: text.decode("utf-8", "replace")
        self._columns: dict[str, frozenset[str]] = {}
        self.rows_read = 0
        for (table,) in self._link.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')").fetchall():
            found = self._link.execute(f'PRAGMA table_info("{_quoted(table)}")').fetchall()
            self._columns[table] = frozenset(row[1] for row in found)

    def close(self) -> None:
        self._link.close()

    def has(self, table: str, *columns: str) -> bool:
        """Tell whether a table is there, with columns."""
        return table in self._columns and self._columns[table].issuperset(columns)

    def numbers(self, table: str, defaults: dict[str, int], where: str = "") -> "Columns":
        """Return integer columns; what is NULL, and a column that this version lacks, holds its default."""
        known = self._columns.get(table, frozenset())
        if not known:
            return {column: np.zeros(0, dtype=np.int64) for column in defaults}
        cells = [f'COALESCE(CAST("{c}" AS INTEGER), {d})' if c in known else str(d) for c, d in defaults.items()]
        query = f'SELECT {", ".join(cells)} FROM "{table}" {where}'
        rows = np.fromiter(self._link.execute(query), dtype=[(column, np.int64) for column in defaults])
        self.rows_read += len(rows)
        return {column: np.ascontiguousarray(rows[column]) for column in defaults}

    def pairs(self, table: str, key: str, value: str) -> dict[Any, Any]:
        """Return two columns as a dictionary, empty where they are missing."""
        if not self.has(table, key, value):
            return {}
        return dict(self._link.execute(f'SELECT "{key}", "{value}" FROM "{table}"'))

    def rows(self, query: str) -> list[Any]:
        return self._link.execute(query).fetchall()

    def texts(self, table: str, columns: Iterable[str], where: str) -> list[Any]:
        """Return the first of some columns that has a text, row by row."""
        known = [f'"{column}"' for column in columns if self.has(table, column)]
        if not known:
            return []
        known.append("''")
        return [row[0] for row in self._link.execute(f'SELECT COALESCE({", ".join(known)}) FROM "{table}" {where}')]


def _quoted(name: str) -> str:
    return name.replace('"', '""')


class _Builder:
    """Collects the columns of spans, and the names and lanes that they refer to."""

    def __init__(self) -> None:
        self.strings: dict[str, int] = {"": 0}
        self.lanes: dict[tuple[int, ...], int] = {}
        self.parts: list[Columns] = []
        self.tables: dict[str, list[Columns]] = {}
        self.count = 0
        self.processes: dict[int, int] = {}

    def string(self, text: str) -> int:
        if not text.isascii():
            text = text.encode("utf-8", "replace").decode()
        return self.strings.setdefault(text, len(self.strings))

    def named(self, ids: "NDArray[Any]", text_of: Callable[[int], str]) -> "NDArray[Any]":
        """Return string numbers for ids; the text of each id is asked for once."""
        unique, inverse = np.unique(ids, return_inverse=True)
        return np.array([self.string(text_of(int(i))) for i in unique], dtype=np.uint32)[inverse]

    def lane(self, *columns: "NDArray[Any]") -> "NDArray[Any]":
        """Return lane numbers for rows of keys."""
        keys, inverse = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
        numbers = [self.lanes.setdefault(tuple(key), len(self.lanes)) for key in keys.tolist()]
        return np.array(numbers, dtype=np.uint32)[inverse.reshape(-1)]

    def unique_ids(self, ids: "NDArray[Any]", process: "NDArray[Any]") -> "NDArray[Any]":
        """Return correlations that are unique over processes; 0 stands for none."""
        keys, inverse = np.unique(process, return_inverse=True)
        places = [self.processes.setdefault(int(key), len(self.processes)) for key in keys]
        return np.where(ids > 0, ids + (np.array(places, dtype=np.int64)[inverse] << PROCESS_BITS), -1)

    def add(self, columns: "Columns", **others: "Columns") -> None:
        """Add spans, and rows of sparse tables that stand for the same spans, in the same order."""
        rows = len(columns["start_ns"])
        if not rows:
            return
        for table, values in others.items():
            self.tables.setdefault(table, []).append({"span": np.arange(self.count, self.count + rows), **values})
        self.parts.append(columns)
        self.count += rows


def read_nsys(kind: "type[Run]", path: str, name: str) -> "Run":
    """Read an export. FormatError when it is no SQLite file, or none of Nsight Systems."""
    database = None
    try:
        database = _Database(path, name)
        if not any(database.has(table) for table in ("StringIds", "META_DATA_EXPORT", "META_DATA_CAPTURE")):
            raise format_error(f"{name}: a SQLite file, but not an export of Nsight Systems: it has no StringIds table")
        return _read(kind, database)
    except sqlite3.Error as error:
        raise format_error(f"{name}: the SQLite file cannot be read: {error}") from None
    finally:
        if database is not None:
            database.close()


def _read(kind: "type[Run]", database: _Database) -> "Run":
    builder = _Builder()
    texts = database.pairs("StringIds", "id", "value")

    def text_of(number: int) -> str:
        return str(texts.get(number) or f"string {number}")

    ordinals = _device_ordinals(database)
    _add_kernels(database, builder, text_of, ordinals)
    _add_graphs(database, builder, ordinals)
    _add_copies(database, builder, ordinals)
    _add_syncs(database, builder, ordinals)
    _add_calls(database, builder, text_of)
    _add_ranges(database, builder, text_of)
    _add_overheads(database, builder)
    return _build(kind, database, builder, text_of, ordinals)


# --- the device -----------------------------------------------------------------------------------------------------

Ordinals: TypeAlias = dict[tuple[int, int], int]


def _device_ordinals(database: _Database) -> Ordinals:
    """Return the GPU of each (process, device number), where processes may see different GPUs."""
    if not database.has("TARGET_INFO_CUDA_DEVICE", "pid", "cudaId", "gpuId"):
        return {}
    return {
        (pid, device): gpu
        for pid, device, gpu in database.rows("SELECT pid, cudaId, gpuId FROM TARGET_INFO_CUDA_DEVICE")
        if None not in (pid, device, gpu)
    }


def _pid(of: "NDArray[Any]") -> "NDArray[Any]":
    return (of >> 24) & 0xFFFFFF


def _device(rows: "Columns", ordinals: Ordinals) -> "NDArray[Any]":
    if not ordinals:
        return rows["deviceId"]
    keys, inverse = np.unique(np.stack((_pid(rows["globalPid"]), rows["deviceId"]), 1), axis=0, return_inverse=True)
    found = [ordinals.get((pid, device), device) for pid, device in keys.tolist()]
    return np.array(found, dtype=np.int64)[inverse.reshape(-1)]


_WORK = {"start": 0, "end": 0, "deviceId": 0, "streamId": -1, "correlationId": 0, "globalPid": 0, "graphNodeId": -1}


def _work(builder: _Builder, rows: "Columns", kind: str, ordinals: Ordinals) -> "Columns":
    """Return the columns that all work of a device has."""
    device = _device(rows, ordinals)
    return _timed(rows) | {
        "kind": np.full(len(device), KIND[kind], dtype=np.uint8),
        "lane": builder.lane(np.ones_like(device), device, rows["streamId"]),
        "correlation": builder.unique_ids(rows["correlationId"], rows["globalPid"]),
    }


def _timed(rows: "Columns") -> "Columns":
    return {"start_ns": rows["start"], "duration_ns": np.maximum(rows["end"] - rows["start"], 0)}


def _add_kernels(database: _Database, builder: _Builder, text_of: Callable[[int], str], ordinals: Ordinals) -> None:
    grid = {f"{shape}{axis}": 0 for shape in ("grid", "block") for axis in "XYZ"}
    name = next(
        (c for c in ("demangledName", "shortName", "mangledName") if database.has(_PREFIX + "KERNEL", c)), "name"
    )
    more = {"registersPerThread": -1, "staticSharedMemory": 0, "dynamicSharedMemory": 0, "graphId": -1}
    rows = database.numbers(_PREFIX + "KERNEL", _WORK | grid | more | {name: -1})
    spans = _work(builder, rows, "kernel", ordinals) | {"name": builder.named(rows[name], text_of)}
    launches = {f"{key[:-1]}_{key[-1].lower()}": rows[key] for key in grid}
    launches |= {"registers": rows["registersPerThread"], "graph": rows["graphId"], "graph_node": rows["graphNodeId"]}
    launches["shared_bytes"] = rows["staticSharedMemory"] + rows["dynamicSharedMemory"]
    builder.add(spans, launches=launches)


def _add_graphs(database: _Database, builder: _Builder, ordinals: Ordinals) -> None:
    """Add CUDA graphs that were traced as a whole: each is one piece of work."""
    rows = database.numbers(_PREFIX + "GRAPH_TRACE", _WORK | {"graphId": -1})
    name = builder.named(rows["graphId"], lambda graph: f"CUDA graph {graph}")
    builder.add(_work(builder, rows, "kernel", ordinals) | {"name": name}, launches={"graph": rows["graphId"]})


def _add_copies(database: _Database, builder: _Builder, ordinals: Ordinals) -> None:
    rows = database.numbers(_PREFIX + "MEMCPY", _WORK | {"bytes": -1, "copyKind": 0, "srcKind": 7, "dstKind": 7})

    def copy_name(code: int) -> str:
        direction, source, target = code >> 16, code >> 8 & 0xFF, code & 0xFF
        kinds = f"{_MEMORY.get(source, 'Unknown')} -> {_MEMORY.get(target, 'Unknown')}"
        return f"Memcpy {_COPIES.get(direction, 'Unknown')} ({kinds})"

    codes = (rows["copyKind"] << 16) | ((rows["srcKind"] & 0xFF) << 8) | (rows["dstKind"] & 0xFF)
    work = _work(builder, rows, "memcpy", ordinals)
    builder.add(work | {"name": builder.named(codes, copy_name), "bytes": rows["bytes"]})
    rows = database.numbers(_PREFIX + "MEMSET", _WORK | {"bytes": -1, "memKind": 7})
    name = builder.named(rows["memKind"], lambda kind: f"Memset ({_MEMORY.get(kind, 'Unknown')})")
    builder.add(_work(builder, rows, "memset", ordinals) | {"name": name, "bytes": rows["bytes"]})


def _add_syncs(database: _Database, builder: _Builder, ordinals: Ordinals) -> None:
    rows = database.numbers(_PREFIX + "SYNCHRONIZATION", _WORK | {"syncType": 0, "eventId": -1})
    name = builder.named(rows["syncType"], lambda kind: _SYNCS.get(kind, "Sync"))
    stream = np.where(rows["syncType"] == 4, -1, rows["streamId"])
    syncs = {"sync": name, "stream": stream, "event": rows["eventId"]}
    builder.add(_work(builder, rows, "sync", ordinals) | {"name": name}, syncs=syncs)


# --- the host -------------------------------------------------------------------------------------------------------


def _thread(builder: _Builder, of: "NDArray[Any]") -> "NDArray[Any]":
    return builder.lane(np.zeros_like(of), _pid(of), of & 0xFFFFFF)


def _add_calls(database: _Database, builder: _Builder, text_of: Callable[[int], str]) -> None:
    columns = {"start": 0, "end": 0, "globalTid": 0, "correlationId": 0, "nameId": -1, "eventClass": 0}
    rows = database.numbers(_PREFIX + "RUNTIME", columns)
    kinds = np.where(rows["eventClass"] == DRIVER_CLASS, KIND["driver"], KIND["runtime"]).astype(np.uint8)
    process = rows["globalTid"] & ~0xFFFFFF
    builder.add(
        _timed(rows)
        | {
            "kind": kinds,
            "lane": _thread(builder, rows["globalTid"]),
            "correlation": builder.unique_ids(rows["correlationId"], process),
            "name": builder.named(rows["nameId"], lambda number: _VERSION.sub("", text_of(number))),
        }
    )


def _add_ranges(database: _Database, builder: _Builder, text_of: Callable[[int], str]) -> None:
    table = "NVTX_EVENTS"
    if not database.has(table, "start", "eventType"):
        return
    types = (*RANGES, *STARTED_RANGES, *MARKS)
    where = f"WHERE eventType IN ({', '.join(map(str, types))}) AND start IS NOT NULL ORDER BY rowid"
    rows = database.numbers(table, {"start": 0, "end": -1, "eventType": 0, "globalTid": 0, "textId": -1}, where)
    given = database.texts(table, ("text", "jsonText"), where) or [""] * len(rows["start"])
    names = np.zeros(len(given), dtype=np.uint32)
    operators: list[tuple[int, int]] = []
    is_range = np.isin(rows["eventType"], (*RANGES, *STARTED_RANGES))
    kinds = np.where(is_range, KIND["annotation"], KIND["instant"]).astype(np.uint8)
    for row, (text, number) in enumerate(zip(given, rows["textId"].tolist(), strict=True)):
        full = text or (text_of(number) if number >= 0 else "")
        found = _OPERATOR.search(full)
        names[row] = builder.string(full[: found.start()] if found else full)
        if found:
            operators.append((row, int(found[1]) if found[1] else -1))
    if operators:
        kinds[[row for row, _ in operators]] = KIND["cpu_op"]
        joined = {"span": np.array([row for row, _ in operators]) + builder.count}
        builder.tables.setdefault("operators", []).append(joined | {"sequence": np.array([s for _, s in operators])})
    last = int(max(rows["start"].max(initial=0), rows["end"].max(initial=0)))
    is_open = is_range & (rows["end"] < 0)
    ends = np.where(is_range, np.where(is_open, last, rows["end"]), rows["start"])
    builder.add(
        _timed({"start": rows["start"], "end": ends})
        | {"kind": kinds, "lane": _thread(builder, rows["globalTid"]), "name": names}
        | {"flags": np.where(is_open, _core.FLAG_OPEN, 0).astype(np.uint32)}
    )


def _add_overheads(database: _Database, builder: _Builder) -> None:
    labels = database.pairs("ENUM_CUPTI_OVERHEAD_TYPE", "id", "label")
    columns = {"start": 0, "end": 0, "globalTid": 0, "overheadType": 0}
    for table in (_PREFIX + "OVERHEAD", "PROFILER_OVERHEAD"):
        rows = database.numbers(table, columns)
        name = builder.named(rows["overheadType"], lambda kind: str(labels.get(kind) or f"Overhead {kind}"))
        kinds = np.full(len(name), KIND["overhead"], dtype=np.uint8)
        builder.add(_timed(rows) | {"kind": kinds, "lane": _thread(builder, rows["globalTid"]), "name": name})


# --- the run --------------------------------------------------------------------------------------------------------


def _build(
    kind: "type[Run]", database: _Database, builder: _Builder, text_of: Callable[[int], str], ordinals: Ordinals
) -> "Run":
    schema = _core.schema()["run"]
    missing = {"correlation": -1, "bytes": -1}
    spans = {
        name: np.concatenate([p.get(name, np.full(len(p["start_ns"]), missing.get(name, 0))) for p in builder.parts])
        for name in ("start_ns", "duration_ns", "kind", "lane", "name", "correlation", "bytes", "flags")
        if builder.parts
    }
    tables: dict[str, Columns] = {"spans": spans, "lanes": _lanes(database, builder, text_of)}
    for table, parts in builder.tables.items():
        described = {c["name"] for c in schema[table]["columns"]}
        used = [name for name in described if any(name in part for part in parts)]
        tables[table] = {
            name: np.concatenate([part.get(name, np.full(len(part["span"]), -1)) for part in parts]) for name in used
        }
    _add_series(database, builder, tables, ordinals)
    epoch = next(iter(database.pairs("TARGET_INFO_SESSION_START_TIME", "utcEpochNs", "utcEpochNs")), 0) or 0
    tables["files"] = {
        "file": np.array([builder.string(database.name)]),
        "format": np.array([builder.string("nsys")]),
        "events": np.array([database.rows_read]),
        "kept": np.array([database.rows_read]),
        "base_ns": np.array([epoch]),
    }
    typed = {
        table: {name: values.astype(_dtype(schema, table, name)) for name, values in columns.items()}
        for table, columns in tables.items()
    }
    start = int(spans["start_ns"].min()) if builder.count else 0
    end = int((spans["start_ns"] + spans["duration_ns"]).max()) if builder.count else 0
    strings = list(builder.strings)
    environment = json.dumps(_environment(database), ensure_ascii=False, default=str)
    run: Run = kind._build(strings, typed, environment, "nsys", start, end, epoch + start if epoch else -1, True)
    run._link()
    return run


def _dtype(schema: dict[str, Any], table: str, name: str) -> str:
    return next(str(column["dtype"]) for column in schema[table]["columns"] if column["name"] == name)


def _lanes(database: _Database, builder: _Builder, text_of: Callable[[int], str]) -> "Columns":
    threads = database.pairs("ThreadNames", "globalTid", "nameId")
    named = {(_pid_of(key), key & 0xFFFFFF): text_of(value) for key, value in threads.items() if key is not None}
    processes = {_pid_of(key): value for key, value in database.pairs("PROCESSES", "globalPid", "name").items() if key}
    rows = []
    for is_device, process, thread in builder.lanes:
        if is_device:
            name, label = f"stream {thread}", f"GPU {process}"
        else:
            name, label = named.get((process, thread), f"thread {thread}"), str(processes.get(process) or "")
        rows.append((process, thread, process if is_device else -1, builder.string(name), builder.string(label)))
    columns = np.array(rows, dtype=np.int64).reshape(-1, 5)
    return {key: columns[:, at] for at, key in enumerate(("process", "thread", "device", "name", "label"))}


def _pid_of(number: int) -> int:
    return int(number) >> 24 & 0xFFFFFF


def _add_series(database: _Database, builder: _Builder, tables: dict[str, "Columns"], ordinals: Ordinals) -> None:
    """Add hardware counters, and allocations on devices."""
    if database.has("GPU_METRICS", "timestamp", "typeId", "metricId", "value"):
        rows = database.numbers("GPU_METRICS", {"timestamp": 0, "typeId": 0, "metricId": 0, "value": 0})
        names = database.pairs("TARGET_INFO_GPU_METRICS", "metricId", "metricName")
        series = builder.named(rows["metricId"], lambda metric: str(names.get(metric) or f"metric {metric}"))
        tables["counters"] = {"time_ns": rows["timestamp"], "series": series, "value": rows["value"]}
        tables["counters"]["device"] = rows["typeId"] & 0xFF
    table = "CUDA_GPU_MEMORY_USAGE_EVENTS"
    if database.has(table, "start", "memoryOperationType"):
        columns = {"start": 0, "deviceId": 0, "globalPid": 0, "address": 0, "bytes": -1, "memoryOperationType": 0}
        rows = database.numbers(table, columns)
        is_allocation = rows["memoryOperationType"] == _ALLOCATION
        alloc, free = _core.MEMORY_ACTIONS.index("alloc"), _core.MEMORY_ACTIONS.index("free")
        tables["memory"] = {"time_ns": rows["start"], "device": _device(rows, ordinals), "bytes": rows["bytes"]}
        tables["memory"] |= {"address": rows["address"], "action": np.where(is_allocation, alloc, free)}


def _environment(database: _Database) -> dict[str, Any]:
    """Return the devices in the form of a trace's head, and what the export says of itself."""
    found: dict[str, Any] = {"nsys": database.pairs("META_DATA_EXPORT", "name", "value")}
    columns = ("id", "name", "totalMemory", "smCount", "computeMajor", "computeMinor", "memoryBandwidth", "clockRate")
    known = [column for column in columns if database.has("TARGET_INFO_GPU", column)]
    if "id" in known:
        rows = database.rows(f"SELECT {', '.join(known)} FROM TARGET_INFO_GPU")
        names = {"totalMemory": "totalGlobalMem", "smCount": "numSms"}
        devices = [{names.get(k, k): v for k, v in zip(known, row, strict=True)} for row in rows]
        found["trace"] = {"deviceProperties": devices}
    return found
