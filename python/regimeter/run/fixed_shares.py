# SPDX-License-Identifier: Apache-2.0
"""Figures of a file that are one fixed part of each duration: constants, which are no measurements.

The program behind the specification writes 85, 10 and 5 % of every duration as device, transfer and overhead time, and
85 or 30 as utilisation (docs/suggestions.md). The page's file picker works without Python and has the same rule in
web/js/fixed_shares.js; a test holds the two together.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

# Figure -> its part of each duration in such files.
KNOWN = {"gpu_time_ms": 0.85, "transfer_time_ms": 0.10, "overhead_ms": 0.05}
KNOWN_UTILIZATION = (30.0, 85.0)
TOLERANCE = 1e-3  # relative: such files round to a few digits
MOST = 1e300  # a figure beyond is damage
SAME = 1e-6  # relative distance of ratios below which they count as one constant
REASON = "the file states one fixed part of every duration (or one of two fixed values): a constant, no measurement"


def fixed_figures(entries: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the names of the figures that are constants in these entries.

    A figure is one where the parts of KNOWN hold for the device time and another in every entry with a device time, or
    where it is one and the same part of durations that differ. The utilisation is one beside a constant device time,
    where no entry states another than KNOWN_UTILIZATION.
    """
    rows = [row for row in entries if _number(row, "duration_ms")]
    found = [name for name in KNOWN if _is_known(rows) or _is_one_part(_pairs(rows, name))]
    stated = {row["gpu_utilization"] for row in rows if _number(row, "gpu_utilization")}
    if stated and "gpu_time_ms" in found and stated <= set(KNOWN_UTILIZATION):
        found.append("gpu_utilization")
    return tuple(found)


def is_same_part(pairs: Sequence[tuple[float, float]]) -> bool:
    """Return whether values are one and the same part of their durations; pairs of value and duration, above 0."""
    parts = [value / duration for value, duration in pairs if duration > 0]
    return not parts or max(parts) - min(parts) <= SAME * max(parts)


def _is_known(rows: Sequence[Mapping[str, Any]]) -> bool:
    timed = [row for row in rows if _number(row, "gpu_time_ms")]
    return bool(timed) and all(_is_known_split(row, [name for name in KNOWN if _number(row, name)]) for row in timed)


def _is_known_split(row: Mapping[str, Any], stated: Sequence[str]) -> bool:
    return len(stated) > 1 and all(_is_part(row, name, KNOWN[name]) for name in stated)


def _is_part(row: Mapping[str, Any], name: str, share: float) -> bool:
    expected = share * float(row["duration_ms"])
    return abs(_number(row, name) - expected) <= TOLERANCE * expected


def _is_one_part(pairs: Sequence[tuple[float, float]]) -> bool:
    durations = [duration for _, duration in pairs]
    return len(pairs) > 1 and max(durations) > min(durations) * (1 + TOLERANCE) and is_same_part(pairs)


def _pairs(rows: Sequence[Mapping[str, Any]], name: str) -> list[tuple[float, float]]:
    return [(row[name], row["duration_ms"]) for row in rows if _number(row, name)]


def _number(row: Mapping[str, Any], name: str) -> float:
    """Return a figure above 0, else 0, as for what is no entry."""
    value = row.get(name) if isinstance(row, dict) else None
    return float(value) if type(value) in (int, float) and 0 < value < MOST else 0.0  # type: ignore[operator,arg-type]
