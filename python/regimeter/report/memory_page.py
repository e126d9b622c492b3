# SPDX-License-Identifier: Apache-2.0
"""Memory over time, and what the peak was made of, as one static page."""

import os
from html import escape
from typing import Any

from ..system.files import atomic_writer
from ..system.text import amount, duration
from .static_page import UNAVAILABLE, lines, page, table

WIDTH, HEIGHT = 1000.0, 100.0


def write_memory(document: dict[str, Any], path: str | os.PathLike[str], name: str) -> None:
    """Write what ``MemoryProfiler.to_dict`` returned, atomically."""
    with atomic_writer(path) as file:
        file.write(render_memory(document, name))


def render_memory(document: dict[str, Any], name: str) -> str:
    """Return the page."""
    found = document["peak_analysis"]
    body = "\n".join(
        (
            f"<h1>{escape(name)}: memory</h1>",
            _picture(document["timeline"]),
            table("Figures", ("", ""), _figures(found)),
            table("At the peak, by owner", ("", ""), _categories(found), "Not recorded."),
            table("Largest at the peak", ("asked for by", "of", "operator", "size", "count"), _top(found), "None."),
            lines("Unavailable", [f"{what}: {why}" for what, why in found["unavailable"].items()], "Nothing."),
        )
    )
    return page(f"{name} - memory", body)


def _picture(points: list[dict[str, Any]]) -> str:
    known = [point for point in points if point["allocated_mb"] is not None]
    return level_picture([(point["time_ms"], point["allocated_mb"] * 1e6) for point in known])


def level_picture(points: list[tuple[float, float]], word: str = "allocated") -> str:
    """Draw (time in ms, bytes) as steps, with what the picture shows below it. word: what was measured."""
    if len(points) < 2:
        return '<p class="note">No allocation was recorded.</p>'
    end, most = points[-1][0] or 1.0, max(size for _, size in points) or 1.0
    steps: list[str] = []
    for time_ms, size in points:
        x, y = WIDTH * time_ms / end, HEIGHT * (1 - size / most)
        steps.append(f"H{x:.2f}V{y:.2f}" if steps else f"M{x:.2f},{y:.2f}")
    label = f"{word} over {duration(end)}, up to {amount(most)}"
    return (
        f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" preserveAspectRatio="none" role="img" aria-label="{escape(label)}">'
        f'<path class="memory" d="{"".join(steps)}V{HEIGHT:g}H0Z"/></svg><p class="note">{escape(label)}</p>'
    )


def _figures(found: dict[str, Any]) -> list[tuple[str, str]]:
    rows = (
        ("peak", "peak_allocated_mb"),
        ("peak above the beginning", "peak_above_start_mb"),
        ("at the end", "current_allocated_mb"),
        ("reserved by the device's pool", "peak_reserved_mb"),
        ("of the process", "peak_resident_mb"),
    )
    sizes = [(label, UNAVAILABLE if found[key] is None else amount(found[key] * 1e6)) for label, key in rows]
    leak = found["leak"]
    grows = leak["reason"] or {"grows": "grows", "level": "does not grow"}[leak["verdict"]]
    return [*sizes, ("from step to step", grows)]


def _categories(found: dict[str, Any]) -> list[tuple[str, str]]:
    return [(name.replace("_", " "), amount(size)) for name, size in found["categories"].items()]


def _top(found: dict[str, Any]) -> list[tuple[str, ...]]:
    return [
        (" ← ".join(row["stack"]) or "before tracking began", row["category"], row["operator"], amount(row["bytes"]),
         f"{row['count']:,}")
        for row in found["top_allocations"]
    ]  # fmt: skip
