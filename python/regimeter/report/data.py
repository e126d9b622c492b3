# SPDX-License-Identifier: Apache-2.0
"""What the HTML page shows of a run, as one JSON-ready dictionary of columns; times are ns since its start."""

import datetime
from array import array
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import records
from .._core import FLAG_FAILED, MEMORY_ACTIONS
from .counter_tracks import counters_of
from .export import run_facts
from .regime_data import regimes_of
from .stages import Progress, Stages
from .suggestions import suggestions_data

if TYPE_CHECKING:
    from ..trace import Run

FORMAT = "regimeter.report"
VERSION = 1
TOP_BOTTLENECKS = 5
# Field of the page -> (field of ProfileSummary, factor).
SUMMARY_FIELDS = {
    "operation": ("operation", None),
    "device": ("device", None),
    "backend": ("backend", None),
    "call_count": ("call_count", None),
    "failed_count": ("failed_count", None),
    "skipped_count": ("skipped_count", None),
    "total_ns": ("total_time_ms", 1e6),
    "exclusive_ns": ("exclusive_time_ms", 1e6),
    "mean_ns": ("avg_time_ms", 1e6),
    "min_ns": ("min_time_ms", 1e6),
    "max_ns": ("max_time_ms", 1e6),
    "std_dev_ns": ("std_dev_ms", 1e6),
    "median_ns": ("median_ms", 1e6),
    "p95_ns": ("p95_ms", 1e6),
    "p99_ns": ("p99_ms", 1e6),
    "cv": ("cv", None),
    "gpu_ns": ("total_gpu_time_ms", 1e6),
    "cpu_ns": ("total_cpu_time_ms", 1e6),
    "transfer_ns": ("total_transfer_time_ms", 1e6),
    "overhead_ns": ("total_overhead_ms", 1e6),
    "memory_allocated_bytes": ("avg_memory_mb", 1e6),
    "memory_peak_bytes": ("peak_memory_mb", 1e6),
    "gpu_utilization": ("avg_gpu_utilization", None),
    "share": ("share", None),
}
CAUTIONS = {
    "no_start_times": "This file has no start times: operations are laid end to end in the order of the file, and"
    " shares are of total time, where nested operations count twice.",
    "stated_constants": "Figures of this file are one fixed part of every duration: constants, not measurements."
    " They are left out.",
}
# Field of the page -> field of an entry whose reason explains its absence.
REASONS = {
    "gpu_ns": "gpu_time_ms",
    "cpu_ns": "cpu_time_ms",
    "transfer_ns": "transfer_time_ms",
    "overhead_ns": "overhead_ms",
    "gpu_utilization": "gpu_utilization",
    "memory_allocated_bytes": "memory_allocated_mb",
    "memory_peak_bytes": "memory_peak_mb",
}


def report_data(
    run: "Run", *, title: str | None = None, file: str | None = None, progress: Progress | None = None
) -> dict[str, Any]:
    """Return the page's data for a run."""
    stages = Stages(len(VIEWS) + 2, progress)
    stages.begin("summary")
    summaries = records.summaries_of(run)
    reasons = records.unavailable_fields(run, "gpu")
    facts = run_facts(run)
    data = {
        "format": FORMAT,
        "version": VERSION,
        "title": title or _title(run),
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "run": {name: facts[name] for name in ("source", "duration_ns", "started_unix_ns", "complete")}
        # A recording that is still going on is not one that ended early.
        | {"complete": run.complete or run.source == "live"}
        | {"file": file, "span_count": len(run.entries), "lane_count": facts["lane_count"]},
        "cost": run.cost,
        "environment": {name: value for name, value in run.environment.items() if name not in ("cost", "skipped")},
        "summary": [_summary_row(summary) for summary in summaries],
        "bottlenecks": list(range(min(TOP_BOTTLENECKS, len(summaries)))),
        "unavailable": {name: reasons[entry] for name, entry in REASONS.items() if entry in reasons},
        "lanes": _lanes(run),
        "cautions": _cautions(run),
        "share_basis": "exclusive" if run.has_start_times else "total",
        "anomalies": run.anomaly_list(),
    }
    for name, view in VIEWS.items():
        stages.begin(name)
        data |= view(run)
    stages.begin("page")
    return data


