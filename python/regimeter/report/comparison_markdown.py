# SPDX-License-Identifier: Apache-2.0
"""A comparison as Markdown: for a comment of a pull request, or for the summary of a step."""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..compare.result import ChangeType, OperationComparison
from ..system.text import printable
from .comparison_text import (
    WARNINGS,
    WORDS,
    basis_lines,
    calls_line,
    common_line,
    data,
    interval,
    level_of,
    missed_line,
    next_lines,
    note,
    probability,
    run_columns,
    signed,
    total_line,
    value,
    verdict_line,
    whole_lines,
)
from .comparison_view import View, changed, ordered

if TYPE_CHECKING:
    from ..compare import ProfilerComparison

TITLES = {
    "passed": (":white_check_mark:", "Performance gate passed"),
    "failed": (":x:", "Performance gate failed"),
    "undecided": (":grey_question:", "Performance gate undecided"),
    "nothing compared": (":warning:", "Nothing was compared"),
    "not comparable": (":warning:", "Not comparable"),
}
COMMENT_CHARACTERS = 65_536  # of a comment on GitHub
NAME = 120
TEXT = 600
# What would be markup inside a line; a colon only where a word follows, as in :smile:.
ESCAPED = re.compile(r"[\\`*_\[\]#|~@$]|:(?=\w)|^[-+=]|^\d+(?=[.)])")
LINKS = re.compile(r"\b(https?|ftp|www)\b(?=[:.])", re.IGNORECASE)
POINTER = "\n*Cut here: {rows} more rows. `regimeter compare --format html` or `json` has all of them.*\n"


def escaped(text: str, longest: int = TEXT) -> str:
    """Return a text that Markdown shows as it is: no markup, no table cell, no HTML, no mention, no link."""
    text = " ".join(printable(text).split())
    if len(text) > longest:
        text = text[: longest - 1] + "…"
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # References rather than backslashes, which stop neither a mention nor a cell of a table.
    text = ESCAPED.sub(lambda found: "".join(f"&#{ord(character)};" for character in found[0]), text)
    return LINKS.sub(lambda found: f"{found[0][0]}&#8203;{found[0][1:]}", text).encode("utf-8", "replace").decode()


def code(text: str) -> str:
    """Return an operation's name in the style of code, whatever characters it has."""
    return f"<code>{escaped(text, NAME)}</code>"


def markdown(comparison: "ProfilerComparison", view: View, limit: int = COMMENT_CHARACTERS) -> str:
    """Return the report, cut with a pointer where it would have more than `limit` characters."""
    return assemble(comparison, view, limit, len)


def assemble(comparison: "ProfilerComparison", view: View, limit: int, size: Callable[[str], int]) -> str:
    """Return the report in at most `limit` of whatever `size` counts; rows are left out first, the least important."""
    changes = changed(comparison.comparisons)
    shown = {id(row) for row in changes}
    others = [] if view.only_changed else [row for row in comparison.comparisons if id(row) not in shown]
    head = "\n".join(_head(comparison, view)) + "\n"
    tail = "\n".join(_tail(comparison, view)) + "\n"
    room = limit - size(head) - size(tail) - size(POINTER) - 20
    parts = [head]
    total = left_out = 0
    for title, rows in (("", changes), ("Unchanged", others)):
        table, used, kept = _table(comparison, title, ordered(rows, view.sort), view.top - total, room, size)
        parts.append(table)
        room -= used
        total += kept
        left_out += len(rows) - kept
    if left_out:
        parts.append(POINTER.format(rows=f"{left_out:,}"))
    parts.append(tail)
    text = "".join(parts)
    return text if size(text) <= limit else _cut(text, limit, size)


def _cut(text: str, limit: int, size: Callable[[str], int]) -> str:
    """Return the text cut at a line; only for limits too small for head and tail."""
    mark = "\n*Cut here.*\n"
    lines, used = [], size(mark)
    for line in text.splitlines(keepends=True):
        used += size(line)
        if used > limit:
            break
        lines.append(line)
    return "".join(lines) + mark


def _head(comparison: "ProfilerComparison", view: View) -> list[str]:
    mark, title = TITLES[comparison.outcome]
    lines = [f"### {mark} {title}", "", escaped(verdict_line(comparison)), ""]
    if view.title:
        lines += [escaped(view.title), ""]
    shift = common_line(comparison) if comparison.common_failure else ""
    lines += [
        f"- {escaped(line)}"
        for line in (
            *whole_lines(comparison),
            shift,
            total_line(comparison),
            calls_line(comparison),
            missed_line(comparison),
        )
        if line
    ]
    return [*lines, ""]


def _tail(comparison: "ProfilerComparison", view: View) -> list[str]:
    facts = [
        "" if comparison.common_failure else common_line(comparison),
        *(line.strip() for line in basis_lines(comparison)),
    ]
    facts += [f"Environments differ: {row.words}" for row in comparison.differences]
    warnings = comparison.warnings
    facts += [f"Warning: {text}" for text in warnings[:WARNINGS]]
    if len(warnings) > WARNINGS:
        facts.append(f"... and {len(warnings) - WARNINGS:,} more warnings")
    lines = ["", "<details><summary>What this rests on</summary>", ""]
    lines += [f"- {escaped(line)}" for line in facts if line]
    lines += ["", "</details>"]
    steps = next_lines(comparison)
    return [*lines, *(["", *(f"- {escaped(line)}" for line in steps)] if steps else [])]


def _table(
    comparison: "ProfilerComparison",
    title: str,
    rows: Sequence[OperationComparison],
    most: int,
    room: int,
    size: Callable[[str], int],
) -> tuple[str, int, int]:
    """Return (table, its size, rows in it): as many of the rows as there is room for."""
    if not rows or most <= 0:
        return "", 0, 0
    folded = bool(title)
    start = f"<details><summary>{title} ({len(rows):,})</summary>\n\n" if folded else ""
    end = "\n</details>\n\n" if folded else "\n"
    metrics = any(row.metric != "time" for row in rows)
    runs = run_columns(rows)
    header = ["operation", *(["metric"] if metrics else []), "baseline", "current", "change"]
    header += [f"{100 * level_of(comparison):.10g} % interval", "q", *(name for name, _ in runs)]
    header += ["verdict", "data", "note"]
    lines = [f"| {' | '.join(header)} |\n", "|" + "---|" + "---:|" * (len(header) - 4) + "---|" * 3 + "\n"]
    used = size(start + end + "".join(lines))
    kept = 0
    for row in rows[:most]:
        line = _row(row, metrics, [escaped(told(row)) for _, told in runs])
        if used + size(line) > room:
            break
        lines.append(line)
        used += size(line)
        kept += 1
    return (start + "".join(lines) + end, used, kept) if kept else ("", 0, 0)


def _row(row: OperationComparison, metrics: bool, runs: Sequence[str]) -> str:
    verdict = WORDS[row.change_type]
    if row.change_type is ChangeType.REGRESSION and row.gates and row.accepted is None:
        verdict = f"**{verdict}**"
    elif row.change_type is ChangeType.NO_CHANGE and not row.conclusive:
        verdict = "undecided"
    cells = [code(row.operation), *([row.metric] if metrics else [])]
    cells += [value(row, row.baseline), value(row, row.current), signed(row.change_percent), interval(row)]
    cells += [
        probability(row.q, row.least_q),
        *runs,
        verdict,
        data(row) if row.reason != "one_side" else "",
        escaped(note(row)),
    ]
    return f"| {' | '.join(cells)} |\n"
