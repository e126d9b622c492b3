# SPDX-License-Identifier: Apache-2.0
"""Judging a session: all tests together against the baseline, held to one false-discovery rate."""

import datetime
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import median

from ..compare import ChangeType, OperationComparison, ProfilerComparison
from ..compare.environments import differences
from ..compare.samples import EXACT, Side
from .gate import Gate
from .memory import DEVICE, RESIDENT_STEP
from .options import Options
from .records import Record
from .storage import Document

# Blocks of a launch with many rounds.
BLOCKS = 25
METRICS = ("time", "device_time", "memory_peak", "launches")
Key = tuple[str, str]


@dataclass(slots=True)
class Judgement:
    """The verdicts of a session.

    comparison: every row, those of duets too; None where nothing was there to compare. missing: operations without a
    baseline, with the reason where it is not plain absence. thresholds: percent by row. rejected: why the baseline as
    a whole cannot be compared with, '' when it can. shifted: all tests together got slower by the threshold, which was
    taken out of the rows.
    """

    comparison: ProfilerComparison | None = None
    duets: int = 0
    missing: dict[str, str] = field(default_factory=dict)
    expired: list[str] = field(default_factory=list)
    not_run: int = 0
    thresholds: dict[Key, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    rejected: str = ""
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
    """Return the verdicts of records against the documents of the baseline, each a launch or several."""
    found = Judgement()
    plain = [record for record in records if record.kind != "duet" and record.metrics]
    duets = [record for record in records if record.kind == "duet" and record.metrics]
    parts = []
    if plain and (options.compare or options.reports):
        before, after = _sides(plain, documents, options, environment, found)
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
        if found.comparison is None:
            found.comparison = made
        else:
            found.comparison.comparisons += made.comparisons
    if found.comparison is not None:
        _accept(found.comparison, gates, today, found)
    return found


# --- the two sides ----------------------------------------------------------------------------------------------


def _sides(
    records: Sequence[Record],
    documents: Sequence[Document],
    options: Options,
    environment: dict[str, object],
    found: Judgement,
) -> tuple[Side, Side]:
    before, after = Side("baseline"), Side("current")
    after.environments.append(dict(environment))
    before.environments += [dict(document.get("environment") or {}) for document in documents]
    found.rejected = _rejection(before, after)
    older = {} if found.rejected else _by_operation(documents)
    names = {record.operation for record in records}
    found.not_run = sum(name not in names for name in older)
    for record in records:
        gate = Gate(**record.gate)
        metrics = [name for name in gate.metrics or options.metrics if name in record.metrics]
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


def _rejection(before: Side, after: Side) -> str:
    """Return why times of these machines are no times of the same thing, '' when nothing forbids it."""
    found = differences(before.environments, after.environments)
    return "; ".join(row.words for row in found if row.incomparable)


def _unlike(record: Record, past: Sequence[Record]) -> str:
    """Return why the earlier samples of a test are of another kind than today's, '' when they are not."""
    clocks = {one.clock for one in past} - {record.clock}
    if clocks:
        return f"the baseline was timed with the {clocks.pop()} clock"
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
    """Compare both sides as one family, and take each row from the comparison at its own threshold.

    p and q do not depend on the threshold, so each row's q is that of the whole family.
    """
    made: dict[tuple[float, float], ProfilerComparison] = {}

    def at(threshold: float, share: float) -> ProfilerComparison:
        key = (threshold, share)
        if key not in made:
            metrics = [name for name in METRICS if name in before.metrics or name in after.metrics] or ["time"]
            made[key] = ProfilerComparison(
                before, after, threshold, paired=paired, metrics=metrics, min_share=share, run_floor=options.noise / 100
            )
        return made[key]

    usual = options.threshold(options.metrics[0])
    whole = at(usual, 0.0)
    rows = []
    for place, row in enumerate(whole.comparisons):
        gate = gates.get(row.operation, Gate())
        threshold = gate.threshold if gate.threshold is not None else options.threshold(row.metric)
        found.thresholds[row.operation, row.metric] = threshold
        own = at(threshold, gate.min_share or 0.0).comparisons[place]
        assert (own.operation, own.metric) == (row.operation, row.metric)
        rows.append(_tolerant(own, threshold))
    whole.comparisons[:] = rows
    return whole


def _tolerant(row: OperationComparison, threshold: float) -> OperationComparison:
    """Return the row of an exact metric with its tolerance applied; the others have theirs already."""
    changed = row.change_type in (ChangeType.REGRESSION, ChangeType.IMPROVEMENT)
    if row.metric not in EXACT or row.tier != "exact" or not changed or row.change_percent is None:
        return row
    if abs(row.change_percent) > threshold:
        return row
    return replace(row, change_type=ChangeType.NO_CHANGE, is_significant=False, reason="below_threshold")


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
