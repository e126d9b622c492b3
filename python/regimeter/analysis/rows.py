# SPDX-License-Identifier: Apache-2.0
"""Rows of an analysis as an aligned table: units fitted to the values, long names shortened in the middle."""

import textwrap
from typing import TYPE_CHECKING, Any

from ..system.kernel_name import short_names
from ..system.text import UNAVAILABLE, amount, duration, padded, percent, printable, shorten
from .words import words_of

if TYPE_CHECKING:
    from .result import Result
    from .verb import Column

GAP = "  "
KERNELS = ("void ", "_Z")  # how names of kernels begin; other functions are called by their lines
NARROWEST = 16  # characters that a shortened name keeps
NAMELESS = "(none)"  # work without an operator or module, or what one side of a comparison does not have
NOTHING = "none"  # the code for it
DEEPEST = 20  # indentation beyond it would leave no room for the name


def format_cell(value: Any, unit: str) -> str:
    """Return one value as text with its unit."""
    if value is None:
        return UNAVAILABLE
    if isinstance(value, str):
        return printable(value)
    if unit == "ns":
        return duration(value / 1e6)
    if unit == "bytes":
        return amount(value) if value >= 0 else UNAVAILABLE
    if unit == "rate":
        return f"{amount(value)}/s"
    if unit == "share":
        return percent(value)
    suffix = f" {unit}" if unit and unit != "other" else ""
    if isinstance(value, float):
        return f"{value:,.0f}{suffix}" if abs(value) >= 1000 else f"{value:.3g}{suffix}"
    return f"{value:,}{suffix}"


def render_rows(result: "Result", width: int = 0) -> str:
    """Return the rows of a result, and a last one for those that are left out.

    Where `width` characters, 0 for no limit, cannot hold all columns even with short names, the last ones go.
    """
    columns = _shown(result)
    if not len(result) and not result.left_out:
        return result.verb.empty
    cells = {column.name: _cells(result, column) for column in columns}
    others = result.others()
    if others is not None:
        for column in columns:
            known = column.name in others
            cells[column.name].append(format_cell(others[column.name], column.unit) if known else "")
        label = f"({result.left_out:,} more)"
        if not cells[columns[0].name][-1] and _is_text(result, columns[0]):
            cells[columns[0].name][-1], label = label, ""
    widths = {c.name: max(map(len, (c.heading, *cells[c.name]))) for c in columns}
    texts = [c.name for c in columns if _is_text(result, c)]
    flexible = [c.name for c in columns if c.name in texts and not c.whole]
    fitting = _fitting(columns, widths, flexible, width) if width else columns
    dropped = [column.heading for column in columns[len(fitting) :]]
    if width:
        kept = {column.name: widths[column.name] for column in fitting}
        _narrow(kept, [name for name in flexible if name in kept], width - len(GAP) * (len(fitting) - 1))
        cells |= {
            name: _briefly(cells[name], kept[name]) for name in kept if name in flexible and kept[name] < widths[name]
        }
        widths = kept
    lines = [[column.heading for column in fitting], ["-" * widths[column.name] for column in fitting]]
    lines += [list(row) for row in zip(*(cells[column.name] for column in fitting), strict=True)]
    drawn = [
        GAP.join(
            _fit(cell, widths[column.name], column.name in texts) for column, cell in zip(fitting, line, strict=True)
        ).rstrip()
        for line in lines
    ]
    if others is not None and label:
        drawn[-1] = f"{drawn[-1]}{GAP}{label}".lstrip() if not drawn[-1].strip() else drawn[-1] + GAP + label
    note = textwrap.wrap(f"(no room for: {', '.join(dropped)})", max(width, 2 * NARROWEST)) if dropped else []
    return "\n".join([*drawn, *note])


def texts_of(result: "Result") -> tuple[list[str], list[tuple[str, ...]]]:
    """Return the headings of the columns that say something, and the rows as text, none shortened."""
    columns = _shown(result)
    cells = [_cells(result, column) for column in columns]
    return [column.heading for column in columns], list(zip(*cells, strict=True))


def _cells(result: "Result", column: "Column") -> list[str]:
    values = result.values(column.name)
    if column.unit == "at":
        start = result.run.start_ns
        happened = result.values("work") if "work" in result.types else [1] * len(values)
        return [_moment(v - start) if work else UNAVAILABLE for v, work in zip(values, happened, strict=True)]
    if column.unit == "nested":
        depths = result.values("depth")
        return ["  " * min(depth, DEEPEST) + printable(v) for v, depth in zip(values, depths, strict=True)]
    if column.name in ("name", "baseline_name"):
        values = [value or NAMELESS for value in values]
    if column.name == "name" and "groups" in result.types and "others" in result.types:
        merged = zip(values, result.values("others"), result.values("groups"), strict=True)
        return [f"({groups:,} others)" if others else format_cell(value, "") for value, others, groups in merged]
    if column.unit.startswith("code:"):
        constant = column.unit.removeprefix("code:")
        return ["" if v == NOTHING else format_cell(v and words_of(constant, v), column.unit) for v in values]
    return [format_cell(value, column.unit) for value in values]


def _moment(since_start_ns: int) -> str:
    """Return a moment with the microsecond, which tells neighbours apart."""
    return f"{since_start_ns / 1e6:,.3f} ms"


def _fitting(columns: "list[Column]", widths: dict[str, int], texts: list[str], width: int) -> "list[Column]":
    """Return the first columns that fit when names are as short as they may be."""
    least = [min(widths[c.name], NARROWEST) if c.name in texts else widths[c.name] for c in columns]
    count = len(columns)
    while count > 1 and sum(least[:count]) + len(GAP) * (count - 1) > width:
        count -= 1
    return columns[:count]


def _shown(result: "Result") -> "list[Column]":
    """Return the columns that say something: one that is unknown in every row is left out."""
    columns = [c for c in result.verb.columns if not c.hidden]
    return [c for c in columns if not _is_unknown(result, c)] or columns


def _is_unknown(result: "Result", column: "Column") -> bool:
    """Tell whether a column has no known value: not a number, no text, a code for nothing, or an id of -1."""
    values = result.values(column.name)
    if column.unit.startswith("code:"):
        return bool(values) and all(value == NOTHING for value in values)
    kind = result.types[column.name]
    if not values or kind == "float64":
        return bool(values) and all(value is None for value in values)
    return all(value == ("" if kind == "name" else -1) for value in values) and not column.unit


def _is_text(result: "Result", column: "Column") -> bool:
    return result.types[column.name] == "name" or column.unit.startswith("code:")


def _narrow(widths: dict[str, int], texts: list[str], room: int) -> None:
    """Lower the widest text columns together until the line fits, none below what a name keeps."""
    left = room - sum(width for name, width in widths.items() if name not in texts)
    for place, name in enumerate(sorted(texts, key=lambda name: widths[name])):
        share = left // (len(texts) - place)
        widths[name] = min(widths[name], max(share, NARROWEST))
        left -= widths[name]


def _briefly(texts: list[str], width: int) -> list[str]:
    """Return names with the short forms of those that are kernels of C++ and wider than the column."""
    short = short_names(text for text in texts if text.startswith(KERNELS))
    return [short.get(text, text) if len(text) > width else text for text in texts]


def _fit(cell: str, width: int, text: bool) -> str:
    return padded(shorten(cell, width), width) if text else padded(cell, width, right=True)
