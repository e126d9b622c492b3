# SPDX-License-Identifier: Apache-2.0
"""Invented report data for the page: a training loop with nested operations, three lanes and memory series.

``python tests/web/report_data.py`` prints the page's demo data (``regimeter/web/demo-data.json``), byte for byte.
"""

import json
import math
import random
import statistics
from typing import Any

MS = 1_000_000
COLUMNS = ("start_ns", "duration_ns", "name", "lane", "depth", "flags")
# What scopes of a recording do not have, and what is the same for all of them.
SAME = {"op": 0, "launch": -1, "correlation": -1, "step": -1, "bytes": -1, "kind": 0, "activity": 0}

# name: (device, backend, mean ms, variation, children)
OPERATIONS: dict[str, tuple[str, str, float, float, tuple[str, ...]]] = {
    "train_step": ("gpu", "torch", 0.6, 0.2, ("wait_for_batch", "forward", "loss", "backward", "optimizer")),
    "wait_for_batch": ("cpu", "cpu", 2.1, 0.9, ()),
    "forward": ("gpu", "torch", 0.9, 0.1, ("attention", "feed_forward") * 3),
    "attention": ("gpu", "torch", 3.4, 0.06, ()),
    "feed_forward": ("gpu", "torch", 2.2, 0.05, ()),
    "loss": ("gpu", "torch", 0.7, 0.15, ()),
    "backward": ("gpu", "torch", 31.0, 0.05, ()),
    "optimizer": ("gpu", "torch", 5.8, 0.08, ()),
    "validation": ("gpu", "torch", 1.5, 0.2, ("forward", "loss")),
    "checkpoint": ("cpu", "cpu", 46.0, 0.1, ()),
    "load_batch": ("cpu", "numpy", 7.0, 0.35, ("augment",)),
    "augment": ("cpu", "numpy", 4.5, 0.3, ()),
}
NAMES = list(OPERATIONS)


