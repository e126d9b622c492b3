# SPDX-License-Identifier: Apache-2.0
"""ProfilerComparison: the comparison of two sides, and the functions that make one."""

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .. import _core
from .pairs import two_sides
from .result import ChangeType, ComparisonSummary, OperationComparison
from .rows import exact_row, known, sampled_fields, scaled
from .samples import EXACT, TIMES, UNITS, Samples, Side, launches_of, pack
from .wholes import UNITS as WHOLES
from .wholes import Single, samples_of, singles_of

FDR = ("bh", "by", "none")
DECISIONS = ("catch", "estimate", "prove")
PASS, REGRESSED, INCONCLUSIVE = 0, 1, 3


class ProfilerComparison:
    """Two sides and what can be said of their difference.

    baseline_data, current_data: what :func:`compare_profiling_runs` takes. significance_threshold: percent of
    change that matters. alpha: false-discovery rate of all rows together. fdr: 'bh' (Benjamini-Hochberg), 'by'
    (Benjamini-Yekutieli) or 'none'. decision: a regression is a real difference whose interval still reaches the
    threshold ('catch'), whose estimate does ('estimate'), or that lies beyond it as a whole ('prove'). paired:
    process i of both sides ran together, in random order. metrics: of time, device_time, memory_peak,
    memory_allocated, launches, bytes. min_share: an operation gates from this part of the whole time. wholes: the
    single tests to make, of 'total_time' and 'total_memory'. policy: further thresholds by name, see
    ``regimeter._core.compare_policy()``.

    comparisons: one OperationComparison a row, in the order of the baseline, then what is new. wholes: the single
    tests, rows of the same kind with p and q alike. facts: what holds
    for all: the common shift of all operations with its interval, the smallest detectable effect.
    """

    def __init__(
        self,
        baseline_data: Any,
        current_data: Any,
        significance_threshold: float = 5.0,
        *,
        alpha: float = 0.05,
        fdr: str = "bh",
        decision: str = "catch",
        paired: bool = False,
        metrics: Sequence[str] = ("time",),
        min_share: float | None = None,
        run_floor: float | Mapping[str, float] | None = None,
        wholes: Sequence[str] = tuple(WHOLES),
        policy: Mapping[str, float] | None = None,
    ) -> None:
        self.significance_threshold = _percent(significance_threshold)
        self.alpha, self.fdr, self.decision, self.paired = float(alpha), fdr, decision, bool(paired)
        if fdr not in FDR:
            raise ValueError(f"unknown correction {fdr!r}; valid are: {', '.join(FDR)}")
        if decision not in DECISIONS:
            raise ValueError(f"unknown decision {decision!r}; valid are: {', '.join(DECISIONS)}")
        unknown = [name for name in metrics if name not in UNITS]
        if unknown or not metrics:
            raise ValueError(f"unknown metric {unknown[0] if unknown else ''!r}; valid are: {', '.join(UNITS)}")
        self.metrics = tuple(dict.fromkeys(metrics))
        self.baseline, self.current = two_sides(baseline_data, current_data, paired=self.paired)
        self.policy = {"threshold": self.significance_threshold / 100, "alpha": self.alpha, **(policy or {})}
        if min_share is not None:
            self.policy["min_share"] = float(min_share)
        self._floors = dict(run_floor) if isinstance(run_floor, Mapping) else {}
        if isinstance(run_floor, int | float):
            self.policy["run_floor"] = float(run_floor)
        unknown = [name for name in wholes if name not in WHOLES]
        if unknown:
            raise ValueError(f"unknown whole {unknown[0]!r}; valid are: {', '.join(WHOLES)}")
        self.facts: dict[str, Any] = {}
        self.comparisons: list[OperationComparison] = []
        self._compare()
        self.wholes: list[OperationComparison] = [
            self._whole(one) for one in singles_of(self.baseline, self.current, wholes, self.policy, paired=self.paired)
        ]

    # --- results -------------------------------------------------------------------------------------------

    def get_summary(self) -> ComparisonSummary:
        """Count the verdicts and compare the whole time of both sides."""
        counts = dict.fromkeys(ChangeType, 0)
        for row in self.comparisons:
            counts[row.change_type] += 1
        time = [row for row in self.comparisons if row.metric == "time"]
        before = sum(row.baseline_total_ms or 0.0 for row in time)
        after = sum(row.current_total_ms or 0.0 for row in time)
        regressions, improvements = self.get_regressions(1), self.get_improvements(1)
        return ComparisonSummary(
            total_operations=len(self.comparisons),
            regressions_count=counts[ChangeType.REGRESSION],
            improvements_count=counts[ChangeType.IMPROVEMENT],
            unchanged_count=counts[ChangeType.NO_CHANGE],
            new_operations_count=counts[ChangeType.NEW_OPERATION],
            removed_operations_count=counts[ChangeType.REMOVED_OPERATION],
            invalid_count=counts[ChangeType.INVALID],
            inconclusive_count=sum(
                row.change_type is ChangeType.NO_CHANGE and not row.conclusive for row in self.comparisons
            ),
            total_time_change_ms=after - before,
            total_time_change_percent=100 * (after / before - 1) if before > 0 else None,
            worst_regression=regressions[0] if regressions else None,
            best_improvement=improvements[0] if improvements else None,
            warnings=tuple(self.warnings),
        )

    def get_regressions(self, top_n: int | None = None) -> list[OperationComparison]:
        """Return what got slower (or larger), the largest change first. ValueError for a negative top_n."""
        return self._top(ChangeType.REGRESSION, top_n, -1)

    def get_improvements(self, top_n: int | None = None) -> list[OperationComparison]:
        """Return what got faster (or smaller), the largest change first. ValueError for a negative top_n."""
        return self._top(ChangeType.IMPROVEMENT, top_n, 1)

    def _top(self, change: ChangeType, top_n: int | None, sign: int) -> list[OperationComparison]:
        if top_n is not None and top_n < 0:
            raise ValueError(f"top_n must be at least 0, got {top_n}")
        found = [row for row in self.comparisons if row.change_type is change]
        found.sort(key=lambda row: sign * (row.change_percent or 0.0))
        return found[:top_n]

    @property
    def ops(self) -> list[OperationComparison]:
        """The rows, by their short name."""
        return self.comparisons

    @property
    def warnings(self) -> list[str]:
        """What the reader should know of the inputs."""
        from .environments import mixed

        both = (self.baseline, self.current)
        found = [text for side in both for text in (*side.warnings, *mixed(side.label, side.environments))]
        nothing = self.nothing_compared
        return [f"nothing was compared: {nothing}", *found] if nothing else found

    @property
    def nothing_compared(self) -> str:
        """Why no verdict rests on data of both sides, '' when one does. A gate must not take this for a pass."""
        if not self.comparisons:
            return "neither side has an operation with this metric"
        kinds = {row.change_type for row in self.comparisons}
        if kinds <= {ChangeType.NEW_OPERATION, ChangeType.REMOVED_OPERATION}:
            if len(kinds) == 1:
                return f"{'the baseline' if ChangeType.NEW_OPERATION in kinds else 'the current side'} has no operation"
            return "no operation is on both sides"
        one_sided = {ChangeType.NEW_OPERATION, ChangeType.REMOVED_OPERATION, ChangeType.INVALID}
        return "no operation has usable samples on both sides" if kinds <= one_sided else ""

    @property
    def common_mode_percent(self) -> float | None:
        """What all operations changed by together, in percent; None when too few could tell."""
        value = known(self.facts.get("common_mode"))
        return None if value is None else 100 * value

    @property
    def mde_percent(self) -> float | None:
        """Smallest slowdown that would have been detected in the median operation, in percent."""
        value = known(self.facts.get("detectable_median"))
        return None if value is None else 100 * value

    @property
    def failures(self) -> list[OperationComparison]:
        """The regressions that fail a gate: large enough, and not accepted."""
        return [row for row in self.get_regressions() if row.gates and row.accepted is None]

    @property
    def whole_failures(self) -> list[OperationComparison]:
        """The single tests that fail a gate: the whole got slower, or its peak memory grew, and nobody accepted it."""
        return [row for row in self.wholes if row.change_type is ChangeType.REGRESSION and row.accepted is None]

    @property
    def common_failure(self) -> bool:
        """Whether everything together got slower by at least the threshold, where that was taken out of the rows.

        Then no row need be slower than the others, and still the program is: a gate must not take that for a pass.
        The lower end of the interval counts, because sides that did not run in pairs may differ by their machines.
        """
        low = known(self.facts.get("common_low"))
        return bool(self.facts.get("common_removed")) and low is not None and 100 * low >= self.significance_threshold

    def get_exit_code(self, strict: bool = False) -> int:
        """Return 0 for pass, 1 for a regression that gates, 3 with `strict` when a row that gates is undecided.

        The single tests of the whole count like rows that gate. All operations together are one more row: see
        `common_failure`. What is invalid has no share, so it counts.
        """
        if self.failures or self.whole_failures or self.common_failure:
            return REGRESSED
        undecided = any(
            not row.conclusive
            and ((row.gates and row.change_type is ChangeType.NO_CHANGE) or row.change_type is ChangeType.INVALID)
            for row in (*self.comparisons, *self.wholes)
        )
        return INCONCLUSIVE if strict and undecided else PASS

    @property
    def exit_code(self) -> int:
        """The exit code of a gate that is not strict."""
        return self.get_exit_code()

    # --- renderings ----------------------------------------------------------------------------------------

    def to_text(self, top_n: int = 20) -> str:
        """Return the report as text: verdict, evidence, what could have been missed, what to run next."""
        return self.render("text", top=top_n, only_changed=True)

    def to_junit(self) -> str:
        """Return a JUnit document: a test case for each operation, failed where the gate fails."""
        return self.render("junit")

    def to_markdown(self, top_n: int = 50) -> str:
        """Return Markdown that fits into a comment of a pull request (65,536 characters)."""
        return self.render("markdown", top=top_n)

    def to_html(self, history: Mapping[str, Any] | None = None) -> str:
        """Return a page that needs no network.

        history: earlier values of operations, oldest first, {operation: [{"label": text, "value": seconds}, ...]},
        each point with "low" and "high" where they are known; the page then shows the trend with its change points.
        A dictionary {"points": ..., "changes": [{"at", "before", "after", "p"}, ...]} brings its own change points.
        """
        return self.render("html", history=history)

    def to_csv(self) -> str:
        """Return one line for each row, with all its fields."""
        return self.render("csv")

    def render(self, style: str, **view: Any) -> str:
        """Return the comparison in a format of ``regimeter.report.comparison.STYLES``; view: see its View."""
        from ..report.comparison import render
        from .environments import differences

        return render(
            self, style, **{"differences": differences(self.baseline.environments, self.current.environments), **view}
        )

    def print_summary(self, top_n: int = 5) -> None:
        """Print the verdict with its evidence. ValueError for a negative top_n."""
        from ..report.text import say

        say(None, self.to_text(top_n))

    def print_regressions(self, top_n: int = 5) -> None:
        """Print what got slower."""
        self._print("Regressions", self.get_regressions(top_n))

    def print_improvements(self, top_n: int = 5) -> None:
        """Print what got faster."""
        self._print("Improvements", self.get_improvements(top_n))

    def _print(self, title: str, rows: list[OperationComparison]) -> None:
        from ..report.comparison_text import level_of, rows_table
        from ..report.text import render, say

        say(None, render(rows_table(title, rows, level_of(self))) if rows else f"{title}: none")

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON values: summary, facts, one dictionary a row."""
        summary = self.get_summary()
        return {
            "format": "regimeter.comparison",
            "version": 1,
            "summary": {
                "total_operations": summary.total_operations,
                "regressions": summary.regressions_count,
                "improvements": summary.improvements_count,
                "unchanged": summary.unchanged_count,
                "new_operations": summary.new_operations_count,
                "removed_operations": summary.removed_operations_count,
                "invalid": summary.invalid_count,
                "inconclusive": summary.inconclusive_count,
                "total_change_ms": summary.total_time_change_ms,
                "total_change_percent": summary.total_time_change_percent,
            },
            "threshold_percent": self.significance_threshold,
            "alpha": self.alpha,
            "fdr": self.fdr,
            "decision": self.decision,
            "paired": self.paired,
            "facts": {name: known(value) for name, value in self.facts.items()},
            "exit_code": self.exit_code,
            "wholes": [row.to_dict() for row in self.wholes],
            "warnings": self.warnings,
            "environments": {"baseline": self.baseline.environments, "current": self.current.environments},
            "comparisons": [row.to_dict() for row in self.comparisons],
        }

    def to_json(self) -> str:
        """Return :meth:`to_dict` as text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False, default=str)

    def export_comparison(self, path: str | os.PathLike[str]) -> None:
        """Write the comparison as JSON, atomically."""
        from ..report.files import atomic_writer

        with atomic_writer(Path(path)) as out:
            out.write(self.to_json() + "\n")

    # --- computing -----------------------------------------------------------------------------------------

    def _compare(self) -> None:
        keys: list[tuple[str, str]] = []
        for metric in self.metrics:
            sides = [side.metrics.get(metric, Samples()) for side in (self.baseline, self.current)]
            names = dict.fromkeys((*sides[0].launches, *sides[1].launches))
            exact = metric in EXACT
            for name in names:
                if exact and all(_constant(side, name) for side in sides):
                    self.comparisons.append(self._exact(metric, name, sides[0], sides[1]))
                else:
                    keys.append((metric, name))
        if keys:
            self.comparisons[:0] = self._by_samples(keys)

    def _whole(self, single: Single) -> OperationComparison:
        """Make a single test: alone, so that no other row adjusts its p-value."""
        before, after = samples_of(single)
        unit = WHOLES[single.metric]
        if single.exact:
            default = _core.compare_policy()["peak_tolerance"]["default"]
            return exact_row(
                single.name, single.metric, unit, before, after, self.policy.get("peak_tolerance", default)
            )
        table, _ = _core.compare(
            1, pack(before, [single.name]), pack(after, [single.name]), self.paired, self.policy, "none",
            self.decision, None, np.zeros(1, dtype=np.uint8),
        )  # fmt: skip
        values = {name: getattr(table, name).tolist()[0] for name in table.columns}
        fields = sampled_fields(values) | {"gates": True, "share": None}
        return OperationComparison(operation=single.name, metric=single.metric, unit=unit, **fields)

    def _by_samples(self, keys: list[tuple[str, str]]) -> list[OperationComparison]:
        packed = []
        for side in (self.baseline, self.current):
            together = Samples()
            for number, (metric, name) in enumerate(keys):
                samples = side.metrics.get(metric)
                if samples and name in samples.launches:
                    together.launches[str(number)] = samples.launches[name]
                    together.totals[str(number)] = samples.totals[name]
            packed.append(pack(together, [str(number) for number in range(len(keys))]))
        codes = {name: number for number, name in enumerate((*TIMES, *EXACT))}
        metrics = np.array([codes[metric] for metric, _ in keys], dtype=np.uint8)
        floors = np.array([self._floors.get(name, math.nan) for _, name in keys], dtype=np.float64)
        table, self.facts = _core.compare(
            len(keys), packed[0], packed[1], self.paired, self.policy, self.fdr, self.decision, floors, metrics
        )
        columns = {name: getattr(table, name).tolist() for name in table.columns}
        rows = [self._row(key, {name: values[i] for name, values in columns.items()}) for i, key in enumerate(keys)]
        worst = self.facts["worst"]
        self.facts["worst_operation"] = keys[worst][1] if worst >= 0 else None
        return rows

    def _row(self, key: tuple[str, str], values: dict[str, Any]) -> OperationComparison:
        metric, name = key
        found = sampled_fields(values)
        more = self._common_fields(metric, name, found["baseline"], found["current"])
        return OperationComparison(operation=name, metric=metric, unit=UNITS[metric], **found, **more)

    def _common_fields(self, metric: str, name: str, baseline: float | None, current: float | None) -> dict[str, Any]:
        """Return the fields that do not depend on how the row was compared."""
        before, after = (side.metrics.get(metric, Samples()) for side in (self.baseline, self.current))
        memory = self.baseline.memory_mb.get(name), self.current.memory_mb.get(name)
        fields = {
            "baseline_calls": before.calls.get(name, 0.0),
            "current_calls": after.calls.get(name, 0.0),
            "baseline_memory_mb": memory[0],
            "current_memory_mb": memory[1],
            "memory_change_mb": memory[1] - memory[0] if memory[0] is not None and memory[1] is not None else None,
        }
        if metric in TIMES:
            fields |= {
                "baseline_time_ms": scaled(baseline, 1e3),
                "current_time_ms": scaled(current, 1e3),
                "change_ms": (current - baseline) * 1e3 if baseline is not None and current is not None else None,
                "baseline_total_ms": scaled(before.totals.get(name), 1e3),
                "current_total_ms": scaled(after.totals.get(name), 1e3),
            }
        return fields

    def _exact(self, metric: str, name: str, before: Samples, after: Samples) -> OperationComparison:
        """Compare a quantity that is the same in every process of a side."""
        row = exact_row(name, metric, UNITS[metric], before, after)
        return replace(row, **self._common_fields(metric, name, row.baseline, row.current))


