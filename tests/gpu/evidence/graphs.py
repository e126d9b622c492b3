# SPDX-License-Identifier: Apache-2.0
"""CUDA graphs: a capture stays intact, a replay belongs to its scope, nodes to the scopes of their graph's capture."""

import time
from typing import Any

from .claims import Claim, at_least, equal, physical, shown
from .common import anomalies, finished, in_process, name_of, ready, scope_of, tracing

REPLAYS = 20
HELD_SECONDS = 1.3  # that a capture stays open: two flushes of CUPTI's buffers
HELD_CYCLES = 2_000_000_000  # of a kernel beside it, about as long


def traced(nodes: int) -> dict[str, Any]:
    """Capture two kernels in two scopes and one in another graph, replay both in turn, and tell what the run says."""
    torch = ready()
    x = torch.randn(512, 512, device="cuda")
    y = torch.zeros_like(x)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):  # what the libraries do at their first call may not be captured
        torch.mm(x, x, out=y).relu_()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    profiler = tracing(profile_kernels={"graph_nodes": nodes})
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="global"):
        # Begun here, because torch waits for all that was before a capture: pending while events are asked for and
        # CUPTI's buffers are flushed, which must not spoil the capture.
        with torch.cuda.stream(side), profiler.profile("beside"):
            torch.cuda._sleep(HELD_CYCLES)
        with profiler.profile("product"):
            torch.mm(x, x, out=y)
        time.sleep(HELD_SECONDS)
        with profiler.profile("bend"):
            y.relu_()
    other, z = torch.cuda.CUDAGraph(), torch.empty_like(x)
    with torch.cuda.graph(other), profiler.profile("sum"):
        torch.add(x, x, out=z)
    y.zero_()
    for _ in range(REPLAYS):
        with profiler.profile("replay"):
            graph.replay()
        with profiler.profile("replay of another"):
            other.replay()
    torch.cuda.synchronize()
    right = bool(torch.equal(y, torch.mm(x, x).relu_()))
    run = finished(profiler, torch)
    rows = [i for i in range(len(run.tables.launches)) if run.tables.launches.graph[i] >= 0]
    replayed = [name_of(run, scope_of(run, int(run.spans.launch[run.tables.launches.span[i]]))) for i in rows]
    captured = [name_of(run, scope_of(run, int(run.tables.launches.capture[i]))) for i in rows]
    entries = {entry.operation: entry for entry in run.get_entries()}
    return {
        "right": right,
        "rows": len(rows),
        "replayed": {str(name): replayed.count(name) for name in set(replayed)},
        "captured": {
            str(replay): sorted({str(name) for name, by in zip(captured, replayed, strict=True) if by == replay})
            for replay in set(replayed)
        },
        "captured_scope": entries["product"].unavailable.get("gpu_time_ms"),
        "replay_ms": entries["replay"].gpu_time_ms,
        "beside_ms": entries["beside"].gpu_time_ms,
        "anomalies": anomalies(run),
    }


def measure() -> dict[str, Any]:
    """Trace graphs as wholes and by node."""
    return {str(nodes): in_process("graphs", "traced", nodes, limit_s=40) for nodes in (0, 1)}


def judge(found: dict[str, Any]) -> list[Claim]:
    """Right results, every row under its replay, and with nodes each under its scope of the capture."""
    claims = []
    for nodes, row in found.items():
        label = "by node" if nodes == "1" else "as a whole"
        claims += [
            physical(equal(f"{label}: the replay computes what it should", row["right"], True)),
            equal(f"{label}: scopes that replays belong to", sorted(row["replayed"]), ["replay", "replay of another"]),
            shown(f"{label}: reason of the captured scope", row["captured_scope"]),
            equal(f"{label}: the captured scope says so", "captur" in (row["captured_scope"] or ""), True),
            equal(
                f"{label}: device time of scopes outside the capture", bool(row["replay_ms"] and row["beside_ms"]), True
            ),
            equal(f"{label}: kernels of unknown launch", row["anomalies"].get("orphan_kernels", 0), 0),
        ]
        if nodes == "1":
            made = {"replay": ["bend", "product"], "replay of another": ["sum"]}
            claims.append(at_least("by node: rows", row["rows"], 3 * REPLAYS))
            claims.append(equal("by node: scopes of the captures, by replay", row["captured"], made))
        else:
            claims.append(equal("as a whole: rows", row["rows"], 2 * REPLAYS))
    return claims
