# SPDX-License-Identifier: Apache-2.0
"""A comparison as text: the verdict, its evidence, what could have been missed, and what to run next."""

import math
import shlex
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from .._core import compare_policy
from ..compare.basis import PROCESSES
from ..compare.floors import INFERRED, KINDS, UNSTATED
from ..compare.options import DECISIONS
from ..compare.result import ChangeType, OperationComparison
from ..compare.side import COUNTED
from ..system.text import TextTable, amount, broken, duration, padded, percent, printable, render, shorten
from ..system.text import cells as cells_of
from .comparison_forest import DRAWN, forest, lifted
from .comparison_sentence import sentence
from .comparison_view import View, rows_of

if TYPE_CHECKING:
    from ..compare import ProfilerComparison

DEFAULTS = {name: row["default"] for name, row in compare_policy().items()}
INTERVAL = 0.95  # the policy's default, for rows without their comparison
MORE, ACCEPT = "More data:", "Accept:"
MOST_PAIRS = 200  # nobody waits for more
TOO_MANY = "some {pairs:,} pairs would be needed here; on a quieter machine, or with longer launches, far fewer are"
TABLE = "\0"  # stands for the rows while the lines around them are broken
NAME, LEAST_NAME = 36, 12  # columns of an operation's name
MOST_CALLS = 5  # operations whose calls changed
TENFOLD = 900  # percent more: beyond, digits say nothing
MODES_MOVED = 0.05  # part of the samples that changes its mode, from which it is worth a note
SAME_PERCENT = 0.05  # below, the changes of a call and of all calls print alike
CLOCK_TOLD = 2.0  # per cent, from which on a difference of the clocks is said
APART_PERCENT = 5.0  # of both, when their directions differ
MOVED_APART = "all calls together moved the other way: a few long ones outweigh the others"
WARNINGS = 10  # of the report; the JSON document has all
WORDS = {
    ChangeType.REGRESSION: "slower",
    ChangeType.IMPROVEMENT: "faster",
    ChangeType.NO_CHANGE: "unchanged",
    ChangeType.NEW_OPERATION: "new",
    ChangeType.REMOVED_OPERATION: "removed",
    ChangeType.INVALID: "invalid",
}
REASONS = {
    "conclusive": "",
    "significant": "",
    "below_threshold": "real, below the threshold",
    "too_few": "undecided: too little data",
    "small_share": "too small to gate",
    "one_side": "",
    "no_samples": "no samples",
    "not_positive": "times that are not positive",
    "equal": "all samples equal",
    "exact_difference": "",
    "layouts": "undecided: layouts of memory disagree",
    "environments": "not comparable",
    "calls": "other calls, so other work",
}
TIERS = {
    "single": "one or two {many} a side; widened by what two {many} differ in",
    "launches": "several {many} a side, compared by their medians",
    "paired": "pairs of {many}, compared within each pair",
    "exact": "exact quantities",
}


def value(row: OperationComparison, side: float | None) -> str:
    """Return a value of one side in a readable unit."""
    if side is None:
        return "-"
    if row.unit == "s":
        return duration(side * 1e3)
    if row.metric in COUNTED:
        return f"{side:,.0f}"
    return amount(side) if row.unit == "bytes" else f"{side:,.10g}"


def signed(percent: float | None, digits: int = 1) -> str:
    """Return a change in percent with its sign; the fixed digits stand for what the interval can tell."""
    return "-" if percent is None else f"{percent:+.{digits}f} %"


def interval(row: OperationComparison) -> str:
    """Return the interval of the change; beyond tenfold the digits say nothing."""
    ends = row.ci_percent
    if ends is None:
        return ""
    return f"[{ends[0]:+.1f}, {f'{ends[1]:+.1f}' if ends[1] < TENFOLD else f'over +{TENFOLD}'}]"


def probability(q: float | None, least: float | None = None) -> str:
    """Return a probability short enough for a table; below what so many processes support, that bound."""
    if q is None:
        return ""
    if least is not None and q < least:
        return f"< {least:.2g}" if least >= 0.001 else f"< {least:.0e}"
    return f"{q:.3f}" if q >= 0.0005 else f"{q:.0e}"


def equals(text: str) -> str:
    """Return a probability as it follows its letter: "= 0.020" or "< 0.01"."""
    return text if text.startswith("<") else f"= {text}"


