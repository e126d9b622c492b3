# SPDX-License-Identifier: Apache-2.0
"""Text for a terminal: tables of operations, bottlenecks and the profiler's own cost.

Plain text by default; with the `rich` package and a terminal the same rows are drawn by it.
"""

import os
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO
from unicodedata import combining, east_asian_width

from ..cost import WORDS
from ..records import ProfileSummary

if TYPE_CHECKING:
    from ..trace import Run

NAME_WIDTH = 44
MIN_WIDTH = 40  # a narrower terminal breaks lines itself
UNAVAILABLE = "n/a"
# Columns of the summary that a narrow terminal does without, in this order.
UPPER_BOUND = "upper bound: time between two events in the stream of the scope"
LEAST_USEFUL = ("std dev", "min", "median", "max", "backend", "device", "p95", "total")


def duration(ms: float | None) -> str:
    """Return a duration in a readable unit with three significant digits."""
    if ms is None:
        return UNAVAILABLE
    for factor, unit in ((1e-3, "s"), (1.0, "ms"), (1e3, "µs"), (1e6, "ns")):
        value = ms * factor
        if abs(value) >= 1.0 or unit == "ns":
            whole = abs(value) >= 99.95 or unit == "ns"
            return f"{value:.0f} {unit}" if whole else f"{value:#.3g} {unit}"
    return UNAVAILABLE


def amount(value: float | None) -> str:
    """Return bytes in a readable decimal unit."""
    if value is None:
        return UNAVAILABLE
    for size, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if abs(value) >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.0f} B"


def percent(share: float | None, digits: int = 1) -> str:
    """Return a share of one as per cent."""
    return UNAVAILABLE if share is None else f"{share * 100:.{digits}f} %"


def printable(text: str) -> str:
    """Return the text without control characters, so that a name cannot steer the terminal."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def cells(text: str) -> int:
    """Return how many cells of a terminal the text takes: East Asian wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def _first_cells(text: str, width: int) -> str:
    """Return the beginning of a text that has room in so many cells."""
    while cells(text) > width:
        text = text[:-1]
    return text


