# SPDX-License-Identifier: Apache-2.0
"""The verdict in a terminal: a sentence, why, what to do next, and one bar of where the time went."""

import sys
from typing import TYPE_CHECKING, Any, TextIO

from ..system.text import bar, printable, width_of, wrapped
from .odd_step import odd_step

if TYPE_CHECKING:
    from ..public.run import Run
    from ..suggest.verdict import Verdict

INDENT = "       "
BAR = 40
WIDE, WIDEST = 100, 120  # columns where there is no terminal, and at the most
SHOWN = 6  # shares in the bar's legend
LEAST = 0.02  # of the window


def verdict_data(run: "Run") -> dict[str, Any] | None:
    """Return it as pages and JSON have it; None where there is none."""
    found = run.verdict()
    return None if found is None else found.to_dict()


def print_verdict(run: "Run", file: TextIO | None = None) -> None:
    """Print what limits the run, and nothing where there is none."""
    found = run.verdict()
    if found is not None:
        width = min(WIDEST, width_of(file or sys.stdout) or WIDE)
        print(*verdict_lines(found, width, odd_step(run)), "", sep="\n", file=file)


def verdict_lines(verdict: "Verdict", width: int, odd: str = "") -> list[str]:
    """Return the lines, none wider than the width where words allow it. odd: what stands out among the steps."""
    parts = (("Limit: ", verdict.sentence), ("Why:   ", verdict.why), ("Try:   ", verdict.next), ("Odd:   ", odd))
    lines = []
    for head, text in parts if odd else parts[:-1]:
        lines += wrapped(printable(text), max(40, width), first=head, hang=INDENT)
    return lines + [f"{INDENT}{line}" for line in bar_lines(verdict, max(40, width) - len(INDENT))]


def bar_lines(verdict: "Verdict", width: int) -> list[str]:
    """Return a line a cause: its share as a bar, as a figure, and its name."""
    shown = [(cause, share) for cause, share in verdict.shares.items() if share >= LEAST][:SHOWN]
    cells = min(BAR, width - 30)
    return [f"{bar(share, cells)} {100 * share:4.0f} %  {cause.replace('_', ' ')}" for cause, share in shown]
