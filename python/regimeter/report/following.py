# SPDX-License-Identifier: Apache-2.0
"""A recording that is still being written, as a screen of text: what limits it so far, and where it is now."""

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..run import records
from ..system.text import amount, count, duration, percent, printable
from .verdict import verdict_lines

if TYPE_CHECKING:
    from ..public.run import Run

LINES, OPERATIONS = 8, 6  # rows of each table where the screen has room for them
NAME = 44  # columns for the name in a row, at the most
FIGURES = 34  # columns for what follows it
NOTHING = "Nothing to say yet: no scope has ended, and no stack was seen."
STATES = {  # what a thread did at a line -> the column of `lines` with its share
    "runs": "running_share",
    "for lock": "lock_share",
    "for processor": "processor_share",
    "waits": "waiting_share",
}


@dataclass(slots=True)
class Seen:
    """What the look before this one found. samples: of each line; time_ms: of each operation."""

    samples: dict[tuple[str, str, int], int] = field(default_factory=dict)
    time_ms: dict[str, float] = field(default_factory=dict)
    duration_ns: int = 0


def screen(run: "Run", seen: Seen, *, name: str, size: int, writing: bool, width: int, height: int) -> list[str]:
    """Return the lines of a screen, and keep in `seen` what they were made from.

    name, size: of the file, in bytes. Figures of both tables are of the time since the last look, where the run has
    grown since, else of the whole run.
    """
    grown = seen.duration_ns and run.duration_ns > seen.duration_ns
    of = f"the last {duration((run.duration_ns - seen.duration_ns) / 1e6)}" if grown else "the whole run"
    how = "being written" if writing else "closed" if run.complete else "not closed, and no longer written"
    facts = [duration(run.duration_ns / 1e6), count(len(run.entries), "scope"), count(len(run.samples), "sample")]
    shown = [f"{printable(name)}: {how}; {', '.join(facts)}, {amount(size)}", ""]
    verdict = run.verdict()
    shown += verdict_lines(verdict, width) if verdict else [NOTHING]
    room = height - len(shown)
    for title, rows in (
        (f"lines, by samples of {of}", _lines(run, seen)),
        (f"operations, {of}", _operations(run, seen)),
    ):
        if rows and room > 3:
            most = min(LINES if title.startswith("lines") else OPERATIONS, room - 3)
            shown += ["", title, *_table(rows[:most], width)]
            room -= 2 + min(most, len(rows))
    seen.duration_ns = run.duration_ns
    return [line[:width] for line in shown]


def _lines(run: "Run", seen: Seen) -> list[tuple[str, str]]:
    """Return lines by how many samples found a thread there since the last look, most first."""
    now, states = {}, {}
    for row in run.result("lines"):
        key = (row["function"], row["file"], row["line"])
        now[key], states[key] = row["self"], row
    news = _grown(now, seen.samples)
    seen.samples = now
    whole = sum(news.values())
    return [
        (
            printable(f"{function} ({os.path.basename(file)}:{line})"),
            f"{found:>7,} {percent(found / whole):>8}  {_state(states[function, file, line])}",
        )
        for (function, file, line), found in news.items()
    ]


def _operations(run: "Run", seen: Seen) -> list[tuple[str, str]]:
    """Return operations by the exclusive time that they took since the last look, most first."""
    summaries = {row.operation: row for row in records.summaries_of(run)}
    now = {name: row.exclusive_time_ms or 0.0 for name, row in summaries.items()}
    news = _grown(now, seen.time_ms)
    seen.time_ms = now
    whole = sum(news.values())
    return [
        (
            printable(name),
            f"{duration(time):>7} {percent(time / whole):>8}  {count(summaries[name].call_count, 'call')}",
        )
        for name, time in news.items()
    ]


def _grown(now: dict[Any, Any], before: dict[Any, Any]) -> dict[Any, Any]:
    """Return by how much each has grown, most first; all of it where nothing has."""
    grown = {key: value - before.get(key, 0) for key, value in now.items() if value > before.get(key, 0)}
    shown = grown or {key: value for key, value in now.items() if value}
    return dict(sorted(shown.items(), key=lambda item: -item[1]))


def _state(row: dict[str, Any]) -> str:
    """Return what threads did at a line most of the time."""
    return max(STATES, key=lambda state: row[STATES[state]] or 0.0)


def _table(rows: list[tuple[str, str]], width: int) -> list[str]:
    wide = max(12, min(NAME, width - FIGURES))
    return [f"  {name if len(name) <= wide else name[: wide - 3] + '...':<{wide}} {figures}" for name, figures in rows]