class Recording:
    """Spans of nested operations, lane by lane."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.spans: list[tuple[int, int, int, int, int, int]] = []
        self.exclusive: dict[str, int] = dict.fromkeys(NAMES, 0)

    def run(self, name: str, start: int, lane: int, depth: int = 0) -> int:
        _, _, mean, variation, children = OPERATIONS[name]
        own = max(2_000, int(mean * MS * math.exp(self.random.gauss(0.0, variation))))
        at = len(self.spans)
        self.spans.append((0, 0, 0, 0, 0, 0))
        clock = start + own // 2
        for child in children:
            clock = self.run(child, clock, lane, depth + 1)
        end = clock + own - own // 2
        failed = int(name == "load_batch" and self.random.random() < 0.03)
        self.spans[at] = (start, end - start, NAMES.index(name), lane, depth, failed)
        self.exclusive[name] += own
        return end + self.random.randrange(20_000, 90_000)


def summary_row(recording: Recording, name: str, everything: int) -> dict[str, Any]:
    device, backend = OPERATIONS[name][:2]
    mine = [span for span in recording.spans if span[2] == NAMES.index(name)]
    durations = [span[1] for span in mine]
    cuts = statistics.quantiles(durations, n=100, method="inclusive") if len(durations) > 1 else durations * 99
    deviation = statistics.stdev(durations) if len(durations) > 1 else None
    mean = statistics.fmean(durations)
    total, own = sum(durations), recording.exclusive[name]
    gpu = int(own * 0.82) if device == "gpu" else None
    return {
        "operation": name,
        "device": device,
        "backend": backend,
        "call_count": len(mine),
        "failed_count": sum(span[5] for span in mine),
        "skipped_count": 0,
        "total_ns": total,
        "exclusive_ns": own,
        "mean_ns": round(mean, 1),
        "min_ns": min(durations),
        "max_ns": max(durations),
        "std_dev_ns": None if deviation is None else round(deviation, 1),
        "median_ns": round(statistics.median(durations), 1),
        "p95_ns": round(cuts[94], 1),
        "p99_ns": round(cuts[98], 1),
        "cv": None if deviation is None else round(deviation / mean, 4),
        "gpu_ns": gpu,
        "cpu_ns": own if gpu is None else int(own * 0.11),
        "transfer_ns": int(own * 0.02) if gpu is not None else None,
        "overhead_ns": own - gpu - int(own * 0.11) - int(own * 0.02) if gpu is not None else None,
        "memory_allocated_bytes": int(mean * 9) if device == "gpu" else None,
        "memory_peak_bytes": 3_100_000_000 + int(mean * 12) if device == "gpu" else None,
        "gpu_utilization": None,
        "share": own / everything,
    }


def memory(recording: Recording, end: int) -> list[dict[str, Any]]:
    """Host memory that creeps upward, device memory that rises in forward passes and falls in backward passes."""
    steps = [span for span in recording.spans if NAMES[span[2]] == "train_step"]
    times = list(range(0, end, max(1, end // 400)))
    host, allocated = [], []
    for time in times:
        host.append(1_840_000_000 + int(260_000_000 * time / end) + recording.random.randrange(4_000_000))
        inside = next((span for span in steps if span[0] <= time < span[0] + span[1]), None)
        part = 0.0 if inside is None else (time - inside[0]) / inside[1]
        wave = part / 0.4 if part < 0.4 else (1 - part) / 0.6
        allocated.append(3_050_000_000 + int(1_500_000_000 * wave))
    return [
        {"name": "host resident set", "unit": "bytes", "time_ns": times, "value": host},
        {"name": "device allocated", "unit": "bytes", "time_ns": times, "value": allocated},
        {"name": "device reserved", "unit": "bytes", "time_ns": times, "value": [4_800_000_000] * len(times)},
    ]


def report(steps: int = 16, seed: int = 7) -> dict[str, Any]:
    """Report data as ``regimeter report`` embeds it; deterministic for the same arguments."""
    recording = Recording(seed)
    clock = 0
    for step in range(steps):
        clock = recording.run("train_step", clock, 0)
        if step % 8 == 7:
            clock = recording.run("checkpoint", recording.run("validation", clock, 0), 0)
    for lane in (1, 2):
        at = lane * 3 * MS
        while at < clock - 60 * MS:
            at = recording.run("load_batch", at, lane) + recording.random.randrange(2 * MS, 40 * MS)
    spans = sorted(recording.spans)
    end = max(start + duration for start, duration, *_ in spans)
    everything = sum(recording.exclusive.values())
    used = [name for name in NAMES if recording.exclusive[name] > 0]
    summary = [summary_row(recording, name, everything) for name in used]
    order = sorted(range(len(summary)), key=lambda i: -summary[i]["exclusive_ns"])
    return {
        "format": "regimeter.report",
        "version": 2,
        "title": "train_transformer.py",
        "created": "2026-11-21T03:00:00Z",
        "run": {
            "source": "live",
            "file": None,
            "duration_ns": end,
            "started_unix_ns": None,
            "span_count": len(spans),
            "lane_count": 3,
            "complete": True,
        },
        "cost": {
            "scopes": len(spans),
            "per_scope_ns": 95.0,
            "total_ns": len(spans) * 95,
            "share": len(spans) * 95 / end,
            "basis": "calibrated at start: minimum of 5 bursts, warm caches",
        },
        "environment": {
            "host": "example",
            "python": "3.11.7",
            "platform": "Linux x86_64",
            "cpu": "example CPU, 8 cores",
            "cores": 8,
            "torch": "2.13.0",
            "command": ["python", "train_transformer.py", "--steps", str(steps)],
            "device": {"name": "example GPU", "driver": "example", "memory_bytes": 24_000_000_000},
        },
        "summary": summary,
        "bottlenecks": order[:10],
        "unavailable": {"gpu_utilization": "utilisation was not sampled in this run"},
        "lanes": [
            {"name": "MainThread", "process": 4100, "thread": 4100},
            {"name": "loader-0", "process": 4100, "thread": 4131},
            {"name": "loader-1", "process": 4100, "thread": 4132},
        ],
        "names": list(NAMES),
        "timeline": timeline(dict(zip(COLUMNS, (list(column) for column in zip(*spans, strict=True)), strict=True))),
        "memory": {"series": memory(recording, end), "unavailable": []},
        "anomalies": [
            {"code": "failed_scopes", "count": sum(span[5] for span in spans), "detail": "left by an exception"}
        ],
    }


def timeline(columns: dict[str, list[int]]) -> dict[str, Any]:
    """The timeline of scopes that are all drawn one by one, from its columns as plain lists."""
    count = len(columns["start_ns"])
    same = {name: {"type": "same", "value": value} for name, value in SAME.items()}
    return {
        "count": count,
        "spans": count,
        "drawn": count,
        "aggregated": 0,
        "columns": columns | {"plain_depth": columns["depth"]} | same,
        "kinds": ["scope"],
        "activities": ["none"],
        "details": [],
    }


def many_spans(count: int) -> dict[str, Any]:
    """The same report with its timeline repeated until it has ``count`` spans."""
    from regimeter.report.pack import packed

    data = report()
    columns = data["timeline"]["columns"]
    size = len(columns["start_ns"])
    period = data["run"]["duration_ns"]
    rounds = -(-count // size)
    repeated = {
        name: [value + (period if name == "start_ns" else 0) * k for k in range(rounds) for value in columns[name]][
            :count
        ]
        for name in COLUMNS
    }
    data["timeline"] = timeline(repeated)
    made = {name: packed(values, steps=name == "start_ns") for name, values in repeated.items()}
    data["timeline"]["columns"] |= made | {"plain_depth": made["depth"]}
    data["run"]["duration_ns"] = period * rounds
    data["run"]["span_count"] = count
    return data


def profile(with_times: bool = True, steps: int = 2) -> dict[str, Any]:
    """The same work as ``export_json`` writes it, or in the plainer documented form without start times."""
    data = report(steps=max(steps, 1))
    timeline = data["timeline"]["columns"]
    entries = []
    for i, start in enumerate(timeline["start_ns"]):
        device, backend = OPERATIONS[NAMES[timeline["name"][i]]][:2]
        entry = {
            "operation": NAMES[timeline["name"][i]],
            "duration_ms": timeline["duration_ns"][i] / MS,
            "device": device,
            "backend": backend,
            "memory_allocated_mb": 10.0 + i % 7 if device == "gpu" else None,
            "memory_peak_mb": 40.0 + i % 5 if device == "gpu" else None,
            "metadata": {},
        }
        if with_times:
            entry["start_time"] = 100.0 + start / 1e9
            entry["end_time"] = entry["start_time"] + timeline["duration_ns"][i] / 1e9
            entry["depth"] = timeline["depth"][i]
            entry["thread"] = data["lanes"][timeline["lane"][i]]["name"]
            entry["failed"] = bool(timeline["flags"][i])
        entries.append(entry)
    summary = {
        row["operation"]: {
            "call_count": row["call_count"],
            "total_time_ms": row["total_ns"] / MS,
            "avg_time_ms": row["mean_ns"] / MS,
            "min_time_ms": row["min_ns"] / MS,
            "max_time_ms": row["max_ns"] / MS,
            "total_gpu_time_ms": None,
            "avg_memory_mb": None,
            "avg_gpu_utilization": None,
        }
        | ({"exclusive_time_ms": row["exclusive_ns"] / MS} if with_times else {})
        for row in data["summary"]
    }
    if not with_times:
        return {"entries": entries, "summary": summary}
    header = {"format": "regimeter.profile", "version": 1, "environment": data["environment"], "cost": data["cost"]}
    return {**header, "entries": entries, "summary": summary}


if __name__ == "__main__":
    print(json.dumps(report(), separators=(",", ":")))
