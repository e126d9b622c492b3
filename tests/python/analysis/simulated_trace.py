# SPDX-License-Identifier: Apache-2.0
"""A simulated program: host threads and streams whose dependencies are known, and the trace that it would leave.

The simulator decides when each thing happens from what it has to wait for, and remembers which of its
constraints was the last to be met. So it knows the true critical path, and can run the same program again
with something made free.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from runs import build_run, span

from regimeter import Run, _core

LATENCY, CALL, RETURN = 4_001, 1_203, 307
MAIN, SIDE, FIRST_STREAM = 0, 1, 2


@dataclass
class Node:
    """An event in time, what it waited for last, and what the time between the two went into."""

    time: int
    before: "Node | None"
    kind: str


@dataclass
class Simulation:
    """State of the simulated machine. free: kinds of cost that take no time."""

    free: frozenset[str] = frozenset()
    spans: list[dict[str, Any]] = field(default_factory=list)
    syncs: list[tuple[int, str, int, int, int]] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    at: dict[int, Node] = field(default_factory=dict)  # last event of each thread
    stream: dict[int, Node] = field(default_factory=dict)  # end of the last work of each stream
    held: dict[int, list[Node]] = field(default_factory=dict)  # work that the next of a stream waits for
    correlation: int = 0

    def cost(self, kind: str, ns: int) -> int:
        """Return what something takes."""
        return 0 if kind in self.free else ns

    def node(self, candidates: list[tuple[Node | None, int, str]], origin: int = 0) -> Node:
        """Add an event that happens when the last of its constraints (event, delay, kind) is met."""
        met = [
            (origin if before is None else before.time + delay, i) for i, (before, delay, _) in enumerate(candidates)
        ]
        time, which = max(met, key=lambda pair: (pair[0], -pair[1]))
        self.nodes.append(Node(time, candidates[which][0], candidates[which][2]))
        return self.nodes[-1]

    def span(self, kind: str, name: str, lane: int, start: Node, end: Node, correlation: int = -1) -> int:
        """Record a span."""
        row = {"kind": kind, "name": name, "lane": lane, "start": start.time, "end": end.time}
        self.spans.append(row | {"correlation": correlation})
        return len(self.spans) - 1

    def spend(self, thread: int, kind: str, ns: int) -> tuple[Node, Node]:
        """Let a thread be busy; return the events at both ends."""
        start = self.at.get(thread) or self.node([(None, 0, "outside")])
        self.at[thread] = self.node([(start, self.cost(kind, ns), kind)])
        return start, self.at[thread]

    def call(self, thread: int, name: str) -> tuple[Node, int]:
        """Make a call that does not wait; return its beginning and its correlation."""
        self.correlation += 1
        start, end = self.spend(thread, "host_runtime", CALL)
        self.span("runtime", name, thread, start, end, self.correlation)
        return start, self.correlation

    def operator(self, thread: int, ns: int) -> None:
        """Run an operator that launches nothing."""
        start, end = self.spend(thread, "host_operator", ns)
        self.span("cpu_op", "aten::op", thread, start, end)

    def pause(self, thread: int, ns: int) -> None:
        """Do something that is not recorded."""
        if thread in self.at:
            self.spend(thread, "outside", ns)

    def launch(self, thread: int, stream: int, ns: int, name: str, kind: str) -> None:
        """Launch work."""
        call, correlation = self.call(thread, "cudaLaunchKernel")
        waits: list[tuple[Node | None, int, str]] = []
        if stream in self.stream:
            waits.append((self.stream[stream], 0, "kernel_gap"))
        waits.append((call, self.cost("launch_latency", LATENCY), "launch_latency"))
        waits += [(node, 0, "dependency_wait") for node in self.held.pop(stream, [])]
        start = self.node(waits)
        end = self.node([(start, self.cost(kind, ns), kind)])
        self.span(
            "memcpy" if kind == "kernel_memory" else "kernel", name, FIRST_STREAM + stream, start, end, correlation
        )
        self.stream[stream] = end

    def synchronise(self, thread: int, stream: int | None) -> None:
        """Wait for a stream, or for all."""
        self.correlation += 1
        awaited = (
            list(self.stream.values()) if stream is None else [self.stream[stream]] if stream in self.stream else []
        )
        start = self.at.get(thread) or self.node([(None, 0, "outside")])
        back = self.cost("host_sync", RETURN)
        end = self.node([(start, back, "host_sync"), *((node, back, "host_sync") for node in awaited)])
        self.at[thread] = end
        name = "cudaDeviceSynchronize" if stream is None else "cudaStreamSynchronize"
        self.span("runtime", name, thread, start, end, self.correlation)
        row = self.span("sync", "Stream Sync", FIRST_STREAM + (stream or 0), start, end, self.correlation)
        if stream is not None:
            self.syncs.append((row, "Stream Sync", stream, -1, -1))

    def depend(self, thread: int, waiting: int, awaited: int) -> None:
        """Let the next work of one stream wait for all that another has been given."""
        _, record = self.call(thread, "cudaEventRecord")
        start, wait = self.call(thread, "cudaStreamWaitEvent")
        if awaited in self.stream:
            self.held.setdefault(waiting, []).append(self.stream[awaited])
        row = self.span("sync", "Stream Wait Event", FIRST_STREAM + waiting, start, start, wait)
        self.syncs.append((row, "Stream Wait Event", waiting, awaited, record))

    def backward(self, steps: list[tuple[Any, ...]], begin_ns: int, end_ns: int) -> None:
        """Let the side thread run steps while the main thread waits in a Python function."""
        start = self.at.get(MAIN) or self.node([(None, 0, "outside")])
        woken = self.node([(start, self.cost("host_python", begin_ns), "host_python")])
        self.at[SIDE] = woken
        for step in steps:
            self.run(SIDE, step)
        self.at[MAIN] = self.node([(self.at[SIDE], self.cost("host_python", end_ns), "host_python")])
        self.span("python", "backward", MAIN, start, self.at[MAIN])

    def run(self, thread: int, step: tuple[Any, ...]) -> None:
        """Run one step of a program."""
        getattr(self, step[0])(*(() if step[0] == "backward" else (thread,)), *step[1:])

    def path(self) -> list[tuple[int, int, str]]:
        """Return the critical path as (start, duration, kind), in order of time."""
        node: Node | None = max(self.nodes, key=lambda n: n.time)
        segments = []
        while node is not None and node.before is not None:
            if node.time > node.before.time:
                segments.append((node.before.time, node.time - node.before.time, node.kind))
            node = node.before
        merged: list[tuple[int, int, str]] = []
        for start, ns, kind in segments[::-1]:
            if kind == "outside" and merged and merged[-1][2] == kind:  # two pauses in a row are one
                merged[-1] = (merged[-1][0], merged[-1][1] + ns, kind)
            else:
                merged.append((start, ns, kind))
        return merged

    def total(self) -> int:
        """Return when the last thing ends."""
        return max((node.time for node in self.nodes), default=0)

    def trace(self) -> Run:
        """Return the trace of the simulation."""
        order = sorted(range(len(self.spans)), key=lambda i: (self.spans[i]["start"], -self.spans[i]["end"]))
        place = {old: new for new, old in enumerate(order)}
        rows = [self.spans[i] for i in order]
        spans = [
            span(r["kind"], r["name"], r["lane"], r["start"], r["end"] - r["start"], correlation=r["correlation"])
            for r in rows
        ]
        n_lanes = max(max((r["lane"] for r in rows), default=0) + 1, FIRST_STREAM)
        lanes = {"thread": [100, 101, *range(n_lanes)][:n_lanes], "device": [-1, -1, *[0] * n_lanes][:n_lanes]}
        keys = ("span", "sync", "stream", "waits_on_stream", "record_correlation")
        syncs = [dict(zip(keys, (place[row], *rest), strict=True)) for row, *rest in self.syncs]
        return build_run(spans, lanes, syncs=syncs)


def typed(tables: dict[str, dict[str, list[int]]]) -> dict[str, dict[str, np.ndarray]]:
    """Return tables of lists as tables of arrays."""
    schema = _core.schema()["run"]
    return {
        name: {
            column["name"]: np.array(cells[column["name"]], dtype=column["dtype"])
            for column in schema[name]["columns"]
            if column["name"] in cells
        }
        for name, cells in tables.items()
    }


def simulate(program: list[tuple[Any, ...]], free: frozenset[str] = frozenset()) -> Simulation:
    """Run a program."""
    simulation = Simulation(free)
    for step in program:
        simulation.run(MAIN, step)
    return simulation
