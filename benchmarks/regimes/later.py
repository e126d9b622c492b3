# SPDX-License-Identifier: Apache-2.0
"""Operations that were written down after `tuning` and `heldout` were right: 53 of 59 at first, one wrong.

What they showed was mended: the own rate of functions that take little more than their call, bounds for arithmetic that
is not counted, formulas for determinants.
"""

import asyncio
import ctypes
import functools
import importlib.util
import os
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from .case import AMBIGUOUS, COMPUTE, MEMORY, OVERHEAD, PRODUCT, SERIES, STREAM, TINY, WAITS, Case, Made
from .cases_c import holding, library, pointer
from .cases_numpy import elementwise, filled

LARGE = 11_000_000  # doubles: 88 MB an array
TURNS = 4_000_000


def cases() -> Iterator[Case]:
    """Yield all cases of what is installed."""
    yield from _streams()
    yield from _products()
    yield from _series()
    yield from _tiny()
    yield from _waits()
    if library() is not None:
        yield from _loops()
    if importlib.util.find_spec("torch") is not None:
        yield from _torch()


def _streams() -> Iterator[Case]:
    for name, dtype in (("divide", "float32"), ("bitwise_xor", "uint8"), ("left_shift", "int32"), ("fmin", "float32")):
        count = LARGE * 8 // np.dtype(dtype).itemsize

        def make(name: str = name, count: int = count, dtype: str = dtype) -> Made:
            return elementwise(getattr(np, name), count, dtype)

        yield Case(f"numpy {name} {dtype}", (MEMORY,), STREAM, make)
    values = filled(LARGE)
    yield Case("numpy square in place", (MEMORY,), STREAM, lambda: (np.square, (np.ones(LARGE), values), {}))
    total = np.ones(LARGE)
    yield Case("numpy add in place", (MEMORY,), STREAM, lambda: (np.add, (total, values, total), {}))
    yield Case(
        "numpy sum of a matrix",
        (MEMORY, COMPUTE, AMBIGUOUS),
        "one thread adds about as fast in a cache as the memory delivers",
        lambda: (np.sum, (values.reshape(-1, 1000),), {}),
    )
    single = filled(2 * LARGE, "float32")
    yield Case("numpy min float32", (MEMORY,), STREAM, lambda: (np.min, (single,), {}))
    yield Case("numpy vdot", (MEMORY,), STREAM, lambda: (np.vdot, (values, values[::-1].copy()), {}))


def _products() -> Iterator[Case]:
    for shape, dtype in (((2000, 2000), "float32"), ((1000, 1000), "float64"), ((8, 320, 320), "float64")):

        def make(shape: tuple[int, ...] = shape, dtype: str = dtype) -> Made:
            return np.matmul, (filled(shape, dtype), filled(shape, dtype)), {}

        yield Case(f"numpy matmul {' x '.join(map(str, shape))} {dtype}", (COMPUTE,), PRODUCT, make)
    order = 1400
    positive = filled((order, order))
    positive = positive @ positive.T + order * np.eye(order)
    yield Case(
        "numpy cholesky 1400",
        (COMPUTE,),
        "n^3 / 3 operations on n^2 elements",
        lambda: (np.linalg.cholesky, (positive,), {}),
    )
    yield Case("numpy det 1000", (COMPUTE,), PRODUCT, lambda: (np.linalg.det, (positive[:1000, :1000].copy(),), {}))


def _series() -> Iterator[Case]:
    for name in ("arccos", "arctanh", "float_power", "remainder", "arccosh"):
        for count in (16_000, 2_200_000):

            def make(name: str = name, count: int = count) -> Made:
                function, args, options = elementwise(getattr(np, name), count, "float64")
                if name in ("arccos", "arctanh"):
                    args = (args[0] / 5.01, *args[1:])
                return function, args, options

            yield Case(f"numpy {name} of {count:,}", (COMPUTE,), SERIES, make)


def _tiny() -> Iterator[Case]:
    for name, count in (("floor", 3), ("logical_and", 5), ("minimum", 7), ("isnan", 2), ("log", 4)):
        function = getattr(np, name)

        def make(function: Any = function, count: int = count) -> Made:
            return function, tuple(filled(count) for _ in range(function.nin)), {}

        yield Case(f"numpy {name} of {count}", (OVERHEAD,), TINY, make)
    small = filled(8)
    yield Case("numpy any of 8", (OVERHEAD,), TINY, lambda: (np.any, (small,), {}))
    yield Case("numpy argmax of 8", (OVERHEAD,), TINY, lambda: (np.argmax, (small,), {}))
    yield Case("numpy stack of 8", (OVERHEAD,), TINY, lambda: (np.stack, ([small, small],), {}))
    yield Case("numpy sort of 8", (OVERHEAD,), TINY, lambda: (np.sort, (small,), {}))


