# SPDX-License-Identifier: Apache-2.0
"""A comparison as one page that needs no network: the page of reports with views of its own."""

import datetime
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..compare.result import OperationComparison
from .comparison_flame import differential
from .comparison_forest import lifted
from .comparison_sentence import sentence
from .comparison_text import (
    basis_lines,
    calls_line,
    common_line,
    data,
    level_of,
    missed_line,
    next_lines,
    note,
    signed,
    total_line,
    verdict_line,
    whole_lines,
)
from .comparison_view import View, ordered, rows_of, to_document
from .html import render_html

if TYPE_CHECKING:
    from ..compare import ProfilerComparison
    from ..compare.side import Side

ROWS = 5_000  # of the page; those with the largest impact
SAMPLED_ROWS = 500  # of them with samples
SAMPLES = 600  # of one side of a row
TREND_ALPHA = 0.01


def page(comparison: "ProfilerComparison", view: View) -> str:
    """Return the page."""
    return render_html(page_data(comparison, view))


def page_data(comparison: "ProfilerComparison", view: View) -> dict[str, Any]:
    """Return the page's data: the JSON document, and beside it what the page draws."""
    rows = rows_of(comparison, view)
    important = {id(row) for row in ordered(rows, "impact")[:ROWS]}
    kept = [row for row in rows if id(row) in important]
    failing = {id(row) for row in comparison.failures}
    document = to_document(comparison, view)
    notes = [note(row) for row in kept]
    own, common = lifted(notes, [signed(row.change_percent) for row in kept])  # all of it for search and CSV
    document["comparisons"] = [
        row.to_dict()
        | {"fails": id(row) in failing, "data": data(row) if row.reason != "one_side" else ""}
        | {"note": whole, "own_note": rest}
        for row, whole, rest in zip(kept, notes, own, strict=True)
    ]
    runs = comparison.baseline.run, comparison.current.run
    return document | {
        "title": view.title or "Comparison",
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "rows_in_all": len(rows),
        "level": level_of(comparison),
        "verdict": verdict_line(comparison),
        "sentence": sentence(comparison),
        "facts_text": [
            line
            for line in (
                *whole_lines(comparison),
                total_line(comparison),
                calls_line(comparison),
                missed_line(comparison),
                common_line(comparison),
            )
            if line
        ],
        "common_notes": common,
        "basis_text": [line.strip() for line in basis_lines(comparison)],
        "next_text": next_lines(comparison),
        "samples": _samples(comparison, kept),
        "history": _trends(view.history),
        "flame": differential(*runs),
    }


# --- samples ----------------------------------------------------------------------------------------------------


def _samples(comparison: "ProfilerComparison", rows: Sequence[OperationComparison]) -> list[dict[str, Any]]:
    """Return the samples of the most important rows: {row, blocks, baseline, current: {medians, values, count}}."""
    places = {id(row): place for place, row in enumerate(rows)}
    found = []
    for row in ordered(rows, "impact")[:SAMPLED_ROWS]:
        sides = {
            label: _side_samples(side, row)
            for label, side in (("baseline", comparison.baseline), ("current", comparison.current))
        }
        if any(side["count"] for side in sides.values()):
            blocks = [comparison.basis.one, comparison.basis.many]
            found.append({"row": places[id(row)], "blocks": blocks, **sides})
    return found


def _side_samples(side: "Side", row: OperationComparison) -> dict[str, Any]:
    """Return the medians of the processes, and the sorted samples, evenly thinned where there are many."""
    samples = side.metrics.get(row.metric)
    launches = samples.launches.get(row.operation, []) if samples else []
    sound = [values[np.isfinite(values)] for values in launches]
    sound = [values for values in sound if len(values)]
    if not sound:
        return {"medians": [], "values": [], "count": 0}
    values = np.sort(np.concatenate(sound))
    count = len(values)
    if count > SAMPLES:  # quantiles keep the shape of the distribution, and both ends
        values = values[np.rint(np.linspace(0, count - 1, SAMPLES)).astype(np.int64)]
    return {
        "medians": [float(np.median(one)) for one in sound[:SAMPLES]],
        "values": values.tolist(),
        "count": count,
    }


# --- history ----------------------------------------------------------------------------------------------------


def _trends(history: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return for each operation its points and change points. ValueError for points without a value."""
    return {str(operation): _trend(str(operation), given) for operation, given in (history or {}).items()}


def _trend(operation: str, given: Any) -> dict[str, Any]:
    points = given["points"] if isinstance(given, Mapping) else given
    try:
        known = [_point(point) for point in points]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"history of {operation!r}: a point is {{'label': text, 'value': seconds}}: {error}") from None
    known = [point for point in known if all(math.isfinite(x) for x in point.values() if isinstance(x, float))]
    if isinstance(given, Mapping) and "changes" in given:
        return {"points": known, "changes": [dict(change) for change in given["changes"]]}
    values = np.array([point["value"] for point in known], dtype=np.float64)
    found = _core.change_points(values, TREND_ALPHA, True) if len(values) else []
    return {
        "points": known,
        "changes": [{"at": at, "p": p, "before": before, "after": after} for at, p, before, after in found],
    }


def _point(point: Mapping[str, Any]) -> dict[str, Any]:
    ends = {end: float(point[end]) for end in ("low", "high") if point.get(end) is not None}
    return {"label": str(point.get("label", "")), "value": float(point["value"]), **ends}
