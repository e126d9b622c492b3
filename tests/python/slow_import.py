# SPDX-License-Identifier: Apache-2.0
"""A second, naive importer of Kineto traces: json, Decimal and loops, no line of it shared with the C importer.

Tests compare the two. `slow_import(path)` returns a Run built from columns. It takes what the format allows and
the shipped traces contain; damage and hostile input are not its business.
"""

import gzip
import json
import re
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from slow_links import CALLS, ON_DEVICE, bind, complete_work, set_launches, set_parents, set_steps

from regimeter import Run, _core

KINDS = {name: i for i, name in enumerate(_core.SPAN_KINDS)}
CATEGORIES = {
    "cpu_op": "cpu_op",
    "operator": "cpu_op",
    "hpu_op": "cpu_op",
    "user_annotation": "annotation",
    "gpu_user_annotation": "device_annotation",
    "kernel": "kernel",
    "gpu_memcpy": "memcpy",
    "memcpy": "memcpy",
    "gpu_memset": "memset",
    "memset": "memset",
    "cuda_runtime": "runtime",
    "runtime": "runtime",
    "mtia_runtime": "runtime",
    "glow_runtime": "runtime",
    "xpu_runtime": "runtime",
    "privateuse1_runtime": "runtime",
    "cuda_driver": "driver",
    "xpu_driver": "driver",
    "privateuse1_driver": "driver",
    "cuda_sync": "sync",
    "xpu_sync": "sync",
    "cuda_event": "event",
    "python_function": "python",
    "overhead": "overhead",
    "mtia_ccp_events": "accelerator",
    "mtia_insight": "accelerator",
    "cuda_profiler_range": "counter_range",
    "trace": "window",
}
ACCELERATOR_NAMES = {"event_wait": "sync", "event_record": "event", "dma_request": "memcpy"}
FLOWS = {
    "ac2g": 0,
    "async": 0,
    "async_cpu_to_gpu": 0,
    "async_gpu": 0,
    "cpu_to_cuda": 0,
    "fwdbwd": 1,
    "forward_backward": 1,
}
PLACE = re.compile(r"(?:stream |thread )?(-?\d+)(?: .*)?")
GPU_COUNTERS = re.compile(r"GPU (\d+)")

# Arguments by table: column, keys, and how the value is read: n number, f float, p percent, t text, j JSON text.
LAUNCH = [
    ("registers", "n", "registers per thread"),
    ("shared_bytes", "n", "shared memory"),
    ("occupancy", "p", "theoretical occupancy %"),
    ("estimated_occupancy", "p", "est. achieved occupancy %"),
    ("blocks_per_sm", "f", "blocks per SM"),
    ("warps_per_sm", "f", "warps per SM"),
    ("graph", "n", "graph id"),
    ("graph_node", "n", "graph node id"),
]
OPERATOR = [
    ("sequence", "n", "Sequence number"),
    ("forward_thread", "n", "Fwd thread id"),
    ("shapes", "j", "Input Dims", "Input dims"),
    ("types", "j", "Input type"),
    ("strides", "j", "Input Strides"),
    ("values", "j", "Concrete Inputs"),
    ("stack", "t", "Call stack"),
    ("module", "t", "Module Hierarchy"),
]
COLLECTIVE = [
    ("collective", "t", "Collective name"),
    ("element_type", "t", "dtype"),
    ("in_elements", "n", "In msg nelems"),
    ("out_elements", "n", "Out msg nelems"),
    ("group_size", "n", "Group size"),
    ("group_name", "t", "Process Group Name"),
    ("group_description", "t", "Process Group Description"),
    ("group_ranks", "t", "Process Group Ranks"),
    ("in_split", "t", "In split size"),
    ("out_split", "t", "Out split size"),
    ("rank", "n", "Rank"),
    ("source_rank", "n", "Src Rank"),
    ("destination_rank", "n", "Dst Rank"),
    ("global_rank_start", "n", "Global rank start"),
    ("global_rank_stride", "n", "Global rank stride"),
    ("sequence", "n", "Seq"),
    ("communicator", "n", "Comms Id"),
]
FRAME = [("id", "n", "Python id"), ("parent_id", "n", "Python parent id"), ("module_id", "n", "Python module id")]
SYNC = [
    ("sync", "t", "cuda_sync_kind"),
    ("stream", "n", "stream"),
    ("waits_on_stream", "n", "wait_on_stream"),
    ("event", "n", "wait_on_cuda_event_id"),
    ("record_correlation", "n", "wait_on_cuda_event_record_corr_id"),
]
LAUNCH_KEYS = {"grid", "block", "registers per thread", "shared memory", "est. achieved occupancy %"} | {
    "theoretical occupancy %",
    "graph id",
    "graph node id",
    "blocks per SM",
    "warps per SM",
}


