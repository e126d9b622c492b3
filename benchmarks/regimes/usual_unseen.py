# SPDX-License-Identifier: Apache-2.0
"""Sixty-three usual operations on which nobody tuned; labels by construction, written before their first run.

Its first run is in docs/regime_profiler.md. Whoever works on the rules with what is wrong here moves it to the sets
that were seen, and writes another.
"""

import functools
import hashlib
import importlib.util
import os
import queue
import select
import subprocess
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .case import COMPUTE, MEMORY, OVERHEAD, PRODUCT, SERIES, STREAM, TINY, WAITS, Case, Made

LOOP = "bytecode of short instructions, no library call that lasts"
CHANCE = "each element lies in another page than the one before"
CHAIN = "each result needs the one before"
COMPARE = "n log n comparisons of what fits the caches piece by piece"
CUBE = "n^3 operations on n^2 elements"
FILES = "the system copies between a file in its cache and the process"
CALLS = "calls of the system that do little"
NEW = "writes memory that was just taken from the system"


def case(name: str, label: str, reason: str, function: Callable[..., Any], *make: Callable[[], Any]) -> Case:
    """Return a case whose arguments are made when it is measured."""

    def made() -> Made:
        return function, tuple(one() for one in make), {}

    return Case(f"usual {name}", (label,), reason, made)


def value(what: Any) -> Callable[[], Any]:
    """Return a function that returns a value."""
    return lambda: what


def numbers(*shape: int, dtype: str = "float64") -> Callable[[], Any]:
    """Return what makes random numbers."""
    return lambda: np.random.default_rng(3).random(shape).astype(dtype)


def chance(count: int, most: int) -> Callable[[], Any]:
    """Return what makes indices of chance."""
    return lambda: np.random.default_rng(4).integers(0, most, count)


def cases() -> Iterator[Case]:
    """Yield all cases of what is installed."""
    yield from _short()
    yield from _interpreted()
    yield from _system()
    yield from _memory()
    yield from _compute()
    if importlib.util.find_spec("torch") is not None:
        yield from _torch()


def _short() -> Iterator[Case]:
    yield case("numpy sqrt of 16", OVERHEAD, TINY, np.sqrt, numbers(16))
    yield case("numpy concatenate of 2 x 4", OVERHEAD, TINY, np.concatenate, lambda: (np.ones(4), np.ones(4)))
    yield case("divmod", OVERHEAD, TINY, divmod, value(17), value(5))
    yield case("lambda of a small add", OVERHEAD, TINY, lambda a: np.add(a, a), numbers(12))
    yield case("sleep in a lambda", OVERHEAD, WAITS, lambda: time.sleep(0.01))
    yield case("event that nobody sets", OVERHEAD, WAITS, threading.Event().wait, value(0.015))
    yield case("select with a timeout", OVERHEAD, WAITS, lambda: select.select([], [], [], 0.012))
    yield case("process that is waited for", OVERHEAD, WAITS, subprocess.run, value(["sleep", "0.05"]))
    yield case("empty queue", OVERHEAD, WAITS, _get, value(queue.Queue()))


def _get(waiting: Any) -> None:
    try:
        waiting.get(timeout=0.02)
    except queue.Empty:
        return


def _interpreted() -> Iterator[Case]:
    yield case("while loop", OVERHEAD, LOOP, count_down, value(300_000))
    yield case("list comprehension", OVERHEAD, LOOP, lambda: [i * i for i in range(200_000)])
    yield case("dictionary of numbers", OVERHEAD, LOOP, lambda: {i: i + 1 for i in range(150_000)})
    yield case("fibonacci by recursion", OVERHEAD, LOOP, fibonacci, value(21))
    yield case("product of lists", OVERHEAD, LOOP, product, lambda: [[float(i) for i in range(50)] for _ in range(50)])
    yield case("sieve of a list", OVERHEAD, LOOP, sieve, value(100_000))
    yield case("bubble sort", OVERHEAD, LOOP, bubble, lambda: [float(-i) for i in range(300)])
    yield case("attributes of objects", OVERHEAD, LOOP, move, value(60_000))
    yield case("loop of small products", OVERHEAD, "calls on 16 elements", small_products, numbers(16), value(10_000))


def count_down(left: int) -> int:
    """Count."""
    while left:
        left -= 1
    return left


def fibonacci(number: int) -> int:
    """Return a number of Fibonacci's."""
    return number if number < 2 else fibonacci(number - 1) + fibonacci(number - 2)


