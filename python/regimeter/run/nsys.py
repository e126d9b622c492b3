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
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .. import _core
from .format_error import format_error
from .nsys_tables import Builder, Database, without_doubles

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..public.run import Run
    from .nsys_tables import Columns

KIND = {name: number for number, name in enumerate(_core.SPAN_KINDS)}
RANGES, STARTED_RANGES, MARKS = (59, 70), (60, 71), (34, 65)  # NVTX event types: push/pop, start/end, mark
DRIVER_CLASS = 1  # of ENUM_NSYS_EVENT_CLASS
_ALLOCATION = 0
_VERSION = re.compile(r"_v\d+$")
_OPERATOR = re.compile(r"(?:, seq = (-?\d+))?, op_id = \d+(?:, .*)?$", re.DOTALL)
_MEMORY = {0: "Pageable", 1: "Pinned", 2: "Device", 3: "Array", 4: "Managed", 5: "Device", 6: "Managed"}
_COPIES = {1: "HtoD", 2: "DtoH", 3: "HtoA", 4: "AtoH", 5: "AtoA", 6: "AtoD", 7: "DtoA", 8: "DtoD", 9: "HtoH",
           10: "PtoP", 11: "HtoD", 12: "DtoH", 13: "DtoD"}  # fmt: skip
_SYNCS = {1: "Event Sync", 2: "Stream Wait Event", 3: "Stream Sync", 4: "Context Sync"}
_PREFIX = "CUPTI_ACTIVITY_KIND_"
# What an export says of its machine that is part of a run's environment; it also holds all variables of the process.
SYSTEM = ("Hostname", "OsDescription", "CpuDescription", "NvDriverVersion", "CudaDriverVersion")


def is_nsys(path: str) -> bool:
    """Whether a SQLite file is an export of Nsight Systems."""
    database = None
    try:
        database = Database(path, path)
        return _is_export(database)
    except (sqlite3.Error, ValueError):
        return False
    finally:
        if database is not None:
            database.close()


def _is_export(database: Database) -> bool:
    return any(database.has(table) for table in ("StringIds", "META_DATA_EXPORT", "META_DATA_CAPTURE"))


def read_nsys(kind: "type[Run]", path: str, name: str) -> "Run":
    """Read an export. FormatError when it is no SQLite file, or none of Nsight Systems."""
    database = None
    try:
        database = Database(path, name)
        if not _is_export(database):
            raise format_error(f"{name}: a SQLite file, but not an export of Nsight Systems: it has no StringIds table")
        return _read(kind, database)
    except sqlite3.Error as error:
        if "interrupted" in str(error):
            raise format_error(f"{name}: reading takes more steps than a file of its size can need; it is no export "
                               "of Nsight Systems") from None  # fmt: skip
        raise format_error(f"{name}: the SQLite file cannot be read: {error}") from None
    finally:
        if database is not None:
            database.close()


def _read(kind: "type[Run]", database: Database) -> "Run":
    builder = Builder()
    texts = database.pairs("StringIds", "id", "value")

    def text_of(number: int) -> str:
        if number not in texts:
            database.note("missing_names", "StringIds lacks names that rows refer to; these show a number", 1)
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


def _device_ordinals(database: Database) -> Ordinals:
    """Return the GPU of each (process, device number), where processes may see different GPUs."""
    if not database.has("TARGET_INFO_CUDA_DEVICE", "pid", "cudaId", "gpuId"):
        return {}
    return {
        (pid, device): gpu
        for pid, device, gpu in database.rows("SELECT pid, cudaId, gpuId FROM TARGET_INFO_CUDA_DEVICE")
        if all(isinstance(value, int) for value in (pid, device, gpu))
    }


def _pid(of: "NDArray[Any]") -> "NDArray[Any]":
    return (of >> 24) & 0xFFFFFF


def _device(rows: "Columns", ordinals: Ordinals) -> "NDArray[Any]":
    if not ordinals:
        return rows["deviceId"]
    keys, inverse = np.unique(np.stack((_pid(rows["globalPid"]), rows["deviceId"]), 1), axis=0, return_inverse=True)
    found = [ordinals.get((pid, device), device) for pid, device in keys.tolist()]
    return np.array(found, dtype=np.int64)[inverse.reshape(-1)]


_PLACED = ("start", "end", "deviceId", "streamId", "correlationId")  # what every version says of work of a device
_WORK = {"start": 0, "end": 0, "deviceId": 0, "streamId": -1, "correlationId": 0, "globalPid": 0, "graphNodeId": -1}


def _work(builder: Builder, rows: "Columns", kind: str, ordinals: Ordinals) -> "Columns":
    """Return the columns that all work of a device has."""
    device = _device(rows, ordinals)
    return _timed(builder, rows) | {
        "kind": np.full(len(device), KIND[kind], dtype=np.uint8),
        "lane": builder.lane(np.ones_like(device), device, rows["streamId"]),
        "correlation": builder.unique_ids(rows["correlationId"], rows["globalPid"]),
    }


