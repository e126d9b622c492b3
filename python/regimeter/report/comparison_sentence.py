# SPDX-License-Identifier: Apache-2.0
"""A comparison in one sentence: what became slower or faster, by how much and through what, or that none can tell."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..compare.result import ChangeType, OperationComparison
from ..system.text import count, duration, printable, shorten
from .comparison_view import impact, ordered

if TYPE_CHECKING:
    from ..compare import ProfilerComparison

NAME = 60
LEAST_EXPLAINED = 0.1  # of the change of the whole
MOST_SIDE = 2  # processes of a side: so few cannot tell the program from the machine


def sentence(comparison: "ProfilerComparison") -> str:
    """Return it; its verdict is the comparison's own."""
    summary = comparison.summary
    if not summary.decided:
        return f"Nothing could be compared: {printable(summary.reason.removeprefix(f'{comparison.outcome}: '))}."
    failing = [*comparison.whole_failures, *ordered(comparison.failures, "impact")]
    if failing:
        more = _others(len(failing) - 1, "more fails", "more fail")
        return f"{_moved(failing[0])}{_explained(comparison, failing[0])}{more}."
    slower = _of(comparison, ChangeType.REGRESSION)
    faster = _of(comparison, ChangeType.IMPROVEMENT)
    if slower:
        return f"{_moved(slower[0])}{_explained(comparison, slower[0])}{_others(len(slower) - 1)}; the gate passes."
    if faster:
        return f"{_moved(faster[0])}{_explained(comparison, faster[0])}{_others(len(faster) - 1)}; nothing is slower."
    if comparison.untold or comparison.nothing_told or summary.unchanged_count == summary.inconclusive_count:
        return _undecided(comparison)
    missed = comparison.mde_percent
    seen = (
        f"; {missed:.1f} % of the median operation would have been seen" if missed is not None and missed < 1000 else ""
    )
    doubt = f", {summary.inconclusive_count} cannot be told" if summary.inconclusive_count else ""
    return f"Nothing is slower or faster{doubt}{seen}."


def _of(comparison: "ProfilerComparison", change: ChangeType) -> list[OperationComparison]:
    wholes = [row for row in comparison.wholes if row.change_type is change]
    return wholes + ordered([row for row in comparison.comparisons if row.change_type is change], "impact")


def _moved(row: OperationComparison) -> str:
    """Say by how much a row changed, with the interval of it."""
    name = shorten(row.operation or "(no name)", NAME)
    more, less = ("slower", "faster") if row.unit == "s" else ("larger", "smaller")
    if row.change_percent is None:
        return f"{_upper(name)} is {more if row.change_type is ChangeType.REGRESSION else less}"
    ends = row.ci_percent
    within = "" if ends is None else f" ({ends[0]:+.1f} to {ends[1]:+.1f})"
    return f"{_upper(name)} is {abs(row.change_percent):.1f} % {more if row.change_percent > 0 else less}{within}"


def _explained(comparison: "ProfilerComparison", row: OperationComparison) -> str:
    """Say which operation has most of the change of the whole time."""
    if row not in comparison.wholes or row.unit != "s" or not row.change_percent:
        return ""
    sign = 1 if row.change_percent > 0 else -1
    times = [one for one in comparison.comparisons if one.metric == "time" and (one.impact_percent or 0) * sign > 0]
    if not times:
        return ""
    first = max(times, key=impact)
    part = (first.impact_percent or 0.0) / row.change_percent
    if not LEAST_EXPLAINED <= part <= 1.05:
        return ""
    counts = first.calls if first.calls_changed else None
    called = "" if counts is None else f" ({counts[0]:,.4g} → {counts[1]:,.4g} calls)"
    return f": {shorten(first.operation, NAME)}{called} explains {100 * min(part, 1.0):.0f} % of it"


def _others(count: int, one: str = "more", many: str = "more") -> str:
    return "" if count < 1 else f", and {count} {one if count == 1 else many}"


def _undecided(comparison: "ProfilerComparison") -> str:
    few = _sides(comparison.comparisons)
    open_ones = comparison.summary.inconclusive_count
    why = few or f"{count(open_ones, 'operation')} {'is' if open_ones == 1 else 'are'} undecided"
    whole = next((row for row in comparison.wholes if row.unit == "s" and row.change_percent is not None), None)
    if whole is None:
        return f"Cannot tell: {why}."
    before, after = (duration((side or 0.0) * 1e3) for side in (whole.baseline, whole.current))
    told = f"{_upper(whole.operation)} went from {before} to {after} ({whole.change_percent:+.1f} %)"
    doubt = "within what the data can tell"
    if few:
        doubt = "as two runs of one program may, too"
    if whole.reason == "calls":
        doubt = "with other calls, so other work"
    return f"Cannot tell: {why}. {told}, {doubt}."


def _sides(rows: Sequence[OperationComparison]) -> str:
    counts = {(row.baseline_launches, row.current_launches) for row in rows if row.tier == "single"}
    if not counts or any(min(one) > MOST_SIDE for one in counts):
        return ""
    before, after = max(counts)
    return "one process a side" if (before, after) == (1, 1) else f"{before} against {after} processes"


def _upper(text: str) -> str:
    """Return the name of a whole as a sentence begins; other names stay as they are written."""
    return f"{text[0].upper()}{text[1:]}" if text.startswith(("total ", "peak ")) else text
