# SPDX-License-Identifier: Apache-2.0
"""Changes with their intervals drawn over one axis, and notes that several rows share."""

from collections import Counter
from collections.abc import Sequence

from ..compare.result import OperationComparison

CELLS = 17  # of the axis, with nothing changed in the middle
LIMITS = (5, 10, 25, 50, 100)  # percent at the ends of the axis
DRAWN = " %"  # ends the heading of the column, and of no other
SHARED = 3  # rows from which a note stands once, below them


def forest(rows: Sequence[OperationComparison]) -> tuple[str, list[str]]:
    """Return the heading of the axis and a drawing for each row: its interval, and its change as a dot.

    The axis is as long as the largest change, at most from -100 to +100 %. What goes on beyond it ends with an arrow.
    """
    largest = max((abs(row.change_percent or 0.0) for row in rows), default=0.0)
    limit = next((one for one in LIMITS if one >= largest), LIMITS[-1])
    side = CELLS // 2 - 1
    heading = f"{f'-{limit}':<{side}} 0 {f'+{limit}{DRAWN}':>{side}}"
    return heading, [_drawn(row, limit) for row in rows]


def _drawn(row: OperationComparison, limit: float) -> str:
    if row.change_percent is None:
        return ""
    half = CELLS // 2

    def place(percent: float) -> int:
        return half + round(max(-limit, min(limit, percent)) / limit * half)

    line = [" "] * CELLS
    line[half] = "│"
    if row.ci_percent is not None:
        low, high = row.ci_percent
        first, last = place(low), place(high)
        line[first : last + 1] = "─" * (last + 1 - first)
        line[first] = "<" if low < -limit else "├"
        line[last] = ">" if high > limit else "┤"
    beyond = abs(row.change_percent) > limit
    line[place(row.change_percent)] = "●" if not beyond else ">" if row.change_percent > 0 else "<"
    return "".join(line)


def lifted(notes: Sequence[str], changes: Sequence[str] = ()) -> tuple[list[str], list[str]]:
    """Return what is left to say of each row, and a line for each part that at least three of them say.

    changes: what stands in the rows as their change, so that a note need not say it again.
    """
    parts = [[part for part in note.split("; ") if part] for note in notes]
    if changes:
        parts = [[p for p in row if p != f"differs by {own}"] for row, own in zip(parts, changes, strict=True)]
    counted = Counter(part for row in parts for part in row)
    shared = [part for part, number in counted.items() if number >= SHARED]
    common = [
        f"{'All' if counted[part] == len(notes) else 'Of these,'} {counted[part]} rows: {part}" for part in shared
    ]
    return ["; ".join(part for part in row if part not in shared) for row in parts], common
