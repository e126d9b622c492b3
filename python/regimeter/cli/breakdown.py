# SPDX-License-Identifier: Apache-2.0
"""``regimeter breakdown``: the parts of each device's time, and the line on which they add up."""

from typing import TYPE_CHECKING, Any

from ..analysis.breakdown import device_keys
from ..system.text import TextTable, count, duration, percent, printable, render_fitting

if TYPE_CHECKING:
    from ..analysis.result import Result

PARTS = (
    ("compute", "compute_ns", ""),
    ("exposed communication", "exposed_comm_ns", "communication without compute"),
    ("exposed memory", "exposed_mem_ns", "copies and sets without either"),
    ("idle", "idle_ns", "nothing ran"),
)
SHORT = {"exposed communication": "exposed comm", "exposed memory": "exposed mem"}  # as headings
DETAILS = (
    ("busy", "busy_ns"),
    ("communication", "comm_ns"),
    ("  with compute", "comm_overlapped_by_compute_ns"),
    ("copies and sets", "mem_ns"),
    ("  with compute", "mem_overlapped_by_compute_ns"),
    ("  with communication", "mem_overlapped_by_comm_ns"),
    ("all three at once", "all_three_ns"),
    ("sum of durations", "sum_dur_ns"),
)


def text(result: "Result", width: int, most: int = 0) -> str:
    """Return a paragraph for one device, a table for several; most: rows of it, 0 for all."""
    rows = list(result)
    if not rows:
        return result.verb.empty
    return _paragraph(device_keys(rows)[0], rows[0], width) if len(rows) == 1 else _table(rows, width, most)


def _table(rows: list[dict[str, Any]], width: int, most: int) -> str:
    """Return a row a device: its span, and how it divides."""
    one_each = len({row["rank"] for row in rows}) == len(rows)
    header = ["rank" if one_each else "name", "span", *(SHORT.get(label, label) for label, _, _ in PARTS), "busy"]
    cells = [
        [
            str(row["rank"]) if one_each else printable(key),
            duration(row["span_ns"] / 1e6),
            *(percent(row[name] / row["span_ns"] if row["span_ns"] else None) for _, name, _ in PARTS),
            duration(row["busy_ns"] / 1e6),
        ]
        for key, row in zip(device_keys(rows), rows, strict=True)
    ]
    shown = cells[:most] if most else cells
    title = f"{len(rows)} devices: span from first to last work, and the shares of it"
    lines = [render_fitting(TextTable(title, header, shown), width)]
    lines += [f"({len(cells) - len(shown):,} more)"] if len(shown) < len(cells) else []
    return "\n".join([*lines, "Each row's four parts add up to its span, to the nanosecond: --json has them."])


def _paragraph(key: str, row: dict[str, Any], width: int) -> str:
    span = row["span_ns"]

    def line(label: str, value: int, note: str = "") -> str:
        share = percent(value / span if span else None)
        return f"  {label:22} {duration(value / 1e6):>9} {share:>8}  {note}".rstrip()

    counted = [
        count(row[name], noun)
        for noun, name in (
            ("kernel", "n_kernel"),
            ("communication kernel", "n_comm"),
            ("copy", "n_memcpy"),
            ("set", "n_memset"),
        )
        if row[name]
    ]
    lines = [f"device {printable(key)}: span {duration(span / 1e6)} (first to last work); {', '.join(counted)}"]
    lines.append(f"  {'':22} {'':>9} {'of span':>8}")
    lines += [line(label, row[name], note) for label, name, note in PARTS]
    total = f"  {'= span':22} {duration(span / 1e6):>9} {percent(1.0 if span else None):>8}"
    fits = len(total) + 2 + len(_identity(row)) <= width
    lines += [f"{total}  {_identity(row)}"] if fits else [total, f"  {_identity(row)}"]
    lines += [line(label, row[name]) for label, name in DETAILS]
    return "\n".join(lines)


def _identity(row: dict[str, Any]) -> str:
    return f"{' + '.join(str(row[name]) for _, name, _ in PARTS)} = {row['span_ns']} ns"