def _timed(builder: Builder, rows: "Columns") -> "Columns":
    durations = rows["end"] - rows["start"]
    builder.backward += int((durations < 0).sum())
    return {"start_ns": rows["start"], "duration_ns": np.maximum(durations, 0)}


def _add_kernels(database: Database, builder: Builder, text_of: Callable[[int], str], ordinals: Ordinals) -> None:
    grid = {f"{shape}{axis}": 0 for shape in ("grid", "block") for axis in "XYZ"}
    name = next(
        (c for c in ("demangledName", "shortName", "mangledName") if database.has(_PREFIX + "KERNEL", c)), "name"
    )
    more = {"registersPerThread": -1, "staticSharedMemory": 0, "dynamicSharedMemory": 0, "graphId": -1}
    table = _PREFIX + "KERNEL"
    rows = without_doubles(
        database, table, database.numbers(table, _WORK | grid | more | {name: -1}, needed=(*_PLACED, name))
    )
    spans = _work(builder, rows, "kernel", ordinals) | {"name": builder.named(rows[name], text_of)}
    launches = {f"{key[:-1]}_{key[-1].lower()}": rows[key] for key in grid}
    launches |= {"registers": rows["registersPerThread"], "graph": rows["graphId"], "graph_node": rows["graphNodeId"]}
    launches["shared_bytes"] = rows["staticSharedMemory"] + rows["dynamicSharedMemory"]
    builder.add(spans, launches=launches)


def _add_graphs(database: Database, builder: Builder, ordinals: Ordinals) -> None:
    """Add CUDA graphs that were traced as a whole: each is one piece of work."""
    rows = database.numbers(_PREFIX + "GRAPH_TRACE", _WORK | {"graphId": -1}, needed=(*_PLACED, "graphId"))
    name = builder.named(rows["graphId"], lambda graph: f"CUDA graph {graph}")
    builder.add(_work(builder, rows, "kernel", ordinals) | {"name": name}, launches={"graph": rows["graphId"]})


def _add_copies(database: Database, builder: Builder, ordinals: Ordinals) -> None:
    table = _PREFIX + "MEMCPY"
    columns = _WORK | {"bytes": -1, "copyKind": 0, "srcKind": 7, "dstKind": 7}
    rows = without_doubles(database, table, database.numbers(table, columns, needed=(*_PLACED, "bytes", "copyKind")))

    def copy_name(code: int) -> str:
        direction, source, target = code >> 16, code >> 8 & 0xFF, code & 0xFF
        kinds = f"{_MEMORY.get(source, 'Unknown')} -> {_MEMORY.get(target, 'Unknown')}"
        return f"Memcpy {_COPIES.get(direction, 'Unknown')} ({kinds})"

    codes = (rows["copyKind"] << 16) | ((rows["srcKind"] & 0xFF) << 8) | (rows["dstKind"] & 0xFF)
    work = _work(builder, rows, "memcpy", ordinals)
    builder.add(work | {"name": builder.named(codes, copy_name), "bytes": rows["bytes"]})
    table = _PREFIX + "MEMSET"
    rows = database.numbers(table, _WORK | {"bytes": -1, "memKind": 7}, needed=(*_PLACED, "bytes"))
    rows = without_doubles(database, table, rows)
    name = builder.named(rows["memKind"], lambda kind: f"Memset ({_MEMORY.get(kind, 'Unknown')})")
    builder.add(_work(builder, rows, "memset", ordinals) | {"name": name, "bytes": rows["bytes"]})


def _add_syncs(database: Database, builder: Builder, ordinals: Ordinals) -> None:
    rows = database.numbers(
        _PREFIX + "SYNCHRONIZATION", _WORK | {"syncType": 0, "eventId": -1}, needed=("start", "end")
    )
    name = builder.named(rows["syncType"], lambda kind: _SYNCS.get(kind, "Sync"))
    stream = np.where(rows["syncType"] == 4, -1, rows["streamId"])
    syncs = {"sync": name, "stream": stream, "event": rows["eventId"]}
    builder.add(_work(builder, rows, "sync", ordinals) | {"name": name}, syncs=syncs)


# --- the host -------------------------------------------------------------------------------------------------------


def _thread(builder: Builder, of: "NDArray[Any]") -> "NDArray[Any]":
    return builder.lane(np.zeros_like(of), _pid(of), of & 0xFFFFFF)


