# SPDX-License-Identifier: Apache-2.0
"""Suggestions as text for a terminal, and as data of the page."""

import math
from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from .text import TextTable, duration, percent, printable, render, shorten

if TYPE_CHECKING:
    from ..suggest import OptimizationSuggestion

WIDTH = 100
NOTHING = "Nothing stands out by the rules of docs/suggestions.md."


def _paragraph(label: str, text: str) -> list[str]:
    head = f"    {label + ':':<13}"
    return wrap(printable(text), WIDTH, initial_indent=head, subsequent_indent=" " * len(head))


def _figures(one: "OptimizationSuggestion") -> str:
    from ..suggest.words import figure

    parts = []
    for row in one.evidence:
        limit = "" if row.threshold is None else f" (limit {figure(row.threshold, row.unit)})"
        parts.append(f"{row.quantity} {figure(row.value, row.unit)}{limit}")
    return ", ".join(parts)


def render_suggestions(found: "Sequence[OptimizationSuggestion]", total: int, what: str = "suggestion") -> str:
    """Return suggestions with their evidence."""
    if not found:
        return NOTHING if what == "suggestion" else f"No {what}."
    lines: list[str] = []
    for place, one in enumerate(found, 1):
        head = f"[{place}] {one.rule} ({one.type.value}, {one.priority.value}, confidence {one.confidence})"
        lines += [head, *wrap(printable(one.description), WIDTH, initial_indent="    ", subsequent_indent="    ")]
        lines += _paragraph("improvement", one.expected_improvement)
        lines += _paragraph("try", one.implementation_hint)
        lines += _paragraph("evidence", _figures(one))
        lines += _paragraph("bound", one.bound)
        lines += _paragraph("wrong if", one.refuted_by)
        lines += [f"    look:        {one.verify}", ""]
    if total > len(found):
        lines.append(f"{len(found)} of {total} suggestions; --top 0 shows all")
    return "\n".join(lines).rstrip()


def render_roadmap(found: "Sequence[OptimizationSuggestion]") -> str:
    """Return suggestions in order of saved time against effort, one a line."""
    if not found:
        return NOTHING
    header = ("rule", "about", "saves at most", "of the run", "effort", "confidence", "priority")
    rows = [
        (
            one.rule,
            shorten(one.operation or "-", 40),
            duration(one.saved_high_ms) if one.bounded else "not bounded",
            percent(_share(one)) if one.bounded else "-",
            one.effort,
            one.confidence,
            one.priority.value,
        )
        for one in found
    ]
    return render(TextTable("Roadmap: saved time against effort", header, rows))


def _share(one: "OptimizationSuggestion") -> float | None:
    """Return the saved part of the run, which the speedup states."""
    if math.isnan(one.speedup_high):
        return None
    return 1.0 if math.isinf(one.speedup_high) else 1 - 1 / one.speedup_high


def suggestions_data(found: "Sequence[OptimizationSuggestion]") -> list[dict[str, Any]]:
    """Return what the page shows of suggestions, in order of the roadmap."""
    kept = sorted((one for one in found if one.merged_into is None), key=lambda one: one.roadmap)
    return [one.to_dict() | {"share": _share(one), "figures": _figures(one)} for one in kept]