def read_text(path: Path) -> bytes:
    """Return the text of a trace file."""
    data = path.read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def ns_of(value: Any) -> int:
    """Return microseconds, as a JSON number, in nanoseconds."""
    return int(Decimal(value) * 1000)


def number(value: Any, missing: int = -1) -> int:
    """Return an integer argument, which 2021 printed as a text now and then."""
    if isinstance(value, str):
        try:
            return int(value, 0)
        except ValueError:
            return missing
    return int(value) if isinstance(value, int | Decimal) else missing


def compact(value: Any) -> str:
    """Return an argument as JSON text without spaces."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=str)


def pick(args: dict[str, Any], how: str, *keys: str) -> Any:
    """Return an argument by the first of its keys that is there."""
    value = next((args[key] for key in keys if key in args), None)
    if how == "n":
        return number(value)
    if how in "fp":
        return float(value) / (100 if how == "p" else 1) if isinstance(value, int | float | Decimal) else np.nan
    if value is None:
        return ""
    return value if how == "t" and isinstance(value, str) else compact(value)


def has(args: dict[str, Any], fields: list[Any]) -> bool:
    """Return whether any key of a list of fields is there."""
    return any(key in args for _, _, *keys in fields for key in keys)


class Names:
    """Interned strings."""

    def __init__(self) -> None:
        self.ids: dict[str, int] = {"": 0}

    def __call__(self, text: str) -> int:
        """Return the id of a text."""
        return self.ids.setdefault(text, len(self.ids))


class Reader:
    """Rows by table, as dictionaries; texts are texts."""

    def __init__(self) -> None:
        self.lanes: dict[tuple[Any, ...], dict[str, Any]] = {}
        self.spans: list[dict[str, Any]] = []
        self.tables: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self.marks: list[dict[str, Any]] = []
        self.open: dict[Any, list[tuple[int, int, str, int]]] = defaultdict(list)
        self.kept = 0

    def place(self, value: Any) -> tuple[int, str]:
        """Return a process or thread as number and text, of which one says nothing."""
        if isinstance(value, int | Decimal):
            return int(value), ""
        if value is None:
            return -1, ""
        match = PLACE.fullmatch(value)
        return (int(match[1]), "") if match else (-1, value)

    def lane_of(self, event: dict[str, Any], slot: int = 0) -> int:
        """Return the row of an event's lane."""
        place = (event.get("args") or {}).get("lane thread", event.get("tid"))
        (process, process_text), (thread, thread_text) = self.place(event.get("pid")), self.place(place)
        key = (process, process_text, thread, thread_text, slot)
        lane = {"process": process, "process_name": process_text, "thread": thread, "name": thread_text}
        self.lanes.setdefault(key, lane | {"slot": slot, "device": -1, "label": "", "row": len(self.lanes)})
        row: int = self.lanes[key]["row"]
        return row

    def read(self, event: dict[str, Any]) -> None:
        """Take one event."""
        phase = event.get("ph")
        args = event.get("args") or {}
        self.kept += 1
        if phase == "X":
            self.add_span(event, args)
        elif phase == "M":
            self.marks.append(event)
        elif phase in ("s", "t", "f"):
            kind = FLOWS.get(event.get("cat", ""), 2)
            self.tables["flows"].append(
                {
                    "id": number(event.get("id"), 0),
                    "time_ns": ns_of(event["ts"]),
                    "lane": self.lane_of(event),
                    "kind": kind,
                    "phase": "stf".index(phase),
                    "category": event.get("cat", "") if kind == 2 else "",
                }
            )
        elif phase in ("i", "I", "R", "n"):
            if event["name"] == "[memory]":
                self.add_memory(event, args)
            else:
                self.add_span(event, args, "instant")
        elif phase == "C":
            self.add_counters(event, args, -1, event["name"])
        elif phase in ("B", "b"):
            slot = int(phase == "b")
            self.add_span(event, args, slot=slot)
            self.half(event, phase, len(self.spans) - 1)
        elif phase in ("E", "e"):
            self.half(event, phase, -1)
        else:
            self.kept -= 1

    def half(self, event: dict[str, Any], phase: str, span: int) -> None:
        """Note a begin or an end."""
        group = self.lane_of(event) if phase in "BE" else (number(event.get("id"), 0), event["name"])
        self.open[phase in "be", group].append((ns_of(event["ts"]), len(self.open), phase, span))

    def add_span(self, event: dict[str, Any], args: dict[str, Any], kind: str = "", slot: int = 0) -> None:
        """Take what has a duration, and its arguments."""
        category = event.get("cat", "")
        known = CATEGORIES.get(category.lower())
        row, lane = len(self.spans), self.lane_of(event, slot)
        kind = kind or known or "other"
        if kind == "accelerator":
            kind = ACCELERATOR_NAMES.get(event.get("name", ""), kind)
        span = {
            "start_ns": ns_of(event["ts"]),
            "duration_ns": 0 if kind == "instant" else max(0, ns_of(event.get("dur", 0))),
            "name": event.get("name", ""),
            "kind": kind,
            "lane": lane,
            "correlation": number(args.get("correlation")),
            "external_id": number(args.get("External id", args.get("external id"))),
            "bytes": number(args.get("bytes", args.get("size"))) if kind in ON_DEVICE | CALLS else -1,
            "category": "" if known else category,
        }
        self.spans.append(span)
        if kind == "instant":
            return
        if kind in ON_DEVICE:
            place = list(self.lanes.values())[lane] if self.lanes else {}
            if place["device"] < 0:
                device = number(args.get("device"), place["process"])
                place["device"] = device if 0 <= device < 2**15 else 0
        if (kind in ON_DEVICE and LAUNCH_KEYS & args.keys()) or (kind in CALLS and "grid" in args):
            sizes = (*args.get("grid", [0, 0, 0]), *args.get("block", [0, 0, 0]))
            columns = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z")
            self.take("launches", row, args, LAUNCH, dict(zip(columns, sizes, strict=True)))
        if kind == "python":
            self.take("frames", row, args, FRAME)
            return
        if kind == "sync":
            self.take("syncs", row, args, SYNC)
        if kind == "counter_range":
            self.add_counters(event, args, row, "")
        if has(args, OPERATOR):
            self.take("operators", row, args, OPERATOR)
        if has(args, COLLECTIVE[:4]):
            self.take("collectives", row, args, COLLECTIVE)

    def take(
        self, table: str, row: int, args: dict[str, Any], fields: list[Any], more: dict[str, Any] | None = None
    ) -> None:
        """Add a row of arguments."""
        self.tables[table].append(
            {"span": row, **(more or {}), **{c: pick(args, how, *keys) for c, how, *keys in fields}}
        )

    def add_memory(self, event: dict[str, Any], args: dict[str, Any]) -> None:
        """Take an allocation or a free."""
        size, device = args["Bytes"], args.get("Device Id", -1)
        self.tables["memory"].append(
            {
                "time_ns": ns_of(event["ts"]),
                "device": device if args.get("Device Type") else -1,
                "action": 1 if size >= 0 else 2,
                "bytes": abs(size),
                "address": args.get("Addr", 0),
                "allocated": args.get("Total Allocated", -1),
                "reserved": args.get("Total Reserved", -1),
                "lane": self.lane_of(event),
            }
        )

    def add_counters(self, event: dict[str, Any], args: dict[str, Any], span: int, prefix: str) -> None:
        """Take every number among the arguments."""
        match = GPU_COUNTERS.match(str(event.get("pid", ""))) if span < 0 else None
        for key, value in args.items():
            if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
                continue
            row = {"time_ns": ns_of(event["ts"]), "span": span, "device": int(match[1]) if match else -1}
            series = f"{prefix}/{key}" if prefix and key else prefix or key
            self.tables["counters"].append(row | {"series": series, "value": float(value)})

    def close_halves(self) -> None:
        """Pair begins and ends: within a group an end closes the innermost open span."""
        ends = [s["start_ns"] + s["duration_ns"] for s in self.spans]
        left = []
        for group in self.open.values():
            stack = []
            for time, _, phase, span in sorted(group, key=lambda half: half[0]):
                if phase in "Bb":
                    stack.append(span)
                elif stack:
                    self.spans[stack[-1]]["duration_ns"] = time - self.spans[stack[-1]]["start_ns"]
                    ends.append(time)
                    stack.pop()
                else:
                    self.kept -= 1
            left += stack
        for span in left:
            self.spans[span]["duration_ns"] = max(ends) - self.spans[span]["start_ns"]
            self.spans[span]["open"] = True

    def name_lanes(self) -> None:
        """Give lanes the names that metadata events state, the last one each."""
        for mark in self.marks:
            process, thread = self.place(mark.get("pid")), self.place(mark.get("tid"))
            for lane in self.lanes.values():
                text = lane["process_name"] if lane["process"] == -1 else ""
                if process != (lane["process"], text):
                    continue
                args = mark.get("args") or {}
                if mark["name"] == "process_name" and not process[1]:
                    lane["process_name"] = args["name"]
                elif mark["name"] == "process_labels":
                    lane["label"] = args["labels"]
                elif mark["name"] == "process_rank":
                    lane["rank"] = int(args["rank"])
                elif mark["name"] == "thread_name" and thread == lane.get("place", (lane["thread"], lane["name"])):
                    lane.setdefault("place", (lane["thread"], lane["name"]))
                    lane["name"] = args["name"]


