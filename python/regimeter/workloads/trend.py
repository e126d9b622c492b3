# SPDX-License-Identifier: Apache-2.0
"""Runs in the history: keeping them, how a kernel went, and whether it degraded.

Two rules stand side by side. The documented one: a value above `degraded_factor` baselines. The history's own: outside
the prediction interval of the accepted runs before it (docs/history.md), which finds less but needs eight runs.

The history is imported by the functions that use it: it needs an extra, which `regimeter workloads run` does without.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from statistics import median
from typing import TYPE_CHECKING, Any

from .policy import thresholds
from .statistics import HOST_CALL, KERNEL
from .suite import WorkloadReport

if TYPE_CHECKING:
    from ..history import History, RunRow, Series

LABEL = "workloads"
DEGRADED, SUSPECTED = "DEGRADED", "SUSPECTED"


@dataclass(frozen=True, slots=True)
class Trend:
    """One operation in one environment. baseline, value: seconds; baseline None where there is no earlier run.

    judged: whether alerts and exit codes go by it. They go by the kernel alone; a host call has copies and allocation
    in it, and is shown beside it (and judged where no kernel was timed, or where it was asked for).
    """

    series: "Series"
    value: float
    baseline: float | None
    baseline_source: str
    factor: float
    suspected: bool | None = None
    reasons: tuple[str, ...] = field(default=())
    judged: bool = True

    @property
    def degraded(self) -> bool:
        """Whether the newest value is above so many baselines: the documented rule."""
        return self.judged and self.baseline is not None and self.value > self.factor * self.baseline

    @property
    def percent(self) -> float | None:
        """Change of the newest value against the baseline."""
        return 100 * (self.value / self.baseline - 1) if self.baseline else None

    @property
    def alerts(self) -> list[str]:
        """The alerts in words."""
        found = []
        if self.degraded and self.baseline is not None:
            found.append(f"{DEGRADED}: {self.series.operation}: {self.value * 1e6:,.2f} us, baseline "
                         f"{self.baseline * 1e6:,.2f} us ({self.baseline_source}), {self.percent or 0:+.1f} %, limit "
                         f"{self.factor:g} baselines")  # fmt: skip
        if self.judged and self.suspected:
            found.append(f"{SUSPECTED}: {self.series.operation}: outside the prediction interval of the runs before; "
                         "a second run decides")  # fmt: skip
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return {
            **self.series.to_dict(),
            "value": self.value,
            "baseline": self.baseline,
            "baseline_source": self.baseline_source,
            "factor": self.factor,
            "judged": self.judged,
            "degraded": self.degraded,
            "suspected": self.suspected,
            "percent": self.percent,
            "reasons": list(self.reasons),
        }


def keep(history: "History", report: WorkloadReport, **stated: str | None) -> "RunRow":
    """Write a run of workloads to the history, with the commit it belongs to. stated: commit, branch, tag."""
    from ..history import commit_of

    given: dict[str, Any] = {name: value for name, value in stated.items() if value}
    return history.add(report.side(LABEL), replace(commit_of(), **given), label=LABEL)


def trend_of(
    history: "History",
    kernel: str,
    *,
    baseline_us: float | None = None,
    of: str = KERNEL,
    branch: str | None = None,
    limit: int | None = None,
    policy: Mapping[str, float] | None = None,
) -> list[Trend]:
    """Return the trends of a kernel, one an operation of its name and environment, what is judged first.

    of: what is judged, 'kernel' or 'host_call'; the other is shown. baseline_us: of what is judged, by the documented
    rule; without it the median of the accepted runs before, at their present level. ValueError for another `of`.
    """
    from ..history.series import series_of

    if of not in (KERNEL, HOST_CALL):
        raise ValueError(f"what is judged is {KERNEL!r} or {HOST_CALL!r}, not {of!r}")
    factor = thresholds(policy)["degraded_factor"]
    names = [name for name in history.operations() if name == kernel or name.startswith((f"{kernel} [", f"{kernel} ("))]
    ends = {KERNEL: " kernel", HOST_CALL: " host call"}
    found = []
    for name in names:
        alone = not any(name.removesuffix(end) + ends[of] in names for end in ends.values() if name.endswith(end))
        judged = name.endswith(ends[of]) or alone
        rows = series_of(history, name, branch=branch, limit=limit)
        found += [_trend(history, series, factor, baseline_us, judged=judged) for series in rows]
    return sorted(found, key=lambda trend: not trend.judged)


def _trend(history: "History", series: "Series", factor: float, baseline_us: float | None, *, judged: bool) -> Trend:
    from ..history import judge_against_history
    from ..history.series import with_changes

    newest, earlier = series.points[-1], tuple(point for point in series.points[:-1] if point.accepted)
    level = with_changes(replace(series, points=earlier)).segment
    baseline, source = None, "no earlier run"
    if baseline_us is not None and judged:
        baseline, source = baseline_us * 1e-6, "given"
    elif level:
        baseline, source = (
            median(point.value for point in level),
            f"median of {len(level)} {'run' if len(level) == 1 else 'runs'} before",
        )
    by_history = judge_against_history(history, history.side(newest.run), branch=series.branch, before=newest.run)
    few = series.operation in by_history.too_few
    suspected = None if few else series.operation in by_history.suspected and _slower(by_history, series.operation)
    reasons = (f"fewer than {by_history.least} accepted runs: the history's rule says nothing yet",) if few else ()
    return Trend(series, newest.value, baseline, source, factor, suspected, reasons, judged)


def _slower(judged: Any, operation: str) -> bool:
    return any(row.operation == operation and (row.change_percent or 0) > 0 for row in judged.comparisons)
