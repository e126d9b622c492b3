# SPDX-License-Identifier: Apache-2.0
"""Text for a terminal: figures in readable units, names that fit, tables and bars.

Every program that is recorded imports this module before its first line, so what breaks lines is imported where it is
asked for: with what it imports itself that takes three times as long as the rest.
"""

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO
from unicodedata import combining, east_asian_width

NAME_WIDTH = 44
MIN_WIDTH = 40  # a narrower terminal breaks lines itself
UNAVAILABLE = "n/a"
GAP = "  "  # between columns
LEAST_COLUMNS, LEAST_NAME = 2, 12  # columns that a table keeps, and cells of its first one
FRAME = re.compile(r"( *)\S*/([^/\s]+\(\d+\): .*)")  # folders/file.py(line): function, as torch.profiler writes it
LEAST_HANG = 2  # blanks more before what a line is continued with
MOST_HANG = 0.2  # of the width
UNIT = re.compile(r"(?<=\d) (?=%|[nµum]?s\b|[kMGT]?B\b)")  # a figure and its unit stay on one line
COMMAND = re.compile(r" *(Next|look|More data|Accept): +regimeter ")
WIDE, TOGETHER = "\0", "\1"  # behind a wide character, so that it counts as two; for a blank where no line is broken
LACKING = "?"
# What stands for a character that the encoding of the output lacks.
PLAIN = {
    "µ": "u", "μ": "u", "×": "x", "…": "...", "≤": "<=", "≥": ">=", "≈": "~", "±": "+-", "·": "-", "°": " deg ",
    "→": "->", "←": "<-", "–": "-", "—": "-", "−": "-", "²": "^2", "³": "^3", "√": "sqrt ", "\N{NO-BREAK SPACE}": " ",
    "\N{NARROW NO-BREAK SPACE}": " ", "▲": "^", "▼": "v", "●": "o", "│": "|", "─": "-", "├": "|", "└": "`", "█": "#",
    "▁": ".", "▂": ".", "▃": ":", "▄": ":", "▅": "=", "▆": "=", "▇": "#", "┤": "|",
    "▏": "|", "▎": "|", "▍": "|", "▌": "|", "▋": "#", "▊": "#", "▉": "#",
}  # fmt: skip
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
    """Return the text, cut in the middle when it takes more cells than that; a Python frame without its folders."""
    text = printable(text)
    if cells(text) <= width:
        return text
    if frame := FRAME.fullmatch(text):
        text = f"{frame[1]}…/{frame[2]}"
        if cells(text) <= width:
            return text
    tail = _first_cells(text[: -width - 1 : -1], width // 3)[::-1]
    return f"{_first_cells(text[:width], width - cells(tail) - 1)}…{tail}"


def padded(text: str, width: int, *, right: bool = False) -> str:
    """Return the text with blanks, so that it takes so many cells."""
    blanks = " " * max(0, width - cells(text))
    return blanks + text if right else text + blanks


def bar(share: float, width: int) -> str:
    """Return a share of one as a bar, one cell at the least, padded to so many cells."""
    return f"{'#' * max(1, min(width, round(share * width))):<{width}}"


@dataclass(frozen=True, slots=True)
class TextTable:
    """Rows of text; the first column is aligned left, the others right."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


def _widths(table: TextTable) -> list[int]:
    return [max(cells(row[i]) for row in (table.header, *table.rows)) for i in range(len(table.header))]


def fit(table: TextTable, width: int) -> TextTable:
    """Return the table as a terminal of that width has room for it.

    Columns go in a fixed order, the least useful of all tables first, then the last one that is left beside the first
    two; then names are shortened.
    """
    kept = list(range(len(table.header)))
    widths = _widths(table)

    def excess() -> int:
        return sum(widths[i] + len(GAP) for i in kept) - len(GAP) - width

    for name in LEAST_USEFUL:
        if excess() > 0:
            kept = [i for i in kept if table.header[i] != name]
    while excess() > 0 and len(kept) > LEAST_COLUMNS and widths[0] - excess() < LEAST_NAME:
        kept.pop()
    room = max(LEAST_NAME, widths[0] - max(0, excess()))
    rows = [[shorten(row[0], room), *(row[i] for i in kept[1:])] for row in table.rows]
    return TextTable(table.title, [table.header[i] for i in kept], rows)


def render(table: TextTable) -> str:
    """Return the table as plain text."""
    widths = _widths(table)
    lines = [table.title, ""]
    for row in (table.header, ["-" * width for width in widths], *table.rows):
        first, *others = (padded(cell, w, right=i > 0) for i, (cell, w) in enumerate(zip(row, widths, strict=True)))
        lines.append(GAP.join((first, *others)).rstrip())
    return "\n".join(lines)


def render_fitting(table: TextTable, width: int) -> str:
    """Return the table as `fit` makes it, plain text, and what there was no room for; width: 0 for no limit."""
    shown = fit(table, width) if width else table
    kept = list(shown.header)
    dropped = [name for name in table.header if name not in kept]
    note = wrapped(f"(no room for: {', '.join(dropped)})", width) if dropped else []
    return "\n".join([render(shown), *note])


def broken(line: str, width: int) -> list[str]:
    """Return a line in pieces of at most so many cells, continued below its text; a longer word stays whole.

    A line that names the next command stays whole, too, because it is copied.
    The text begins after the last wide gap, as in a line of a list, unless that leaves less than half of the width.
    """
    if cells(line) <= width or "\x1b" in line or COMMAND.match(line):
        return [line]
    begin = len(line) - len(line.lstrip())
    gaps = [gap.end() for gap in re.finditer(r"(?<=\S) {2,}(?=\S)", line[: width // 2 + 1])]
    hang = " " * min(gaps[-1] if gaps else begin + LEAST_HANG, round(MOST_HANG * width))
    return wrapped(line, width, hang=hang) or [""]


def wrapped(text: str, width: int, *, first: str = "", hang: str = "") -> list[str]:
    """Return a text in pieces of at most so many cells, broken between words, never between a figure and its unit.

    first, hang: what the first piece begins with, and what the others do.
    """
    import textwrap

    text = UNIT.sub(TOGETHER, "".join(c + (WIDE if cells(c) == 2 else "") for c in text))
    pieces = textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=hang, break_long_words=False, break_on_hyphens=False
    )
    return [piece.replace(WIDE, "").replace(TOGETHER, " ") for piece in pieces]


def encodable(text: str, encoding: str, *, aligned: bool = False) -> str:
    """Return the text with another way to write what the encoding lacks, where there is one.

    aligned: where there is none, a question mark for each cell, since an escape would be wider than the character.
    """
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return "".join(c if _has(c, encoding) else PLAIN.get(c, LACKING * cells(c) if aligned else c) for c in text)
    return text


def _has(character: str, encoding: str) -> bool:
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def say(file: TextIO | None, *lines: str, wrapped: bool = False) -> None:
    """Print lines to a stream as `print` does, standard output by default; nothing where there is none.

    What the stream's encoding lacks is written another way or escaped, and no error. wrapped: on a terminal, long
    lines are broken between words.
    """
    file = file or sys.stdout
    if file is None:  # started with a closed standard output
        return
    width = width_of(file) if wrapped and file.isatty() else None
    if width is not None:
        lines = tuple(part for line in lines for part in broken(line, width))
    encoding = getattr(file, "encoding", None) or "utf-8"
    for line in lines:
        print(encodable(line, encoding).encode(encoding, "backslashreplace").decode(encoding), file=file)


def width_of(file: TextIO | None) -> int | None:
    """Return the columns of the terminal that a stream writes to, or that COLUMNS states; None where there is none."""
    stated = os.environ.get("COLUMNS", "")
    if not (stated.isascii() and stated.isdigit()) and (file is None or not file.isatty()):
        return None
    import shutil

    return max(MIN_WIDTH, shutil.get_terminal_size().columns)


def print_table(table: TextTable, file: TextIO | None = None) -> None:
    """Print the table, without the columns that the terminal has no room for."""
    say(file, render_fitting(table, width_of(file or sys.stdout) or 0))


def count(number: int, noun: str) -> str:
    """Return the number with its noun, in the plural where due."""
    if number != 1:
        noun = f"{noun[:-1]}ies" if noun.endswith("py") else f"{noun}s"
    return f"{number:,} {noun}"