def shorten(text: str, width: int = NAME_WIDTH) -> str:
    """Return the text, cut in the middle when it takes more cells than that."""
    text = printable(text)
    if cells(text) <= width:
        return text
    tail = _first_cells(text[: -width - 1 : -1], width // 3)[::-1]
    return f"{_first_cells(text[:width], width - cells(tail) - 1)}…{tail}"


def padded(text: str, width: int, *, right: bool = False) -> str:
    """Return the text with blanks, so that it takes so many cells."""
    blanks = " " * max(0, width - cells(text))
    return blanks + text if right else text + blanks


@dataclass(frozen=True, slots=True)
class TextTable:
    """Rows of text; the first column is aligned left, the others right."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


def _widths(table: TextTable) -> list[int]:
    return [max(cells(row[i]) for row in (table.header, *table.rows)) for i in range(len(table.header))]


def fit(table: TextTable, width: int) -> TextTable:
    """Return the table without the columns that a terminal of that width has no room for, least useful first."""
    kept = list(range(len(table.header)))
    widths = _widths(table)
    for name in LEAST_USEFUL:
        if sum(widths[i] + 3 for i in kept) <= width:
            break
        kept = [i for i in kept if table.header[i] != name]
    return TextTable(table.title, [table.header[i] for i in kept], [[row[i] for i in kept] for row in table.rows])


def render(table: TextTable) -> str:
    """Return the table as plain text."""
    widths = _widths(table)
    lines = [table.title, ""]
    for row in (table.header, ["-" * width for width in widths], *table.rows):
        first, *others = (padded(cell, w, right=i > 0) for i, (cell, w) in enumerate(zip(row, widths, strict=True)))
        lines.append("  ".join((first, *others)).rstrip())
    return "\n".join(lines)


def summary_table(summaries: Sequence[ProfileSummary], top_n: int) -> TextTable:
    """Return the statistics of the first `top_n` operations."""
    if top_n < 0:
        raise ValueError(f"top_n must not be negative, got {top_n}")
    timed = any(s.gpu_calls for s in summaries)
    header = (
        "operation",
        "device",
        "backend",
        "calls",
        "total",
        "exclusive",
        "share",
        "mean",
        "median",
        "p95",
        "min",
        "max",
        "std dev",
        *(("device time",) if timed else ()),
    )
    rows = [
        (
            shorten(s.operation),
            s.device,
            s.backend,
            f"{s.call_count:,}",
            duration(s.total_time_ms),
            duration(s.exclusive_time_ms),
            percent(s.share),
            duration(s.avg_time_ms),
            duration(s.median_ms),
            duration(s.p95_ms),
            duration(s.min_time_ms),
            duration(s.max_time_ms),
            duration(s.std_dev_ms),
            *((duration(s.total_gpu_time_ms),) if timed else ()),
        )
        for s in summaries[:top_n]
    ]
    hidden = len(summaries) - len(rows)
    nested = all(s.exclusive_time_ms is not None for s in summaries)
    title = "Operations by exclusive time" if nested else "Operations by total time"
    return TextTable(f"{title} ({len(rows)} of {len(summaries)})" if hidden > 0 else title, header, rows)


def cost_line(run: "Run") -> str:
    """Return the profiler's own cost in one sentence."""
    cost = run.cost
    if cost is None:
        return "Cost of profiling: not stated in this file."
    parts = dict(cost["parts_ns"])
    starting = parts.pop("starting", 0.0)
    named = {words: parts[name] for name, words in WORDS.items() if name in parts}
    named |= {"device events": cost["device_ns"], "its own threads": cost["service_cpu_ns"]}
    beside = "".join(f", {words} {duration(ns / 1e6)}" for words, ns in named.items() if ns)
    inside = cost["total_ns"] - starting
    before = f"; starting took {duration(starting / 1e6)} before it" if starting else ""
    return (
        f"Cost of profiling: {cost['scopes']:,} scopes at {cost['per_scope_ns']:.0f} ns{beside}: "
        f"{'about' if run.complete or run.source == 'live' else 'at least'} {duration(inside / 1e6)}"
        f"{_of_the_run(cost['share'])}{before} ({cost['basis']})."
    )


def _of_the_run(share: float | None) -> str:
    """Say what part of the run its cost was; a share of nearly nothing is no per cent."""
    if share is None:
        return ""
    return f" = {percent(share, 2)} of the run" if share < 1.0 else ", more than what was recorded lasted"


def notes(run: "Run", summaries: Sequence[ProfileSummary]) -> list[str]:
    """Return what a reader must know beside the figures."""
    lines = [cost_line(run)]
    missing = {
        s.unavailable.get("total_gpu_time_ms") for s in summaries if s.device != "cpu" and s.total_gpu_time_ms is None
    }
    if any(s.gpu_calls for s in summaries):
        lines.append(f"Device time: {UPPER_BOUND}.")
    lines += [f"Device time: unavailable: {reason}." for reason in sorted(filter(None, missing))]
    return lines + anomaly_lines(run.anomaly_list())


def anomaly_lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a line for each thing that was repaired, dropped or doubted; rows: of `Run.anomaly_list`."""
    return [f"Note: {row['count']:,} {row['code']}: {printable(row['detail'])}." for row in rows]


def bottleneck_lines(run: "Run", top_n: int) -> list[str]:
    """Return one paragraph per bottleneck."""
    lines = []
    for place, s in enumerate(run.get_bottlenecks(top_n), 1):
        time = f"{duration(s.exclusive_time_ms)} exclusive"
        if s.exclusive_time_ms is None:
            time = f"{duration(s.total_time_ms)} in total"
        lines.append(f"[{place}] {printable(s.operation)}: {time}, {percent(s.share)} of the recorded time")
        spread = f", varies by {percent(s.cv, 0)}" if s.cv is not None and s.call_count > 1 else ""
        calls = "1 call" if s.call_count == 1 else f"{s.call_count:,} calls"
        lines.append(
            f"    {calls} on {s.device} ({s.backend}), {duration(s.avg_time_ms)} each"
            f" (median {duration(s.median_ms)}, p95 {duration(s.p95_ms)}{spread})"
        )
        if s.total_gpu_time_ms is not None:
            lines.append(f"    device time {duration(s.total_gpu_time_ms)} in {s.gpu_calls:,} calls ({UPPER_BOUND})")
        if s.peak_memory_mb is not None:
            lines.append(f"    memory peak {amount(s.peak_memory_mb * 1e6)}")
        if s.failed_count:
            lines.append(f"    {s.failed_count:,} calls ended with an exception")
    return lines


def say(file: TextIO | None, *lines: str, wrapped: bool = False) -> None:
    """Print lines to a stream as `print` does, standard output by default; nothing where there is none.

    What the stream's encoding lacks is escaped rather than an error. wrapped: on a terminal, long lines are broken
    between words.
    """
    file = file or sys.stdout
    if file is None:  # started with a closed standard output
        return
    if wrapped and file.isatty():
        width = max(MIN_WIDTH, shutil.get_terminal_size().columns)
        lines = tuple(part for line in lines for part in _broken(line, width))
    encoding = getattr(file, "encoding", None) or "utf-8"
    for line in lines:
        print(line.encode(encoding, "backslashreplace").decode(encoding), file=file)


def width_of(file: TextIO | None) -> int | None:
    """Return the columns of the terminal that a stream writes to, or that COLUMNS states; None where there is none."""
    stated = os.environ.get("COLUMNS", "")
    if not (stated.isascii() and stated.isdigit()) and (file is None or not file.isatty()):
        return None
    return max(MIN_WIDTH, shutil.get_terminal_size().columns)


def _broken(line: str, width: int) -> list[str]:
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.wrap(line, width, subsequent_indent=f"{indent}  ", break_long_words=False) or [""]


def print_table(table: TextTable, file: TextIO | None = None) -> None:
    """Print the table: by rich when it is installed and the output is a terminal, plain otherwise."""
    file = file or sys.stdout
    if file is not None and file.isatty():
        try:
            from rich.console import Console
            from rich.table import Table
            from rich.text import Text
        except ImportError:
            pass
        else:
            console = Console(file=file)
            table = fit(table, console.width)
            drawn = Table(title=Text(table.title), title_justify="left", pad_edge=False)
            for number, name in enumerate(table.header):
                drawn.add_column(Text(name), justify="left" if number == 0 else "right", no_wrap=number > 0)
            for row in table.rows:
                drawn.add_row(*(Text(cell) for cell in row))
            console.print(drawn)
            return
    say(file, render(table))


def print_summary(run: "Run", top_n: int = 10, file: TextIO | None = None) -> None:
    """Print the operations and what a reader must know beside the figures."""
    summaries = list(run.get_summary().values())
    table = summary_table(summaries, top_n)
    if summaries:
        print_table(table, file)
        say(file, "")
    else:
        say(file, "No scope has been recorded.")
    say(file, *notes(run, summaries), wrapped=True)


def print_bottlenecks(run: "Run", top_n: int = 5, file: TextIO | None = None) -> None:
    """Print the operations with the most exclusive time."""
    lines = bottleneck_lines(run, top_n)
    say(file, "Bottlenecks" if lines else "No scope has been recorded.")
    say(file, *lines, wrapped=True)
