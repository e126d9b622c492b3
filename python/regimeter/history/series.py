# SPDX-License-Identifier: Apache-2.0
"""How an operation went over the runs of a branch, and where it changed its level."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sqlalchemy as sa

from .. import _core
from . import schema
from .baselines import Accepted
from .database import transaction
from .store import History, RunRow, copies, digest_of

# Of a change point; a gate on history needs this to be rare (see benchmarks/gate/change_points.py).
ALPHA = 0.01


@dataclass(frozen=True, slots=True)
class Point:
    """One run of a series: the median over its launches of their medians. `accepted` is False for a regression."""

    run: RunRow
    value: float
    launches: int
    samples: int
    accepted: bool = True


@dataclass(frozen=True, slots=True)
class Change:
    """A new level from a point on (its place in the series), the medians of both levels, and how sure that is."""

    at: int
    p: float
    before: float
    after: float

    @property
    def percent(self) -> float | None:
        """By how much the level changed, None where it was zero."""
        return 100 * (self.after / self.before - 1) if self.before else None


@dataclass(frozen=True, slots=True)
class Series:
    """The points of an operation, oldest first, in one environment, and the changes of its level."""

    operation: str
    metric: str
    environment: str
    branch: str | None
    points: tuple[Point, ...]
    changes: tuple[Change, ...] = ()

    @property
    def segment(self) -> tuple[Point, ...]:
        """The points of the present level."""
        return self.points[self.changes[-1].at :] if self.changes else self.points

    def to_dict(self) -> dict[str, Any]:
        """Return the series as JSON values."""
        return {
            "operation": self.operation,
            "metric": self.metric,
            "environment": self.environment,
            "branch": self.branch,
            "points": [
                {
                    "run": point.run.to_dict(),
                    "value": point.value,
                    "launches": point.launches,
                    "samples": point.samples,
                    "accepted": point.accepted,
                }
                for point in self.points
            ],
            "changes": [
                {
                    "at": change.at,
                    "run": self.points[change.at].run.id,
                    "p": change.p,
                    "before": change.before,
                    "after": change.after,
                    "percent": change.percent,
                }
                for change in self.changes
            ],
        }


def series_of(
    history: History,
    operation: str,
    *,
    metric: str = "time",
    branch: str | None = None,
    environment: str | None = None,
    limit: int | None = None,
    before: RunRow | None = None,
) -> list[Series]:
    """Return the series of an operation, one an environment, the one with the newest run first.

    limit: newest runs of each. before: only runs older than this one. Runs that were rejected are left out.
    """
    found = all_series(
        history, metric=metric, branch=branch, environment=environment, operation=operation, limit=limit, before=before
    )
    ordered = sorted(found.values(), key=lambda one: one.points[-1].run.id, reverse=True)
    return [with_changes(one) for one in ordered]


def all_series(
    history: History,
    *,
    metric: str = "time",
    branch: str | None = None,
    environment: str | None = None,
    operation: str | None = None,
    limit: int | None = None,
    before: RunRow | None = None,
    without: Iterable[str] = (),
) -> dict[tuple[str, str], Series]:
    """Return the series of all operations (or one) by environment and name, changes not looked for.

    A run that was kept twice is one point. without: processes whose runs are left out, as `Side.launches` names them.
    """
    runs = history.runs(branch=branch, environment=environment, states=("recorded", "clean", "regressed"))
    if before is not None:
        runs = [row for row in runs if row.id < before.id]
    with transaction(history.engine) as connection:
        again = copies(connection, [row.id for row in runs], without)
        runs = [row for row in runs if row.id not in again]
        by_id = {row.id: row for row in (runs if operation is not None else runs[:limit])}
        values = _values(connection, metric, operation, list(by_id))
        regressed = _regressed(connection, metric)
        accepted = Accepted.read(connection)
    points: dict[tuple[str, str], list[Point]] = {}
    for (number, name), (medians, samples) in values.items():
        row = by_id[number]
        good = (number, name) not in regressed or accepted.covers(name, row)
        point = Point(row, float(np.median(medians)), len(medians), samples, good)
        points.setdefault((row.environment, name), []).append(point)
    made = {}
    for (key, name), found in points.items():
        found.sort(key=lambda point: (point.run.created_at, point.run.id))
        kept = tuple(found[-limit:] if limit else found)
        made[key, name] = Series(name, metric, key, branch, kept)
    return made


def with_changes(series: Series, dependent: bool = True) -> Series:
    """Return the series with the changes of its level: of the logarithm where all values are positive.

    dependent: whether neighbours may depend on each other, which makes false changes rare and short steps hard to see.
    """
    values = np.array([point.value for point in series.points])
    logs = bool(len(values)) and bool((values > 0).all())
    changes = []
    for at, p, before, after in _core.change_points(np.log(values) if logs else values, ALPHA, dependent):
        levels = (float(np.exp(before)), float(np.exp(after))) if logs else (before, after)
        changes.append(Change(int(at), p, *levels))
    return replace(series, changes=tuple(changes))


def _values(
    connection: sa.Connection, metric: str, operation: str | None, runs: list[int]
) -> Mapping[tuple[int, str], tuple[list[float], int]]:
    """Return medians of the launches and the number of samples, by run and operation."""
    sample = schema.sample.c
    query = (
        sa.select(schema.launch.c.run_id, schema.operation.c.name, sample.median, sample.count)
        .select_from(schema.sample.join(schema.launch).join(schema.operation))
        .where(sample.metric == metric, sample.median.is_not(None))
    )
    if operation is not None:
        query = query.where(schema.operation.c.digest == digest_of(operation))
    wanted, found = set(runs), dict[tuple[int, str], tuple[list[float], int]]()
    if wanted:
        query = query.where(schema.launch.c.run_id.between(min(wanted), max(wanted)))
    for number, name, median, count in connection.execute(query):
        if number not in wanted:
            continue
        medians, samples = found.get((number, name), ([], 0))
        found[number, name] = ([*medians, float(median)], samples + int(count))
    return found


def _regressed(connection: sa.Connection, metric: str) -> set[tuple[int, str]]:
    verdict, comparison = schema.verdict, schema.comparison
    query = (
        sa.select(comparison.c.run_id, schema.operation.c.name)
        .select_from(verdict.join(comparison).join(schema.operation))
        .where(verdict.c.metric == metric, verdict.c.change_type == "regression")
    )
    return {(int(number), name) for number, name in connection.execute(query)}
