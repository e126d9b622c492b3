# SPDX-License-Identifier: Apache-2.0
"""Judging a session: all tests together against the baseline, held to one false-discovery rate."""

import datetime
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import median

from ..compare import ChangeType, OperationComparison, ProfilerComparison
from ..compare.ab.memory import DEVICE, RESIDENT_STEP
from ..compare.side import Side
from .counts import CLOCK
from .document import Document
from .gate import Gate
from .options import Options
from .records import Record

# Blocks of a launch with many rounds.
BLOCKS = 25
METRICS = ("time", "device_time", "memory_peak", "launches", "instructions")
Key = tuple[str, str]


@dataclass(slots=True)
class Judgement:
    """The verdicts of a session.

    comparison: every row, those of duets too; None where nothing was there to compare. missing: operations without a
    baseline, with the reason where it is not plain absence. not_run: operations of the baseline that did not run.
    thresholds: percent by row. undecided: why nothing of the session could be compared with its baseline, '' when
    something was. shifted: all tests together got slower by the threshold, which was taken out of the rows.
    """

    comparison: ProfilerComparison | None = None
    duets: int = 0
    missing: dict[str, str] = field(default_factory=dict)
    expired: list[str] = field(default_factory=list)
    not_run: list[str] = field(default_factory=list)
    thresholds: dict[Key, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    undecided: str = ""
    shifted: bool = False

    @property
    def failures(self) -> list[OperationComparison]:
        """The regressions that fail the session."""
        return [] if self.comparison is None else self.comparison.failures


def judge(
    records: Sequence[Record],
    documents: Sequence[Document],
    options: Options,
    environment: dict[str, object],
    today: datetime.date,
) -> Judgement:
    """Return the verdicts of records against the documents of the baseline, each a launch or several.

    Where a baseline is asked for and nothing was measured, nothing is decided; but tests that are skipped because there
    is no baseline at all (--perf-missing-baseline=skip) are those of a first session, which passes.
    """
    found = Judgement()
    plain = [record for record in records if record.kind != "duet" and record.metrics]
    duets = [record for record in records if record.kind == "duet" and record.metrics]
    parts = []
    if plain and (options.compare or options.reports):
        before, after = _sides(plain, documents, environment, options, found)
        parts.append((before, after, False))
    if duets:
        before, after = Side("old"), Side("new")
        for record in duets:
            for side, metrics in ((before, record.old), (after, record.metrics)):
                for launch in metrics["time"]:
                    side.metric("time").add(record.operation, launch)
        parts.append((before, after, True))
        found.duets = len(duets)
    gates = {record.operation: Gate(**record.gate) for record in records}
    for before, after, paired in parts:
        made = _compare(before, after, paired, gates, options, found)
        found.shifted = found.shifted or made.common_failure
        if documents or paired:  # a session without a baseline is the first one
            found.undecided = found.undecided or _undecided(made, paired)
        if found.comparison is None:
            found.comparison = made
        else:
            found.comparison.comparisons += made.comparisons
    if found.comparison is not None:
        _accept(found.comparison, gates, today, found)
    elif options.compare and not options.unmeasured and (documents or options.missing != "skip"):
        found.undecided = "no benchmark of this session was measured"
    return found


def _undecided(comparison: ProfilerComparison, paired: bool) -> str:
    """Return why nothing was decided; of the baseline, only what this session ran is among the operations."""
    alone = comparison.comparisons and all(row.reason == "one_side" for row in comparison.comparisons)
    if alone and not paired and not comparison.incomparable:
        return "no benchmark of this session can be compared with the baseline"
    return comparison.nothing_compared


# --- the two sides ----------------------------------------------------------------------------------------------


def _sides(
    records: Sequence[Record],
    documents: Sequence[Document],
    environment: dict[str, object],
    options: Options,
    found: Judgement,
) -> tuple[Side, Side]:
    before, after = Side("baseline"), Side("current")
    after.environments.append(dict(environment))
    before.environments += [dict(document.get("environment") or {}) for document in documents]
    older = _by_operation(documents)
    names = {record.operation for record in records}
    found.not_run = [name for name in older if name not in names]
    for record in records:
        gate = Gate(**record.gate)
        asked = options.metrics if options.count else gate.metrics or options.metrics
        metrics = [name for name in asked if name in record.metrics]
        for name in metrics:
            for launch in record.metrics[name]:
                after.metric(name).add(record.operation, condensed(name, launch, record.memory_source))
        past = older.get(record.operation, [])
        reason = _unlike(record, past)
        if reason or not any(name in one.metrics for name in metrics for one in past):
            found.missing[record.operation] = reason
            continue
        for name in metrics:
            for one in past:
                for launch in one.metrics.get(name, ()):
                    before.metric(name).add(record.operation, condensed(name, launch, one.memory_source))
        _doubt(record, past, found)
    return before, after


def condensed(metric: str, launch: Sequence[float], memory_source: str = "") -> list[float]:
    """Return the samples of a launch as they are compared.

    Short rounds in a row resemble each other, and single ones are interrupted: many are compared by the medians of
    blocks. A resident set is compared in whole steps, because pages come and go.
    """
    if metric == "memory_peak":
        step = RESIDENT_STEP if memory_source != DEVICE else 1
        return [max(1.0, math.ceil(value / step)) * step for value in launch]
    if len(launch) <= 2 * BLOCKS:
        return list(launch)
    bounds = [len(launch) * at // BLOCKS for at in range(BLOCKS + 1)]
    return [median(launch[begin:end]) for begin, end in pairwise(bounds)]


def _by_operation(documents: Iterable[Document]) -> dict[str, list[Record]]:
    older: dict[str, list[Record]] = {}
    for document in documents:
        for values in document["tests"]:
            record = Record.from_dict(values)
            if record.kind != "duet":
                older.setdefault(record.operation, []).append(record)
    return older


def _unlike(record: Record, past: Sequence[Record]) -> str:
    """Return why the earlier samples of a test are of another kind than today's, '' when they are not."""
    clocks = {one.clock for one in past} - {record.clock}
    if clocks:
        other = clocks.pop()
        counted = other == CLOCK
        return f"the baseline was {'counted under Callgrind' if counted else f'timed with the {other} clock'}"
    sources = {one.memory_source for one in past if one.memory_source} - {record.memory_source}
    if sources and record.memory_source:
        return f"the memory of the baseline is {sources.pop()}"
    return ""


def _doubt(record: Record, past: Sequence[Record], found: Judgement) -> None:
    workers = {one.workers for one in past} | {record.workers}
    if len(workers) > 1:
        counts = " and ".join(str(number) for number in sorted(workers))
        text = f"some tests ran beside {counts} workers on the two sides: they share cores, and so differ"
        if text not in found.warnings:
            found.warnings.append(text)


# --- comparing --------------------------------------------------------------------------------------------------


def _compare(
    before: Side, after: Side, paired: bool, gates: dict[str, Gate], options: Options, found: Judgement
) -> ProfilerComparison:
    """Compare both sides as one family, each row at its own threshold."""

    def rule(operation: str, metric: str) -> tuple[float, float]:
        gate = gates.get(operation, Gate())
        threshold = gate.threshold if gate.threshold is not None else options.threshold(metric)
        found.thresholds[operation, metric] = threshold
        return threshold, gate.min_share or 0.0

    metrics = [name for name in METRICS if name in before.metrics or name in after.metrics] or ["time"]
    return ProfilerComparison(
        before,
        after,
        options.threshold(options.metrics[0]),
        paired=paired,
        metrics=metrics,
        min_share=0.0,
        run_floor=None if options.noise is None else options.noise / 100,
        wholes=(),
        fail_on="never" if options.report_only else "regression",
        row_rule=rule,
        steadied=False,  # duets of a session run one after the other
    )


def _accept(comparison: ProfilerComparison, gates: dict[str, Gate], today: datetime.date, found: Judgement) -> None:
    for place, row in enumerate(comparison.comparisons):
        gate = gates.get(row.operation, Gate())
        if row.change_type is not ChangeType.REGRESSION or gate.accept is None:
            continue
        reason = gate.accepted(today)
        if reason is None:
            found.expired.append(f"{row.operation}: accepted until {gate.until} ({gate.accept})")
        else:
            comparison.comparisons[place] = replace(row, accepted=reason)
