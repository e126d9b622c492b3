# SPDX-License-Identifier: Apache-2.0
"""A profile of the documented form as a side of a comparison, the same whether it is a file or a dictionary."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..public.run import Run
from ..run.format_error import format_error
from ..run.inputs import kind_of, open_input
from ..run.profile_json import check_form, parse_export, run_of_document
from .samples import add_run
from .side import MS, Samples, Side
from .wholes import add_peak

MB = 1e6
# Sources of an entry's memory that are the process's resident set; any other is what an allocator counted.
RESIDENT = ("scope", "sampler")


def profile_of(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Return the profile that a plain JSON file holds; None for another kind of file, which `load` reads.

    FormatError for JSON that is no profile, OSError where the file cannot be read.
    """
    if not os.path.isfile(path):
        return None
    with open_input(path) as opened:
        if kind_of(opened.head()) != "export":
            return None
    document = parse_export(Path(path), Path(path).read_bytes())
    return document if "entries" in document or "summary" in document else None


def add_document(side: Side, document: Mapping[str, Any], name: str) -> None:
    """Add a profile; operations without entries have their summary's average only. FormatError, which begins with
    `name`, for what is no profile."""
    check_form(document, name)
    entries, summary = document.get("entries") or [], document.get("summary") or {}
    if not isinstance(entries, list) or not isinstance(summary, Mapping):
        raise format_error(f"{name}: 'entries' is a list and 'summary' an object of operations")
    add_run(side, run_of_document(Run, {**document, "entries": entries}, name))
    labels = {(operation, device): label for label, (operation, device) in side.devices.items()}
    _add_stated(side, entries, labels)
    known = {operation for operation, _ in labels}
    averages = Samples()
    for key, row in summary.items():
        if not isinstance(row, Mapping):
            raise format_error(f"{name}: the summary of {key!r} is no object")
        operation = row.get("operation") if isinstance(row.get("operation"), str) else str(key)
        if operation not in known and str(key) not in known:
            _add_average(side, averages, str(key), row, name)
    if averages.launches:
        side.metric("time").extend(averages)
        side.warnings.append(
            f"{side.label}: {_named(list(averages.launches))} an average only; the spread is not known"
        )


def _named(operations: list[str]) -> str:
    more = (
        f" and {len(operations) - 3:,} more have" if len(operations) > 3 else " have" if len(operations) > 1 else " has"
    )
    return ", ".join(map(repr, operations[:3])) + more


def _add_stated(side: Side, entries: list[Any], labels: Mapping[tuple[str, str], str]) -> None:
    """Add what entries state beside their time: device time, and memory in MB where no run has it."""
    device = Samples()
    times: dict[str, list[float]] = {}
    peaks: dict[str, float] = {}
    kept: dict[str, float] = {}
    resident = 0.0
    for entry in entries:
        label = labels.get((entry["operation"], _device(entry)))
        if label is None:
            continue
        if _is_amount(entry.get("gpu_time_ms")):
            times.setdefault(label, []).append(float(entry["gpu_time_ms"]) * MS)
        peak, allocated = entry.get("memory_peak_mb"), entry.get("memory_allocated_mb")
        if entry.get("memory_source") in RESIDENT:
            resident = max(resident, float(peak) * MB) if _is_amount(peak) else resident
            continue
        if _is_amount(peak) and peak > 0:
            peaks[label] = max(peaks.get(label, 0.0), float(peak) * MB)
        if _is_amount(allocated) and allocated != 0:
            kept[label] = max(kept.get(label, float(allocated) * MB), float(allocated) * MB)
    for label, values in times.items():
        device.add(label, values)
    if device.launches and "device_time" not in side.metrics:
        side.metrics["device_time"] = device
    for metric, found in (("memory_peak", peaks), ("memory_allocated", kept)):
        if found and metric not in side.metrics:
            for label, value in found.items():
                side.metric(metric).add(label, [value])
    for label, value in peaks.items():
        side.memory_mb[label] = max(value / MB, side.memory_mb.get(label, 0.0))
    add_peak(side, max(peaks.values(), default=0.0), resident)


def _device(entry: Mapping[str, Any]) -> str:
    """Return the device of an entry as a run has it."""
    return str(entry.get("device", "gpu")).partition(":")[0].lower()


def _is_amount(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


def _add_average(side: Side, time: Samples, operation: str, row: Mapping[str, Any], name: str) -> None:
    memory = row.get("peak_memory_mb", row.get("avg_memory_mb"))
    if _is_amount(memory):
        side.memory_mb[operation] = float(memory)
    if _is_amount(row.get("peak_memory_mb")) and row["peak_memory_mb"] > 0:
        side.metric("memory_peak").add(operation, [float(row["peak_memory_mb"]) * MB])
    calls, total, average = row.get("call_count"), row.get("total_time_ms"), row.get("avg_time_ms")
    if average is None and isinstance(total, int | float) and isinstance(calls, int | float) and calls > 0:
        average = total / calls
    if isinstance(average, bool) or not isinstance(average, int | float):
        raise format_error(f"{name}: the summary of {operation!r} has neither avg_time_ms nor a total and a count")
    count = float(calls) if isinstance(calls, int | float) else 1.0
    whole = float(total) * MS if isinstance(total, int | float) else average * MS * count
    time.add(operation, [average * MS], whole, count)
