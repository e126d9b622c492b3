# SPDX-License-Identifier: Apache-2.0
"""Counts of instructions: how they repeat, what is called of the same program, and whether 1 % more work is found.

python benchmarks/gate/counts.py [--quick]: records `counts_work.py` REPEATS times in each layout, unchanged and with
1 % more work in every other operation, and compares recordings that are drawn of these, COMPARISONS times.
"""

import argparse
import os
import random
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

from counts_work import FUNCTIONS, WORKLOADS, having_more

from regimeter.compare.ab.launches import Command, launch
from regimeter.compare.decide import Decision, decide
from regimeter.compare.side import Side
from regimeter.compare.sources import merged, process_side
from regimeter.system import callgrind

HERE = Path(__file__).resolve().parent
NAMES = [*WORKLOADS, *(function.__name__ for function in FUNCTIONS)]
VARIANTS = ("none", "even", "odd")
COMPARISONS = 50
Recordings = dict[tuple[str, int], list[Side]]


def main() -> None:
    """Record, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two repeats in place of four")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="recordings at a time")
    arguments = parser.parse_args()
    repeats = 2 if arguments.quick else 4
    begin = time.monotonic()
    found = record(repeats, arguments.jobs)
    seconds = time.monotonic() - begin
    dice = random.Random(1)
    count = len(VARIANTS) * callgrind.LAYOUTS * repeats
    print(f"valgrind {callgrind.version()}, {callgrind.LAYOUTS} layouts, {repeats} recordings of each variant in each:")
    print(f"{count} recordings in {seconds:.0f} s ({seconds * arguments.jobs / count:.1f} s each)")
    print(f"\n{'operation':<24}{'instructions':>14}{'repeats within':>16}{'layouts within':>16}"
          f"{'same called':>13}{'1 % found':>11}{'others called':>15}  change at 1 %")  # fmt: skip
    same = [compare(found, "none", dice) for _ in range(COMPARISONS)]
    changed = {more: [compare(found, more, dice) for _ in range(COMPARISONS)] for more in VARIANTS[1:]}
    for name in NAMES:
        more = "even" if name in having_more(NAMES, "even") else "odd"
        other = "odd" if more == "even" else "even"
        values = [[value_of(side, name) for side in found["none", layout]] for layout in layouts()]
        middle = [median(one) for one in values]
        within = max((max(one) - min(one)) / min(one) for one in values)
        changes = [row_of(one, name).change_percent or 0.0 for one in changed[more]]
        print(
            f"{name:<24}{median(middle):>14,.0f}{100 * within:>14.3f} %"
            f"{100 * (max(middle) - min(middle)) / min(middle):>14.3f} %"
            f"{called(same, name):>13}{called(changed[more], name, up=True):>11}{called(changed[other], name):>15}"
            f"  {min(changes):+.2f} to {max(changes):+.2f} %"
        )
    alarms = sum(any(row.is_significant for row in one.comparisons) for one in same)
    missed = sum(
        not row_of(one, name).is_significant for more in VARIANTS[1:] for one in changed[more]
        for name in having_more(NAMES, more)
    )  # fmt: skip
    print(f"\ncomparisons of the same program with any operation called: {alarms} of {COMPARISONS} (at most 0)")
    print(f"operations with 1 % more work not found: {missed} of {len(NAMES) * COMPARISONS} (at most 0)")


def layouts() -> range:
    """Return the numbers of the layouts."""
    return range(1, callgrind.LAYOUTS + 1)


def record(repeats: int, jobs: int) -> Recordings:
    """Run the program in each variant and layout; return what each recording measured."""
    plan = [(more, layout) for _ in range(repeats) for layout in layouts() for more in VARIANTS]
    found: Recordings = {}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:

        def one(task: tuple[int, tuple[str, int]]) -> Side:
            number, (more, layout) = task
            file = os.path.join(folder, f"{number:03d}.rgm")
            command = Command.parse([str(HERE / "counts_work.py"), more])
            launch(command, file, "--count", "instructions", "--layout", str(layout))
            print(f"\r{number + 1} of {len(plan)}", end="", file=sys.stderr)
            return process_side(file, "run")

        for key, side in zip(plan, pool.map(one, enumerate(plan)), strict=True):
            found.setdefault(key, []).append(side)
    print(file=sys.stderr)
    return found


def compare(found: Recordings, more: str, dice: random.Random) -> Decision:
    """Compare the program with a variant, of each layout one recording a side that is drawn."""
    sides: tuple[list[Side], list[Side]] = ([], [])
    for layout in layouts():
        before, after = dice.sample(found["none", layout], 2)
        sides[0].append(before)
        sides[1].append(after if more == "none" else dice.choice(found[more, layout]))
    return decide(merged(sides[0], "baseline"), merged(sides[1], "current"))


def row_of(made: Decision, name: str):  # type: ignore[no-untyped-def]
    """Return the row of an operation."""
    return next(row for row in made.comparisons if row.operation == name)


def value_of(side: Side, name: str) -> float:
    """Return what a recording counted of an operation."""
    return float(side.metrics["instructions"].launches[name][0][0])


def called(made: list[Decision], name: str, *, up: bool = False) -> str:
    """Return in how many comparisons an operation was called changed, or slower."""
    rows = [row_of(one, name) for one in made]
    return f"{sum(row.is_significant and (not up or (row.change_percent or 0) > 0) for row in rows)} of {len(rows)}"


if __name__ == "__main__":
    main()