def _constant(samples: Samples, name: str) -> bool:
    launches = samples.launches.get(name, ())
    return len({float(value) for launch in launches for value in launch}) <= 1


def _percent(value: float) -> float:
    number = float(value)
    if not math.isfinite(number) or number < 0:
        raise ValueError(f"significance_threshold is a percentage of at least 0, got {value!r}")
    return number


def compare_profiling_runs(
    baseline_file: Any, current_file: Any, significance_threshold: float = 5.0, **options: Any
) -> ProfilerComparison:
    """Compare two profiling runs, operation by operation.

    baseline_file, current_file: a file (recording, exported profile, trace), a Run, a dictionary of the documented
    form, or a list of these, one for each process. significance_threshold: percent of change that matters. options:
    as for ProfilerComparison. FormatError for an unreadable file, OSError for an absent one, ValueError for options.
    """
    return ProfilerComparison(baseline_file, current_file, significance_threshold, **options)


def compare_samples(
    baseline: Mapping[str, Sequence[Any]],
    current: Mapping[str, Sequence[Any]],
    paired: bool = False,
    significance_threshold: float = 5.0,
    **options: Any,
) -> ProfilerComparison:
    """Compare samples: ``{operation: [[seconds, ...] per launch, ...]}`` of each side.

    A launch is one process. With `paired`, launch i of both sides ran together, in random order. options: as for
    ProfilerComparison.
    """
    for label, given in (("baseline", baseline), ("current", current)):
        if not isinstance(given, Mapping):
            raise TypeError(f"{label}: a dictionary of samples by operation is expected, not {type(given).__name__}")
    sides = []
    for label, given in (("baseline", baseline), ("current", current)):
        side = Side(label)
        time = side.metric("time")
        for operation, launches in given.items():
            for launch in launches_of(operation, launches):
                time.add(str(operation), launch)
        sides.append(side)
    return ProfilerComparison(sides[0], sides[1], significance_threshold, paired=paired, **options)
