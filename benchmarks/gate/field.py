# SPDX-License-Identifier: Apache-2.0
"""What verdicts of a few processes are worth on this machine: records usual operations, then judges what it recorded.

    python benchmarks/gate/field.py record FOLDER [--quick] [--only SECTION]
    python benchmarks/gate/field.py judge FOLDER [-o FILE]

Both can be repeated; judging reads the recordings alone. Recorded are: the same program quiet, beside three busy loops,
with a busy loop beside every second process, with the threads that BLAS takes by itself, and one call of each operation
as exported JSON; then pairs, in turn, of the program with itself and with one that does more in one operation. Wilson
intervals (95 %) take comparisons for independent; those that share a process are not quite.
"""

import argparse
import itertools
import json
import os
import random
import subprocess
import sys
import time
import timeit
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from field_work import UNITS, operations

from regimeter.compare import ChangeType, Decision, Options, decide
from regimeter.compare.ab.launches import Command, launch_in_turns
from regimeter.compare.ab.pairs import joined
from regimeter.compare.noise_floor import wilson
from regimeter.compare.side import Side
from regimeter.compare.sources import merged, side_of

HERE = Path(__file__).resolve().parent
WORK = str(HERE / "field_work.py")
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
OPERATIONS = ("product", "stream", "order", "text", "spectrum", "count", "small")
SETS = ("quiet", "load", "beside", "threads", "one")
DOUBLED, PAIRED, BUDGETED = 100, 30, 5  # per cent more work
PAIRS, BUDGET_S, RECORDED_S = 5, 60.0, 75.0  # a third more than a budget, to draw from
MILLISECOND = 1e-3  # that `text` is to take, where operations are to be small
DRAWS = 100  # of several processes, and of pairs
MOST_CALLED, MOST_FAILED = 0.05, 0.02


# --- recording ------------------------------------------------------------------------------------------------


@contextmanager
def busy(loops: int) -> Iterator[None]:
    """Let so many processes loop beside what runs within."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(loops)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def record(path: Path, *words: str, threads: bool = False) -> None:
    """Record the program into a file; JSON where the file is called so. threads: as many as BLAS takes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    recorder = [sys.executable, "-m", "regimeter", "record", "--quiet", "--interval", "0", "-o", str(path), "--", WORK]
    command = [sys.executable, WORK, "--export", str(path)] if path.suffix == ".json" else recorder
    environment = {**os.environ, **({} if threads else ONE_THREAD)}
    subprocess.run([*command, *words], env=environment, check=True, capture_output=True)


def record_quiet(folder: Path, count: int) -> None:
    """Record the program as it is and with one operation doubled, in turn."""
    for number in range(count):
        record(folder / "quiet" / f"{number:02d}.rgm")
        name = OPERATIONS[number % len(OPERATIONS)]
        record(folder / "doubled" / f"{number:02d}-{name}.rgm", "--more", f"{name}={DOUBLED}")


def record_load(folder: Path, count: int) -> None:
    """Record beside three busy loops."""
    with busy(3):
        for number in range(count):
            record(folder / "load" / f"{number:02d}.rgm")


def record_beside(folder: Path, count: int) -> None:
    """Record with a busy loop beside every second process."""
    for number in range(count):
        with busy(number % 2):
            record(folder / "beside" / f"{number:02d}.rgm")


def record_threads(folder: Path, count: int) -> None:
    """Record with as many threads as BLAS takes."""
    for number in range(count):
        record(folder / "threads" / f"{number:02d}.rgm", threads=True)


def record_one(folder: Path, count: int) -> None:
    """Record one call of each operation, as the program exports it."""
    for number in range(count):
        record(folder / "one" / f"{number:02d}.json", "--rounds", "1")


def record_alike(folder: Path, count: int) -> None:
    """Record pairs of the program with itself."""
    dice, size = random.Random(3), small()
    for number in range(2 * count):
        record_pair(folder / "alike", number, dice, size=size)


def record_pairs(folder: Path, count: int) -> None:
    """Record pairs in random order, with more work in one operation."""
    dice = random.Random(1)
    for name, number in itertools.product(("count", "product"), range(count)):
        record_pair(folder / f"pairs-{name}", number, dice, "--more", f"{name}={PAIRED}")


