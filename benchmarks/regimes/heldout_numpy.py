# SPDX-License-Identifier: Apache-2.0
"""Operations of NumPy that nothing was tuned on: other functions, sizes and types than in cases_numpy.py."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from .case import COMPUTE, MEMORY, OVERHEAD, PRODUCT, SERIES, STREAM, TINY, Case, Made
from .cases_numpy import elementwise, filled

FAR_BEYOND = 13_000_000  # doubles: 104 MB an array


def cases() -> Iterator[Case]:
    """Yield all cases."""
    yield from _streams()
    yield from _products()
    yield from _series()
    yield from _tiny()


def _streams() -> Iterator[Case]:
    for name, dtype in (
        ("maximum", "float64"),
        ("minimum", "float32"),
        ("add", "int64"),
        ("bitwise_and", "int64"),
        ("subtract", "float32"),
        ("positive", "float64"),
        ("multiply", "complex128"),
    ):
        count = FAR_BEYOND * 8 // np.dtype(dtype).itemsize

        def make(name: str = name, count: int = count, dtype: str = dtype) -> Made:
            return elementwise(getattr(np, name), count, dtype)

        yield Case(f"numpy {name} {dtype}", (MEMORY,), STREAM, make)
    for dtype in ("float32", "int16"):
        count = FAR_BEYOND * 8 // np.dtype(dtype).itemsize
        yield Case(
            f"numpy copyto {dtype}",
            (MEMORY,),
            STREAM,
            lambda n=count, d=dtype: (np.copyto, (np.ones(n, d), np.ones(n, d)), {}),
        )
    yield Case("numpy fill int64", (MEMORY,), STREAM, lambda: (np.ones(FAR_BEYOND, "int64").fill, (3,), {}))
    yield Case(
        "numpy add of a matrix and a row",
        (MEMORY,),
        STREAM,
        lambda: (np.add, (filled((5000, 3000)), filled(3000), np.ones((5000, 3000))), {}),
    )
    pair = filled(FAR_BEYOND), filled(FAR_BEYOND)
    yield Case("numpy dot of vectors", (MEMORY,), STREAM, lambda: (np.dot, pair, {}))
    yield Case(
        "numpy float32 matrix times vector",
        (MEMORY,),
        "each element of a matrix beyond all caches is used once, for two operations",
        lambda: (np.matmul, (filled((6000, 5000), "float32"), filled(5000, "float32"), np.ones(6000, "float32")), {}),
    )


def _products() -> Iterator[Case]:
    for size, dtype in (
        (512, "float64"),
        (640, "float32"),
        (900, "float64"),
        (1300, "float32"),
        (1500, "float64"),
        (500, "complex128"),
    ):

        def make(size: int = size, dtype: str = dtype) -> Made:
            return np.matmul, (filled((size, size), dtype), filled((size, size), dtype)), {}

        yield Case(f"numpy matmul {size} {dtype}", (COMPUTE,), PRODUCT, make)
    wide = filled((600, 2400)), filled((2400, 600))
    yield Case("numpy dot 600 x 2400 x 600", (COMPUTE,), PRODUCT, lambda: (np.dot, wide, {}))
    yield Case("numpy inner 800", (COMPUTE,), PRODUCT, lambda: (np.inner, (filled((800, 800)), filled((800, 800))), {}))
    order = 1200
    solvable = filled((order, order)) + order * np.eye(order)
    yield Case(
        "numpy solve 1200",
        (COMPUTE,),
        "2/3 n^3 operations on n^2 elements",
        lambda: (np.linalg.solve, (solvable, filled(order)), {}),
    )
    yield Case(
        "numpy inv 900",
        (COMPUTE,),
        "8/3 n^3 operations on n^2 elements",
        lambda: (np.linalg.inv, (solvable[:900, :900].copy(),), {}),
    )


def _series() -> Iterator[Case]:
    for name in ("log1p", "expm1", "sinh", "cosh", "arctan2", "hypot", "logaddexp", "fmod"):
        for count in (12_000, 1_700_000):

            def make(name: str = name, count: int = count) -> Made:
                return elementwise(getattr(np, name), count, "float64")

            yield Case(f"numpy {name} of {count:,}", (COMPUTE,), SERIES, make)


def _tiny() -> Iterator[Case]:
    for name, count in (("subtract", 2), ("multiply", 8), ("sqrt", 4), ("maximum", 6), ("equal", 3), ("exp", 2)):
        function = getattr(np, name)

        def make(function: Any = function, count: int = count) -> Made:
            return function, tuple(filled(count, "float32") for _ in range(function.nin)), {}

        yield Case(f"numpy {name} of {count}", (OVERHEAD,), TINY, make)
    small = filled(8)
    yield Case("numpy max of 16", (OVERHEAD,), TINY, lambda: (np.max, (filled(16),), {}))
    yield Case("numpy mean of 8", (OVERHEAD,), TINY, lambda: (np.mean, (small,), {}))
    yield Case("numpy dot of 3 x 3", (OVERHEAD,), TINY, lambda: (np.dot, (filled((3, 3)), filled((3, 3))), {}))
    yield Case("numpy copyto of 8", (OVERHEAD,), TINY, lambda: (np.copyto, (np.ones(8), small), {}))
    yield Case("numpy concatenate of 8", (OVERHEAD,), TINY, lambda: (np.concatenate, ([small, small],), {}))

    def many() -> Made:
        def loop() -> None:
            for _ in range(5000):
                np.multiply(small, small, small)

        return loop, (), {"operators": 5000, "flops": 5000 * 8, "bytes": 5000 * 192}

    yield Case("numpy 5,000 products of 8 in a loop", (OVERHEAD,), TINY, many)
