# SPDX-License-Identifier: Apache-2.0
"""One run against its history: how often it is called slower when it is not, and how often when it is.

Twenty earlier runs, then a run of 50 samples (lognormal, 2 %), and a confirming one where it is suspected; the runs
differ among themselves as each model says. Synthetic, with fixed seeds. The rule is that of judge_against_history: the
core's prediction interval within the last level.
"""

import argparse
import sys
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from regimeter import _core
from regimeter.history.judge import LEAST, SEVERAL

RUNS, SAMPLES, ALPHA = 20, 50, 0.05
THRESHOLD = np.log(1.05)
STEPS = (0.0, 0.02, 0.05, 0.10)
Floats = NDArray[np.float64]
Offsets = Callable[[np.random.Generator, int], Floats]


def gauss(rng: np.random.Generator, count: int) -> Floats:
    """Runs differ by 1 %."""
    return rng.normal(0, 0.01, count)


def tails(rng: np.random.Generator, count: int) -> Floats:
    """The same with the tails of Student's distribution with 3 degrees of freedom."""
    return rng.standard_t(3, count) * 0.01 / np.sqrt(3)


def bad_runs(rng: np.random.Generator, count: int) -> Floats:
    """One run in twenty is 20 % slower."""
    return gauss(rng, count) + (rng.random(count) < 0.05) * 0.2


def old_step(rng: np.random.Generator, count: int) -> Floats:
    """The first eight runs were 8 % slower."""
    return gauss(rng, count) + (np.arange(count) < 8) * 0.08


MODELS: dict[str, Offsets] = {"gauss": gauss, "t3 tails": tails, "5% bad runs": bad_runs, "old +8% step": old_step}


def medians(rng: np.random.Generator, offsets: Floats) -> Floats:
    """Return the median of the samples of each run, as logarithms."""
    return offsets + np.median(rng.normal(0, 0.02, (len(offsets), SAMPLES)), axis=1)


def judge(rng: np.random.Generator, model: Offsets, step: float) -> tuple[bool, bool]:
    """Return whether a run is suspected, and whether it is a regression once confirmed."""
    runs = medians(rng, model(rng, RUNS + 2))
    runs[RUNS:] += np.log1p(step)
    points = _core.change_points(runs[:RUNS].copy(), 0.01, SEVERAL <= RUNS)
    level = runs[points[-1][0] if points else 0 : RUNS].copy()
    if len(level) < LEAST:
        return False, False
    first, second = (_core.predict(level, runs[RUNS + i : RUNS + i + 1].copy(), ALPHA) for i in range(2))
    slow = [runs[RUNS + i] > first["center"] for i in range(2)]
    reach = runs[RUNS] - first["low"] >= THRESHOLD
    suspected = bool(first["p"] <= ALPHA and slow[0] and reach)
    both = _core.predict(level, runs[RUNS:].copy(), ALPHA)
    confirmed = second["p"] <= ALPHA and slow[1] and both["p"] <= ALPHA
    reach = runs[RUNS:].mean() - both["low"] >= THRESHOLD
    return suspected, bool(first["p"] <= ALPHA and slow[0] and confirmed and reach)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--histories", type=int, default=4000, help="histories a cell (4000)")
    parser.add_argument("--seed", type=int, default=11)
    chosen = parser.parse_args()
    began = time.perf_counter()
    print(f"{chosen.histories} histories a cell, seed {chosen.seed}; suspected / regression, in %")
    print(f"{'runs differ by':14}" + "".join(f"{f'+{step:.0%}' if step else 'no change':>15}" for step in STEPS))
    for name, model in MODELS.items():
        cells = []
        for step in STEPS:
            rng = np.random.default_rng([chosen.seed, int(1000 * step)])
            found = np.array([judge(rng, model, step) for _ in range(chosen.histories)])
            cells.append("{:.2f} / {:.2f}".format(*(100 * found.mean(axis=0))))
        print(f"{name:14}" + "".join(f"{cell:>15}" for cell in cells), flush=True)
    print(f"{time.perf_counter() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
