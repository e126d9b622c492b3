# SPDX-License-Identifier: Apache-2.0
"""Operations of usual kinds, each a scope, called in rounds: what `field.py` records.

    regimeter record benchmarks/gate/field_work.py [--rounds N] [--size PART] [--more OPERATION=PERCENT] [--export FILE]

--more does so much more work in one operation, as further repetitions of what it does. --size: of all work, 1 as it is.
--export writes what was recorded as JSON, as a program does that profiles itself.
"""

import argparse
import random
from collections.abc import Callable

import numpy as np

from regimeter import get_profiler

ROUNDS = 25
# Repetitions of the body of each operation that take some milliseconds together; 100 of them are divided by per cent.
UNITS = 100
# Repetitions before a scope: the first ones after another operation are slower, and per cent are of all alike.
WARM = 4


def operations() -> dict[str, Callable[[int], object]]:
    """Return the operations by name; each takes how often it repeats its body."""
    dice = np.random.default_rng(1)
    square = dice.normal(size=(96, 96))
    wide = dice.normal(size=200_000)
    target = np.empty_like(wide)
    mixed = dice.permutation(3_000)
    words = [f"word{number % 97}" for number in range(250)]
    signal = dice.normal(size=4_096)
    keys = random.Random(1).choices(range(10_000), k=400)

    def product(times: int) -> None:
        for _ in range(round(times / 5)):
            square @ square

    def stream(times: int) -> None:
        for _ in range(round(times / 2)):
            np.multiply(wide, 1.5, out=target)

    def order(times: int) -> None:
        for _ in range(round(times / 2)):
            np.sort(mixed)

    def text(times: int) -> None:
        for _ in range(times):
            " ".join(words).upper().split()

    def spectrum(times: int) -> None:
        for _ in range(round(times / 2)):
            np.fft.rfft(signal)

    def count(times: int) -> None:
        for _ in range(times):
            table: dict[int, int] = {}
            for key in keys:
                table[key] = table.get(key, 0) + 1

    def small(times: int) -> None:
        for _ in range(150 * times):
            divmod(abs(-17), 5)

    return {work.__name__: work for work in (product, stream, order, text, spectrum, count, small)}


def main() -> None:
    """Run all operations in rounds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--size", type=float, default=1.0)
    parser.add_argument("--more", default="")
    parser.add_argument("--export")
    arguments = parser.parse_args()
    slowed, _, percent = arguments.more.partition("=")
    profiler = get_profiler()
    works = operations()
    for _ in range(arguments.rounds):
        for name, work in works.items():
            times = UNITS * arguments.size * (1 + float(percent) / 100 if name == slowed else 1)
            work(WARM)
            with profiler.profile(name, device="cpu"):
                work(round(times))
    if arguments.export:
        profiler.export_json(arguments.export)


if __name__ == "__main__":
    main()
