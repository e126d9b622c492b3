# SPDX-License-Identifier: Apache-2.0
"""What a comparison says: of each operation, and of all."""

import enum
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import Any


class ChangeType(enum.Enum):
    """What became of an operation. NEW and REMOVED are the short names of two members."""

    IMPROVEMENT = "improvement"
    REGRESSION = "regression"
    NO_CHANGE = "no_change"
    NEW_OPERATION = "new_operation"
    REMOVED_OPERATION = "removed_operation"
    INVALID = "invalid"
    NEW = NEW_OPERATION
    REMOVED = REMOVED_OPERATION


@dataclass(frozen=True, slots=True)
class OperationComparison:
    """One operation in one metric, on both sides. The first seven fields, in this order, are the documented ones.

    baseline_time_ms, current_time_ms: the time of a call in milliseconds, the level of its median; of a metric that is
    no time these are None and `baseline`, `current` hold the values in `unit`. change_percent: the change of a call,
    estimated on logarithms from all samples or pairs, and the ratio of the two levels (but for what all operations
    changed by together, where that was taken out); change_ms: the same as a part of baseline_time_ms. low_percent,
    high_percent: the interval of the change at the level of the comparison. p, q: two-sided p-value of no change, and
    the same adjusted for all rows. least_q: so many processes support no smaller p or q; print "< least_q".
    raw_percent: of pairs from which the machine's part was taken out, the change with it; coefficient: how strongly the
    operation follows the others.
    is_significant: the difference is real (q below alpha) and may reach the threshold, so the change_type is
    IMPROVEMENT or REGRESSION. conclusive: the verdict is not for want of data. gates: large enough to fail a gate.
    reason: one of ``regimeter._core.VERDICT_REASONS``, or 'environments' where these forbid a comparison.
    tier: what the data allowed, one of ``regimeter._core.TIERS``. detectable_percent: smallest slowdown that would
    have been detected. needed: processes or pairs a side that would probably conclude, None when not known.
    baseline_slow, current_slow: share of the samples in the slow mode where there are two modes.
    baseline_run_ms, current_run_ms: what all calls of a process take together, the mean over the processes, with its
    change in percent and by what part of a process's time that moves it (impact_percent). They count more calls as more
    time, add up to totals and flame graphs, and are told without a test.
    baseline_clock_mhz, current_clock_mhz: the mean clock of the device's multiprocessors during the work of the
    operation, where telemetry or counters sampled it; cycles_percent: the change in cycles of it. They are told beside
    the time and decide nothing.
    A figure that is not known is None.
    """

    operation: str
    baseline_time_ms: float | None = None
    current_time_ms: float | None = None
    change_ms: float | None = None
    change_percent: float | None = None
    change_type: ChangeType = ChangeType.INVALID
    is_significant: bool = False
    _: KW_ONLY
    metric: str = "time"
    unit: str = "s"
    baseline: float | None = None
    current: float | None = None
    low_percent: float | None = None
    high_percent: float | None = None
    p: float | None = None
    q: float | None = None
    least_q: float | None = None
    rank_p: float | None = None
    raw_percent: float | None = None
    coefficient: float | None = None
    tier: str = "none"
    reason: str = ""
    conclusive: bool = False
    gates: bool = True
    accepted: str | None = None
    pairs: int = 0
    baseline_launches: int = 0
    current_launches: int = 0
    baseline_samples: int = 0
    current_samples: int = 0
    baseline_calls: float = 0
    current_calls: float = 0
    baseline_total_ms: float | None = None
    current_total_ms: float | None = None
    baseline_run_ms: float | None = None
    current_run_ms: float | None = None
    run_change_percent: float | None = None
    impact_percent: float | None = None
    baseline_memory_mb: float | None = None
    current_memory_mb: float | None = None
    memory_change_mb: float | None = None
    share: float | None = None
    detectable_percent: float | None = None
    needed: int | None = None
    baseline_slow: float | None = None
    current_slow: float | None = None
    autocorrelation: float | None = None
    baseline_clock_mhz: float | None = None
    current_clock_mhz: float | None = None
    cycles_percent: float | None = None

    @property
    def clock_percent(self) -> float | None:
        """By how much the device's clock was higher than the baseline's, None where it is not known of both sides."""
        if not self.baseline_clock_mhz or self.current_clock_mhz is None:
            return None
        return 100 * (self.current_clock_mhz / self.baseline_clock_mhz - 1)

    @property
    def ci_percent(self) -> tuple[float, float] | None:
        """The interval of the change, None when there is none."""
        if self.low_percent is None or self.high_percent is None:
            return None
        return self.low_percent, self.high_percent

    @property
    def calls(self) -> tuple[float, float] | None:
        """The calls that a process made on each side, None where a side has none."""
        if not self.baseline_launches or not self.current_launches or not self.baseline_calls + self.current_calls:
            return None
        return self.baseline_calls / self.baseline_launches, self.current_calls / self.current_launches

    @property
    def calls_changed(self) -> bool:
        """Whether a process makes more or fewer calls than before."""
        return self.calls is not None and self.calls[0] != self.calls[1]

    @property
    def status(self) -> str:
        """The change type's value."""
        return str(self.change_type.value)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dictionary of JSON values."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        values["change_type"] = self.change_type.value
        return values


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonSummary:
    """Counts over the rows of a comparison, and the whole time of both sides.

    total_time_change_ms and total_time_change_percent compare the whole time, in which more calls of an operation
    count as more time; the verdicts compare time per call. decided: whether any verdict rests on data of both sides;
    where none does, `reason` says why, `exit_code` is 4, and regressions_count and improvements_count are None.
    """

    total_operations: int
    regressions_count: int | None
    improvements_count: int | None
    unchanged_count: int
    new_operations_count: int
    removed_operations_count: int
    invalid_count: int
    inconclusive_count: int
    total_time_change_ms: float
    total_time_change_percent: float | None
    worst_regression: OperationComparison | None = None
    best_improvement: OperationComparison | None = None
    warnings: tuple[str, ...] = field(default_factory=tuple)
    decided: bool = True
    reason: str = ""
    exit_code: int = 0
