# SPDX-License-Identifier: Apache-2.0
"""What the HTML page shows of a recording of ours beside its spans: its operations and its cost."""

from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from ..run import records
from ..run.witness import witness_line

if TYPE_CHECKING:
    from ..public.run import Run

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


def scopes_of(run: "Run") -> dict[str, Any]:
    """Return what a recording of ours has beside its spans: a row an operation, what is doubtful, the cost."""
    summaries = records.summaries_of(run)
    missing = records.unavailable_of(summaries)
    reasons = {**missing["cpu"], **missing["gpu"]}
    return {
        "summary": [_summary_row(summary) for summary in summaries],
        "bottlenecks": list(range(min(TOP_BOTTLENECKS, len(summaries)))),
        "unavailable": {name: reasons[entry] for name, entry in REASONS.items() if entry in reasons},
        "transfer_within": run.source != "export",  # whether gpu_ns holds transfer_ns; files of others state them apart
        "cautions": _cautions(run),
        "share_basis": "exclusive" if run.has_start_times else "total",
        "cost": run.cost,
        "machine": witness_line(run),
    }


def _cautions(run: "Run") -> list[str]:
    """Return what a reader must know of figures that a file states; the file picker of the page says the same."""
    codes = {row["code"] for row in run.anomaly_list()}
    return [CAUTIONS[code] for code in CAUTIONS if code in codes]


def title_of(run: "Run") -> str:
    """Return the recorded program and its arguments as a line, without the interpreter and folders."""
    command = run.environment.get("program") or run.environment.get("command")
    if not isinstance(command, list) or not command:
        return "regimeter report"
    words = [str(word) for word in command]
    if PurePath(words[0]).name.startswith("python"):
        # The interpreter and its flags say nothing; "-m" and "-c" do.
        rest = next((i for i, word in enumerate(words) if i and (not word.startswith("-") or word in ("-m", "-c"))), 0)
        words = words[rest:]
    return " ".join([PurePath(words[0]).name, *words[1:]])


def _summary_row(summary: records.ProfileSummary) -> dict[str, Any]:
    row = {}
    for name, (source, factor) in SUMMARY_FIELDS.items():
        value = getattr(summary, source)
        row[name] = value if factor is None or value is None else value * factor
    return row