def product(rows: list[list[float]]) -> list[list[float]]:
    """Return a product of matrices."""
    columns = list(zip(*rows, strict=True))
    return [[sum(a * b for a, b in zip(row, column, strict=True)) for column in columns] for row in rows]


def sieve(most: int) -> int:
    """Return how many primes there are."""
    prime = [True] * most
    for number in range(2, most):
        if prime[number]:
            for multiple in range(number * number, most, number):
                prime[multiple] = False
    return sum(prime) - 2


def bubble(values: list[float]) -> list[float]:
    """Return the values in order."""
    values = list(values)
    for end in range(len(values) - 1, 0, -1):
        for at in range(end):
            if values[at] > values[at + 1]:
                values[at], values[at + 1] = values[at + 1], values[at]
    return values


class Point:
    """Something with attributes."""

    def __init__(self) -> None:
        self.x = self.y = 0.0

    def step(self) -> None:
        """Move."""
        self.x += 1.0
        self.y -= self.x


def move(steps: int) -> Point:
    """Move a point."""
    point = Point()
    for _ in range(steps):
        point.step()
    return point


def small_products(values: Any, count: int) -> Any:
    """Multiply often."""
    for _ in range(count):
        found = np.multiply(values, 0.5)
    return found


@functools.cache
def folder() -> str:
    """Return a folder that goes with the process."""
    made = tempfile.TemporaryDirectory()
    _kept.append(made)
    return made.name


_kept: list[Any] = []


def file_of(count: int) -> str:
    """Return the path of a file of so many bytes."""
    path = os.path.join(folder(), str(count))
    if not os.path.exists(path):
        with open(path, "wb") as file:
            file.write(bytes(count))
    return path


def read_pieces(path: str) -> int:
    """Return the bytes of a file, read in pieces."""
    total = 0
    with open(path, "rb", buffering=0) as file:
        while piece := file.read(1 << 18):
            total += len(piece)
    return total


def write_whole(data: bytes) -> None:
    """Write a file."""
    with open(os.path.join(folder(), "written"), "wb") as file:
        file.write(data)


def ask(path: str, count: int) -> None:
    """Ask the system about a file."""
    for _ in range(count):
        os.stat(path)


def _system() -> Iterator[Case]:
    yield case("file read in pieces", OVERHEAD, FILES, read_pieces, lambda: file_of(40_000_000))
    yield case("file written", OVERHEAD, FILES, write_whole, lambda: bytes(24_000_000))
    yield case("stat again and again", OVERHEAD, CALLS, ask, lambda: file_of(10), value(10_000))


