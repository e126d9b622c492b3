# SPDX-License-Identifier: Apache-2.0
"""Device time of a scope by its two events, against CUPTI's record of the one kernel in it."""

import functools
from collections.abc import Callable
from typing import Any

from .claims import Claim, at_least, at_most, physical, shown
from .common import finished, in_process, keep, kernels_by_scope, name_of, ready, spread, tracing

SLOPES = ((100_000, 1_000_000, 0.5), (1_000_000, 10_000_000, 0.2))  # shorter, longer, per cent
CYCLES = (10_000, 100_000, 1_000_000, 10_000_000)
TIMES = 40
FILL_CYCLES = 500_000
OTHERS = ("sum of vectors", "product")  # of other kinds: limited by memory, and by arithmetic


def measure() -> dict[str, Any]:
    """Time spins of four lengths; a spin before each scope keeps the host out of the interval."""
    torch = ready()
    profiler = tracing()
    for cycles in CYCLES:
        for _ in range(TIMES):
            torch.cuda._sleep(FILL_CYCLES)
            with profiler.profile(f"spin {cycles}"):
                torch.cuda._sleep(cycles)
            with profiler.profile("nothing"):
                pass
        torch.cuda.synchronize()
    for name, work in zip(OTHERS, others(torch), strict=True):
        work()
        torch.cuda.synchronize()
        for _ in range(TIMES):
            torch.cuda._sleep(FILL_CYCLES)
            with profiler.profile(name):
                work()
        torch.cuda.synchronize()
    found = rows_of(finished(profiler, torch))
    keep(found)
    return found | {"untraced_nothing_ns": in_process("event_times", "untraced", limit_s=20)}


def others(torch: Any) -> list[Callable[[], Any]]:
    """Return a kernel of each of the other kinds, into memory that is there already."""
    vector, matrix = torch.ones(1 << 25, device="cuda"), torch.ones(4096, 4096, device="cuda", dtype=torch.float16)
    places = torch.empty_like(vector), torch.empty_like(matrix)
    return [
        functools.partial(torch.add, vector, vector, out=places[0]),
        functools.partial(torch.mm, matrix, matrix, out=places[1]),
    ]


def untraced() -> list[int]:
    """Return the device times of scopes with nothing in them in a process that does not trace."""
    from regimeter import GPUProfiler

    torch = ready()
    with GPUProfiler(enable_detailed_metrics=False) as profiler:
        for _ in range(4 * TIMES):
            torch.cuda._sleep(FILL_CYCLES)
            with profiler.profile("nothing"):
                pass
        torch.cuda.synchronize()
        run = profiler.run()
    known = zip(run.tables.intervals.duration_ns.tolist(), run.tables.intervals.state.tolist(), strict=True)
    return [int(value) for value, state in known if state == 0]


def rows_of(run: Any) -> dict[str, Any]:
    """Pair each scope's device time with the kernels in it."""
    kernels = kernels_by_scope(run)
    starts, durations = run.spans.start_ns, run.spans.duration_ns
    times = {
        int(span): int(value)
        for span, value, state in zip(
            run.tables.intervals.span,
            run.tables.intervals.duration_ns.tolist(),
            run.tables.intervals.state.tolist(),
            strict=True,
        )
        if state == 0
    }
    found: dict[str, Any] = {"spins": {}, "others": {}, "nothing_ns": [], "scopes": len(times)}
    for scope, event_ns in times.items():
        name = str(name_of(run, scope))
        inside = kernels.get(scope, [])
        if name == "nothing":
            found["nothing_ns"].append(event_ns)
        elif name in OTHERS and inside:  # a library may launch more than one
            ends = [int(starts[row]) + int(durations[row]) for row in inside]
            kernels_ns = max(ends) - min(int(starts[row]) for row in inside)
            found["others"].setdefault(name, []).append([event_ns, kernels_ns])
        elif len(inside) == 1:
            found["spins"].setdefault(name.split()[1], []).append([event_ns, int(durations[inside[0]])])
    return found


def judge(found: dict[str, Any]) -> list[Claim]:
    """Within 1 µs and 1 % of the kernel, at the median of each length and at nine in ten of its scopes.

    What two events cost is a constant in each of these; the slope from one length to another is free of it.
    """
    claims = []
    for cycles in map(str, CYCLES):
        pairs = found["spins"].get(cycles, [])
        claims.append(at_least(f"scopes of {cycles} cycles with a device time and one kernel", len(pairs), TIMES))
        if not pairs:
            continue
        over = sorted(abs(event - kernel) - (1000 + 0.01 * kernel) for event, kernel in pairs)
        kernel_ns = spread(kernel for _, kernel in pairs)["median"]
        difference = spread(event - kernel for event, kernel in pairs)
        claims.append(shown(f"kernel of {cycles} cycles, median", kernel_ns, "ns"))
        claims.append(shown(f"events less kernel, {cycles} cycles", difference, "ns"))
        middle = over[len(over) // 2]
        claims.append(physical(at_most(f"median difference over 1 us + 1 %, {cycles} cycles", middle, 0, "ns")))
        tenth = over[min(len(over) - 1, 9 * len(over) // 10)]
        claims.append(physical(at_most(f"nine in ten over 1 us + 1 %, {cycles} cycles", tenth, 0, "ns")))
    for name in OTHERS:
        pairs = found["others"].get(name, [])
        claims.append(at_least(f"scopes of a {name} with a device time and kernels", len(pairs), TIMES))
        if pairs:
            middle = spread(abs(event - kernel) - (1000 + 0.01 * kernel) for event, kernel in pairs)["median"]
            claims.append(physical(at_most(f"median difference over 1 us + 1 %, {name}", middle, 0, "ns")))
            claims.append(
                shown(f"events less kernels, {name}", spread(event - kernel for event, kernel in pairs), "ns")
            )
    for shorter, longer, percent in SLOPES:
        pairs = [found["spins"].get(str(cycles), []) for cycles in (shorter, longer)]
        if all(pairs):
            low, high = ([spread(row[which] for row in rows)["median"] for which in (0, 1)] for rows in pairs)
            apart = 100 * abs((high[0] - low[0]) / (high[1] - low[1]) - 1)
            text = f"slope of events against records, {shorter} to {longer} cycles"
            claims.append(physical(at_most(text, apart, percent, "%")))
    claims.append(shown("two events with nothing between them, traced", spread(found["nothing_ns"]), "ns"))
    untraced = found.get("untraced_nothing_ns", [])
    claims.append(shown("two events with nothing between them, not traced", spread(untraced), "ns"))
    return claims
