# SPDX-License-Identifier: Apache-2.0
"""Text that fits where it is shown: lines as long as the terminal is wide, characters that its encoding has."""

import re
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any, TextIO

from .text import cells, width_of

LEAST_HANG = 2  # blanks more before what a line is continued with
MOST_HANG = 0.2  # of the width
UNIT = re.compile(r"(?<=\d) (?=%|[nµum]?s\b|[kMGT]?B\b)")  # a figure and its unit stay on one line
NEXT = "Next: "
WIDE, TOGETHER = "\0", "\1"  # behind a wide character, so that it counts as two; for a blank where no line is broken
# What stands for a character that the encoding of the output lacks.
PLAIN = {
    "µ": "u", "μ": "u", "×": "x", "…": "...", "≤": "<=", "≥": ">=", "≈": "~", "±": "+-", "·": "-", "°": " deg ",
    "→": "->", "←": "<-", "–": "-", "—": "-", "−": "-", "²": "^2", "³": "^3", "√": "sqrt ", "\N{NO-BREAK SPACE}": " ",
    "\N{NARROW NO-BREAK SPACE}": " ", "▲": "^", "▼": "v", "●": "o", "│": "|", "─": "-", "├": "|", "└": "`", "█": "#",
    "▏": "|", "▎": "|", "▍": "|", "▌": "|", "▋": "#", "▊": "#", "▉": "#",
}  # fmt: skip


def broken(line: str, width: int) -> list[str]:
    """Return a line in pieces of at most so many cells, continued below its text; a longer word stays whole.

    A line that names the next command stays whole, too, because it is copied.
    The text begins after the last wide gap, as in a line of a list, unless that leaves less than half of the width.
    """
    if cells(line) <= width or "\x1b" in line or line.startswith(NEXT):
        return [line]
    begin = len(line) - len(line.lstrip())
    gaps = [gap.end() for gap in re.finditer(r"(?<=\S) {2,}(?=\S)", line[: width // 2 + 1])]
    hang = " " * min(gaps[-1] if gaps else begin + LEAST_HANG, round(MOST_HANG * width))
    text = UNIT.sub(TOGETHER, "".join(c + (WIDE if cells(c) == 2 else "") for c in line))
    pieces = textwrap.wrap(text, width, subsequent_indent=hang, break_long_words=False, break_on_hyphens=False)
    return [piece.replace(WIDE, "").replace(TOGETHER, " ") for piece in pieces] or [""]


def encodable(text: str, encoding: str) -> str:
    """Return the text with another way to write what the encoding lacks, where there is one."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return "".join(c if _has(c, encoding) else PLAIN.get(c, c) for c in text)
    return text


def _has(character: str, encoding: str) -> bool:
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


class Fitted:
    """A stream of text that breaks lines for a terminal of `width` columns, None for lines of any length."""

    def __init__(self, file: TextIO, width: int | None) -> None:
        self._file = file
        self._width = width
        self._open = ""  # the line that is not ended yet

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, text: str) -> int:
        """Write what has ended of the text, broken; the rest waits for its end."""
        *lines, self._open = (self._open + text).split("\n")
        for line in lines:
            self._put(line, "\n")
        return len(text)

    def finish(self) -> None:
        """Write the line that was not ended."""
        if self._open:
            self._put(self._open, "")
            self._open = ""

    def _put(self, line: str, end: str) -> None:
        text = encodable(line, self._file.encoding or "utf-8")
        pieces = [text] if self._width is None else broken(text, self._width)
        self._file.write("\n".join(pieces) + end)


@contextmanager
def fitted(file: TextIO) -> Iterator[None]:
    """Let what is printed to standard output, which is that file, fit its terminal; lines of a pipe stay whole."""
    made = Fitted(file, width_of(file) if file.isatty() else None)
    with redirect_stdout(made):
        try:
            yield
        finally:
            made.finish()
