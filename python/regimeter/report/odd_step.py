# SPDX-License-Identifier: Apache-2.0
"""The step whose device time divides unlike that of the others, in a sentence."""

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from ..system.text import duration

if TYPE_CHECKING:
    from ..public.run import Run

LEAST_STEPS = 4  # of a device: of three, two others are no crowd
LEAST_PART = 0.1  # of a usual step: what differs by less changes little
CLEAR = 4  # times as far from the others as they are from each other
PARTS = {
    "compute_ns": "compute",
    "exposed_comm_ns": "exposed communication",
    "exposed_mem_ns": "exposed memory",
    "idle_ns": "idle",
}


def odd_step(run: "Run") -> str:
    """Return the sentence of the part that is furthest from the median of the other steps, "" where none stands out."""
    devices = defaultdict(list)
    for row in run.result("steps"):
        if row["busy_ns"]:
            devices[row["rank"], row["device"]].append(row)
    found = [one for rows in devices.values() if len(rows) >= LEAST_STEPS for one in _standing_out(rows)]
    if not found:
        return ""
    _, row, part, usual = max(found, key=lambda one: one[0])
    place = f" on device {row['device']} of rank {row['rank']}" if len(devices) > 1 else ""
    here, there = (duration(ns / 1e6) for ns in (row[part], usual))
    return f"Step {row['step']}{place}: {PARTS[part]} {here}, {there} in the others."


def _standing_out(rows: list[dict[str, Any]]) -> list[tuple[float, dict[str, Any], str, float]]:
    """Return (distance, row, part, median of the others) of each part of a step that is far from all others."""
    from statistics import median  # 5 ms, for runs with steps of a device alone

    least = LEAST_PART * median(row["duration_ns"] for row in rows)
    found = []
    for row in rows:
        for part in PARTS:
            others = [one[part] for one in rows if one is not row]
            usual = median(others)
            distance = abs(row[part] - usual)
            if distance >= max(least, CLEAR * (max(others) - min(others)), 1):
                found.append((distance, row, part, usual))
    return found
