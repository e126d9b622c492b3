# SPDX-License-Identifier: Apache-2.0
"""Is what the profiler states as its own cost what it costs? ``python benchmarks/own_cost.py [--quick] [--json]``.

Each program runs with and without the profiler in pairs of random order, in a process of its own, from before the
profiler is made until it is closed. Measured are two differences, which enclose the cost: processor time of the whole
process, all threads (it leaves out what makes the program wait), and elapsed time (it leaves out threads that run
beside the program, and on a busy machine counts others' turns). Stated is `Run.cost["total_ns"]`. A row agrees when
stated lies within 25 % or 1 us a scope of what the 95 % intervals of the two medians enclose; the intervals say how
much that proves.
"""

import argparse
import gc
import json
import os
import random
import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from time import perf_counter_ns, process_time_ns
from typing import Any

import bursts

PAIRS, QUICK_PAIRS = 25, 7
RELATIVE, PER_SCOPE_NS = 0.25, 1000.0


@dataclass(frozen=True, slots=True)
class Case:
    """A program: scopes, the work in each (turns of an empty loop), names, and options of the profiler."""

    title: str
    scopes: int
    turns: int = 0
    names: int = 1
    step: int = 0  # scopes in one scope around them, 0 for none
    track_memory: bool = False
    torch: bool = False
    journal: bool = False
    forks: int = 0


CASES = (
    Case("empty scopes (5 ns of work)", 200_000),
    Case("1 us of work", 50_000, turns=40),
    Case("50 us of work, 20 names", 4_000, turns=2_000, names=20),
    Case("5 ms of work, 5 names", 40, turns=200_000, names=5),
    Case("six blocks in a step", 12_000, turns=400, names=6, step=6),
    Case("100 names", 20_000, turns=40, names=100),
    Case("10,000 names", 10_000, turns=40, names=10_000),
    Case("100,000 names", 100_000, names=100_000),
    Case("memory tracked", 5_000, turns=400, names=5, track_memory=True),
    Case("to a file", 100_000, names=20, journal=True),
    Case("20 forks", 2_000, turns=40, forks=20),
    Case("torch: additions", 5_000, names=5, torch=True),
    Case("torch: additions, memory tracked", 3_000, names=5, torch=True, track_memory=True),
)


def work_of(case: Case) -> Callable[[], object]:
    """Return what stands in each scope."""
    if case.torch:
        import torch

        torch.set_num_threads(1)
        values = torch.ones(4096)
        return lambda: values + values

    def turn(turns: int = case.turns) -> None:
        for _ in range(turns):
            pass

    return turn


def without(case: Case, work: Callable[[], object], names: list[str]) -> None:
    """Run the program as it is without scopes."""
    for number in range(case.scopes):
        names[number % case.names]
        work()
        if case.forks and number % (case.scopes // case.forks) == 0:
            _fork()


def with_scopes(case: Case, work: Callable[[], object], names: list[str], path: str | None) -> tuple[int, Any]:
    """Run the program in scopes; return when it had ended (elapsed and processor time) and its run."""
    import regimeter

    profiler = regimeter.GPUProfiler(track_memory=case.track_memory, path=path)
    if case.step:
        for first in range(0, case.scopes, case.step):
            with profiler.profile("step"):
                for number in range(first, first + case.step):
                    with profiler.profile(names[number % case.names]):
                        work()
    else:
        for number in range(case.scopes):
            with profiler.profile(names[number % case.names]):
                work()
            if case.forks and number % (case.scopes // case.forks) == 0:
                _fork()
    profiler.close()
    return perf_counter_ns(), (process_time_ns(), profiler.run())


def _fork() -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def pair(case: Case, work: Callable[[], object], scoped_first: bool, folder: str) -> tuple[float, float, float]:
    """Return what one pair came to in ns: difference in processor time, in elapsed time, and what was stated."""
    spent: dict[bool, tuple[int, int]] = {}
    stated = 0.0
    for scoped in (scoped_first, not scoped_first):
        # Fresh strings: the cache of names knows them by address.
        names = [f"operation {number}" for number in range(case.names)]
        path = os.path.join(folder, "run.rgm") if case.journal else None
        gc.collect()
        elapsed, used = perf_counter_ns(), process_time_ns()
        if scoped:
            ended, (ended_used, run) = with_scopes(case, work, names, path)
            stated = run.cost["total_ns"]
            del run
        else:
            without(case, work, names)
            ended, ended_used = perf_counter_ns(), process_time_ns()
        spent[scoped] = (ended_used - used, ended - elapsed)
    return spent[True][0] - spent[False][0], spent[True][1] - spent[False][1], stated


def interval(values: list[float]) -> tuple[float, float]:
    """Return the 95 % interval of the median by order statistics (the widest possible for fewer than six values)."""
    ordered, count = sorted(values), len(values)
    below = max(0, int(count / 2 - 0.98 * count**0.5))
    return ordered[below], ordered[count - 1 - below]


def run_case(case: Case, pairs: int) -> dict[str, Any]:
    """Measure one program."""
    work, choice = work_of(case), random.Random(case.title)
    with tempfile.TemporaryDirectory() as folder:
        pair(case, work, True, folder)  # what only the first run of a process pays
        found = [pair(case, work, choice.random() < 0.5, folder) for _ in range(pairs)]
    measured, elapsed, stated = ([row[at] for row in found] for at in range(3))
    both = [interval(measured), interval(elapsed)]
    low, high = min(one[0] for one in both), max(one[1] for one in both)
    middle = statistics.median(stated)
    least = min(statistics.median(measured), statistics.median(elapsed))
    room = max(RELATIVE * least, PER_SCOPE_NS * case.scopes)
    return asdict(case) | {
        "pairs": pairs,
        "processor_ns": statistics.median(measured),
        "elapsed_ns": statistics.median(elapsed),
        "low_ns": low,
        "high_ns": high,
        "stated_ns": middle,
        "agrees": low - room <= middle <= high + room,
    }


def main() -> int:
    """Print a row a program."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_PAIRS} pairs a program instead of {PAIRS}")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--case", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    pairs = QUICK_PAIRS if given.quick else PAIRS
    if given.case is not None:
        print(json.dumps(run_case(CASES[given.case], pairs)))
        return 0
    options = ["--quick"] if given.quick else []
    rows = [bursts.child("own_cost.py", "--case", str(number), *options) for number in range(len(CASES))]
    if given.json:
        print(json.dumps({"machine": bursts.machine(), "rows": rows}))
        return 0
    print(bursts.machine())
    print(bursts.table([_cells(case, row) for case, row in zip(CASES, rows, strict=True)], HEADER))
    return 0 if all(row.get("agrees") for row in rows) else 1


HEADER = ("program", "scopes", "processor time", "elapsed", "95 % intervals", "stated", "a scope", "agrees")


def _cells(case: Case, row: dict[str, Any]) -> tuple[str, ...]:
    if "error" in row:
        return (case.title, f"{case.scopes:,}", row["error"], "", "", "", "", "no")
    return (
        case.title,
        f"{case.scopes:,}",
        _ms(row["processor_ns"]),
        _ms(row["elapsed_ns"]),
        f"{_ms(row['low_ns'])} to {_ms(row['high_ns'])}",
        _ms(row["stated_ns"]),
        f"{row['stated_ns'] / case.scopes:,.0f} ns",
        "yes" if row["agrees"] else "NO",
    )


def _ms(ns: float) -> str:
    return f"{ns / 1e6:,.2f} ms"


if __name__ == "__main__":
    sys.exit(main())
