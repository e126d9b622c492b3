# SPDX-License-Identifier: Apache-2.0
"""Operations of NumPy."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from .case import AMBIGUOUS, BEYOND, BOUNDARY, COMPUTE, MEMORY, OVERHEAD, PRODUCT, SERIES, STREAM, TINY, Case, Made

RANDOM = np.random.default_rng(7)


def filled(count: int | tuple[int, ...], dtype: str = "float64") -> Any:
    """Return an array of that type whose pages exist."""
    return (RANDOM.random(count) * 4 + 1).astype(dtype)


def elementwise(function: Any, count: int, dtype: str) -> Made:
    """Return a call that writes into memory that exists."""
    args = tuple(filled(count, dtype) for _ in range(function.nin))
    return function, (*args, np.ones(count, dtype)), {}


def cases() -> Iterator[Case]:
    """Yield all cases."""
    yield from _streams()
    yield from _products()
    yield from _series()
    yield from _tiny()
    yield from _between()


def _streams() -> Iterator[Case]:
    for name, dtype in (
        ("add", "float64"),
        ("add", "float32"),
        ("add", "int32"),
        ("subtract", "float64"),
        ("multiply", "float64"),
        ("multiply", "float32"),
        ("fmax", "float64"),
        ("negative", "float64"),
        ("absolute", "float32"),
    ):
        count = BEYOND * 8 // np.dtype(dtype).itemsize

        def make(name: str = name, count: int = count, dtype: str = dtype) -> Made:
            return elementwise(getattr(np, name), count, dtype)

        yield Case(f"numpy {name} {dtype}", (MEMORY,), STREAM, make)
    yield Case("numpy copyto", (MEMORY,), STREAM, lambda: (np.copyto, (np.ones(BEYOND), filled(BEYOND)), {}))
    yield Case("numpy fill", (MEMORY,), STREAM, lambda: (np.ones(BEYOND).fill, (2.0,), {}))
    yield Case(
        "numpy matrix times vector",
        (MEMORY,),
        "each element of a matrix beyond all caches is used once, for two operations",
        lambda: (np.matmul, (filled((3000, 3000)), filled(3000), np.ones(3000)), {}),
    )


def _products() -> Iterator[Case]:
    for size in (384, 768, 1152):
        for dtype in ("float64", "float32"):

            def make(size: int = size, dtype: str = dtype) -> Made:
                return np.matmul, (filled((size, size), dtype), filled((size, size), dtype)), {}

            yield Case(f"numpy matmul {size} {dtype}", (COMPUTE,), PRODUCT, make)
    square = filled((700, 700))
    yield Case("numpy dot 700", (COMPUTE,), PRODUCT, lambda: (np.dot, (square, square), {}))
    yield Case("numpy tensordot 700", (COMPUTE,), PRODUCT, lambda: (np.tensordot, (square, square, 1), {}))
    yield Case(
        "numpy lambda of a product",
        (COMPUTE,),
        PRODUCT,
        lambda: (lambda: square @ square, (), {"flops": 2 * 700**3, "bytes": 3 * 700 * 700 * 8}),
    )


def _series() -> Iterator[Case]:
    for name, dtype in (
        ("cos", "float64"),
        ("sin", "float64"),
        ("tan", "float64"),
        ("arctan", "float64"),
        ("power", "float64"),
        ("arcsinh", "float64"),
        ("cbrt", "float64"),
    ):
        for count in (20_000, BEYOND // 3):

            def make(name: str = name, count: int = count, dtype: str = dtype) -> Made:
                return elementwise(getattr(np, name), count, dtype)

            yield Case(f"numpy {name} of {count:,}", (COMPUTE,), SERIES, make)


def _tiny() -> Iterator[Case]:
    for name in ("add", "negative", "fmax", "greater"):
        function = getattr(np, name)

        def make(function: Any = function) -> Made:
            return function, tuple(filled(4) for _ in range(function.nin)), {}

        yield Case(f"numpy {name} of 4", (OVERHEAD,), TINY, make)
    yield Case("numpy add of 0", (OVERHEAD,), "no element at all", lambda: (np.add, (np.ones(0), np.ones(0)), {}))
    yield Case("numpy matmul 2", (OVERHEAD,), TINY, lambda: (np.matmul, (filled((2, 2)), filled((2, 2))), {}))
    yield Case("numpy sum of 8", (OVERHEAD,), TINY, lambda: (np.sum, (filled(8),), {}))

    def many() -> Made:
        small, out = filled(4), np.ones(4)

        def loop() -> None:
            for _ in range(2000):
                np.add(small, small, out)

        return loop, (), {"operators": 2000, "flops": 2000 * 4, "bytes": 2000 * 96}

    yield Case("numpy 2,000 adds of 4 in a loop", (OVERHEAD,), TINY, many)


def _between() -> Iterator[Case]:
    either = (MEMORY, COMPUTE, AMBIGUOUS)
    for width in (4, 8, 16):

        def make(width: int = width) -> Made:
            return np.matmul, (filled((400_000, width)), filled((width, width))), {}

        yield Case(f"numpy tall matrix times {width}", either, BOUNDARY, make)
