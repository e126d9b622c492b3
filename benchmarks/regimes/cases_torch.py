# SPDX-License-Identifier: Apache-2.0
"""Operations of torch on the host, and modules."""

from collections.abc import Iterator
from typing import Any

import torch

from .case import BEYOND, COMPUTE, MEMORY, OVERHEAD, PRODUCT, SERIES, STREAM, TINY, Case, Made

F = torch.nn.functional


def cases() -> Iterator[Case]:
    """Yield all cases."""
    torch.manual_seed(7)
    yield from _streams()
    yield from _products()
    yield from _tiny()


def _streams() -> Iterator[Case]:
    for dtype in (torch.float64, torch.float32):
        count = BEYOND * 8 // dtype.itemsize

        def add(count: int = count, dtype: Any = dtype) -> Made:
            first = torch.rand(count, dtype=dtype)
            out = torch.ones_like(first)
            return (lambda: torch.add(first, first, out=out)), (), {}

        def copy(count: int = count, dtype: Any = dtype) -> Made:
            return torch.ones(count, dtype=dtype).copy_, (torch.rand(count, dtype=dtype),), {}

        yield Case(f"torch add {dtype}", (MEMORY,), STREAM, add)
        yield Case(f"torch copy_ {dtype}", (MEMORY,), STREAM, copy)
    values = torch.rand(BEYOND)
    yield Case("torch relu_", (MEMORY,), STREAM, lambda: (torch.relu_, (values,), {}))
    yield Case("torch mul_ of a scalar", (MEMORY,), STREAM, lambda: (values.mul_, (1.0,), {}))


def _products() -> Iterator[Case]:
    for size in (512, 1024):
        for dtype in (torch.float32, torch.float64):

            def make(size: int = size, dtype: Any = dtype) -> Made:
                return torch.mm, (torch.rand(size, size, dtype=dtype), torch.rand(size, size, dtype=dtype)), {}

            yield Case(f"torch mm {size} {dtype}", (COMPUTE,), PRODUCT, make)
    yield Case(
        "torch bmm", (COMPUTE,), PRODUCT, lambda: (torch.bmm, (torch.rand(4, 400, 400), torch.rand(4, 400, 400)), {})
    )
    yield Case("torch Linear", (COMPUTE,), PRODUCT, lambda: (torch.nn.Linear(1024, 1024), (torch.rand(512, 1024),), {}))

    def mlp() -> Made:
        layers = [torch.nn.Linear(768, 768), torch.nn.ReLU(), torch.nn.Linear(768, 768)]
        return torch.nn.Sequential(*layers), (torch.rand(512, 768),), {}

    yield Case("torch two layers", (COMPUTE,), PRODUCT, mlp)
    square = torch.rand(800, 800)
    yield Case("torch lambda of a product", (COMPUTE,), PRODUCT, lambda: (lambda: square @ square, (), {}))
    for name in ("cos", "tan", "erfinv"):

        def series(name: str = name) -> Made:
            return getattr(torch, name), (torch.rand(BEYOND // 4, dtype=torch.float64) * 0.9,), {}

        yield Case(f"torch {name}", (COMPUTE,), SERIES, series)


def _tiny() -> Iterator[Case]:
    small = torch.rand(4, 4)
    for name in ("neg", "abs", "relu"):
        yield Case(f"torch {name} of 16", (OVERHEAD,), TINY, lambda name=name: (getattr(torch, name), (small,), {}))
    yield Case("torch add of 16", (OVERHEAD,), TINY, lambda: (torch.add, (small, small), {}))
    for depth in (4, 40):

        def make(depth: int = depth) -> Made:
            return torch.nn.Sequential(*[torch.nn.Linear(4, 4) for _ in range(depth)]), (small,), {}

        yield Case(f"torch {depth} layers of 4", (OVERHEAD,), TINY, make)
    yield Case("torch LSTM cell of 4", (OVERHEAD,), TINY, lambda: (torch.nn.LSTMCell(4, 4), (small,), {}))
