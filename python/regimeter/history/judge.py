# SPDX-License-Identifier: Apache-2.0
"""One run against the accepted runs before it: what to say when there is no second side to compare with.

The rule: the runs of the present level (after the last change point) are the history, at least LEAST of them; a value
outside their robust prediction interval is suspected, and a regression only when a second run, made for that purpose,
lies outside on the same side and their mean does. A run that is wrong by itself, one in twenty, is thereby no alarm.
What this misses, later runs confirm: a level that rose by the threshold within the last RECENT runs, and at which the
new run still is, is a regression too. Operations that are too small a part of the whole are told and fail nothing.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import _core
from ..compare.decide import NO_VERDICT, NOT_COMPARABLE
from ..compare.options import DECISIONS, FDR
from ..compare.result import ChangeType, OperationComparison
from ..compare.side import TIMES, UNITS, Samples, Side
from ..run.identity import facts_of, key_of
from ..system.quantities import known
from .baselines import Baselines
from .schema import median_of
from .series import Change, Series, all_series, with_changes
from .store import History, RunRow

LEAST = 8
# The newest runs of each operation that are looked at.
WINDOW = 200
# Points from which their dependence can be estimated. In fewer, the estimate is noisier than what it measures and hides
# one old step in six, which is worse for a verdict than a level that is taken too short (benchmarks/gate/history.py).
SEVERAL = 50
# Accepted runs for which a raised level is news; after them it is the present level.
RECENT = 12
TIER = "history"
# With which the smallest detectable effect is detected.
POLICY = {name: row["default"] for name, row in _core.compare_policy().items()}


@dataclass(frozen=True, slots=True)
class HistoryComparison:
    """The verdicts of a run against its history, and how they were found.

    suspected: operations that a second run has to confirm; run it and judge again with `confirm`. raised: operations
    whose level rose within the last runs, which confirm each other; they are regressions without a further run.
    too_few: operations with fewer than `least` accepted runs in their present level.
    """

    comparisons: list[OperationComparison]
    environment: str
    branch: str | None
    confirmed: bool
    least: int
    suspected: tuple[str, ...]
    too_few: tuple[str, ...]
    raised: tuple[str, ...] = ()

    @property
    def failures(self) -> list[OperationComparison]:
        """The confirmed regressions that nobody has accepted."""
        return [
            row
            for row in self.comparisons
            if row.change_type is ChangeType.REGRESSION and row.gates and row.accepted is None
        ]

    @property
    def nothing_compared(self) -> str:
        """Why no operation could be held against earlier runs of its environment, '' when one could."""
        if not self.comparisons:
            return "the run has no operation with this metric"
        kinds = {row.change_type for row in self.comparisons}
        if kinds == {ChangeType.NEW_OPERATION}:
            return "the history has no run of these operations in this environment"
        return "no operation has usable samples" if kinds <= set(NO_VERDICT) else ""

    @property
    def rule(self) -> str:
        """What was done about chance, in a sentence."""
        if self.nothing_compared:
            return f"nothing was compared: {self.nothing_compared}"
        if self.raised and not self.suspected:
            return "at a level that rose within the last runs, which confirm each other"
        if self.confirmed:
            return "outside the interval in this run and in the confirming one, on the same side, and so is their mean"
        if self.suspected:
            return f"{len(self.suspected)} outside the interval; a confirming run decides"
        return "inside the interval, or too few runs: nothing to confirm"

    @property
    def exit_code(self) -> int:
        """1 for a confirmed regression, 3 while a suspicion is not confirmed, 4 where nothing was compared, else 0."""
        if self.nothing_compared:
            return NOT_COMPARABLE
        if self.failures:
            return 1
        return 3 if self.suspected and not self.confirmed else 0

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON values."""
        return {
            "format": "regimeter.history_comparison",
            "version": 1,
            "environment": self.environment,
            "branch": self.branch,
            "confirmed": self.confirmed,
            "rule": self.rule,
            "least_runs": self.least,
            "suspected": list(self.suspected),
            "too_few": list(self.too_few),
            "raised": list(self.raised),
            "exit_code": self.exit_code,
            "comparisons": [row.to_dict() for row in self.comparisons],
        }


