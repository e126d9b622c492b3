# SPDX-License-Identifier: Apache-2.0
"""What spans of a trace have to do with each other, by loops: parents, launches, steps, what lies around a time.

Rows are dictionaries. No line of it is shared with the C importer.
"""

import bisect
import re
from collections import defaultdict
from typing import Any

from regimeter import _core

WORK = {"kernel", "memcpy", "memset", "accelerator"}
ON_DEVICE = WORK | {"device_annotation"}
CALLS = {"runtime", "driver"}
STEP = re.compile(r"ProfilerStep\s*#\s*(\d+)")


def order_of(span: dict[str, Any], row: int) -> tuple[int, int, int]:
    """Return what spans of a lane are sorted by: start, the longer first, row."""
    return span["start_ns"], -span["duration_ns"], row


def by_lane(spans: list[dict[str, Any]]) -> dict[int, list[int]]:
    """Return rows by lane, in order."""
    rows: dict[int, list[int]] = defaultdict(list)
    for i, span in enumerate(spans):
        rows[span["lane"]].append(i)
    for members in rows.values():
        members.sort(key=lambda i: order_of(spans[i], i))
    return rows


def set_parents(spans: list[dict[str, Any]]) -> None:
    """Fill `parent` and the overlap flag, lane by lane."""
    for span in spans:
        span["parent"], span["flags"] = -1, _core.FLAG_OPEN if span.get("open") else 0
    for members in by_lane(spans).values():
        stack: list[int] = []
        work_end = None
        for i in members:
            span = spans[i]
            start, end = span["start_ns"], span["start_ns"] + span["duration_ns"]
            while stack and spans[stack[-1]]["start_ns"] + spans[stack[-1]]["duration_ns"] <= start:
                stack.pop()
            around = [j for j in stack if spans[j]["start_ns"] + spans[j]["duration_ns"] >= end]
            work = span["kind"] in WORK
            if len(around) < len(stack) or (work and work_end is not None and start < work_end):
                span["flags"] |= _core.FLAG_OVERLAPS
            span["parent"] = around[-1] if around else -1
            if work:
                work_end = end if work_end is None else max(work_end, end)
            elif span["kind"] != "instant":
                stack = [*around, i]


def set_launches(spans: list[dict[str, Any]]) -> None:
    """Fill `launch` of device work: of the calls with its correlation the last that starts no later."""
    calls: dict[int, list[int]] = defaultdict(list)
    for i, span in enumerate(spans):
        span["launch"] = -1
        if span["kind"] in CALLS and span["correlation"] > 0:
            calls[span["correlation"]].append(i)
    for span in spans:
        if span["kind"] not in WORK:
            continue
        group = sorted(calls.get(span["correlation"], ()), key=lambda i: (spans[i]["start_ns"], i))
        before = [i for i in group if spans[i]["start_ns"] <= span["start_ns"]]
        if group:
            span["launch"] = before[-1] if before else group[0]
        elif span["kind"] != "accelerator":
            span["flags"] |= _core.FLAG_ORPHAN


def set_steps(spans: list[dict[str, Any]]) -> None:
    """Fill `step`: of host spans by time, of device work by its launch."""
    found = sorted(
        (s["start_ns"], int(match[1]), s["start_ns"] + s["duration_ns"])
        for s in spans
        if s["kind"] in ("annotation", "cpu_op") and (match := STEP.match(s["name"]))  # an operator in 2021
    )
    starts = [start for start, _, _ in found]
    for span in spans:
        span["step"] = -1
        if span["kind"] in ON_DEVICE:
            continue
        at = bisect.bisect_right(starts, span["start_ns"]) - 1
        if at >= 0 and span["start_ns"] < found[at][2] + (span["duration_ns"] == 0):
            span["step"] = found[at][1]
    for span in spans:
        if span["launch"] >= 0:
            span["step"] = spans[span["launch"]]["step"]


def complete_work(spans: list[dict[str, Any]], launches: list[dict[str, Any]]) -> None:
    """Give work what only its call says: bytes, and the launch configuration where the call has one piece of work."""
    work: dict[int, list[int]] = defaultdict(list)
    for i, span in enumerate(spans):
        if span["launch"] >= 0:
            work[span["launch"]].append(i)
            if span["bytes"] < 0 and span["kind"] != "kernel":
                span["bytes"] = spans[span["launch"]]["bytes"]
    known = {launch["span"] for launch in launches}
    for launch in launches:
        pieces = work.get(launch["span"], [])
        if spans[launch["span"]]["kind"] in CALLS and len(pieces) == 1 and pieces[0] not in known:
            launch["span"] = pieces[0]


def bind(spans: list[dict[str, Any]], rows: list[dict[str, Any]]) -> None:
    """Fill `span` of flows or memory events: the innermost span of the lane around that time."""
    lanes = by_lane(spans)
    starts = {lane: [spans[i]["start_ns"] for i in members] for lane, members in lanes.items()}
    for row in rows:
        members = lanes.get(row["lane"], [])
        at = bisect.bisect_right(starts.get(row["lane"], []), row["time_ns"]) - 1
        span = members[at] if at >= 0 else -1
        while span >= 0 and spans[span]["start_ns"] + spans[span]["duration_ns"] < row["time_ns"]:
            span = spans[span]["parent"]
        row["span"] = span
