# SPDX-License-Identifier: Apache-2.0
"""One run against its history: how often it is called slower when it is not, and how often when it is.

Twenty earlier runs, then a run of 50 samples (lognormal, 2 %), and a confirming one where it is suspected; the runs
differ among themselves as each model says. Synthetic, with fixed seeds. The rule is that of judge_against_history for
one operation (`judge_series`), so without a correction for many.

With --sequence ten runs follow, each with a confirming one and each judged by what was accepted before it: how often
there was a regression by the first, third, fifth and tenth, without a step and with one of 5 %.
"""

import argparse
import sys
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from regimeter.compare.result import ChangeType
from regimeter.history.judge import LEAST, judge_series
from regimeter.history.series import Point, Series

RUNS, SAMPLES, ALPHA = 20, 50, 0.05
THRESHOLD = 0.05
AFTER = (1, 3, 5, 10)
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


def dependent(rng: np.random.Generator, count: int) -> Floats:
    """Runs differ by 2 %, and neighbours correlate by .5."""
    values, last = np.empty(count), rng.normal()
    for place, shock in enumerate(rng.normal(0, np.sqrt(0.75), count)):
        values[place] = last = 0.5 * last + shock
    return 0.02 * values


def wide(rng: np.random.Generator, count: int) -> Floats:
    """Runs differ by 2 %."""
    return rng.normal(0, 0.02, count)


SEQUENCES: dict[str, Offsets] = {"1 %": gauss, "2 %": wide, "1 %, 5 % bad": bad_runs, "2 %, AR(1) .5": dependent}
MODELS: dict[str, Offsets] = {"gauss": gauss, "t3 tails": tails, "5% bad runs": bad_runs, "old +8% step": old_step}


def medians(rng: np.random.Generator, offsets: Floats) -> Floats:
    """Return the median of the samples of each run, as logarithms."""
    return offsets + np.median(rng.normal(0, 0.02, (len(offsets), SAMPLES)), axis=1)


def verdict(past: Floats, new: Floats) -> tuple[bool, bool]:
    """Return whether the first of two new runs is suspected, and whether both together are a regression."""
    points = tuple(Point(None, float(value), 1, SAMPLES) for value in np.exp(past))  # type: ignore[arg-type]
    series = Series("op", "time", "", None, points)
    found = [
        judge_series("op", series, np.exp(values).tolist(), ALPHA, LEAST, "time", THRESHOLD)
        for values in (new[:1], new)
    ]
    row = found[1].row(found[1].p, ALPHA, THRESHOLD, "catch", "time")
    suspected = found[0].suspected(THRESHOLD, "catch")
    regressed = row.change_type is ChangeType.REGRESSION and (suspected or found[1].raised is not None)
    return suspected, regressed


def judge(rng: np.random.Generator, model: Offsets, step: float) -> tuple[bool, bool]:
    """Return whether a run is suspected, and whether it is a regression once confirmed."""
    runs = medians(rng, model(rng, RUNS + 2))
    runs[RUNS:] += np.log1p(step)
    return verdict(runs[:RUNS], runs[RUNS:])


def found_by(rng: np.random.Generator, model: Offsets, step: float, before: int) -> list[bool]:
    """Return whether there was a regression by each of ten runs, each with a confirming one. What was found is no part
    of the history, as in judge_against_history; what was missed is."""
    most = max(AFTER)
    runs = medians(rng, model(rng, before + 2 * most))
    runs[before:] += np.log1p(step)
    history, known, ever = list(runs[:before]), [], False
    for place in range(before, before + 2 * most, 2):
        found = verdict(np.array(history), runs[place : place + 2])[1]
        ever = ever or found
        known.append(ever)
        if not found:
            history.append(runs[place])
    return known


def sequences(count: int, seed: int) -> None:
    """Print how often a sequence of runs has a regression by its first, third, ... run."""
    heads = "".join(f"{f'by run {run}':>10}" for run in AFTER)
    print(f"{'runs differ by':14} {'history':>7} {'step':>5}{heads}   (%)")
    for name, model in SEQUENCES.items():
        for before in (20, 40, 100):
            for step in (0.0, 0.05):
                rng = np.random.default_rng([seed, before, int(1000 * step)])
                found = np.mean([found_by(rng, model, step, before) for _ in range(count)], axis=0)
                cells = "".join(f"{100 * found[run - 1]:10.1f}" for run in AFTER)
                print(f"{name:14} {before:7} {step:5.0%}{cells}", flush=True)


def single(count: int, seed: int) -> None:
    """Print what becomes of one run."""
    print(f"{'runs differ by':14}" + "".join(f"{f'+{step:.0%}' if step else 'no change':>15}" for step in STEPS))
    for name, model in MODELS.items():
        cells = []
        for step in STEPS:
            rng = np.random.default_rng([seed, int(1000 * step)])
            found = np.array([judge(rng, model, step) for _ in range(count)])
            cells.append("{:.2f} / {:.2f}".format(*(100 * found.mean(axis=0))))
        print(f"{name:14}" + "".join(f"{cell:>15}" for cell in cells), flush=True)


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--histories", type=int, default=4000, help="histories a cell (4000)")
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--sequence", action="store_true", help="ten runs after the history rather than one")
    chosen = parser.parse_args()
    began = time.perf_counter()
    print(f"{chosen.histories} histories a cell, seed {chosen.seed}; suspected / regression, in %")
    (sequences if chosen.sequence else single)(chosen.histories, chosen.seed)
    print(f"{time.perf_counter() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
