# SPDX-License-Identifier: Apache-2.0
"""Stacks of a Run by loops over lists: the oracle of collapsed stacks, pprof and speedscope."""

from collections import defaultdict
from typing import Any

from runs import KIND, is_work, names_of

from regimeter import Run


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


def naive_stacks(run: Run) -> tuple[dict[Any, int], dict[Any, int], dict[Any, int]]:
    """Return host ns, device ns and the number of spans by (lane, names...)."""
    layout = Layout(run)
    host: dict[Any, int] = defaultdict(int)
    device: dict[Any, int] = defaultdict(int)
    count: dict[Any, int] = defaultdict(int)
    lanes = run.lanes.device.tolist() or [-1]
    kinds, correlation = run.spans.kind.tolist(), run.spans.correlation.tolist()
    paths: dict[int, Any] = {}
    for i, above in enumerate(layout.above):
        if layout.work[i] or lanes[layout.lane[i]] >= 0 or kinds[i] == KIND["window"]:
            continue
        around = [j for j in above if not layout.work[j] and kinds[j] != KIND["window"]]
        path = (layout.lane[i], *(layout.names[j] for j in around), layout.names[i])
        paths[i] = path
        host[path] += layout.duration[i]
        count[path] += 1
        if around:
            host[path[:-1]] -= layout.duration[i]
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
