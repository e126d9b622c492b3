# SPDX-License-Identifier: Apache-2.0
"""Several streams: each has its lane, scopes have the device time of their own stream, and kernels overlap."""

import itertools
from typing import Any

from .claims import Claim, at_most, equal, physical, shown
from .common import finished, kernel_rows, ready, tracing

STREAMS = 4
ROUNDS = 20


def measure() -> dict[str, Any]:
    """Run spins of different lengths in streams side by side."""
    torch = ready()
    streams = [torch.cuda.Stream() for _ in range(STREAMS)]
    profiler = tracing()
    for _ in range(ROUNDS):
        for number, stream in enumerate(streams):
            with torch.cuda.stream(stream), profiler.profile(f"stream {number}"):
                torch.cuda._sleep(200_000 * (number + 1))
        torch.cuda.synchronize()
    handles = [stream.cuda_stream for stream in streams]
    run = finished(profiler, torch)
    lanes: dict[int, int] = {}
    for row in kernel_rows(run):
        lanes[int(run.spans.lane[row])] = lanes.get(int(run.spans.lane[row]), 0) + 1
    summary = run.get_summary()
    times = sorted((int(run.spans.start_ns[r]), int(run.spans.duration_ns[r])) for r in kernel_rows(run))
    overlapping = sum(a[0] + a[1] > b[0] for a, b in itertools.pairwise(times))
    return {
        "lanes": sorted(lanes.values()),
        "streams_known": sorted(handles) == sorted(set(run.tables.intervals.stream.tolist())),
        "timed": [summary[f"stream {n}"].gpu_calls for n in range(STREAMS)],
        "device_ms": [summary[f"stream {n}"].total_gpu_time_ms for n in range(STREAMS)],
        "overlapping": overlapping,
    }


def judge(found: dict[str, Any]) -> list[Claim]:
    """A lane a stream; the longer the spin, the longer the scope."""
    claims = [
        equal("kernels on each lane", found["lanes"], [ROUNDS] * STREAMS),
        equal("events were recorded in the streams of the work", found["streams_known"], True),
        equal("scopes with a device time", found["timed"], [ROUNDS] * STREAMS),
        shown("kernels that overlap the next", found["overlapping"]),
    ]
    times = found["device_ms"]
    if all(times):
        worst = max(abs(value / times[-1] * STREAMS / (n + 1) - 1) for n, value in enumerate(times))
        claims.append(physical(at_most("device times against the lengths of the spins", 100 * worst, 20, "%")))
    return claims