def record_budget(folder: Path, count: int) -> None:
    """Record pairs of small operations, with a little more work in one, for longer than a budget."""
    dice, size, start, number = random.Random(2), small(), time.monotonic(), 0
    place = folder / "budget-text"
    while time.monotonic() - start < RECORDED_S * count / 20:
        record_pair(place, number, dice, "--more", f"text={BUDGETED}", size=size)
        number += 1
    (place / "seconds.json").write_text(json.dumps((time.monotonic() - start) / number))


def small() -> float:
    """Return the part of its usual work with which `text` takes a millisecond here."""
    work = operations()["text"]
    return MILLISECOND / min(timeit.repeat(lambda: work(UNITS), number=1, repeat=50))


def record_pair(place: Path, number: int, dice: random.Random, *more: str, size: float = 1.0) -> None:
    """Record both sides of a pair, in turn as `regimeter ab` does."""
    place.mkdir(parents=True, exist_ok=True)
    usual = [WORK, "--size", str(size)]
    commands = {
        side: Command.parse([*usual, *words], **ONE_THREAD) for side, words in (("base", ()), ("current", more))
    }
    files = [str(place / f"{side}-{number:03d}.rgm") for side in commands]
    launch_in_turns(commands, files, ("--interval", "0", "--stacks", "0"), dice.randrange(2))


SECTIONS: dict[str, Callable[[Path, int], None]] = {
    "quiet": record_quiet,
    "load": record_load,
    "beside": record_beside,
    "threads": record_threads,
    "one": record_one,
    "alike": record_alike,
    "pairs": record_pairs,
    "budget": record_budget,
}


# --- judging --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Line:
    """So many of so many; wanted: the limit in words, met: whether it holds."""

    what: str
    count: int
    total: int
    wanted: str = ""
    met: bool | None = None

    def text(self) -> str:
        """Return the line of a table."""
        low, high = wilson(self.count, self.total)
        state = "" if self.met is None else "met" if self.met else "**missed**"
        share = f"{100 * self.count / max(self.total, 1):.1f} % [{100 * low:.1f}, {100 * high:.1f}]"
        return f"| {self.what} | {self.count} of {self.total} | {share} | {self.wanted} | {state} |"


def at_most(what: str, count: int, total: int, limit: float) -> Line:
    """Return the line of what is to be rare."""
    return Line(what, count, total, f"at most {100 * limit:g} %", total > 0 and count / total <= limit)


def at_least(what: str, count: int, total: int, limit: float) -> Line:
    """Return the line of what is to be usual."""
    return Line(what, count, total, f"at least {100 * limit:g} %", total > 0 and count / total >= limit)


def sides_in(folder: Path) -> list[tuple[str, Side]]:
    """Return name and side of each recording of a folder, [] without one."""
    files = sorted((*folder.glob("*.rgm"), *folder.glob("[0-9]*.json")))
    return [(path.stem, side_of(str(path), path.stem)) for path in files]


def called(decision: Decision) -> set[str]:
    """Return what a decision calls changed: operations, and the whole."""
    return {row.operation for row in (*decision.comparisons, *decision.wholes) if row.is_significant}


def same(what: str, pairs: Iterable[tuple[Side, Side]]) -> list[Line]:
    """Return how often one program is called changed, and fails."""
    found = [decide(before, after) for before, after in pairs]
    verdicts, failed = sum(bool(called(one)) for one in found), sum(one.exit_code == 1 for one in found)
    return [
        at_most(f"{what}: any verdict", verdicts, len(found), MOST_CALLED),
        at_most(f"{what}: exit code 1", failed, len(found), MOST_FAILED),
    ]


def drawn(sides: Sequence[Side], before: int, after: int) -> Iterator[tuple[Side, Side]]:
    """Yield draws of so many processes a side."""
    dice = random.Random(before * 100 + after)
    for _ in range(DRAWS if len(sides) >= before + after else 0):
        chosen = dice.sample(list(sides), before + after)
        yield merged(chosen[:before], "baseline"), merged(chosen[before:], "current")


def judge_same(folder: Path) -> list[Line]:
    """Judge the sets of one program."""
    lines = []
    for name in SETS:
        sides = [side for _, side in sides_in(folder / name)]
        if not sides:
            continue
        lines += same(f"{name}, 1 against 1", itertools.permutations(sides, 2))
        for before, after in ((5, 1), (2, 2)):
            lines += same(f"{name}, {before} against {after}", drawn(sides, before, after))
    return lines