def data(row: OperationComparison) -> str:
    """Return how much the row rests on: pairs or processes, and samples of each."""
    if row.tier == "exact":
        return f"{row.pairs} layout{'' if row.pairs == 1 else 's'}" if row.pairs else "exact"
    samples = min(row.baseline_samples, row.current_samples)
    if row.pairs:
        return f"{row.pairs} pairs × {samples // max(1, row.pairs)}"
    launches = min(row.baseline_launches, row.current_launches)
    return f"{row.baseline_launches}+{row.current_launches} runs × {samples // max(1, launches)}"


def note(row: OperationComparison) -> str:
    """Return what else is to be said of a row."""
    wanted = row.needed and not row.conclusive
    parts = [f"undecided: about {row.needed} {'pairs' if row.pairs else 'runs a side'} would tell"] if wanted else []
    if row.reason == "machine":
        parts.append(f"differs by {signed(row.change_percent)}; {untold(row)}")
    else:
        parts += [] if wanted and row.reason == "too_few" else [REASONS.get(row.reason, row.reason)]
    if row.change_type is ChangeType.REGRESSION and not row.gates:
        parts.append("too small to gate")
    if row.raw_percent is not None:
        parts.append(f"raw {signed(row.raw_percent)}; {row.coefficient:.2f} of what the others did is taken out")
    parts += [clock] if (clock := clock_words(row)) else []
    if row.accepted:
        parts.append(f"accepted: {printable(row.accepted)}")
    if row.memory_change_mb is not None and row.baseline_memory_mb and row.unit == "s":
        part = row.memory_change_mb / row.baseline_memory_mb
        if abs(part) >= DEFAULTS["peak_tolerance"]:
            peaks = [amount(one * 1e6) for one in (row.baseline_memory_mb, row.current_memory_mb or 0.0)]
            parts.append(f"memory {peaks[0]} → {peaks[1]}")
    before, after = row.baseline_slow, row.current_slow
    if before is not None and after is not None and abs(after - before) >= MODES_MOVED:
        parts.append(f"slow mode {percent(before, 0)} → {percent(after, 0)} of the samples")
    parts += [MOVED_APART] if _moved_apart(row) else []
    return "; ".join(part for part in parts if part)


def clock_words(row: OperationComparison) -> str:
    """Return by how much the device's clock differed and what the change is in cycles, '' where it hardly did."""
    if row.clock_percent is None or abs(row.clock_percent) < CLOCK_TOLD:
        return ""
    told = f"the clock was {abs(row.clock_percent):.0f} % {'lower' if row.clock_percent < 0 else 'higher'}"
    return told if row.cycles_percent is None else f"{told}: {signed(row.cycles_percent)} in cycles"


def untold(row: OperationComparison) -> str:
    """Return why a row that differs has no verdict."""
    counts = row.baseline_launches, row.current_launches
    few = "one process a side" if counts == (1, 1) else f"{counts[0]} against {counts[1]} processes"
    return f"{few} cannot tell the program from the machine"


def _moved_apart(row: OperationComparison) -> bool:
    """Whether as many calls together moved the other way than the typical one."""
    call, run = row.change_percent, row.run_change_percent
    if call is None or run is None or row.calls_changed:
        return False
    return call * run < 0 and min(abs(call), abs(run)) >= APART_PERCENT


def calls(row: OperationComparison) -> str:
    """Return how many calls a process made before and after, one number where that is the same."""
    if row.calls is None:
        return ""
    before, after = (f"{one:,.4g}" for one in row.calls)
    if not row.calls_changed:
        return before
    part = signed(100 * (row.calls[1] / row.calls[0] - 1), 0) if row.calls[0] else "new"
    return f"{before} → {after} ({part})"


def run_columns(rows: Sequence[OperationComparison]) -> list[tuple[str, Callable[[OperationComparison], str]]]:
    """Return the columns that tell of a process what the others tell of a call: none where both are the same."""
    found: list[tuple[str, Callable[[OperationComparison], str]]] = []
    if any(row.calls_changed for row in rows):
        found.append(("calls", calls))
    if any(abs((row.run_change_percent or 0.0) - (row.change_percent or 0.0)) >= SAME_PERCENT for row in rows):
        found.append(("all calls", lambda row: signed(row.run_change_percent)))
    return found


def level_of(comparison: "ProfilerComparison") -> float:
    """Return the level of the intervals."""
    return float(comparison.policy.get("interval", INTERVAL))


