# SPDX-License-Identifier: Apache-2.0
"""The section of the plugin in pytest's terminal summary."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..compare.ab.duet import BLIND
from ..compare.ab.experiment import HELD_STILL, NOT_SEEN
from ..compare.decide import UNDECIDED
from ..report.comparison_text import clock_words, equals, floor_lines, probability, untold
from ..system import quantities
from .records import Record

if TYPE_CHECKING:
    from ..compare import OperationComparison, ProfilerComparison
    from .judgement import Judgement
    from .options import Options

MOST_ROWS = 40
MOST_NAMED = 5
WORDS = {
    "regression": "SLOWER",
    "improvement": "faster",
    "no_change": "unchanged",
    "new_operation": "new",
    "removed_operation": "removed",
    "invalid": "invalid",
}
# What larger values of a metric are called; times get slower and faster.
MORE = {"memory_peak": ("MORE", "less"), "launches": ("MORE", "fewer"), "instructions": ("MORE", "fewer")}
ORDER = ("regression", "improvement", "invalid", "no_change", "removed_operation", "new_operation")
BASES = {
    "single": "one or two processes a side",
    "launches": "several processes a side, compared by the median of each",
    "paired": "duets, compared pair by pair",
}


def headline(judged: "Judgement", code: int, partial: str = "") -> str:
    """Return the verdict of the session in one line. code: of the gate; partial: why the session is not whole."""
    rows = [] if judged.comparison is None else judged.comparison.comparisons
    counts = {name: sum(row.status == name for row in rows) for name in WORDS}
    open_rows = sum(row.status == "no_change" and not row.conclusive for row in rows)
    accepted = sum(row.accepted is not None for row in rows)
    parts = [
        _count(counts["regression"], "regression") + (f" ({accepted} accepted)" if accepted else ""),
        _count(counts["improvement"], "improvement"),
        f"{counts['no_change']} unchanged" + (f" ({open_rows} for want of data)" if open_rows else ""),
    ]
    if judged.shifted:
        parts.append("everything together slower")
    if counts["invalid"]:
        parts.append(f"{counts['invalid']} invalid")
    if judged.missing:
        parts.append(f"{len(judged.missing)} without baseline")
    if judged.undecided:
        return f"PERF GATE NOTHING DECIDED  {judged.undecided}; {', '.join(parts)}"
    open_gate = judged.comparison is not None and judged.comparison.outcome == UNDECIDED
    state = "FAILED" if code else "OF PART OF THE TESTS" if partial else "UNDECIDED" if open_gate else "PASSED"
    return f"PERF GATE {state}  {', '.join([*parts, *filter(None, [partial])])}"


def results(records: Sequence[Record]) -> list[str]:
    """Return a table of what was measured."""
    rows = [["test", "median", "fastest", "rounds", "memory"]]
    for record in records[:MOST_ROWS]:
        counted = record.typical("instructions")
        if counted is not None:
            layouts = len(record.metrics["instructions"])
            calls = f"{_count(layouts, 'layout')} x {record.rounds * record.iterations}"
            rows.append([record.operation, f"{counted:,.0f} instructions", "", calls, ""])
            continue
        reason = record.unavailable.get("time")
        uncounted = record.unavailable.get("instructions")
        if (reason or uncounted) and not record.metrics:
            why = f"not timed: {reason}" if reason else f"not counted: {uncounted}"
            rows.append([record.operation, "-", "", "", why])
            continue
        for label, launches in ((" (old)", record.old.get("time")), ("", record.metrics.get("time"))):
            values = [value for launch in launches or () for value in launch]
            if values:
                rows.append(_result(record, label, values))
    lines = _aligned(rows)
    if len(records) > MOST_ROWS:
        lines.append(f"... and {len(records) - MOST_ROWS} more; --perf-json FILE has all")
    return lines


def _result(record: Record, label: str, values: list[float]) -> list[str]:
    ordered = sorted(values)
    launches = len(record.metrics["time"]) if record.kind != "duet" else 1
    rounds = f"{len(values) // launches} x {record.iterations}"
    peak = record.typical("memory_peak")
    return [
        record.operation + label,
        quantities.time_text(ordered[len(ordered) // 2]),
        quantities.time_text(ordered[0]),
        rounds if launches == 1 else f"{launches} processes x {rounds}",
        "" if peak is None else quantities.size_text(peak),
    ]


def verdicts(judged: "Judgement") -> list[str]:
    """Return a table of what was compared, what matters most first."""
    if judged.comparison is None:
        return []
    known = [row for row in judged.comparison.comparisons if row.status != "new_operation"]
    known.sort(key=lambda row: (ORDER.index(row.status), row.accepted is not None, -abs(row.change_percent or 0)))
    cells = [_verdict(row, judged.thresholds.get((row.operation, row.metric))) for row in known[:MOST_ROWS]]
    lines = _aligned(cells)
    if len(known) > MOST_ROWS:
        lines.append(f"... and {len(known) - MOST_ROWS} more; --perf-json FILE has all")
    return lines


def _verdict(row: "OperationComparison", threshold: float | None) -> list[str]:
    word = WORDS[row.status]
    if row.metric in MORE and row.status in ("regression", "improvement"):
        word = MORE[row.metric][row.status == "improvement"]
    interval = "" if row.ci_percent is None else f"[{row.ci_percent[0]:+.1f}, {row.ci_percent[1]:+.1f}]"
    notes = [] if threshold is None else [f"threshold {threshold:g} %"]
    if row.status == "regression" and not row.gates:
        notes.append("too small a share to fail")
    if row.accepted:
        notes.append(f"accepted: {row.accepted}")
    if row.reason == "machine":
        notes.append(f"differs by {row.change_percent:+.1f} %; {untold(row)}")
    elif row.reason == "layouts":
        notes.append("undecided: layouts of memory disagree")
    elif row.status == "no_change" and not row.conclusive:
        notes.append("undecided: too little data")
    elif row.reason == "below_threshold":
        notes.append("real, below the threshold")
    notes += [clock] if (clock := clock_words(row)) else []
    return [
        word,
        row.operation,
        row.metric,
        f"{_value(row, row.baseline)} -> {_value(row, row.current)}",
        "" if row.change_percent is None else f"{row.change_percent:+.1f} %",
        interval,
        "" if row.q is None else f"q {equals(probability(row.q, row.least_q))}",
        ", ".join(notes),
    ]


def _value(row: "OperationComparison", value: float | None) -> str:
    if value is None:
        return "-"
    if row.unit == "s":
        return quantities.time_text(value)
    if row.metric == "instructions":
        return f"{value:,.0f}"
    return quantities.size_text(value) if row.unit == "bytes" else f"{value:g}"


def evidence(judged: "Judgement") -> list[str]:
    """Return what the verdicts rest on, and what they could have missed."""
    comparison = judged.comparison
    rows = [] if comparison is None else comparison.comparisons
    lines = []
    if comparison is not None:
        told = [row for row in rows if row.detectable_percent is not None]
        if told:
            ordered = sorted(told, key=lambda row: row.detectable_percent or 0.0)
            middle, worst = ordered[len(ordered) // 2], ordered[-1]
            lines.append(
                f"Could have missed: slowdowns below {middle.detectable_percent:.1f} % (median), "
                f"{worst.detectable_percent:.1f} % ({worst.operation})"
            )
        tiers = dict.fromkeys(row.tier for row in comparison.comparisons)
        lines += [f"Compared: {BASES[tier]}" for tier in BASES if tier in tiers]
        if "single" in tiers:
            lines += [f"  {text}" for text in floor_lines(comparison)]
            lines.append("  --perf-launches 5, here and when saving, tells more; --perf-noise gives the floor")
        if any(row.metric == "instructions" for row in rows):
            lines += [f"Counted: {HELD_STILL}", f"Not seen: {NOT_SEEN}"]
        lines += _common(comparison)
        lines.append(f"Rule: q <= {comparison.alpha:g} over all rows together, and the interval reaches the threshold")
    if judged.duets:
        lines.append(f"Duets: {BLIND}")
    lines += [f"No longer accepted: {text}" for text in judged.expired]
    lines += [f"No baseline: {name}: {reason}" for name, reason in judged.missing.items() if reason]
    absent = [name for name, reason in judged.missing.items() if not reason]
    if absent:
        more = f" and {len(absent) - MOST_NAMED} more" if len(absent) > MOST_NAMED else ""
        lines.append(f"Not judged, the baseline does not have them: {', '.join(absent[:MOST_NAMED])}{more}")
    if judged.missing and judged.not_run and all(row.status == "new_operation" or row.pairs for row in rows):
        lines.append(
            "Nothing here is in the baseline: tests have other names where the root (rootdir, above) is another"
        )
    if judged.not_run:
        more = f" and {len(judged.not_run) - MOST_NAMED} more" if len(judged.not_run) > MOST_NAMED else ""
        names = ", ".join(judged.not_run[:MOST_NAMED])
        lines.append(f"{_count(len(judged.not_run), 'test')} of the baseline did not run: {names}{more}")
    return lines + [f"Warning: {text}" for text in judged.warnings]


def _common(comparison: "ProfilerComparison") -> list[str]:
    common = comparison.common_mode_percent
    if common is None:
        return []
    removed = comparison.facts.get("common_removed")
    return [
        f"All tests together: {common:+.1f} %"
        + ("; taken out of the rows above: the machine, or something that all tests use" if removed else "")
    ]


def no_baseline(options: "Options") -> list[str]:
    """Return what to do where there is nothing to compare with."""
    asked = ", ".join(options.compare)
    return [
        f"There is no baseline {asked!r} in {options.storage}, so nothing was compared.",
        "Make one:   pytest --perf-save main      then compare:   pytest --perf-compare=main",
    ]


def disturbances(records: Sequence[Record]) -> list[str]:
    """Return a line for each thing that ran in the timed code."""
    found = dict.fromkeys(text for record in records for text in record.disturbed)
    notes = dict.fromkeys(f"{record.test}: {note}" for record in records for note in record.notes)
    workers = max((record.workers for record in records), default=1)
    lines = [f"Warning: {text}, which slows the timed code" for text in found]
    if workers > 1:
        lines.append(f"Warning: {workers} workers of pytest-xdist shared the processor; -n 0 times without neighbours")
    return lines + [f"Note: {text}" for text in notes]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    if not rows:
        return []
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
