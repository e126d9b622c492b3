# SPDX-License-Identifier: Apache-2.0
"""Operations that came last: 57 of 61 right in their first run, none wrong, which is what to expect of untried ones.

Floors that are those of the function itself, and the first calls that are not counted, came after that run.
"""

import ctypes
import functools
import importlib.util
import multiprocessing
import signal
import time
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import numpy as np

from .case import COMPUTE, MEMORY, OVERHEAD, PRODUCT, SERIES, STREAM, TINY, WAITS, Case, Made
from .cases_c import holding, library, pointer
from .cases_numpy import elementwise, filled

LARGE = 10_000_000  # doubles: 80 MB an array
LINKS = 5 * 2**23  # of four bytes: 160 MB
STEPS = 250_000


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
    for name, dtype in (
        ("bitwise_or", "int32"),
        ("maximum", "int16"),
        ("subtract", "complex64"),
        ("conjugate", "complex128"),
    ):
        count = LARGE * 8 // np.dtype(dtype).itemsize

        def make(name: str = name, count: int = count, dtype: str = dtype) -> Made:
            return elementwise(getattr(np, name), count, dtype)

        yield Case(f"numpy {name} {dtype} beyond", (MEMORY,), STREAM, make)
    values, out = filled(LARGE), np.ones(LARGE)
    yield Case("numpy multiply by a scalar", (MEMORY,), STREAM, lambda: (np.multiply, (values, 3.0, out), {}))
    yield Case("numpy subtract in place", (MEMORY,), STREAM, lambda: (np.subtract, (out, values, out), {}))
    yield Case("numpy negative in place", (MEMORY,), STREAM, lambda: (np.negative, (out, out), {}))
    single = filled((4000, 5000), "float32")
    yield Case("numpy copyto of a matrix", (MEMORY,), STREAM, lambda: (np.copyto, (np.ones_like(single), single), {}))
    yield Case("numpy amax float32", (MEMORY,), STREAM, lambda: (np.amax, (single,), {}))
    yield Case(
        "numpy outer into",
        (MEMORY,),
        STREAM,
        lambda: (np.outer, (filled(4000), filled(3000), np.ones((4000, 3000))), {}),
    )


def _products() -> Iterator[Case]:
    for shape, dtype in (((450, 450), "float64"), ((1700, 1700), "float32"), ((12, 256, 256), "float32")):

        def make(shape: tuple[int, ...] = shape, dtype: str = dtype) -> Made:
            return np.matmul, (filled(shape, dtype), filled(shape, dtype)), {}

        yield Case(f"numpy product {' x '.join(map(str, shape))} {dtype}", (COMPUTE,), PRODUCT, make)
    flat = filled((300, 3000)), filled((3000, 500))
    yield Case("numpy dot 300 x 3000 x 500", (COMPUTE,), PRODUCT, lambda: (np.dot, flat, {}))
    order = 1100
    system = filled((order, order)) / order + np.eye(order)
    yield Case(
        "numpy slogdet", (COMPUTE,), "2/3 n^3 operations on n^2 elements", lambda: (np.linalg.slogdet, (system,), {})
    )
    yield Case(
        "numpy inv 700", (COMPUTE,), "8/3 n^3 operations", lambda: (np.linalg.inv, (system[:700, :700].copy(),), {})
    )


def _series() -> Iterator[Case]:
    for name in ("arcsin", "sin", "cosh", "fmod", "floor_divide"):
        for count in (14_000, 1_900_000):

            def make(name: str = name, count: int = count) -> Made:
                function, args, options = elementwise(getattr(np, name), count, "float64")
                if name == "arcsin":
                    args = (args[0] / 5.01, *args[1:])
                return function, args, options

            yield Case(f"numpy {name} of {count:,} more", (COMPUTE,), SERIES, make)


def _tiny() -> Iterator[Case]:
    for name, count in (("ceil", 5), ("multiply", 3), ("less", 6), ("cos", 2), ("arctan2", 2), ("bitwise_not", 4)):
        function = getattr(np, name)

        def make(function: Any = function, count: int = count, name: str = name) -> Made:
            dtype = "int64" if name == "bitwise_not" else "float64"
            return function, tuple(filled(count, dtype) for _ in range(function.nin)), {}

        yield Case(f"numpy {name} of {count}", (OVERHEAD,), TINY, make)
    small = filled(6)
    yield Case("numpy std of 6", (OVERHEAD,), TINY, lambda: (np.std, (small,), {}))
    yield Case("numpy prod of 6", (OVERHEAD,), TINY, lambda: (np.prod, (small,), {}))
    yield Case("numpy flip of 6", (OVERHEAD,), TINY, lambda: (np.flip, (small,), {}))
    yield Case("numpy inner of 6", (OVERHEAD,), TINY, lambda: (np.inner, (small, small), {}))
    yield Case("numpy method sum of 6", (OVERHEAD,), TINY, lambda: (small.sum, (), {}))