def _regimes(run: "Run") -> dict[str, Any] | None:
    """Return what limits the run, None where nothing but its scopes was recorded: then nothing can be judged."""
    found = regimes_of(run)
    return found if any(row["reason"] != "no_device" for row in found["devices"]) else None


def _cautions(run: "Run") -> list[str]:
    """Return what a reader must know of figures that a file states; the file picker of the page says the same."""
    codes = {row["code"] for row in run.anomaly_list()}
    return [CAUTIONS[code] for code in CAUTIONS if code in codes]


def _title(run: "Run") -> str:
    command = run.environment.get("program") or run.environment.get("command")
    if isinstance(command, list) and command:
        return " ".join(str(word) for word in command)
    return "regimeter report"


def _summary_row(summary: records.ProfileSummary) -> dict[str, Any]:
    row = {}
    for name, (source, factor) in SUMMARY_FIELDS.items():
        value = getattr(summary, source)
        row[name] = value if factor is None or value is None else value * factor
    return row


def _lanes(run: "Run") -> list[dict[str, Any]]:
    lanes, strings = run.lanes, run.strings
    return [
        {"name": strings[name], "process": process, "thread": thread}
        for name, process, thread in zip(
            lanes.name.tolist(), lanes.process.tolist(), lanes.thread.tolist(), strict=True
        )
    ]


def _timeline(run: "Run") -> dict[str, Any]:
    selected, omitted, omitted_ns = run._timeline({})
    chosen = array("I")
    chosen.frombytes(selected)
    rows = list(chosen)
    spans, entries, strings = run.spans, run.entries, run.strings
    span_rows = entries.span[rows]
    names = spans.name[span_rows].tolist()
    index = {name: number for number, name in enumerate(dict.fromkeys(names))}
    flags = spans.flags[span_rows]
    return {
        "names": [strings[name] for name in index],
        "timeline": {
            "start_ns": (spans.start_ns[span_rows] - run.start_ns).tolist(),
            "duration_ns": spans.duration_ns[span_rows].tolist(),
            "name": [index[name] for name in names],
            "lane": spans.lane[span_rows].tolist(),
            "depth": entries.depth[rows].tolist(),
            "failed": [int(bool(flag & FLAG_FAILED)) for flag in flags.tolist()],
            "omitted_count": omitted,
            "omitted_ns": omitted_ns,
            "rule": f"the {len(rows):,} longest scopes" if omitted else "all scopes",
        },
    }


def _memory(run: "Run") -> dict[str, Any]:
    memory = run.memory
    sample = memory.action == MEMORY_ACTIONS.index("sample")
    host = sample & (memory.device < 0)
    series = []
    if host.any():
        order = memory.time_ns[host].argsort(kind="stable")
        series.append(
            {
                "name": "host resident set",
                "unit": "bytes",
                "time_ns": (memory.time_ns[host][order] - run.start_ns).tolist(),
                "value": memory.bytes[host][order].tolist(),
            }
        )
    device = memory.device >= 0
    if device.any():
        order = memory.time_ns[device].argsort(kind="stable")
        series.append(
            {
                "name": "device allocated",
                "unit": "bytes",
                "time_ns": (memory.time_ns[device][order] - run.start_ns).tolist(),
                "value": memory.allocated[device][order].tolist(),
            }
        )
    unavailable = []
    if not host.any():
        unavailable.append({"name": "host resident set", "reason": "the memory sampler was off"})
    if not device.any():
        described = run.environment.get("device")
        reason = described.get("memory_reason") if isinstance(described, dict) else None
        unavailable.append({"name": "device allocated", "reason": reason or run.device_reason})
    return {"series": series, "unavailable": unavailable}


# What takes time: each is a stage of the making, in this order, and gives a part of the data.
VIEWS: dict[str, Callable[["Run"], dict[str, Any]]] = {
    "regimes": lambda run: {"regimes": _regimes(run)},
    "suggestions": lambda run: {"suggestions": suggestions_data(run.suggestions())},
    "timeline": _timeline,
    "memory": lambda run: {"memory": _memory(run)},
    "counters": lambda run: {"counters": counters_of(run)},
}
