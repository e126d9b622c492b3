# SPDX-License-Identifier: Apache-2.0
"""Suggestions as text for a terminal, and as data of the page."""

import math
from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from .. import _core
from ..system.text import TextTable, duration, percent, printable, render_fitting, shorten
from .words import figure

if TYPE_CHECKING:
    from . import OptimizationSuggestion
    from .verdict import Verdict

WIDTH = 100
NOTHING = "Nothing stands out by the rules of docs/suggestions.md."


def _paragraph(label: str, text: str, width: int) -> list[str]:
    head = f"    {label + ':':<13}"
    return wrap(printable(text), width, initial_indent=head, subsequent_indent=" " * len(head))


def _figures(one: "OptimizationSuggestion") -> str:
    parts = []
    for row in one.evidence:
        limit = "" if row.threshold is None else f" (limit {figure(row.threshold, row.unit)})"
        parts.append(f"{row.quantity} {figure(row.value, row.unit)}{limit}")
    return ", ".join(parts)


def shown(policy: Mapping[str, float] | None = None) -> int:
    """Return how many suggestions a view shows at once; the rest is folded. policy: thresholds by name."""
    return int((policy or {}).get("suggest_shown", _core.policy()["suggest_shown"]["default"]))


def _folded(found: "Sequence[OptimizationSuggestion]", total: int, more: str) -> list[str]:
    return [f"{total - len(found)} more, which may save less or are not bounded: {more}"] if total > len(found) else []


def render_suggestions(
    found: "Sequence[OptimizationSuggestion]",
    total: int,
    what: str = "suggestion",
    *,
    more: str = "--top 0",
    width: int = WIDTH,
    limit: "Verdict | None" = None,
) -> str:
    """Return suggestions with their evidence; more: what shows those that are folded; width: of the longest line.

    limit: what limits the run, which is told where no rule has found anything.
    """
    if not found:
        nothing = NOTHING if what == "suggestion" else f"No {what}."
        told = () if limit is None else (f"What limits it: {limit.sentence}", f"Next: {limit.next}")
        return "\n".join([nothing, *(line for text in told for line in wrap(printable(text), width))])
    lines: list[str] = []
    for place, one in enumerate(found, 1):
        head = f"[{place}] {one.rule} ({one.type.value}, {one.priority.value}, confidence {one.confidence})"
        lines += [head, *wrap(printable(one.description), width, initial_indent="    ", subsequent_indent="    ")]
        lines += _paragraph("improvement", one.expected_improvement, width)
        lines += _paragraph("try", one.implementation_hint, width)
        lines += _paragraph("evidence", _figures(one), width)
        lines += _paragraph("bound", one.bound, width)
        lines += _paragraph("wrong if", one.refuted_by, width)
        lines += [f"    look:        {one.verify}", ""]
    return "\n".join(lines + _folded(found, total, more)).rstrip()


def render_roadmap(
    found: "Sequence[OptimizationSuggestion]", total: int, *, more: str = "--top 0", width: int = 0
) -> str:
    """Return suggestions in order of saved time against effort, one a line.

    more: as in render_suggestions; width: of the table, 0 for no limit.
    """
    if not found:
        return NOTHING
    header = ("rule", "about", "saves at most", "of the run", "effort", "confidence", "priority")
    rows = [
        (
            one.rule,
            shorten(one.operation or "-", max(12, min(40, width - 44)) if width else 40),
            duration(one.saved_high_ms) if one.bounded else "not bounded",
            percent(_share(one)) if one.bounded else "-",
            one.effort,
            one.confidence,
            one.priority.value,
        )
        for one in found
    ]
    table = render_fitting(TextTable("Roadmap: saved time against effort", header, rows), width)
    return "\n".join([table, *_folded(found, total, more)])


def _share(one: "OptimizationSuggestion") -> float | None:
    """Return the saved part of the run, which the speedup states."""
    if math.isnan(one.speedup_high):
        return None
    return 1.0 if math.isinf(one.speedup_high) else 1 - 1 / one.speedup_high


def suggestions_data(found: "Sequence[OptimizationSuggestion]") -> list[dict[str, Any]]:
    """Return what the page shows of suggestions, in the order of every view; those that it folds say so."""
    kept, most = [one for one in found if one.merged_into is None], shown()
    return [
        one.to_dict() | {"share": _share(one), "figures": _figures(one), "folded": place >= most}
        for place, one in enumerate(kept)
    ]