def named(lane: dict[str, Any], rank: int) -> dict[str, Any]:
    """Return a lane with its rank, or that of the file, which is no part of its process's name."""
    rank = lane.get("rank", rank)
    return lane | {"rank": rank, "process_name": lane["process_name"].removeprefix(f"rank {rank} ")}


def slow_import(path: str | Path) -> Run:
    """Read a trace file."""
    return slow_read(read_text(Path(path)))


def slow_read(text: bytes) -> Run:
    """Read a trace's text; everything that the format allows and the shipped traces contain, and nothing else."""
    document = json.loads(text, parse_float=Decimal)
    events = document if isinstance(document, list) else document["traceEvents"]
    head = {} if isinstance(document, list) else {k: v for k, v in document.items() if k != "traceEvents"}
    reader = Reader()
    for event in events:
        reader.read(event)
    reader.close_halves()
    reader.name_lanes()
    set_parents(reader.spans)
    set_launches(reader.spans)
    set_steps(reader.spans)
    complete_work(reader.spans, reader.tables["launches"])
    for table in ("flows", "memory"):
        bind(reader.spans, reader.tables[table])
    return build(reader, head, len(events))


def build(reader: Reader, head: dict[str, Any], n_events: int) -> Run:
    """Return the Run of what was read."""
    names = Names()
    schema = _core.schema()["run"]
    rank = (head.get("distributedInfo") or {}).get("rank", -1)
    reader.tables["files"] = [
        {"events": n_events, "kept": reader.kept, "rank": rank, "base_ns": head.get("baseTimeNanoseconds", 0)}
    ]
    rows = {"spans": reader.spans, "lanes": [named(lane, rank) for lane in reader.lanes.values()], **reader.tables}

    def cells(table: str, column: dict[str, Any]) -> np.ndarray:
        values = [row[column["name"]] for row in rows[table]]
        if values and isinstance(values[0], str):
            values = [KINDS[v] for v in values] if column["name"] == "kind" else [names(v) for v in values]
        return np.array(values, dtype=column["dtype"])

    tables = {
        table: {c["name"]: cells(table, c) for c in schema[table]["columns"] if not members or c["name"] in members[0]}
        for table, members in rows.items()
        if members or table in ("spans", "lanes")
    }
    if not reader.spans:
        tables = {name: columns for name, columns in tables.items() if name not in ("spans", "lanes")}
    start = min((s["start_ns"] for s in reader.spans), default=0)
    end = max((s["start_ns"] + s["duration_ns"] for s in reader.spans), default=0)
    environment = json.dumps({"trace": head}, default=str)
    run: Run = Run._build(list(names.ids), tables, environment, "trace", start, end, -1, True)
    return run
