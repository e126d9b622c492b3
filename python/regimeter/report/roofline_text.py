# SPDX-License-Identifier: Apache-2.0
"""The roofline in a terminal: roofs and points on two logarithmic axes, and a line for each point."""

import math
from typing import TYPE_CHECKING, Any

from ..regime.roofline import bands
from ..system.arrays import np
from ..system.text import padded, percent, printable, shorten
from .roofline_data import work_of

if TYPE_CHECKING:
    from ..calibration.choice import Choice
    from ..public.run import Run

HEIGHT, WIDEST = 12, 76  # cells of the picture
POINTS = 8
MARKS = "12345678"
LABEL = 11  # cells before the picture, for the rate
PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
MARGIN = 0.15  # decades around what is drawn


def roofline_lines(run: "Run", ceilings: "Choice", width: int) -> list[str]:
    """Return the picture and its legend; no line where there are no roofs, or the work of nothing is known.

    The legend names the points of most time; those beyond them are dots. width: in cells.
    """
    found = work_of(run, ceilings)
    roofs = bands(ceilings.vector) if ceilings.vector is not None else []
    memory = next((roof for roof in roofs if roof.of == "memory"), None)
    computes = [roof for roof in roofs if roof.of == "compute"]
    if found is None or memory is None or not computes or not found[2].any():
        return []
    noun, columns, known = found
    rows = np.flatnonzero(known)
    across, up = np.log10(columns["intensity"][rows]), np.log10(columns["rate"][rows])
    flat = [math.log10(roof.value) for roof in computes]
    rise = math.log10(memory.value)
    left, right = min(across.min(), min(flat) - rise) - MARGIN, max(across.max(), max(flat) - rise) + 0.5
    low, high = up.min() - MARGIN, max(flat) + MARGIN
    cells = max(20, min(WIDEST, width - LABEL - 1))
    grid = [[" "] * cells for _ in range(HEIGHT)]

    def put(x: float, y: float, mark: str) -> None:
        row = round((high - y) / (high - low) * (HEIGHT - 1))
        column = round((x - left) / (right - left) * (cells - 1))
        if 0 <= row < HEIGHT and 0 <= column < cells:
            grid[row][column] = mark

    for x in np.linspace(left, right, cells).tolist():
        put(x, min(max(flat), rise + x), "/" if rise + x < max(flat) else "-")
        for roof in flat:
            if rise + x >= roof:
                put(x, roof, "-")
    for place in reversed(range(len(rows))):  # the longest last, so that it is seen
        put(float(across[place]), float(up[place]), MARKS[place] if place < POINTS else ".")
    top, bottom = _rate(10**high), _rate(10**low)
    heads = [top, *[""] * (HEIGHT - 2), bottom]
    picture = [f"{head:>{LABEL}}|{''.join(line)}".rstrip() for head, line in zip(heads, grid, strict=True)]
    axis = f"{'':{LABEL}}+{'-' * cells}"
    ends = f"{10**left:.2g}", f"{10**right:,.0f} op/byte"
    scale = f"{'':{LABEL}} {ends[0]}{ends[1]:>{cells - len(ends[0])}}"
    title = f"roofline: {noun}s by operations a byte and operations/s, both logarithmic"
    return [title, *picture, axis, scale, *_legend(run, columns, rows, width)]


def _legend(run: "Run", columns: dict[str, Any], rows: Any, width: int) -> list[str]:
    lines = []
    for place, row in enumerate(rows[:POINTS].tolist()):
        reached = [
            (float(columns[name][row]), roof)
            for name, roof in (("sol_memory", "memory"), ("sol_compute", "compute"))
            if name in columns and columns[name][row] > 0
        ]
        best = max(reached, default=None)
        of = f"{percent(best[0])} of the {best[1]} roof" if best else f"{_rate(columns['rate'][row])}"
        figures = f"{percent(float(columns['share'][row])):>7}  {of:>27}"
        room = max(12, width - len(figures) - 5)
        name = shorten(printable(run.string(int(columns["name"][row]))), room)
        lines.append(f"{MARKS[place]}  {padded(name, min(room, 44))}  {figures}")
    more = len(rows) - POINTS
    return [*lines, f".  {more:,} more"] if more > 0 else lines


def _rate(value: float) -> str:
    """Return operations a second with a prefix."""
    factor, prefix = next((one for one in PREFIXES if value >= one[0]), PREFIXES[-1])
    return f"{value / factor:.3g} {prefix}op/s"