def _memory() -> Iterator[Case]:
    large = 24_000_000
    yield case("numpy subtract out=", MEMORY, STREAM, np.subtract, numbers(large), numbers(large), numbers(large))
    yield case("numpy maximum out=", MEMORY, STREAM, np.maximum, numbers(large), numbers(large), numbers(large))
    yield case("numpy copyto float32", MEMORY, STREAM, np.copyto, numbers(large, dtype="float32"),
               numbers(large, dtype="float32"))  # fmt: skip
    yield case("numpy sum", MEMORY, STREAM, np.sum, numbers(2 * large))
    yield case("numpy vdot float32", MEMORY, STREAM, np.vdot, numbers(2 * large, dtype="float32"),
               numbers(2 * large, dtype="float32"))  # fmt: skip
    yield case("matrix by vector in a lambda", MEMORY, STREAM, lambda a, b: a @ b, numbers(6000, 6000), numbers(6000))
    yield case("numpy take float32 by chance", MEMORY, CHANCE, np.take, numbers(2 * large, dtype="float32"),
               chance(1_000_000, 2 * large))  # fmt: skip
    yield case("numpy put by chance", MEMORY, CHANCE, np.put, numbers(large), chance(1_000_000, large), value(0.0))
    yield case("numpy copy of a transposed matrix", MEMORY, "goes across rows of 20 kB", np.ascontiguousarray,
               lambda: numbers(3000, 5000, dtype="float32")().T)  # fmt: skip
    yield case("numpy full", MEMORY, NEW, np.full, value(30_000_000), value(1.5))
    yield case("numpy concatenate of large ones", MEMORY, STREAM + ", " + NEW, np.concatenate,
               lambda: (numbers(large // 2)(), numbers(large // 2)()))  # fmt: skip
    yield case("numpy roll", MEMORY, STREAM + ", " + NEW, np.roll, numbers(large), value(5))


def _compute() -> Iterator[Case]:
    yield case("numpy tanh", COMPUTE, SERIES, np.tanh, numbers(1_000_000))
    yield case("numpy log1p in a lambda", COMPUTE, SERIES, lambda x: np.log1p(x), numbers(800_000))
    yield case("numpy power", COMPUTE, SERIES, np.power, numbers(500_000), value(2.3))
    yield case("numpy dot float32", COMPUTE, PRODUCT, np.dot, numbers(1200, 1200, dtype="float32"),
               numbers(1200, 1200, dtype="float32"))  # fmt: skip
    yield case("numpy cumprod", COMPUTE, CHAIN, np.cumprod, numbers(200_000))
    yield case("numpy argsort", COMPUTE, COMPARE, np.argsort, numbers(700_000))
    yield case("numpy unique of integers", COMPUTE, COMPARE, np.unique, chance(500_000, 10_000_000))
    yield case("numpy median", COMPUTE, "partitions by comparisons", np.median, numbers(600_000))
    yield case("numpy fft2", COMPUTE, "n log n butterflies", np.fft.fft2, numbers(400, 400))
    yield case("numpy eigh", COMPUTE, CUBE, np.linalg.eigh, lambda: (lambda a: a + a.T)(numbers(250, 250)()))
    yield case("numpy inv", COMPUTE, CUBE, np.linalg.inv, numbers(700, 700))
    yield case("numpy convolve", COMPUTE, "500 products for each result", np.convolve, numbers(40_000), numbers(500))
    yield case("zlib compress", COMPUTE, "searches matches in a window of 32 kB", zlib.compress,
               lambda: bytes(np.random.default_rng(5).integers(0, 20, 2_000_000, dtype="uint8")))  # fmt: skip
    yield case("sha512 in a lambda", COMPUTE, CHAIN, lambda data: hashlib.sha512(data).hexdigest(),
               lambda: os.urandom(8_000_000))  # fmt: skip
    yield case("sorted list of numbers", COMPUTE, COMPARE, sorted, lambda: list(map(float, numbers(60_000)())))
    if importlib.util.find_spec("scipy") is not None:
        yield from _scipy()


def _scipy() -> Iterator[Case]:
    from scipy import fft, linalg, ndimage, signal, special

    yield case("scipy erfinv", COMPUTE, SERIES, special.erfinv, numbers(300_000))
    yield case("scipy lfilter", COMPUTE, CHAIN, signal.lfilter, value([1.0]), value([1.0, -0.9, 0.2]), numbers(400_000))
    yield case("scipy median_filter", COMPUTE, "25 values ordered for each result", ndimage.median_filter,
               numbers(300, 300), value(5))  # fmt: skip
    yield case("scipy dct", COMPUTE, "n log n butterflies", fft.dct, numbers(2**16))
    yield case("scipy lu_factor", COMPUTE, CUBE, linalg.lu_factor, numbers(600, 600))


def _torch() -> Iterator[Case]:
    import torch

    def tensor(*shape: int) -> Callable[[], Any]:
        return lambda: torch.from_numpy(numbers(*shape, dtype="float32")())

    large = 24_000_000
    yield case("torch exp of 5", OVERHEAD, TINY, torch.exp, tensor(5))
    yield case("torch copy_", MEMORY, STREAM, torch.Tensor.copy_, tensor(large), tensor(large))
    yield case("torch mv", MEMORY, STREAM, torch.mv, tensor(7000, 7000), tensor(7000))
    yield case("torch index_select by chance", MEMORY, CHANCE, torch.index_select, tensor(large), value(0),
               lambda: torch.from_numpy(chance(1_000_000, large)()))  # fmt: skip
    yield case("torch contiguous of a transposed matrix", MEMORY, "goes across rows of 16 kB",
               lambda t: t.contiguous(), lambda: tensor(4000, 4000)().t())  # fmt: skip
    yield case("torch clone", MEMORY, STREAM + ", " + NEW, torch.clone, tensor(large))
    yield case("torch sin", COMPUTE, SERIES, torch.sin, tensor(1_000_000))
    yield case("torch matmul", COMPUTE, PRODUCT, torch.matmul, tensor(900, 900), tensor(900, 900))
    yield case("torch bmm", COMPUTE, PRODUCT, torch.bmm, tensor(48, 192, 192), tensor(48, 192, 192))
    yield case("torch cumprod", COMPUTE, CHAIN, torch.cumprod, tensor(500_000), value(0))