def rows_table(title: str, rows: Sequence[OperationComparison], level: float = INTERVAL) -> TextTable:
    """Return the rows as a table; level: that of the intervals, for their heading."""
    metrics = len({row.metric for row in rows}) > 1 or any(row.metric != "time" for row in rows)
    runs = run_columns(rows)
    header = [
        "operation",
        *(["metric"] if metrics else []),
        "baseline",
        "current",
        "change",
        f"{100 * level:.10g} % interval",
        "q",
        *(name for name, _ in runs),
        "data",
        "note",
    ]
    cells = [
        [
            shorten(row.operation, NAME),
            *([row.metric] if metrics else []),
            value(row, row.baseline),
            value(row, row.current),
            signed(row.change_percent),
            interval(row),
            probability(row.q, row.least_q),
            *(told(row) for _, told in runs),
            data(row) if row.reason != "one_side" else "",
            note(row),
        ]
        for row in rows
    ]
    # The table aligns all columns but the first on the right, and sentences read better from the left.
    width = max(len(line[-1]) for line in (header, *cells))
    header[-1] = padded(header[-1], width)
    return TextTable(title, header, [[*line[:-1], padded(line[-1], width)] for line in cells])


def verdict_line(comparison: "ProfilerComparison") -> str:
    """Return the verdict of the whole in one line."""
    summary = comparison.summary
    state = comparison.outcome.upper()
    if not summary.decided:
        return f"{state}  {printable(summary.reason.removeprefix(f'{comparison.outcome}: '))}; nothing could be decided"
    parts = [f"{row.operation} {'slower' if row.unit == 's' else 'larger'}" for row in comparison.whole_failures]
    parts += [
        _count(summary.regressions_count or 0, "regression"),
        _count(summary.improvements_count or 0, "improvement"),
        f"{summary.unchanged_count - summary.inconclusive_count} unchanged",
    ]
    for number, word in (
        (summary.inconclusive_count, "undecided"),
        (summary.new_operations_count, "new"),
        (summary.removed_operations_count, "removed"),
        (summary.invalid_count, "invalid"),
    ):
        if number:
            parts.append(f"{number} {word}")
    rule = f"q ≤ {comparison.alpha:g}, threshold {comparison.significance_threshold:g} %"
    rule += f", decision: {comparison.decision}" if comparison.decision != DECISIONS[0] else ""
    return f"{state}  {', '.join(parts)}  [{rule}]"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def calls_line(comparison: "ProfilerComparison") -> str:
    """Return which operations were called more or less often by a process, '' when none was."""
    chance = comparison.baseline.not_counted | comparison.current.not_counted
    rows = [
        row
        for row in comparison.comparisons
        if row.metric == "time" and row.calls_changed and row.operation not in chance
    ]
    changed = [(row.operation, *row.calls) for row in rows if row.calls is not None]
    if not changed:
        return ""
    changed.sort(key=lambda one: -abs(math.log(one[2] / one[1])) if one[1] and one[2] else -math.inf)
    shown = ", ".join(
        f"{shorten(name, 30)} {before:,.4g} → {after:,.4g}" for name, before, after in changed[:MOST_CALLS]
    )
    more = f", and {len(changed) - MOST_CALLS:,} more" if len(changed) > MOST_CALLS else ""
    return f"Calls a process: {shown}{more}; `--metric calls` gates on them"


def total_line(comparison: "ProfilerComparison") -> str:
    """Return the whole time of both sides, '' when there is none or a single test tells of it."""
    if any(row.unit == "s" for row in comparison.wholes):
        return ""
    rows = [row for row in comparison.comparisons if row.metric == "time"]
    before = sum(row.baseline_total_ms or 0.0 for row in rows)
    after = sum(row.current_total_ms or 0.0 for row in rows)
    if not before or not after:
        return ""
    calls = sum(row.baseline_calls for row in rows), sum(row.current_calls for row in rows)
    counted = f", {calls[0]:,.0f} → {calls[1]:,.0f} calls" if calls[0] != calls[1] else ""
    return f"Sum of all calls: {duration(before)} → {duration(after)} ({signed(100 * (after / before - 1))}{counted})"


def whole_lines(comparison: "ProfilerComparison") -> list[str]:
    """Return a sentence for each single test of the whole: its verdict, its evidence, what it could have missed."""
    return [_whole_line(comparison, row) for row in comparison.wholes]


