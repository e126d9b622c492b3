# SPDX-License-Identifier: Apache-2.0
"""What operations reach over sizes as the data of a page: the roofline, a map of regimes, and curves by size."""

from pathlib import Path

from ..regime.roofline import PANELS, REGIMES, Line, Plot, sentence
from .document import Section, document, first
from .html import write_html

# The axes up of panels, and how many of its units a value of a panel is.
UP: dict[str, tuple[Section, float]] = {
    "time": ({"title": "Time of a call", "unit": "ns", "log": True}, 1e6),
    "throughput": ({"title": "Elements per second", "unit": "elements/s", "log": True}, 1.0),
    "bandwidth": ({"title": "Part of the roof", "unit": "share", "log": False}, 1.0),
}
ACROSS = {"title": "Elements", "unit": "elements", "log": True}
HELD = {"bandwidth": [{"label": "the measured roof", "value": 1.0}]}
# Columns of the points under the roofs: name, heading, unit, what it is, and what its codes stand for.
POINT = (
    ("name", "operation", "name", "What was measured.", None),
    ("elements", "elements", "", "Of an argument; of matmul, of a square matrix.", None),
    ("total_ns", "time", "ns", "Of one call, as it was judged.", None),
    ("intensity", "intensity", "op/byte", "Operations over bytes.", None),
    ("rate", "reached", "op/s", "Operations over the time.", None),
    ("regime", "regime", "code", "What limits it.", REGIMES),
)
NOTHING = "Nothing was measured."


def write_sweep_page(plot: Plot, path: Path) -> None:
    """Write the page; a reader sees the old file or the whole new one. OSError where it cannot be written."""
    write_html(sweep_data(plot), path)


def sweep_data(plot: Plot) -> Section:
    """Return the page's data."""
    said = sentence(plot) or "What limits these operations cannot be told."
    sections = [_roofs(plot), _regimes(plot), *(_curves(plot, name, title) for name, title, *_ in PANELS if name in UP)]
    title = f"Operations over sizes: {plot.title}"
    return document("sweep", title, limit=first("What limits operations", said), sections=sections)


def _roofs(plot: Plot) -> Section:
    lines = [line for line in plot.lines if line.panel == "roofline"]
    rows = [(number, x, y, point) for number, line in enumerate(lines) for x, y, point in line.points]
    columns = {
        "name": [number for number, *_ in rows],
        "elements": [point.elements for *_, point in rows],
        "total_ns": [point.profile["evidence"]["judged_ms"] * 1e6 for *_, point in rows],
        "intensity": [x for _, x, _, _ in rows],
        "rate": [y for _, _, y, _ in rows],
        "regime": [REGIMES.index(point.profile["regime"]) for *_, point in rows],
    }
    return {
        "id": "roofline", "title": "Roofline", "form": "roofs", "span": 12, "noun": "point", "headline": "",
        "nothing": "The work of no operation is known.",
        "notes": _notes(plot),
        "roofs": [band.to_dict() for band in plot.bands],
        "names": [line.name for line in lines],
        "points": {"count": len(rows), "columns": columns},
        "columns": [
            {"name": name, "heading": heading, "unit": unit, "doc": doc, "codes": codes}
            for name, heading, unit, doc, codes in POINT
        ],
    }  # fmt: skip


def _notes(plot: Plot) -> list[str]:
    if not plot.roof.bandwidth or not plot.roof.flops:
        return ["A roof is missing: it was not measured on this machine."]
    move = plot.roof.bandwidth_name.removeprefix("memory_")
    return [f"The roof of memory is that beyond the caches ({move}); what fits into a cache lies above it."]


def _regimes(plot: Plot) -> Section:
    names = list(dict.fromkeys(point.operation for point in plot.points))
    sizes = sorted({point.elements for point in plot.points})
    cells = [
        {
            "row": names.index(point.operation),
            "column": sizes.index(point.elements),
            "regime": point.profile["regime"],
            "detail": point.profile["detail"].replace("_", " "),
            "ns": point.profile["evidence"]["judged_ms"] * 1e6,
        }
        for point in plot.points
    ]
    return {
        "id": "regime-map", "title": "Regimes by size", "form": "regime-map", "span": 12, "nothing": NOTHING,
        "operations": names, "elements": sizes, "cells": cells,
    }  # fmt: skip


def _curves(plot: Plot, panel: str, title: str) -> Section:
    """Return a line for each operation."""
    up, size = UP[panel]
    return {
        "id": panel, "title": title, "form": "curves", "span": 12 if panel in HELD else 6, "nothing": NOTHING,
        "across": ACROSS, "up": up, "held": HELD.get(panel, []),
        "series": [_series(line, size) for line in plot.lines if line.panel == panel],
    }  # fmt: skip


def _series(line: Line, size: float) -> Section:
    """Return a line as columns; said: what limits it at a size."""
    return {
        "name": line.name,
        "x": [x for x, _, _ in line.points],
        "y": [y * size for _, y, _ in line.points],
        "said": [point.profile["regime"] for *_, point in line.points],
    }
