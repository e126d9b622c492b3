# SPDX-License-Identifier: Apache-2.0
"""A calibration as a table: what was measured, how well, and what is missing."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import Calibration, Ceiling

STEPS = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def text_of(found: "Calibration") -> list[str]:
    """Return a calibration as lines."""
    when = datetime.fromtimestamp(found.measured_at).strftime("%Y-%m-%d %H:%M")
    how = "quick" if found.quick else "full"
    lines = [f"{found.device}: {found.name}", f"{how} calibration of {when}, took {found.duration_s:.1f} s", ""]
    several = found.threads > 1 and found.device == "cpu"
    rows = [_row(token, found, several=several) for token, ceiling in found.ceilings.items() if ceiling.measured]
    head = ("", f"{found.threads} threads", "+/-", "1 thread", "+/-", "measured by") if several else (
        "", "ceiling", "+/-", "measured by")  # fmt: skip
    lines += _table([head, *rows])
    missing: dict[str, list[str]] = {}
    for token, ceiling in found.ceilings.items():
        if not ceiling.measured:
            missing.setdefault(ceiling.reason, []).append(token)
    if missing:
        lines += ["", "not measured"]
        lines += [f"  {', '.join(tokens)}: {reason}" for reason, tokens in missing.items()]
    lines += ["", *(f"warning: {text}" for text in found.warnings)] if found.warnings else []
    return lines


def _row(token: str, found: "Calibration", *, several: bool) -> tuple[str, ...]:
    ceiling, one = found.ceilings[token], found.single[token]
    source = f"{ceiling.source}{' (suspect)' if ceiling.suspect else ''}"
    if several:
        return (token, amount(ceiling), spread(ceiling), amount(one), spread(one), source)
    return (token, amount(ceiling), spread(ceiling), source)


def amount(ceiling: "Ceiling") -> str:
    """Return a value with its unit, '-' where there is none."""
    if ceiling.value is None:
        return "-"
    if ceiling.unit == "ns":
        return f"{ceiling.value:,.1f} ns" if ceiling.value < 1e4 else f"{ceiling.value / 1e3:,.1f} us"
    unit = {"bytes/s": "B/s", "operations/s": "op/s"}.get(ceiling.unit, ceiling.unit)
    for size, prefix in STEPS:
        if ceiling.value >= size:
            return f"{ceiling.value / size:.1f} {prefix}{unit}"
    return f"{ceiling.value:.1f} {unit}"


def spread(ceiling: "Ceiling") -> str:
    """Return a spread in percent."""
    return "-" if ceiling.spread is None else f"{100 * ceiling.spread:.1f} %"


def _table(rows: list[tuple[Any, ...]]) -> list[str]:
    """Return columns of equal width: names and sources to the left, numbers to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    last = len(widths) - 1
    return [
        "  ".join(
            text.ljust(width) if i in (0, last) else text.rjust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