def judge_doubled(folder: Path) -> list[Line]:
    """Judge single files of which one does twice the work in one operation."""
    quiet = [side for _, side in sides_in(folder / "quiet")]
    found = others = total = 0
    for name, after in sides_in(folder / "doubled"):
        operation = name.partition("-")[2]
        for before in quiet:
            decision = decide(before, after)
            total += 1
            found += is_regression(decision, operation)
            others += bool(called(decision) - {operation})
    if not total:
        return []
    return [
        at_least("twice the work in one operation, single files, quiet: called", found, total, 0.8),
        at_most("the same: any other row called", others, total, MOST_CALLED),
    ]


def is_regression(decision: Decision, operation: str) -> bool:
    """Whether an operation is called a regression."""
    return any(row.operation == operation and row.change_type is ChangeType.REGRESSION for row in decision.comparisons)


def pairs_in(place: Path) -> list[tuple[Side, Side]]:
    """Return the pairs of a folder."""
    return [
        (side_of(str(path), "baseline"), side_of(str(path).replace("base-", "current-"), "current"))
        for path in sorted(place.glob("base-*.rgm"))
    ]


def judge_alike(folder: Path) -> list[Line]:
    """Judge draws of pairs of the program with itself."""
    both, lines = pairs_in(folder / "alike"), []
    for pairs in (PAIRS, 2 * PAIRS):
        if len(both) < 2 * pairs:
            continue
        dice = random.Random(pairs)
        found = [decide(*joined(dice.sample(both, pairs)), Options(paired=True)) for _ in range(DRAWS)]
        what = f"the same program, {pairs} of {len(both)} pairs in turn"
        lines += [
            at_most(f"{what}: any verdict", sum(bool(called(one)) for one in found), DRAWS, MOST_CALLED),
            at_most(f"{what}: exit code 1", sum(one.exit_code == 1 for one in found), DRAWS, MOST_FAILED),
        ]
    return lines


def judge_pairs(place: Path, operation: str, percent: int, pairs: int, least: float) -> list[Line]:
    """Judge draws of so many of the pairs of a folder."""
    both = pairs_in(place)
    if len(both) < pairs:
        return []
    dice, found, others = random.Random(pairs), 0, 0
    for _ in range(DRAWS):
        decision = decide(*joined(dice.sample(both, pairs)), Options(paired=True))
        found += is_regression(decision, operation)
        others += bool(called(decision) - {operation, "total time of a round", "total time"})
    what = f"{percent} % more work in `{operation}`, {pairs} of {len(both)} pairs"
    return [
        at_least(f"{what}: called", found, DRAWS, least),
        at_most(f"{what}: another operation called", others, DRAWS, MOST_CALLED),
    ]


def judge(folder: Path) -> list[Line]:
    """Judge what is recorded in a folder."""
    lines = [*judge_same(folder), *judge_doubled(folder), *judge_alike(folder)]
    for place in sorted(folder.glob("pairs-*")):
        lines += judge_pairs(place, place.name.split("-")[1], PAIRED, PAIRS, 0.9)
    for place in sorted(folder.glob("budget-*")):
        pairs = int(BUDGET_S / json.loads((place / "seconds.json").read_text()))
        lines += judge_pairs(place, place.name.split("-")[1], BUDGETED, pairs, 0.8)
    return lines


def main() -> int:
    """Record or judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("record", "judge"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quick", action="store_true", help="eight processes a set instead of twenty")
    parser.add_argument("--only", choices=tuple(SECTIONS), action="append", help="sections to record, repeatable")
    parser.add_argument("-o", "--output", type=Path, help="write the table there, too")
    arguments = parser.parse_args()
    if arguments.action == "record":
        for name in arguments.only or SECTIONS:
            start = time.monotonic()
            SECTIONS[name](arguments.folder, 8 if arguments.quick else 20)
            print(f"{name}: {time.monotonic() - start:.0f} s", file=sys.stderr)
        return 0
    lines = judge(arguments.folder)
    text = "\n".join(["| what | count | share | target | |", "|---|---|---|---|---|", *(line.text() for line in lines)])
    print(text)
    if arguments.output:
        arguments.output.write_text(text + "\n")
    return 1 if any(line.met is False for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