def judge_against_history(
    history: History,
    current: Side,
    *,
    confirm: Side | None = None,
    branch: str | None = None,
    before: RunRow | None = None,
    metric: str = "time",
    significance_threshold: float = 5.0,
    alpha: float = 0.05,
    fdr: str = "bh",
    decision: str = "catch",
    least: int = LEAST,
    min_share: float = POLICY["min_share"],
) -> HistoryComparison:
    """Judge a run by the accepted runs of its environment (and branch) before it.

    confirm: a second run of the same program, made because the first was suspected. before: the run itself, when it is
    in the history already. The others as in ProfilerComparison. A time is judged by its logarithm; the interval of a
    change is that of the prediction. Without `confirm` a single run is no regression: `suspected` says what to run
    again. min_share: part of the whole time from which an operation can fail, unless a call changes by a microsecond
    or more.
    """
    if fdr not in FDR or decision not in DECISIONS:
        raise ValueError(f"unknown correction {fdr!r} or decision {decision!r}")
    if metric not in UNITS:
        raise ValueError(f"unknown metric {metric!r}; valid are: {', '.join(UNITS)}")
    key = key_of(facts_of(current.environments))
    if confirm is not None and key_of(facts_of(confirm.environments)) != key:
        raise ValueError("the confirming run was made in another environment than the first")
    judged = current.launches + (confirm.launches if confirm is not None else [])
    known = all_series(history, metric=metric, branch=branch, environment=key, before=before, without=judged)
    sides = [side.metrics.get(metric, Samples()) for side in (current, confirm) if side is not None]
    values = [{name: _value(parts) for name, parts in side.launches.items()} for side in sides]
    found = []
    shares = _shares(sides[0])
    threshold = significance_threshold / 100
    for name in values[0]:
        series = known.get((key, name))
        one = judge_series(name, series, [side.get(name) for side in values], alpha, least, metric, threshold)
        found.append(replace(one, gates=one.large(shares[name], min_share, metric)))
    q = _core.adjust(np.array([one.p for one in found], dtype=np.float64), fdr)
    rows = [one.row(adjusted, alpha, threshold, decision, metric) for one, adjusted in zip(found, q, strict=True)]
    return HistoryComparison(
        comparisons=Baselines(history, "reader").mark_accepted(rows),
        environment=key,
        branch=branch,
        confirmed=confirm is not None,
        least=least,
        suspected=tuple(one.name for one in found if one.suspected(threshold, decision)),
        too_few=tuple(one.name for one in found if one.runs < least and one.raised is None),
        raised=tuple(one.name for one in found if one.raised is not None),
    )


def _shares(samples: Samples) -> dict[str, float]:
    """Return the part of each operation in the whole of its metric; 1 where the whole is not known."""
    whole = sum(total for total in samples.totals.values() if total > 0)
    return {name: total / whole if whole > 0 else 1.0 for name, total in samples.totals.items()}


@dataclass(frozen=True, slots=True)
class _Judged:
    """One operation. `interval`: of the mean of the new values, around the center, in the scale of `logs`."""

    name: str
    runs: int
    value: float | None
    p: float = math.nan
    center: float | None = None
    change: float | None = None
    interval: tuple[float, float] | None = None
    outside: tuple[bool, ...] = ()
    sides: tuple[bool, ...] = ()  # whether each new value is larger than the center
    launches: int = 0
    detectable: float | None = None
    raised: Change | None = None
    gates: bool = True

    def large(self, share: float, min_share: float, metric: str) -> bool:
        """Whether the operation is large enough to fail, or its change in seconds a call is."""
        if self.raised is not None:
            moved = abs(self.raised.after - self.raised.before)
        else:
            moved = abs(self.value - self.center) if self.value is not None and self.center is not None else 0.0
        return share >= min_share or (metric in TIMES and moved >= POLICY["min_change_seconds"])

    @property
    def agreed(self) -> bool:
        """Whether all new values lie outside, on the same side."""
        return bool(self.outside) and all(self.outside) and len(set(self.sides)) == 1

    def reaches(self, threshold: float, decision: str) -> bool:
        """Whether the change may (or does, by the decision) reach the threshold."""
        if self.change is None or self.interval is None:
            return False
        ends = {"catch": self.interval, "estimate": (self.change, self.change), "prove": self.interval[::-1]}[decision]
        return ends[1] >= threshold if self.change > 0 else ends[0] <= 1 / (1 + threshold) - 1

    def suspected(self, threshold: float, decision: str) -> bool:
        """Whether a single run lies outside the interval, far enough to matter, and slower."""
        slower = bool(self.sides) and all(self.sides)
        return self.gates and slower and self.agreed and self.reaches(threshold, decision)

    def row(self, q: float, alpha: float, threshold: float, decision: str, metric: str) -> OperationComparison:
        """Return the verdict."""
        if self.raised is not None:
            return self._raised_row(self.raised, metric)
        confirmed = len(self.outside) > 1 and self.agreed and q <= alpha
        matters = self.reaches(threshold, decision)
        change_type, reason, conclusive = ChangeType.NO_CHANGE, "too_few", False
        if self.value is None or not math.isfinite(self.value):
            change_type, reason = ChangeType.INVALID, "no_samples"
        elif metric in TIMES and self.value <= 0:
            change_type, reason = ChangeType.INVALID, "not_positive"
        elif not self.runs:
            change_type, reason, conclusive = ChangeType.NEW_OPERATION, "one_side", True
        elif confirmed and matters:
            assert self.change is not None
            change_type = ChangeType.REGRESSION if self.change > 0 else ChangeType.IMPROVEMENT
            reason, conclusive = "significant", True
        elif confirmed:
            reason, conclusive = "below_threshold", True
        elif self.interval and 1 / (1 + threshold) - 1 < self.interval[0] and self.interval[1] < threshold:
            reason, conclusive = "conclusive", True
        time = metric in TIMES
        low, high = self.interval or (None, None)
        return OperationComparison(
            operation=self.name,
            metric=metric,
            unit=UNITS[metric],
            change_type=change_type,
            is_significant=change_type in (ChangeType.REGRESSION, ChangeType.IMPROVEMENT),
            baseline=self.center,
            current=self.value,
            baseline_time_ms=self.center * 1e3 if time and self.center is not None else None,
            current_time_ms=self.value * 1e3 if time and self.value is not None else None,
            change_ms=(self.value - self.center) * 1e3 if time and self.value and self.center else None,
            change_percent=_percent(self.change),
            low_percent=_percent(low),
            high_percent=_percent(high),
            p=known(self.p),
            q=known(q),
            tier=TIER,
            reason=reason,
            conclusive=conclusive,
            detectable_percent=_percent(self.detectable),
            baseline_launches=self.runs,
            current_launches=self.launches,
            gates=self.gates,
        )

    def _raised_row(self, change: Change, metric: str) -> OperationComparison:
        """Return the verdict on a level that rose: both levels, and the p-value of the change."""
        time = metric in TIMES
        return OperationComparison(
            operation=self.name,
            metric=metric,
            unit=UNITS[metric],
            change_type=ChangeType.REGRESSION,
            is_significant=True,
            baseline=change.before,
            current=change.after,
            baseline_time_ms=change.before * 1e3 if time else None,
            current_time_ms=change.after * 1e3 if time else None,
            change_ms=(change.after - change.before) * 1e3 if time else None,
            change_percent=change.percent,
            p=change.p,
            tier=TIER,
            reason="significant",
            conclusive=True,
            baseline_launches=self.runs,
            current_launches=self.launches,
            gates=self.gates,
        )


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


