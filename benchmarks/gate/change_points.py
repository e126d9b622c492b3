# SPDX-License-Identifier: Apache-2.0
"""How often a history of 100 runs shows a change point that is not there, and how often one that is.

Synthetic series with fixed seeds: each of 100 values, without a step, and with a step of 2 % or 5 % that is 12 values
old. A false change point is any at all; a step is found when any change point lies within five values of it.
"""

import argparse
import math
import sys
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from regimeter import _core

LENGTH, AGE, ALPHA, NEAR = 100, 12, 0.01, 5
STEPS = (0.0, 0.02, 0.05)
Floats = NDArray[np.float64]
Model = Callable[[np.random.Generator], Floats]


def lognormal(rng: np.random.Generator) -> Floats:
    """Independent values, standard deviation 2 %."""
    return rng.normal(0, 0.02, LENGTH)


def outliers(rng: np.random.Generator) -> Floats:
    """Standard deviation 1 %; one run in twenty is 10 to 50 % slower."""
    return rng.normal(0, 0.01, LENGTH) + (rng.random(LENGTH) < 0.05) * rng.uniform(0.1, 0.5, LENGTH)


def bimodal(rng: np.random.Generator) -> Floats:
    """Standard deviation 1 %; three runs in ten are 4 % slower."""
    return rng.normal(0, 0.01, LENGTH) + (rng.random(LENGTH) < 0.3) * 0.04


def autoregressive(phi: float) -> Model:
    """Return a model of standard deviation 2 % whose neighbours correlate by phi."""

    def series(rng: np.random.Generator) -> Floats:
        values = np.empty(LENGTH)
        last = rng.normal()
        for place, shock in enumerate(rng.normal(0, math.sqrt(1 - phi * phi), LENGTH)):
            values[place] = last = phi * last + shock
        return 0.02 * values

    return series


INDEPENDENT = 0.015
# Name, model, and what may be false: a part of the series, None where nothing is promised.
MODELS: dict[str, tuple[Model, float | None]] = {
    "lognormal 2%": (lognormal, INDEPENDENT),
    "1% and outliers": (outliers, INDEPENDENT),
    "bimodal": (bimodal, INDEPENDENT),
    "AR(1) .3": (autoregressive(0.3), None),
    "AR(1) .5": (autoregressive(0.5), 0.025),
    "AR(1) .7": (autoregressive(0.7), None),
}


def wilson(hits: int, count: int) -> tuple[float, float]:
    """Return the 95 % interval of a proportion (Wilson 1927)."""
    z, part = 1.959963984540054, hits / count
    middle, half = part + z * z / (2 * count), z * math.sqrt(part * (1 - part) / count + (z / (2 * count)) ** 2)
    scale = 1 + z * z / count
    return (middle - half) / scale, (middle + half) / scale


def measure(model: Model, step: float, count: int, seed: int, dependent: bool) -> tuple[int, int]:
    """Return in how many of `count` series there is a change point, and in how many one near the step."""
    rng, found, placed = np.random.default_rng([seed, int(1000 * step)]), 0, 0
    for _ in range(count):
        series = model(rng)
        series[LENGTH - AGE :] += math.log1p(step)
        places = [point[0] for point in _core.change_points(series, ALPHA, dependent)]
        found += bool(places)
        placed += any(abs(at - (LENGTH - AGE)) <= NEAR for at in places)
    return found, placed


def main() -> int:
    """Print the table; 1 when a promise is not kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", type=int, default=2000, help="series a cell (2000)")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--independent", action="store_true", help="without the correction for autocorrelation")
    chosen = parser.parse_args()
    began, kept = time.perf_counter(), True
    print(f"{chosen.series} series a cell, seed {chosen.seed}, alpha {ALPHA}; 95 % intervals in brackets")
    heads = "".join(f" {head:>9} {'placed':>7}" for head in ("2 % step", "5 % step"))
    print(f"{'noise':16} {'false change points':>24} {'promised':>9}{heads}")
    for name, (model, promise) in MODELS.items():
        cells = [measure(model, step, chosen.series, chosen.seed, not chosen.independent) for step in STEPS]
        low, high = wilson(cells[0][0], chosen.series)
        false = cells[0][0] / chosen.series
        kept = kept and (promise is None or false <= promise)
        kept = kept and (promise != INDEPENDENT or cells[2][0] >= 0.98 * chosen.series)
        told = "" if promise is None else f"{promise:.1%}"
        found = " ".join(f"{hits / chosen.series:9.1%} {placed / chosen.series:7.1%}" for hits, placed in cells[1:])
        print(f"{name:16} {false:10.2%} [{low:.2%}, {high:.2%}] {told:>9} {found}", flush=True)
    print(f"{time.perf_counter() - began:.0f} s")
    return 0 if kept or chosen.independent else 1


if __name__ == "__main__":
    sys.exit(main())
