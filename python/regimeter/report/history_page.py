# SPDX-License-Identifier: Apache-2.0
"""What the page of a history shows: its runs, how each operation went over them, and where it changed its level."""

import datetime
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..compare.side import UNITS
from ..history.series import all_series, with_changes
from ..system.text import count

if TYPE_CHECKING:
    from ..history import History, RunRow, Series

FORMAT, VERSION = "regimeter.history", 1
MOST_RUNS = 5_000
MOST_SERIES = 1_000
LEAST_RUNS = 8  # of a series in which a change of level can be told from noise
EMPTY = "No run is in this history yet. `regimeter history add RUN` keeps one."


def history_data(
    history: "History", *, title: str = "History", metric: str = "time", limit: int | None = None
) -> dict[str, Any]:
    """Return the page's data; metric: what of each operation, times in seconds. limit: newest runs only.

    Operations whose newest run is slower than what was accepted come first, then those whose level changed last,
    then the longest.
    """
    runs = history.runs(limit=limit)
    found = [with_changes(one) for one in all_series(history, metric=metric, limit=limit).values()]
    ordered = sorted(found, key=_urgency)
    return {
        "format": FORMAT,
        "version": VERSION,
        "title": title,
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "metric": metric,
        "unit": UNITS.get(metric, ""),
        "sentence": _sentence(ordered, runs),
        "why": _why(ordered, runs),
        "runs": [_run(row) for row in runs[:MOST_RUNS]],
        "runs_in_all": len(runs),
        "trends": [_trend(series) for series in ordered[:MOST_SERIES]],
        "trends_in_all": len(ordered),
    }


def _urgency(series: "Series") -> tuple[bool, int, int, float, str]:
    """Return what comes first: a regression, what changed last, what is known longest, what takes most."""
    newest = series.points[series.changes[-1].at].run.id if series.changes else 0
    return (series.points[-1].accepted, -newest, -len(series.points), -series.points[-1].value, series.operation)


def _sentence(ordered: "Sequence[Series]", runs: "Sequence[RunRow]") -> str:
    if not ordered:
        return EMPTY if not runs else "The runs of this history have no such figures."
    alerts = [series for series in ordered if not series.points[-1].accepted]
    if alerts:
        others = f", and {len(alerts) - 1} more" if len(alerts) > 1 else ""
        return f"{alerts[0].operation}{others}: the newest run is a regression that nobody accepted."
    changed = [series for series in ordered if series.changes]
    if changed:
        change = changed[0].changes[-1]
        where = changed[0].points[change.at].run
        how = _direction(change.percent, UNITS.get(changed[0].metric, ""))
        return f"{changed[0].operation} is {how} since run {where.id} of {where.created_at:%Y-%m-%d}, the last change."
    if all(len(series.points) < LEAST_RUNS for series in ordered):
        return f"No change can be told yet: that takes {LEAST_RUNS} runs of an operation in one environment."
    return "No operation changed its level."


def _direction(change_percent: float | None, unit: str) -> str:
    if change_percent is None:
        return "no longer 0"
    up, down = ("slower", "faster") if unit == "s" else ("larger", "smaller")
    return f"{abs(change_percent):.1f} % {up if change_percent > 0 else down}"


def _why(ordered: "Sequence[Series]", runs: "Sequence[RunRow]") -> str:
    if not ordered:
        return ""
    changed = sum(1 for series in ordered if series.changes)
    short = sum(1 for series in ordered if len(series.points) < LEAST_RUNS)
    environments = len({series.environment for series in ordered})
    over = f"over {count(len(runs), 'run')} in {count(environments, 'environment')}"
    said = [f"{changed:,} of {len(ordered):,} series changed their level at least once, {over}."]
    if short:
        said.append(f"{short:,} have fewer than {LEAST_RUNS} runs: no change of theirs can be told from noise.")
    return " ".join(said)


def _run(row: "RunRow") -> dict[str, Any]:
    return {
        "id": row.id,
        "label": row.label,
        "when": f"{row.created_at:%Y-%m-%d %H:%M}",
        "state": row.state,
        "environment": row.environment,
        "branch": row.branch or "",
        "commit": (row.commit or "")[:12],
    }


def _trend(series: "Series") -> dict[str, Any]:
    change = series.changes[-1] if series.changes else None
    return {
        "operation": series.operation,
        "environment": series.environment,
        "points": [
            {
                "run": point.run.id,
                "label": f"run {point.run.id}, {point.run.created_at:%Y-%m-%d %H:%M}",
                "commit": (point.run.commit or "")[:12],
                "value": point.value,
                "launches": point.launches,
                "accepted": point.accepted,
            }
            for point in series.points
        ],
        "changes": [{"at": one.at, "p": one.p, "before": one.before, "after": one.after} for one in series.changes],
        "newest": series.points[-1].value,
        "change_percent": None if change is None else change.percent,
        "changed_in": None if change is None else series.points[change.at].run.id,
        "accepted": series.points[-1].accepted,
    }
