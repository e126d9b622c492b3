# SPDX-License-Identifier: Apache-2.0
"""How often the autotuner errs: tunings whose times are drawn instead of measured, under four kinds of noise.

Usage: python benchmarks/tuning.py [TUNINGS] (1000)

Prints. The draws are seeded, so the figures are the same each time; docs/tuning.md has them.
"""

import sys
from collections.abc import Callable

import numpy as np

from regimeter import KernelAutotuner

EQUAL = dict.fromkeys((64, 128, 256, 512, 1024), 1e-3)
# One configuration is 10 % faster than the default (64), one 5 %, two are slower.
BETTER = {64: 1.00e-3, 128: 1.02e-3, 256: 0.90e-3, 512: 0.95e-3, 1024: 1.3e-3}
BEST = 256
Noise = Callable[[np.random.Generator], float]
NOISES: dict[str, Noise] = {
    "lognormal, 3 %": lambda rng: np.exp(0.03 * rng.standard_normal()),
    "outliers": lambda rng: np.exp(0.02 * rng.standard_normal()) * (1 + (rng.random() < 0.1) * 30 * rng.random()),
    "Cauchy, 2 %": lambda rng: 1 + abs(rng.standard_cauchy()) * 0.02,
    "two levels": lambda rng: 1.0 if rng.random() < 0.7 else 1.4,
}


def tune(tuner: KernelAutotuner, centers: dict[int, float], noise: Noise, rng: np.random.Generator) -> int:
    """Tune with times drawn instead of measured, the centers times the noise; return the block size."""
    return int(
        tuner.tune_kernel(
            "k", lambda config: centers[config.block_size] * noise(rng), 1000, timer="returned", warmup=0
        ).block_size
    )


def winners(noise: Noise, tunings: int) -> int:
    """Return in how many tunings of equal configurations one was called better."""
    rng, tuner = np.random.default_rng(1), KernelAutotuner(seed=1)
    return sum(tune(tuner, EQUAL, noise, rng) != 64 for _ in range(tunings))


def picks(noise: Noise, tunings: int) -> tuple[int, int, int]:
    """Return in how many tunings a slower one was picked, the best one eliminated, and the best one picked."""
    rng, tuner = np.random.default_rng(2), KernelAutotuner(seed=2)
    slower = lost = best = 0
    for _ in range(tunings):
        picked = tune(tuner, BETTER, noise, rng)
        candidates = tuner.result("k", 1000).candidates
        slower += BETTER[picked] > BETTER[64]
        lost += any(row.config.block_size == BEST and "slower" in row.reason for row in candidates)
        best += picked == BEST
    return slower, lost, best


def main() -> None:
    """Print a line for each kind of noise."""
    tunings = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print(f"of {tunings} tunings: equal, a winner | slower picked | best eliminated | best picked")
    for name, noise in NOISES.items():
        print(name, winners(noise, tunings), *picks(noise, tunings), sep=" | ", flush=True)


if __name__ == "__main__":
    main()
