# SPDX-License-Identifier: Apache-2.0
"""Text that fits where it is shown: lines as long as the terminal is wide, characters that its encoding has."""

from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any, TextIO

from .text import broken, encodable, width_of


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
        text = encodable(line, self._file.encoding or "utf-8", aligned=self._width is not None)
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