def _waits() -> Iterator[Case]:
    yield Case("sleep 3 ms", (OVERHEAD,), WAITS, lambda: (time.sleep, (0.003,), {}))
    yield Case(
        "signal that does not come", (OVERHEAD,), WAITS, lambda: (signal.sigtimedwait, ([signal.SIGUSR1], 0.01), {})
    )
    future: Future[int] = Future()

    def result() -> None:
        try:
            future.result(0.011)
        except TimeoutError:
            return

    yield Case("future without a result", (OVERHEAD,), WAITS, lambda: (result, (), {}))
    receiver, sender = multiprocessing.Pipe(duplex=False)

    def poll() -> None:
        receiver.poll(0.006)
        sender.fileno()  # kept open

    yield Case("connection without data", (OVERHEAD,), WAITS, lambda: (poll, (), {}))


def _loops() -> Iterator[Case]:
    count = ctypes.c_size_t(LARGE)

    def copy() -> Made:
        a, b = np.ones(LARGE), np.ones(LARGE)
        call = functools.partial(library().copy, pointer(a), pointer(b), count)
        return holding(call, a, b), (), {"flops": 0, "bytes": 16 * LARGE}

    def chase() -> Made:
        order = np.random.default_rng(17).permutation(LINKS).astype(np.uint32)
        chain = np.empty(LINKS, np.uint32)
        chain[order] = np.roll(order, -1)
        at = np.zeros(1, np.uint32)
        call = functools.partial(library().chase, pointer(chain), pointer(at), ctypes.c_size_t(STEPS))
        return holding(call, chain, at), (), {"flops": 0, "bytes": 64 * STEPS, "accesses": STEPS}

    yield Case("C copy of 80 MB", (MEMORY,), STREAM, copy)
    yield Case("C chain of loads in 160 MB", (MEMORY,), "each load waits for the one before", chase)


def _torch() -> Iterator[Case]:
    import torch

    F = torch.nn.functional
    torch.manual_seed(19)
    big = torch.rand(2 * LARGE)
    out = torch.ones_like(big)
    yield Case("torch add into", (MEMORY,), STREAM, lambda: (lambda: torch.add(big, 1.0, out=out), (), {}))
    yield Case("torch sub_", (MEMORY,), STREAM, lambda: (out.sub_, (big,), {}))
    yield Case("torch abs_", (MEMORY,), STREAM, lambda: (out.abs_, (), {}))
    yield Case("torch amax", (MEMORY,), STREAM, lambda: (torch.amax, (big,), {}))
    whole = torch.ones(LARGE, dtype=torch.int64)
    yield Case("torch copy_ int64", (MEMORY,), STREAM, lambda: (torch.zeros_like(whole).copy_, (whole,), {}))
    yield Case(
        "torch matmul 560",
        (COMPUTE,),
        PRODUCT,
        lambda: (torch.matmul, (torch.rand(560, 560), torch.rand(560, 560)), {}),
    )
    batch = torch.rand(5, 300, 300, dtype=torch.float64)
    yield Case("torch bmm float64", (COMPUTE,), PRODUCT, lambda: (torch.bmm, (batch, batch), {}))
    deep = torch.nn.Sequential(torch.nn.Linear(640, 900), torch.nn.GELU(), torch.nn.Linear(900, 640))
    yield Case("torch two layers and GELU", (COMPUTE,), PRODUCT, lambda: (deep, (torch.rand(700, 640),), {}))
    convolution = torch.nn.Conv2d(48, 96, 3, padding=1)
    image = torch.rand(4, 48, 56, 56)
    yield Case("torch Conv2d 48 to 96", (COMPUTE,), "864 operations an element", lambda: (convolution, (image,), {}))
    for name in ("erfc", "acos", "lgamma"):

        def series(name: str = name) -> Made:
            return getattr(torch, name), (torch.rand(900_000, dtype=torch.float64),), {}

        yield Case(f"torch {name} of 900,000", (COMPUTE,), SERIES, series)
    small = torch.rand(2, 3)
    yield Case("torch mean of 6", (OVERHEAD,), TINY, lambda: (torch.mean, (small,), {}))
    yield Case("torch gelu of 6", (OVERHEAD,), TINY, lambda: (F.gelu, (small,), {}))
    yield Case("torch clone of 6", (OVERHEAD,), TINY, lambda: (small.clone, (), {}))
    yield Case("torch log_softmax of 6", (OVERHEAD,), TINY, lambda: (F.log_softmax, (small, 1), {}))
    yield Case("torch RNN cell of 3", (OVERHEAD,), TINY, lambda: (torch.nn.RNNCell(3, 3), (small,), {}))
    yield Case("torch BatchNorm of 3", (OVERHEAD,), TINY, lambda: (torch.nn.BatchNorm1d(3).eval(), (small,), {}))
