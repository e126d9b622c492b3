# SPDX-License-Identifier: Apache-2.0
"""The nine workloads: our C backends beside NumPy and torch, at the documented sizes.

``python benchmarks/workloads.py [--rounds N] [--kernel NAME ...] [--json]``. Rounds alternate over the backends, so
that all of them see the same disturbances; what is compared is the shortest time of each, of the kernel alone and of
the host call. A ratio above 1 is a C backend that is faster.
"""

import argparse
import json
import sys
from typing import Any

from regimeter.system.processors import cpu_model
from regimeter.workloads.backend import Request
from regimeter.workloads.backends import find
from regimeter.workloads.catalog import Workload, choose

# Column -> backend and threads; 0 is as many as pay.
SIDES = {
    "c": ("c", 0),
    "c, 1 thread": ("c", 1),
    "portable": ("portable", 1),
    "numpy": ("numpy", 0),
    "torch": ("torch", 0),
}
OWN, PEERS = "c", ("numpy", "torch")
ITERATIONS = 20


def measure(workload: Workload, side: str) -> dict[str, float] | str:
    """Return the shortest kernel and host call in microseconds, or why there is none."""
    from regimeter import UnavailableError

    backend, threads = SIDES[side]
    request = Request(warmup=3, iterations=ITERATIONS, calls=ITERATIONS, threads=threads)
    try:
        found = find(backend).measure(workload, workload.sizes(), request)
    except UnavailableError as error:
        return str(error)
    assert found.kernel is not None
    assert found.host_call is not None
    return {"kernel": found.kernel.min_ns / 1e3, "host_call": found.host_call.min_ns / 1e3}


def best_of(workload: Workload, rounds: int) -> dict[str, Any]:
    """Return the best of some rounds for each side."""
    best: dict[str, Any] = {}
    for _ in range(rounds):
        for side in SIDES:
            found = measure(workload, side)
            known = best.get(side)
            if isinstance(found, str) or known is None:
                best[side] = found
            else:
                best[side] = {what: min(value, known[what]) for what, value in found.items()}
    return best


def show(rows: dict[str, dict[str, Any]], what: str) -> None:
    """Print one table."""
    header = ["workload", *(f"{side} us" for side in SIDES), *(f"{peer} / c" for peer in PEERS)]
    lines = [header]
    for name, best in rows.items():
        values = [best[side][what] if isinstance(best[side], dict) else None for side in SIDES]
        times = dict(zip(SIDES, values, strict=True))
        ratios = [times[peer] / times[OWN] if times[peer] is not None else None for peer in PEERS]
        shown = ["n/a" if value is None else f"{value:,.2f}" for value in (*values, *ratios)]
        lines.append([name, *shown])
    widths = [max(len(line[at]) for line in lines) for at in range(len(header))]
    print(f"{what.replace('_', ' ')}: shortest time")
    for line in lines:
        print("  ".join([line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))]))
    print()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--kernel", nargs="+")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rows = {workload.name: best_of(workload, arguments.rounds) for workload in choose(arguments.kernel)}
    if arguments.json:
        json.dump({"cpu": cpu_model(), "rounds": arguments.rounds, "rows": rows}, sys.stdout, indent=1)
        return 0
    print(f"{cpu_model()}; {arguments.rounds} rounds of {ITERATIONS}; ratios of minima")
    for what in ("kernel", "host_call"):
        show(rows, what)
    return 0


if __name__ == "__main__":
    sys.exit(main())
