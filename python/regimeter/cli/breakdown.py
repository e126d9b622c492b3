# SPDX-License-Identifier: Apache-2.0
"""``regimeter breakdown``: the parts of each device's time, and the line on which they add up."""

from typing import TYPE_CHECKING, Any

from ..analysis.breakdown import device_keys
from ..system.text import count, duration, percent, printable

if TYPE_CHECKING:
    from ..analysis.result import Result

PARTS = (
    ("compute", "compute_ns", ""),
    ("exposed communication", "exposed_comm_ns", "communication without compute"),
    ("exposed memory", "exposed_mem_ns", "copies and sets without either"),
    ("idle", "idle_ns", "nothing ran"),
)
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


def text(result: "Result", width: int) -> str:
    """Return a paragraph per device."""
    rows = list(result)
    if not rows:
        return result.verb.empty
    return "\n\n".join(_paragraph(key, row, width) for key, row in zip(device_keys(rows), rows, strict=True))


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