def _waits() -> Iterator[Case]:
    yield Case("sleep 7 ms", (OVERHEAD,), WAITS, lambda: (time.sleep, (0.007,), {}))
    condition = threading.Condition()

    def on_condition() -> None:
        with condition:
            condition.wait(0.009)

    yield Case("condition", (OVERHEAD,), WAITS, lambda: (on_condition, (), {}))

    def join() -> None:
        thread = threading.Thread(target=time.sleep, args=(0.01,))
        thread.start()
        thread.join()

    yield Case("join of a thread", (OVERHEAD,), WAITS, lambda: (join, (), {}))
    yield Case(
        "asyncio.sleep",
        (OVERHEAD,),
        WAITS,
        lambda: (functools.partial(_run, functools.partial(asyncio.sleep, 0.02)), (), {}),
    )
    one, other = socket.socketpair()
    one.settimeout(0.008)

    def receive() -> None:
        try:
            one.recv(1)
        except TimeoutError:
            other.fileno()  # kept open

    yield Case("socket without data", (OVERHEAD,), WAITS, lambda: (receive, (), {}))

    def read_pipe() -> None:
        readable, writable = os.pipe()
        timer = threading.Timer(0.01, os.close, (writable,))
        timer.start()
        os.read(readable, 1)
        os.close(readable)
        timer.join()

    yield Case("pipe without data", (OVERHEAD,), WAITS, lambda: (read_pipe, (), {}))


def _run(make: Any) -> None:
    asyncio.run(make())


def _loops() -> Iterator[Case]:
    count = ctypes.c_size_t(LARGE)

    def triad() -> Made:
        a, b, c = (np.ones(LARGE) for _ in range(3))
        call = functools.partial(library().triad, pointer(a), pointer(b), pointer(c), count)
        return holding(call, a, b, c), (), {"flops": 2 * LARGE, "bytes": 24 * LARGE}

    def arithmetic() -> Made:
        call = functools.partial(library().arithmetic, ctypes.c_size_t(TURNS))
        return call, (), {"flops": 64 * TURNS, "bytes": 0}

    yield Case("C longer triad", (MEMORY,), STREAM, triad)
    yield Case("C 4,000,000 turns", (COMPUTE,), "no memory traffic at all", arithmetic)


def _torch() -> Iterator[Case]:
    import torch

    F = torch.nn.functional
    torch.manual_seed(13)
    big = torch.rand(2 * LARGE)
    out = torch.ones_like(big)
    yield Case("torch div into", (MEMORY,), STREAM, lambda: (lambda: torch.div(big, 3.0, out=out), (), {}))
    yield Case("torch sum", (MEMORY,), STREAM, lambda: (torch.sum, (big,), {}))
    yield Case("torch add_", (MEMORY,), STREAM, lambda: (out.add_, (big,), {}))
    yield Case("torch clamp_", (MEMORY,), STREAM, lambda: (out.clamp_, (0.1, 0.9), {}))
    halves = torch.rand(4 * LARGE, dtype=torch.float32).to(torch.bfloat16)
    yield Case("torch copy_ bfloat16", (MEMORY,), STREAM, lambda: (torch.ones_like(halves).copy_, (halves,), {}))
    square = torch.rand(720, 720)
    yield Case("torch addmm", (COMPUTE,), PRODUCT, lambda: (torch.addmm, (square, square, square), {}))
    yield Case(
        "torch linear", (COMPUTE,), PRODUCT, lambda: (F.linear, (torch.rand(900, 700), torch.rand(800, 700)), {})
    )
    heads = torch.rand(2, 8, 512, 64)
    yield Case(
        "torch attention",
        (COMPUTE,),
        "4 n d operations for each element of a head",
        lambda: (F.scaled_dot_product_attention, (heads, heads, heads), {}),
    )
    convolution = torch.nn.Conv2d(32, 64, 5, padding=2)
    image = torch.rand(4, 32, 64, 64)
    yield Case("torch Conv2d 5 x 5", (COMPUTE,), "1,600 operations an element", lambda: (convolution, (image,), {}))
    encoder = torch.nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True).eval()
    tokens = torch.rand(4, 200, 256)
    yield Case("torch encoder layer", (COMPUTE,), "most of it products of matrices", lambda: (encoder, (tokens,), {}))
    for name in ("erf", "asinh", "sinh"):

        def series(name: str = name) -> Made:
            return getattr(torch, name), (torch.rand(1_300_000, dtype=torch.float64),), {}

        yield Case(f"torch {name}", (COMPUTE,), SERIES, series)
    small = torch.rand(3, 4)
    yield Case("torch sum of 12", (OVERHEAD,), TINY, lambda: (torch.sum, (small,), {}))
    yield Case("torch cat of 12", (OVERHEAD,), TINY, lambda: (torch.cat, ([small, small],), {}))
    yield Case("torch softmax of 12", (OVERHEAD,), TINY, lambda: (torch.softmax, (small, 1), {}))
    yield Case("torch Linear of 4", (OVERHEAD,), TINY, lambda: (torch.nn.Linear(4, 4), (small,), {}))
    embedding = torch.nn.Embedding(10, 4)
    index = torch.tensor([1, 5, 7])
    yield Case("torch Embedding of 3", (OVERHEAD,), TINY, lambda: (embedding, (index,), {}))
