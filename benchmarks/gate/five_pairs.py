# SPDX-License-Identifier: Apache-2.0
"""Five pairs of a program against itself, launched for real: how often the rule errs with so few.

    python benchmarks/gate/five_pairs.py                      simulated reports of 1 to 200 operations
    python benchmarks/gate/five_pairs.py --real 300           and 300 pairs of demo/steps.py, 60 experiments of five

The simulated machines are those of models.py, and the same with a state that is forgotten from launch to launch (memory
.3), so that pairs share little. An experiment errs when any of its operations is called changed.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(HERE))

import models  # noqa: E402
import numpy as np  # noqa: E402
import suites  # noqa: E402

PAIRS, SAMPLES, SEED = 5, 4, 5
OPERATIONS = (1, 5, 12, 30, 200)
FORGETFUL = 0.3
PROGRAM = HERE.parent.parent / "demo" / "steps.py"


def simulate(count: int, seed: int) -> None:
    """Print how often a report without a change errs."""
    print(
        f"{count} reports a row, {PAIRS} pairs x {SAMPLES} samples, seed {seed}; SE of 5 %: {(4.75 / count) ** 0.5:.1%}"
    )
    print(f"{'machine':16} {'memory':>6} {'operations':>10} {'any q < .05':>12} {'any verdict':>12} {'p < .05':>8}")
    for machine in (*models.MACHINES, *models.ROUGH):
        for memory in (machine.memory, FORGETFUL):
            for operations in OPERATIONS:
                one = replace(machine, memory=memory)
                rng = np.random.default_rng([seed, operations, round(100 * memory), *one.name.encode()])
                any_real = any_called = 0
                false = []
                for _ in range(count):
                    report = suites.judge(models.launches(rng, one, operations, PAIRS, SAMPLES))
                    any_real += bool((report.q < 0.05).any())
                    any_called += bool(report.changed.any())
                    false.append((report.p < 0.05).mean())
                print(
                    f"{one.name:16} {memory:6} {operations:10} {any_real / count:12.1%} {any_called / count:12.1%} "
                    f"{np.mean(false):8.2%}",
                    flush=True,
                )


def launched(pairs: int, seed: int) -> Iterator[tuple[dict[str, list[float]], dict[str, list[float]]]]:
    """Launch pairs of the program in balanced random order; yield the seconds of its operations, by side."""
    from regimeter import load

    dice = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(pairs):
            if number % 2 == 0:
                first = dice.randrange(2)
            found: list[dict[str, list[float]]] = [{}, {}]
            for side in (first, 1 - first) if number % 2 == 0 else (1 - first, first):
                file = os.path.join(folder, "one.rgm")
                command = [sys.executable, "-m", "regimeter", "record", "--quiet", "--interval", "0", "-o", file]
                subprocess.run([*command, str(PROGRAM)], check=True, stdout=subprocess.DEVNULL)
                run = load(file)
                spans, texts = run.spans, run.strings
                for row in run.entries.span:
                    found[side].setdefault(texts[int(spans.name[row])], []).append(float(spans.duration_ns[row]) * 1e-9)
                os.unlink(file)
            yield found[0], found[1]


def real(pairs: int, seed: int) -> None:
    """Print how often five real pairs of one program err."""
    from regimeter import compare_samples

    began, experiments = time.monotonic(), pairs // PAIRS
    known = list(launched(experiments * PAIRS, seed))
    any_called = any_real = rows = small = 0
    shifts = []
    for at in range(experiments):
        five = known[at * PAIRS : (at + 1) * PAIRS]
        sides = [{name: [pair[side][name] for pair in five] for name in five[0][side]} for side in range(2)]
        found = compare_samples(sides[0], sides[1], paired=True)
        any_called += any(row.is_significant for row in found.comparisons)
        any_real += any(row.q is not None and row.q < 0.05 for row in found.comparisons)
        rows += len(found.comparisons)
        small += sum(row.p is not None and row.p < 0.05 for row in found.comparisons)
    for before, after in known:
        shifts.append(np.mean([np.log(np.median(after[name]) / np.median(before[name])) for name in before]))
    low, high = suites.wilson(any_called, experiments)
    print(
        f"{experiments} experiments of {PAIRS} real pairs, {time.monotonic() - began:.0f} s, "
        f"load {os.getloadavg()[0]:.1f}, shift of a pair sd {np.std(shifts):.1%}: any verdict {any_called} "
        f"[{low:.1%}, {high:.1%}], any q < .05 {any_real}, rows with p < .05 {small} of {rows}"
    )


def main() -> int:
    """Print both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reports", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--real", type=int, default=0, metavar="PAIRS", help="launch so many pairs, too")
    chosen = parser.parse_args()
    if chosen.reports:
        simulate(chosen.reports, chosen.seed)
    if chosen.real:
        real(chosen.real, chosen.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
