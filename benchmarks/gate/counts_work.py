# SPDX-License-Identifier: Apache-2.0
"""The nine workloads and ten Python functions, any of which can be made to do 1 % more work.

python counts_work.py [none | even | odd]: which of the operations, by their place, have 101 parts of work and not 100.
"""

import itertools
import json
import re
import struct
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from regimeter import GPUProfiler, _core

CALLS = 6
# Small sizes: an operation runs a workload a hundred times, or 101 times.
WORKLOADS: dict[str, dict[str, float]] = {
    "ar_forecast": {"points": 100, "order": 3, "steps": 5},
    "lstm_cell_forward": {"batch": 4, "inputs": 8, "hidden": 8},
    "pixel_entropy": {"height": 8, "width": 8, "window": 8, "range": 64},
    "conv2d": {"height": 16, "width": 16, "side": 3, "stride": 1, "padding": 1},
    "image_segmentation": {"height": 16, "width": 16, "threshold": 100},
    "dendritic_integration": {"neurons": 4, "dendrites": 4, "inputs": 8, "nonlinearity": 0},
    "vector_add": {"n": 500},
    "matrix_multiply": {"m": 16, "n": 16, "k": 16},
    "dot_product": {"n": 500},
}
TEXT = "the quick brown fox jumps over the lazy dog at 12:34 and 56:07 "


class Account:
    """Something with attributes and methods."""

    def __init__(self, number: int) -> None:
        self.number, self.balance = number, 0

    def move(self, amount: int) -> int:
        """Add an amount."""
        self.balance += amount
        return self.balance


def fibonacci(n: int) -> int:
    """Call itself."""
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def arithmetic(parts: int) -> int:
    """Integer operations in a loop."""
    value = 1
    for _ in range(10 * parts):
        value = (value * 1103515245 + 12345) & 0x7FFFFFFF
    return value


def words(parts: int) -> dict[str, int]:
    """Strings are hashed and counted."""
    found: dict[str, int] = {}
    for i in range(4 * parts):
        key = f"w{i % 61}"
        found[key] = found.get(key, 0) + 1
    return found


def ordered(parts: int) -> list[int]:
    """Sorting with a key of its own, part by part."""
    return [sorted(range(20), key=lambda value: (value * 7919 + part) % 31)[0] for part in range(parts)]


def documents(parts: int) -> int:
    """JSON is written and read."""
    return sum(len(json.loads(json.dumps({"id": part, "tags": ["a", "b"], "x": 1.5}))) for part in range(parts))


def patterns(parts: int) -> int:
    """A regular expression over a text."""
    return sum(len(re.findall(r"(\d+):(\d+)", TEXT)) for _ in range(parts))


def accounts(parts: int) -> int:
    """Objects, attributes and methods."""
    kept = [Account(number) for number in range(parts)]
    return sum(one.move(step) for step in range(4) for one in kept)


def recursion(parts: int) -> int:
    """Calls of Python functions."""
    return sum(fibonacci(6) for _ in range(parts))


def arrays(parts: int) -> float:
    """Small arrays of NumPy."""
    row = np.arange(64.0)
    return float(sum(np.where(row > part % 64, row, 0.0).sum() for part in range(parts)))


def iterators(parts: int) -> int:
    """Generators and itertools."""
    return sum(a * b for a, b in itertools.islice(itertools.pairwise(x * x for x in itertools.count()), 8 * parts))


def packed(parts: int) -> int:
    """Bytes and struct."""
    return sum(sum(struct.unpack("<4I", struct.pack("<4I", part, 1, 2, 3))) for part in range(3 * parts))


FUNCTIONS = (arithmetic, words, ordered, documents, patterns, accounts, recursion, arrays, iterators, packed)


def workload(name: str, parts: int) -> None:
    """Run a workload by the C backend, on one thread, so many times."""
    for _ in range(parts):
        _core.run_workload(
            name, backend="c", parameters=WORKLOADS[name], warmup=0, iterations=0, calls=0, threads=1
        )  # fmt: skip


def operations(more: str) -> dict[str, Callable[[], Any]]:
    """Return the operations by name; more: which of them do 1 % more."""
    names = [*WORKLOADS, *(function.__name__ for function in FUNCTIONS)]
    parts = {name: 101 if name in having_more(names, more) else 100 for name in names}
    made: dict[str, Callable[[], Any]] = {name: partial(workload, name, parts[name]) for name in WORKLOADS}
    return made | {one.__name__: partial(one, parts[one.__name__]) for one in FUNCTIONS}


def having_more(names: list[str], more: str) -> list[str]:
    """Return the names of the operations that do more work."""
    return [] if more == "none" else names[0 if more == "even" else 1 :: 2]


def main() -> None:
    """Run each operation CALLS times."""
    made = operations(sys.argv[1] if len(sys.argv) > 1 else "none")
    with GPUProfiler() as profiler:
        for _ in range(CALLS):
            for name, call in made.items():
                with profiler.profile(name, device="cpu"):
                    call()


if __name__ == "__main__":
    main()