def _value(launches: list[Any]) -> float | None:
    medians = [median for median in map(median_of, launches) if median is not None]
    return float(np.median(medians)) if medians else None


def judge_series(
    name: str,
    series: Series | None,
    values: list[float | None],
    alpha: float,
    least: int,
    metric: str,
    threshold: float,
) -> _Judged:
    """Return where the new values of an operation lie. Regressions that nobody accepted are no part of its history."""
    points = [] if series is None else [point for point in series.points if point.accepted][-WINDOW:]
    given = [value for value in values if value is not None]
    value = float(np.median(given)) if given else None
    if series is None or not given or len(given) < len(values):
        return _Judged(name, len(points), value)
    whole = with_changes(Series(name, metric, series.environment, series.branch, tuple(points)), len(points) >= SEVERAL)
    level, raised = whole.segment, _raised(whole, given, threshold)
    if raised is not None:
        return _Judged(name, raised.at, value, launches=len(level) + len(given), raised=raised)
    past, new = np.array([point.value for point in level]), np.array(given)
    if len(past) < least or not (past > 0).all() or not (new > 0).all():
        return _Judged(name, len(past), value)
    past, new = np.log(past), np.log(new)
    together = _core.predict(past, new, alpha)
    alone = [_core.predict(past, new[i : i + 1], alpha) for i in range(len(new))]
    shift, half = float(new.mean()) - together["center"], together["high"] - together["center"]
    df = together["df"]
    return _Judged(
        name,
        len(past),
        math.exp(float(new.mean())),
        together["p"],
        math.exp(together["center"]),
        math.expm1(shift),
        (math.expm1(shift - half), math.expm1(shift + half)),
        tuple(one["p"] <= alpha for one in alone),
        tuple(bool(one > together["center"]) for one in new),
        len(new),
        math.expm1(half * (1 + _core.t_quantile(POLICY["power"], df) / _core.t_quantile(1 - alpha / 2, df))),
    )


def _raised(series: Series, given: list[float], threshold: float) -> Change | None:
    """Return the last change of level where it is recent, upward by the threshold, and the new values are nearer to the
    new level than to the old one; None otherwise."""
    if not series.changes:
        return None
    change = series.changes[-1]
    if not change.before > 0 or len(series.points) - change.at > RECENT:
        return None
    higher = change.after >= change.before * (1 + threshold)
    stays = min(given) > math.sqrt(change.before * change.after)
    return change if higher and stays else None