def _whole_line(comparison: "ProfilerComparison", row: OperationComparison) -> str:
    state = "undecided" if not row.conclusive and row.change_type is ChangeType.NO_CHANGE else WORDS[row.change_type]
    if row.unit == "bytes" and row.is_significant:
        state = "larger" if row.change_type is ChangeType.REGRESSION else "smaller"
    if row.reason == "calls":
        change = f"{value(row, row.baseline)} → {value(row, row.current)}, {signed(row.change_percent)}"
        return f"{row.operation[0].upper()}{row.operation[1:]}: not judged, the sides made other calls; {change}"
    if row in comparison.whole_failures:
        state = f"{state.upper()}, fails the gate"
    parts = [
        f"{value(row, row.baseline)} → {value(row, row.current)}",
        f"{signed(row.change_percent)} {interval(row)}",
    ]
    parts += [f"p {equals(probability(row.p, row.least_q))}"] if row.p is not None else []
    parts += [data(row)]
    if row.detectable_percent is not None:
        parts.append(f"could have missed: below {size(row.detectable_percent)}")
    elif row.tier == "exact" and row.reason == "below_threshold":
        parts.append("within the tolerance of an exact peak")
    if row.accepted:
        parts.append(f"accepted: {printable(row.accepted)}")
    return f"{row.operation[0].upper()}{row.operation[1:]}: {state}, {', '.join(part.strip() for part in parts)}"


def missed_line(comparison: "ProfilerComparison") -> str:
    """Return the smallest slowdowns that would have been found."""
    median = comparison.mde_percent
    if median is None:
        return "Could have missed: nothing was compared by samples" if comparison.comparisons else "Nothing to compare"
    worst = comparison.facts.get("detectable_worst")
    name = comparison.facts.get("worst_operation")
    more = ""
    if worst is not None and name is not None:
        more = f", {size(100 * worst)} (worst: {shorten(str(name), 30)})"
    return f"Could have missed: slowdowns below {size(median)} (median operation){more}"


def size(percent: float) -> str:
    """Return the size of a change; beyond tenfold the digits say nothing."""
    return f"{percent:.1f} %" if percent <= TENFOLD else "tenfold and more"


def common_line(comparison: "ProfilerComparison") -> str:
    """Return what operations changed by in common, by their median; '' when too few could tell."""
    common, facts = comparison.common_mode_percent, comparison.facts
    if common is None:
        return ""
    taken = "; taken out of the change of each row" if facts["common_removed"] else ""
    if comparison.common_failure:
        taken += "; the program or the machine is slower as a whole: `regimeter ab` tells which"
    low, high = 100 * facts["common_low"], 100 * facts["common_high"]
    if not taken and comparison.untold and not low <= 0 <= high:
        taken = f"; {untold(comparison.untold[0])}"
    return f"A call of the median operation: {common:+.1f} % [{low:+.1f}, {high:+.1f}]{taken}"


def basis_lines(comparison: "ProfilerComparison") -> list[str]:
    """Return what the verdicts rest on, and what that cannot tell."""
    tiers = dict.fromkeys(row.tier for row in comparison.comparisons if row.tier in TIERS)
    lines = [f"Compared: {TIERS[tier].format(one=comparison.basis.one, many=comparison.basis.many)}" for tier in tiers]
    lines += [f"  {comparison.basis.limits}"] if comparison.basis.limits else []
    if "single" in tiers and comparison.basis == PROCESSES:
        lines += [f"  {text}" for text in floor_lines(comparison)]
    return lines


def floor_lines(comparison: "ProfilerComparison") -> list[str]:
    """Return how far two processes of one program are taken to differ, how that is known, and what tells more."""
    floors, policy = comparison.floors, {**DEFAULTS, **comparison.policy}
    parts = [f"Two processes of the same program are taken to differ by {100 * policy['run_floor']:.2g} %"]
    parts[0] += f" ({floors.because})"
    if floors.inferred:
        parts.append("and by as much as their samples spread; a change has to stand out from the other operations, too")
    lines = [", ".join(parts), *([floors.machines] if floors.machines else [])]
    rows = [row for row in comparison.comparisons if row.tier == "single"]
    several = {(row.baseline_launches, row.current_launches) for row in rows} - {(1, 1)}
    for before, after in sorted(several):
        lines.append(
            f"{before} against {after} processes: their own spread ({_count(before + after - 2, 'degree')} of freedom) "
            "counts where it is more"
        )
    lone = [row for row in rows if is_lone(row)]
    if lone:
        known = f"; {100 * policy['lone_floor']:g} % is taken for it, which is not measured" if floors.inferred else ""
        lines.append(f"Of {_count(len(lone), 'row')} a side has one sample, which has no spread of its own{known}")
    if floors.source in (INFERRED, *KINDS, UNSTATED):
        lines.append("`regimeter calibrate noise` measures it; several processes a side or `regimeter ab` tell more")
    return lines


def is_lone(row: OperationComparison) -> bool:
    """Whether a side has a single sample, so that its spread is the policy's and not its own."""
    return min(row.baseline_samples, row.current_samples) == 1