def _add_calls(database: Database, builder: Builder, text_of: Callable[[int], str]) -> None:
    columns = {"start": 0, "end": 0, "globalTid": 0, "correlationId": 0, "nameId": -1, "eventClass": 0}
    table = _PREFIX + "RUNTIME"
    needed = ("start", "end", "globalTid", "correlationId", "nameId")
    rows = without_doubles(database, table, database.numbers(table, columns, needed=needed))
    kinds = np.where(rows["eventClass"] == DRIVER_CLASS, KIND["driver"], KIND["runtime"]).astype(np.uint8)
    process = rows["globalTid"] & ~0xFFFFFF
    builder.add(
        _timed(builder, rows)
        | {
            "kind": kinds,
            "lane": _thread(builder, rows["globalTid"]),
            "correlation": builder.unique_ids(rows["correlationId"], process),
            "name": builder.named(rows["nameId"], lambda number: _VERSION.sub("", text_of(number))),
        }
    )


def _add_ranges(database: Database, builder: Builder, text_of: Callable[[int], str]) -> None:
    table = "NVTX_EVENTS"
    if not database.has(table, "start", "eventType"):
        return
    types = (*RANGES, *STARTED_RANGES, *MARKS)
    sound = database.sound(table, ("start", "end"))
    where = f"WHERE eventType IN ({', '.join(map(str, types))}) AND start IS NOT NULL AND {sound} ORDER BY rowid"
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
        _timed(builder, {"start": rows["start"], "end": ends})
        | {"kind": kinds, "lane": _thread(builder, rows["globalTid"]), "name": names}
        | {"flags": np.where(is_open, _core.FLAG_OPEN, 0).astype(np.uint32)}
    )


def _add_overheads(database: Database, builder: Builder) -> None:
    labels = database.pairs("ENUM_CUPTI_OVERHEAD_TYPE", "id", "label")
    columns = {"start": 0, "end": 0, "globalTid": 0, "overheadType": 0}
    for table in (_PREFIX + "OVERHEAD", "PROFILER_OVERHEAD"):
        rows = database.numbers(table, columns)
        name = builder.named(rows["overheadType"], lambda kind: str(labels.get(kind) or f"Overhead {kind}"))
        kinds = np.full(len(name), KIND["overhead"], dtype=np.uint8)
        builder.add(_timed(builder, rows) | {"kind": kinds, "lane": _thread(builder, rows["globalTid"]), "name": name})


# --- the run --------------------------------------------------------------------------------------------------------


def _build(
    kind: "type[Run]", database: Database, builder: Builder, text_of: Callable[[int], str], ordinals: Ordinals
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
        "kept": np.array([database.rows_read - sum(found.lost for found in database.anomalies.values())]),
        "base_ns": np.array([epoch]),
    }
    database.note("negative_duration", "rows end before they start; they last 0 here", builder.backward)
    if database.anomalies:
        tables["anomalies"] = _anomalies(database, builder)
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


def _anomalies(database: Database, builder: Builder) -> "Columns":
    found = database.anomalies
    return {
        "code": np.array([_core.ANOMALY_CODES.index(code) for code in found]),
        "count": np.array([row.count for row in found.values()]),
        "lost": np.array([row.lost for row in found.values()]),
        "detail": np.array([builder.string("; ".join(row.details)) for row in found.values()]),
    }


def _dtype(schema: dict[str, Any], table: str, name: str) -> str:
    return next(str(column["dtype"]) for column in schema[table]["columns"] if column["name"] == name)


def _lanes(database: Database, builder: Builder, text_of: Callable[[int], str]) -> "Columns":
    threads = database.pairs("ThreadNames", "globalTid", "nameId")
    named = {(_pid_of(key), key & 0xFFFFFF): text_of(value) for key, value in threads.items()}
    processes = {_pid_of(key): value for key, value in database.pairs("PROCESSES", "globalPid", "name").items()}
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


def _add_series(database: Database, builder: Builder, tables: dict[str, "Columns"], ordinals: Ordinals) -> None:
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


def _environment(database: Database) -> dict[str, Any]:
    """Return the devices in the form of a trace's head, and what the export says of itself."""
    found: dict[str, Any] = {"nsys": database.pairs("META_DATA_EXPORT", "name", "value", "text")}
    columns = ("id", "name", "totalMemory", "smCount", "computeMajor", "computeMinor", "memoryBandwidth", "clockRate")
    known = [column for column in columns if database.has("TARGET_INFO_GPU", column)]
    if "id" in known:
        rows = database.rows(f"SELECT {', '.join(known)} FROM TARGET_INFO_GPU")
        names = {"totalMemory": "totalGlobalMem", "smCount": "numSms"}
        devices = [{names.get(k, k): v for k, v in zip(known, row, strict=True)} for row in rows]
        found["trace"] = {"deviceProperties": devices}
    system = database.pairs("TARGET_INFO_SYSTEM_ENV", "name", "value", "text")
    found["nsys"]["system"] = {name: system[name] for name in SYSTEM if name in system}
    return found
