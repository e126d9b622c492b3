# SPDX-License-Identifier: Apache-2.0
"""What a run says of memory, as text."""

from typing import Any

from ..analysis.memory_place import owner_text, place_of, place_text
from ..system.text import UNAVAILABLE, amount, duration, percent, printable
from .memory_run import asked_by, sample_text

TOP = 10  # rows of a list


def run_text(document: dict[str, Any]) -> str:
    """Return what a run says of memory for a terminal."""
    lines: list[str] = []
    if document["drawn_bytes"] is not None:
        lines += [sample_text(document["drawn_bytes"]), ""]
    for row in document["devices"]:
        where = place_text(row)
        when = "" if row["peak_ns"] is None else f" after {duration(row['peak_ns'] / 1e6)}"
        pool = "" if row["reserved_bytes"] is None else f", reserved at most {amount(row['reserved_bytes'])}"
        lines.append(f"{where}: peak {amount(row['peak_bytes'])}{when}, at the end {amount(row['end_bytes'])}{pool}")
        lines += [_pool(one) for one in document["pools"] if place_of(one) == place_of(row)]
    for row in document["readings"]:
        what = place_text(row) if row["device"] >= 0 else owner_text(row) or "the process"
        lines.append(
            f"{what}: peak {amount(row['peak_bytes'])} after {duration(row['peak_ns'] / 1e6)}, at the start"
            f" {amount(row['start_bytes'])}, at the end {amount(row['end_bytes'])}"
        )
    lines += [_cuda_pool(row) for row in document["cuda_pools"]]
    lines += [
        f"  {amount(row['peak_bytes']):>10}  {row['category'] or 'not said'}{_of(row)}"
        for row in document["categories"]
    ]
    asked = [row for row in document["scopes"][:TOP] if row["peak_bytes"] or row["end_bytes"]]
    if asked:
        lines += ["", "By scope, at the peak and at the end"]
        lines += [
            f"  {amount(row['peak_bytes']):>10} {amount(row['end_bytes']):>10}  {printable(row['scope'])}{_of(row)}"
            for row in asked
        ]
    for title, key, size, number in (
        ("Largest at the peak", "allocations", "peak_bytes", "peak_blocks"),
        ("Asked for in the recording and alive at its end", "growth", "kept_bytes", "kept_blocks"),
    ):
        rows = [row for row in document[key][:TOP] if row[size]]
        if rows:
            lines += ["", title, *(f"  {_place(row, row[size], row[number])}" for row in rows)]
    if document["shortages"]:
        lines += ["", "Too little memory"]
        lines += [f"  {_shortage(row)}" for row in document["shortages"][:TOP]]
    return "\n".join(lines)


def _of(row: dict[str, Any]) -> str:
    owner = owner_text(row)
    return f" ({owner})" if owner else ""


def _place(row: dict[str, Any], size: int, blocks: int) -> str:
    return f"{amount(size):>10} {blocks:>6,} ×  {printable(asked_by(row)[0])}{_of(row)}"


def _pool(row: dict[str, Any]) -> str:
    return (
        f"  of {amount(row['reserved'])} reserved at the end {percent(row['idle_share'])} idle:"
        f" {amount(row['free_segments'])} in free segments, {amount(row['inactive_split'])} in free parts of others;"
        f" the largest free block has {amount(row['largest_free'])}"
    )


def _cuda_pool(row: dict[str, Any]) -> str:
    held, used, left = (
        UNAVAILABLE if row[name] is None else amount(row[name])
        for name in ("peak_bytes", "peak_used_bytes", "end_bytes")
    )
    return f"  pool of CUDA on {place_text(row)}: held at most {held}, {used} of it in blocks; {left} at the end"


def _shortage(row: dict[str, Any]) -> str:
    asked = asked_by(row)[0]
    what = str(row["shortage"]).replace("_", " ")
    return (
        f"{duration(row['time_ns'] / 1e6):>9}  {what}: {amount(row['requested'])} asked for,"
        f" {amount(row['live'])} live, device had {amount(row['device_free'])}: {printable(asked)}{_of(row)}"
    )