def next_lines(comparison: "ProfilerComparison") -> list[str]:
    """Return the commands to run next."""
    lines = []
    rows = [*comparison.comparisons, *comparison.wholes]
    doubtful = [row for row in rows if row.needed and not row.conclusive and row.gates]
    if doubtful or comparison.untold:
        pairs = max([10, *(row.needed or 0 for row in doubtful)])
        command = comparison.basis.more.replace("{pairs}", str(pairs))
        lines.append(f"{MORE} {command if pairs <= MOST_PAIRS else TOO_MANY.format(pairs=pairs)}")
    if not comparison.basis.acceptable:
        return lines
    for row in [*comparison.failures, *comparison.whole_failures][:1]:
        operation = shlex.quote(printable(row.operation))
        lines.append(f"{ACCEPT}    regimeter baseline accept --op {operation} --reason TEXT")
    return lines


def environment_lines(comparison: "ProfilerComparison") -> list[str]:
    """Return in what the environments differ."""
    return [f"Environments differ: {printable(row.words)}" for row in comparison.differences]


def report(comparison: "ProfilerComparison", view: View | None = None) -> str:
    """Return the whole report: verdict, evidence, what could have been missed, what to run next."""
    view = view or View(only_changed=True)
    rows = rows_of(comparison, view)
    lines = [f"PERF {verdict_line(comparison)}", sentence(comparison), *whole_lines(comparison), ""]
    width = view.width
    table: list[str] = []
    if rows:
        shown = rows[: view.top]
        if shown:
            table = change_lines(comparison, shown, width)
            lines += [TABLE, ""]
        if len(rows) > len(shown):
            how = "" if width is None else f": --top {len(rows)}"
            lines += [f"... and {_count(len(rows) - len(shown), 'more row')}{how}", ""]
    facts = [
        total_line(comparison),
        calls_line(comparison),
        missed_line(comparison),
        common_line(comparison),
        *basis_lines(comparison),
    ]
    lines += [line for line in facts if line]
    lines += environment_lines(comparison)
    warnings = comparison.warnings
    lines += [f"Warning: {printable(text)}" for text in warnings[:WARNINGS]]
    if len(warnings) > WARNINGS:
        lines.append(f"... and {_count(len(warnings) - WARNINGS, 'more warning')}")
    lines += next_lines(comparison)
    return "\n".join(line for text in lines for line in (table if text == TABLE else _broken(text, width)))


def change_lines(comparison: "ProfilerComparison", rows: Sequence[OperationComparison], width: int | None) -> list[str]:
    """Return some rows of a comparison as lines."""
    table = rows_table("", rows, level_of(comparison))
    if width is not None:
        heading, drawn = forest(rows)
        at = table.header.index("q")
        header = [*table.header[:at], heading, *table.header[at:]]
        cells = [[*line[:at], one, *line[at:]] for line, one in zip(table.rows, drawn, strict=True)]
        table = TextTable("", header, cells)
    return table_lines(table, width, [signed(row.change_percent) for row in rows])


def _broken(line: str, width: int | None) -> list[str]:
    return [line] if width is None else broken(line, width)


def table_lines(table: TextTable, width: int | None, changes: Sequence[str] = ()) -> list[str]:
    """Return the lines of the table; where they are wider than the terminal, without the least useful columns, and with
    each row's note below it, below all rows what several of them say. changes: of the rows, which notes repeat."""
    lines = render(table).split("\n")[2:]
    if width is None or max(map(cells_of, lines)) <= width:
        return lines
    kept = list(range(len(table.header) - 1))
    drawn = [name for name in table.header if name.endswith(DRAWN)]
    for name in ("data", "q", "all calls", *drawn, "metric"):
        if max(map(cells_of, _without_notes(table, kept, LEAST_NAME))) > width:
            kept = [at for at in kept if table.header[at] != name]
    excess = max(map(cells_of, _without_notes(table, kept))) - width
    names = max(cells_of(row[0]) for row in table.rows)
    lines = _without_notes(table, kept, max(LEAST_NAME, names - max(0, excess)))
    own, common = lifted([row[-1].strip() for row in table.rows], changes)
    found = lines[:2]
    for line, note_text in zip(lines[2:], own, strict=True):
        found.append(line)
        found += _broken(f"    {note_text}", width) if note_text else []
    return found + [part for text in common for part in _broken(text, width)]


def _without_notes(table: TextTable, kept: Sequence[int], name_width: int = NAME) -> list[str]:
    header = [table.header[at] for at in kept]
    rows = [[shorten(row[0], name_width), *(row[at] for at in kept[1:])] for row in table.rows]
    return render(TextTable("", header, rows)).split("\n")[2:]
