# SPDX-License-Identifier: Apache-2.0
"""Stacks of a Run by loops over lists: the oracle of collapsed stacks, pprof and speedscope."""

import heapq
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from runs import KIND, is_work, names_of

from regimeter import Run

NO_HOST_TIME = [KIND[name] for name in ("window", "sync", "instant", "counter_range", "device_annotation")]


class Layout:
    """Each span on the first track of its lane where it nests; every earlier track is tried in turn."""

    def __init__(self, run: Run) -> None:
        s = run.spans
        self.start, self.duration = s.start_ns.tolist(), s.duration_ns.tolist()
        self.names, self.work, self.lane = names_of(run), is_work(run).tolist(), s.lane.tolist()
        self.tracks: dict[tuple[int, int], list[int]] = {}
        self.above: list[list[int]] = [[] for _ in self.names]
        open_on: dict[int, list[list[int]]] = defaultdict(list)
        for i in sorted(range(len(self.names)), key=lambda i: (self.start[i], -self.duration[i], i)):
            found = self._place(i, open_on[self.lane[i]])
            self.tracks.setdefault((self.lane[i], found), []).append(i)

    def end(self, i: int) -> int:
        """When a span ends."""
        return int(self.start[i] + self.duration[i])

    def _place(self, i: int, tracks: list[list[int]]) -> int:
        for number, stack in enumerate([*tracks, []]):
            stack[:] = [j for j in stack if self.end(j) > self.start[i]]
            fits = not stack or self.end(stack[-1]) >= self.end(i)
            if fits and not (self.work[i] and any(self.work[j] for j in stack)):
                if number == len(tracks):
                    tracks.append(stack)
                self.above[i] = list(stack)
                stack.append(i)
                return number
        raise AssertionError


def self_times(layout: Layout, rows: list[int]) -> Iterator[tuple[int, int]]:
    """Give stretches of the time of one lane to the last begun of the spans that are open: (span, ns)."""
    begun: list[tuple[int, int]] = []  # the last on top
    moments = sorted({time for i in rows for time in (layout.start[i], layout.end(i))})
    coming = 0
    for now, until in pairwise(moments):
        while coming < len(rows) and layout.start[rows[coming]] <= now:
            heapq.heappush(begun, (-coming, rows[coming]))
            coming += 1
        while begun and layout.end(begun[0][1]) <= now:
            heapq.heappop(begun)
        if begun:
            yield begun[0][1], until - now


def naive_stacks(run: Run) -> tuple[dict[Any, int], dict[Any, int], dict[Any, int]]:
    """Return host ns, device ns and the number of spans by (lane, names...)."""
    layout = Layout(run)
    host: dict[Any, int] = defaultdict(int)
    device: dict[Any, int] = defaultdict(int)
    count: dict[Any, int] = defaultdict(int)
    lanes = run.lanes.device.tolist() or [-1]
    kinds, parents, correlation = (getattr(run.spans, name).tolist() for name in ("kind", "parent", "correlation"))
    paths: dict[int, Any] = {}  # of what is no host time, those of what is around it
    by_lane: dict[int, list[int]] = defaultdict(list)
    for i in sorted(range(len(kinds)), key=lambda i: (layout.start[i], -layout.duration[i], i)):
        if layout.work[i] or lanes[layout.lane[i]] >= 0:
            continue
        inside = parents[i] >= 0 and layout.lane[parents[i]] == layout.lane[i]
        paths[i] = paths.get(parents[i] if inside else -1, (layout.lane[i],))
        if kinds[i] in NO_HOST_TIME:
            continue
        paths[i] += (layout.names[i],)
        count[paths[i]] += 1
        by_lane[layout.lane[i]].append(i)
    for rows in by_lane.values():
        for i, own in self_times(layout, rows):
            host[paths[i]] += own
    calls = defaultdict(list)
    for j, kind in enumerate(kinds):
        if kind in (KIND["runtime"], KIND["driver"]) and correlation[j] > 0:
            calls[correlation[j]].append(j)
    for i, work in enumerate(layout.work):
        if not work:
            continue
        group = sorted(calls[correlation[i]], key=lambda j: (layout.start[j], j))
        before = [j for j in group if layout.start[j] <= layout.start[i]]
        launch = before[-1] if before else group[0] if group else None
        path = (*paths.get(launch, (layout.lane[i],)), layout.names[i])  # type: ignore[arg-type]
        device[path] += layout.duration[i]
        count[path] += 1
    return host, device, count
