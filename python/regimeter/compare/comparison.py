# SPDX-License-Identifier: Apache-2.0
"""ProfilerComparison: a decision with the documented interface and its renderings, and the functions that make one."""

import json
import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from ..system.files import write_json
from ..system.joints import joint
from ..system.quantities import finite
from ..system.text import say, width_of
from .basis import PROCESSES, Basis
from .decide import Decision, decide
from .options import Options
from .result import ChangeType, ComparisonSummary, OperationComparison
from .side import Side
from .sources import launches_of
from .stored import decision_of, parse, read

FORMAT, VERSION = "regimeter.comparison", 1


class ProfilerComparison(Decision):
    """Two sides and what can be said of their difference.

    baseline_data, current_data: what :func:`compare_profiling_runs` takes. significance_threshold: percent of change
    that must not be missed. options: of :class:`~regimeter.compare.options.Options`, by name.

    comparisons, wholes, facts and what else is known: see :class:`~regimeter.compare.decide.Decision`.
    basis: what the blocks of samples are, processes unless whoever made the comparison says otherwise.
    """

    basis: Basis = PROCESSES

    def __init__(
        self, baseline_data: Any, current_data: Any, significance_threshold: float = 5.0, **options: Any
    ) -> None:
        wanted = Options(significance_threshold, **options)
        self._take(decide(baseline_data, current_data, wanted))

    def _take(self, decision: Decision) -> None:
        for one in fields(Decision):
            setattr(self, one.name, getattr(decision, one.name))

    # --- what was asked ------------------------------------------------------------------------------------

    @property
    def significance_threshold(self) -> float:
        """The change that must not be missed, in percent."""
        return self.options.significance_threshold

    @property
    def alpha(self) -> float:
        """The false-discovery rate of all rows together."""
        return self.options.alpha

    @property
    def fdr(self) -> str:
        """How p-values are adjusted for many rows."""
        return self.options.fdr

    @property
    def decision(self) -> str:
        """What of a change has to reach the threshold."""
        return self.options.decision

    @property
    def paired(self) -> bool:
        """Whether process i of both sides ran together."""
        return self.options.paired

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that were asked for."""
        return tuple(self.options.metrics)

    # --- results -------------------------------------------------------------------------------------------

    def get_summary(self) -> ComparisonSummary:
        """Count the verdicts and compare the whole time of both sides.

        Where nothing could be decided, `decided` is False, `reason` says why, and the counts of regressions and
        improvements are None, not 0: no regression was looked for. A RuntimeWarning says so too.
        """
        nothing = self.nothing_compared
        if nothing:
            warnings.warn(f"nothing could be decided: {nothing} (exit code 4)", RuntimeWarning, stacklevel=2)
        return self.summary

    @property
    def summary(self) -> ComparisonSummary:
        """What :meth:`get_summary` returns, without its warning."""
        counts = dict.fromkeys(ChangeType, 0)
        for row in self.comparisons:
            counts[row.change_type] += 1
        time = [row for row in self.comparisons if row.metric == "time"]
        before = sum(row.baseline_total_ms or 0.0 for row in time)
        after = sum(row.current_total_ms or 0.0 for row in time)
        regressions, improvements = self.get_regressions(1), self.get_improvements(1)
        nothing = self.nothing_compared
        return ComparisonSummary(
            total_operations=len(self.comparisons),
            regressions_count=None if nothing else counts[ChangeType.REGRESSION],
            improvements_count=None if nothing else counts[ChangeType.IMPROVEMENT],
            unchanged_count=counts[ChangeType.NO_CHANGE],
            new_operations_count=counts[ChangeType.NEW_OPERATION],
            removed_operations_count=counts[ChangeType.REMOVED_OPERATION],
            invalid_count=counts[ChangeType.INVALID],
            inconclusive_count=sum(
                row.change_type is ChangeType.NO_CHANGE and not row.conclusive for row in self.comparisons
            ),
            total_time_change_ms=after - before,
            total_time_change_percent=100 * (after / before - 1) if before > 0 and not nothing else None,
            worst_regression=regressions[0] if regressions else None,
            best_improvement=improvements[0] if improvements else None,
            warnings=tuple(self.warnings),
            decided=not nothing,
            reason=nothing,
            exit_code=self.exit_code,
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
    def common_mode_percent(self) -> float | None:
        """What all operations changed by together, in percent; None when too few could tell."""
        value = finite(self.facts.get("common_mode"))
        return None if value is None else 100 * value

    @property
    def mde_percent(self) -> float | None:
        """Smallest slowdown that would have been detected in the median operation, in percent."""
        value = finite(self.facts.get("detectable_median"))
        return None if value is None else 100 * value

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
        text: str = joint("comparison")(self, style, **view)
        return text

    def print_summary(self, top_n: int = 5) -> None:
        """Print the verdict with its evidence. ValueError for a negative top_n."""
        say(None, self.render("text", top=top_n, only_changed=True, width=width_of(sys.stdout)))

    def print_regressions(self, top_n: int = 5) -> None:
        """Print what got slower."""
        self._print("Regressions", self.get_regressions(top_n))

    def print_improvements(self, top_n: int = 5) -> None:
        """Print what got faster."""
        self._print("Improvements", self.get_improvements(top_n))

    def _print(self, title: str, rows: list[OperationComparison]) -> None:
        nothing = f" could not be looked for: {self.nothing_compared}" if self.nothing_compared else ": none"
        if not rows:
            say(None, f"{title}{nothing}")
            return
        say(None, title, "", *joint("changes")(self, rows, width_of(sys.stdout)))

    def __repr__(self) -> str:
        return f"<ProfilerComparison: {joint('verdict of a comparison')(self)}>"

    def _repr_html_(self) -> str:
        return str(joint("comparison in a notebook")(self))

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON values: summary, facts, one dictionary a row."""
        summary, options = self.summary, self.options
        return {
            "format": FORMAT,
            "version": VERSION,
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
            "exit_code": self.exit_code,
            "outcome": self.outcome,
            "nothing_compared": self.nothing_compared,
            "threshold_percent": options.significance_threshold,
            "alpha": options.alpha,
            "fdr": options.fdr,
            "decision": options.decision,
            "paired": options.paired,
            "metrics": list(options.metrics),
            "fail_on": options.fail_on,
            "strict": options.strict,
            "force": options.force,
            "policy": dict(self.policy),
            "run_floors": {
                "source": self.floors.source,
                "by_operation": dict(self.floors.by_operation),
                "machines": self.floors.machines,
            },
            "facts": {name: finite(value) for name, value in self.facts.items()},
            "wholes": [row.to_dict() for row in self.wholes],
            "warnings": self.warnings,
            "environments": {"baseline": self.baseline.environments, "current": self.current.environments},
            "environment_differences": [row.to_dict() for row in self.differences],
            "comparisons": [row.to_dict() for row in self.comparisons],
        }

    def to_json(self) -> str:
        """Return :meth:`to_dict` as text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False, default=str)

    def export_comparison(self, path: str | os.PathLike[str]) -> None:
        """Write the comparison as JSON, atomically; :meth:`load` reads it back."""
        write_json(path, self.to_dict(), default=str, end="\n")

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> "ProfilerComparison":
        """Return the comparison that :meth:`to_dict` described. FormatError for anything else."""
        made = cls.__new__(cls)
        made._take(decision_of(document, FORMAT, VERSION))
        return made

    @classmethod
    def from_json(cls, text: str | bytes) -> "ProfilerComparison":
        """Return the comparison that :meth:`to_json` wrote. FormatError for anything else."""
        return cls.from_dict(parse(text))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "ProfilerComparison":
        """Return the comparison that :meth:`export_comparison` wrote. FormatError, OSError where it cannot be read.

        Verdicts, exit code and reports are those of then; the samples of both sides are not in the file.
        """
        return read(path, cls.from_dict)


def compare_profiling_runs(
    baseline_file: Any, current_file: Any, significance_threshold: float = 5.0, **options: Any
) -> ProfilerComparison:
    """Compare two profiling runs, operation by operation.

    baseline_file, current_file: a file (recording, exported profile, trace), a Run, a dictionary of the documented
    form, or a list of these, one for each process. significance_threshold: percent of change that must not be missed.
    options: as for ProfilerComparison. FormatError for an unreadable file, OSError for an absent one, ValueError for
    options.
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
