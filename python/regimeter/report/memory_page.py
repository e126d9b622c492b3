# SPDX-License-Identifier: Apache-2.0
"""What ``MemoryProfiler.to_dict`` returned as the data of a page: memory over time, and what the peak was made of."""

from collections.abc import Mapping
from typing import Any

from ..system.text import amount, duration, percent
from .document import TEXT, Column, Section, document, figure, figures, first, levels, sentences, table

Found = Mapping[str, Any]


def memory_data(report: Found, name: str) -> Section:
    """Return the page's data. name: of the file or the program."""
    found = report["peak_analysis"]
    sections = [_levels(report), *([_figures(found), _categories(found), _top(found)] if found else [])]
    lacking = [f"{what}: {why}" for what, why in found.get("unavailable", {}).items()]
    sections += [sentences("unavailable", "Not measured", lacking, "")] if lacking else []
    return document("memory", f"{name}: memory", file=name, limit=_first(found), sections=sections)


def _first(found: Found) -> Section:
    title, of = "What memory was used for", "Memory at the peak, by owner"
    if not found:
        return first(title, "No memory was tracked.")
    peak, resident = found["peak_allocated_mb"], found["peak_resident_mb"]
    if peak is None:
        known = "" if resident is None else f" The process held {amount(resident * 1e6)} at most."
        return first(title, f"What was allocated is not known.{known}")
    parts = {name.replace("_", " "): size for name, size in found["categories"].items() if size > 0}
    when = "" if found["peak_time_ms"] is None else f" after {duration(found['peak_time_ms'])}"
    sentence = f"At most {amount(peak * 1e6)} was allocated{when}"
    if parts:
        largest = max(parts, key=lambda one: parts[one])
        sentence += f", {percent(parts[largest] / sum(parts.values()), 0)} of it {largest}"
    why = f"{amount(found['current_allocated_mb'] * 1e6)} is left at the end. " if found["current_allocated_mb"] else ""
    return first(title, f"{sentence}.", why=f"{why}{_growth(found['leak'])}", of=of, parts=parts)


def _growth(leak: Found) -> str:
    if leak["verdict"] is None:
        return f"Whether memory grows from step to step is not known: {leak['reason']}."
    grows = "grows" if leak["verdict"] == "grows" else "does not grow"
    return f"Memory {grows} from step to step."


def _levels(report: Found) -> Section:
    known = [point for point in report["timeline"] if point["allocated_mb"] is not None]
    series = {
        "name": "allocated",
        "time_ns": [point["time_ms"] * 1e6 for point in known],
        "value": [point["allocated_mb"] * 1e6 for point in known],
        "steps": True,
    }
    shown = [series] if len(known) > 1 else []
    return levels("levels", "Memory over time", shown, nothing="No allocation was recorded.")


def _figures(found: Found) -> Section:
    rows = (
        ("peak", "peak_allocated_mb"),
        ("peak above the beginning", "peak_above_start_mb"),
        ("at the end", "current_allocated_mb"),
        ("reserved by the device's pool", "peak_reserved_mb"),
        ("of the process", "peak_resident_mb"),
    )
    sizes = [
        figure(label, None if found[key] is None else found[key] * 1e6, "bytes", note=found["unavailable"].get(key, ""))
        for label, key in rows
    ]
    leak = found["leak"]
    grows = leak["reason"] or {"grows": "grows", "level": "does not grow"}[leak["verdict"]]
    return figures("figures", "Figures", [*sizes, figure("from step to step", grows)])


def _categories(found: Found) -> Section:
    sizes = found["categories"]
    columns = [
        Column("owner", TEXT, [name.replace("_", " ") for name in sizes], "What the memory was for"),
        Column("size", "bytes", list(sizes.values()), "At the peak"),
    ]
    return table("categories", "At the peak, by owner", columns, "It was not recorded what memory was for.", span=5)


def _top(found: Found) -> Section:
    rows = found["top_allocations"]
    callers = [" ← ".join(row["stack"]) or "before tracking began" for row in rows]
    columns = [
        Column("asked for by", TEXT, callers, "The innermost function first", prose=True),
        Column("size", "bytes", [row["bytes"] for row in rows], "At the peak"),
        Column("count", "", [row["count"] for row in rows], "Blocks"),
        Column("of", TEXT, [row["category"] for row in rows], "What the memory was for"),
        Column("operator", TEXT, [row["operator"] for row in rows], "That asked for it"),
    ]
    return table("allocations", "Largest at the peak", columns, "Nothing lived at the peak.")
