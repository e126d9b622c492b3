# SPDX-License-Identifier: Apache-2.0
"""Text for a terminal: figures in readable units, names that fit, tables.

Plain text by default; with the `rich` package and a terminal the same rows are drawn by it.
"""

import os
import shutil
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO
from unicodedata import combining, east_asian_width

NAME_WIDTH = 44
MIN_WIDTH = 40  # a narrower terminal breaks lines itself
UNAVAILABLE = "n/a"
# Columns of the summary that a narrow terminal does without, in this order.
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


def sureness(probability: float) -> str:
    """Return a probability of a verdict as a word with its range: no digits that nobody can stand for."""
    if probability > 0.95:
        return "sure (over 95 %)"
    return "likely (80 to 95 %)" if probability >= 0.8 else "cannot tell (under 80 %)"


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


def count(number: int, noun: str) -> str:
    """Return the number with its noun, in the plural where due."""
    if number != 1:
        noun = f"{noun[:-1]}ies" if noun.endswith("py") else f"{noun}s"
    return f"{number:,} {noun}"
