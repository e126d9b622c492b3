# SPDX-License-Identifier: Apache-2.0
"""Does a budget hold the own cost while the load changes by 100 x? ``python benchmarks/monitor_budget.py [--json]``.

A program has 200 scopes a second, then 20,000, then 200, each for so many seconds, with everything on: stacks at
100 Hz, memory at begin and end of each scope, the resident set each millisecond. Once without a budget (100 %, which
is never reached) and once with it, each in a process of its own. Shown is the stated cost (`Run.cost` without what
starting took), the shares of the last third of each phase as the governor measured them, and how often it changed a
rate. Above it: what leaving a scope out would save, which is why no scope is left out.
"""

import argparse
import json
import statistics
import sys
import time
from typing import Any

import bursts

RATES = (200, 20_000, 200)
BUDGET = "0.5%"


def phase(profiler: Any, rate: int, seconds: float) -> int:
    """Run scopes at a rate; return how many."""
    begun, count = time.perf_counter(), 0
    while (now := time.perf_counter() - begun) < seconds:
        while count < now * rate:
            with profiler.profile("work", device="cpu"):
                count += 1
        time.sleep(0.002)
    return count


def run_case(budget: str | None, seconds: float) -> dict[str, Any]:
    """Run all phases in one recording."""
    import regimeter

    # Without a budget nothing is measured each second: one that is never reached does the same.
    profiler = regimeter.GPUProfiler(budget=budget or "100%", track_memory=True, stacks=True)
    ends, scopes = [], 0
    for rate in RATES:
        scopes += phase(profiler, rate, seconds)
        ends.append(time.monotonic_ns())
    profiler.close()
    run = profiler.run()
    counters = run.tables.counters
    names = [run.strings[int(at)] for at in counters.series]
    looks = [
        (t, v) for t, v, n in zip(counters.time_ns, counters.value, names, strict=True) if n.endswith("cost_share")
    ]
    late = [[float(v) for t, v in looks if end - seconds * 1e9 / 3 <= t <= end] for end in ends]
    return {
        "budget": budget or "none",
        "scopes": scopes,
        "recorded": len(run.spans),
        "share": run.cost["share"],
        "phases": [statistics.mean(values) if values else None for values in late],
        "changes": sum(name.endswith("_one_in") for name in names),
    }


def left_out() -> dict[str, float]:
    """Return nanoseconds of a scope that is recorded, and of one that sampling leaves out (all but one in 1,000)."""
    import regimeter

    body = 'with profile("work", device="cpu"):\n    pass'
    with regimeter.GPUProfiler() as every, regimeter.GPUProfiler(sample_rate=0.001) as few:
        loops = {
            "recorded": bursts.loop(body, profile=every.profile),
            "left_out": bursts.loop(body, profile=few.profile),
        }
        return bursts.minima({"empty loop": bursts.loop("pass"), **loops})


def main() -> int:
    """Print a row a budget; 1 where a scope is missing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=30.0, help="of each phase (default: 30)")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--case", choices=("none", BUDGET), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.case is not None:
        print(json.dumps(run_case(None if given.case == "none" else given.case, given.seconds)))
        return 0
    rows = [
        bursts.child("monitor_budget.py", "--case", case, "--seconds", str(given.seconds)) for case in ("none", BUDGET)
    ]
    scope = left_out()
    if given.json:
        print(json.dumps({"machine": bursts.machine(), "scope_ns": scope, "rows": rows}))
    else:
        print(bursts.machine())
        print(f"a scope: {scope['recorded']:.0f} ns recorded, {scope['left_out']:.0f} ns left out")
        print(bursts.table([_cells(row) for row in rows], HEADER))
    return 0 if all(row.get("scopes") == row.get("recorded", -1) for row in rows) else 1


HEADER = ("budget", "scopes", "recorded", "stated cost", *(f"at {rate:,}/s" for rate in RATES), "changes")


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    shares = [row["share"], *row["phases"]]
    return (
        row["budget"],
        f"{row['scopes']:,}",
        f"{row['recorded']:,}",
        *("n/a" if share is None else f"{100 * share:.2f} %" for share in shares),
        str(row["changes"]),
    )


if __name__ == "__main__":
    sys.exit(main())
