# SPDX-License-Identifier: Apache-2.0
"""Several streams: each has its lane, scopes have the device time of their own stream, and kernels overlap.

What a scope's device time holds beside its kernel is a constant only where the stream has something to do while the
host launches: two events cost some microseconds (event_times). On a stream that is idle the first event passes at
once, and the time that the host needs for the launch is in the interval too. So it was in the first run (H200,
2026-11-27), whose spins of 0.1 to 0.4 ms followed a synchronisation: 7.5 to 10 us beside the spin, and 30 us in the
scope that was the first of its round, which made the shortest spin 27 % too long. That is the upper bound that device
times are (docs/gpu/events.md). Here a spin before each scope keeps the host out, as in event_times, and what is left
is in all lengths alike: the claim is about the differences between them, which are free of it.
"""

import itertools
from typing import Any

from .claims import Claim, at_most, equal, physical, shown
from .common import finished, kernel_rows, name_of, ready, spread, tracing

STREAMS = 4
ROUNDS = 10
FILL_CYCLES = 500_000


def measure() -> dict[str, Any]:
    """Run spins of different lengths in streams side by side, each behind another one in its stream."""
    torch = ready()
    streams = [torch.cuda.Stream() for _ in range(STREAMS)]
    profiler = tracing()
    for _ in range(ROUNDS):
        for number, stream in enumerate(streams):
            with torch.cuda.stream(stream):
                torch.cuda._sleep(FILL_CYCLES)
                with profiler.profile(f"stream {number}"):
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
        "device_ns": device_ns(run),
        "overlapping": overlapping,
    }


def device_ns(run: Any) -> list[float | None]:
    """Return the median device time of the scopes in each stream, None for a stream without."""
    known: dict[str | None, list[int]] = {}
    intervals = run.tables.intervals
    for span, value, state in zip(
        intervals.span.tolist(), intervals.duration_ns.tolist(), intervals.state.tolist(), strict=True
    ):
        if state == 0:
            known.setdefault(name_of(run, span), []).append(value)
    return [spread(known.get(f"stream {number}", [])).get("median") for number in range(STREAMS)]


def judge(found: dict[str, Any]) -> list[Claim]:
    """A lane a stream; as much longer a spin is, as much longer is its scope."""
    claims = [
        equal("kernels on each lane", found["lanes"], [2 * ROUNDS] * STREAMS),
        equal("events were recorded in the streams of the work", found["streams_known"], True),
        equal("scopes with a device time", found["timed"], [ROUNDS] * STREAMS),
        shown("kernels that overlap the next", found["overlapping"]),
    ]
    times = found["device_ns"]
    if all(times):
        step = (times[-1] - times[0]) / (STREAMS - 1)
        worst = max(abs((after - before) / step - 1) for before, after in itertools.pairwise(times))
        beside = [value - (number + 1) * step for number, value in enumerate(times)]
        claims.append(physical(at_most("from each length to the next, as much more time", 100 * worst, 5, "%")))
        claims.append(shown("what is in each beside the spin", beside, "ns"))
    return claims
