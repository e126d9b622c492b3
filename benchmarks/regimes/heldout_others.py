# SPDX-License-Identifier: Apache-2.0
"""Loops in C, waits and operations of torch that nothing was tuned on."""

import contextlib
import ctypes
import functools
import importlib.util
import queue
import select
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from .case import COMPUTE, MEMORY, OVERHEAD, PRODUCT, SERIES, STREAM, TINY, WAITS, Case, Made
from .cases_c import holding, library, pointer

COUNT = 23_000_000  # floats: 92 MB an array
TURNS = 3_000_000
STEPS = 200_000


def cases() -> Iterator[Case]:
    """Yield the waits, the loops where there is a compiler, and torch's where it is installed."""
    yield from _waits()
    if library() is not None:
        yield from _loops()
    if importlib.util.find_spec("torch") is not None:
        yield from _torch()


def _waits() -> Iterator[Case]:
    yield Case("sleep 4 ms", (OVERHEAD,), WAITS, lambda: (time.sleep, (0.004,), {}))
    yield Case("select without files", (OVERHEAD,), WAITS, lambda: (select.select, ([], [], [], 0.006), {}))
    held = threading.Lock()
    held.acquire()
    yield Case("lock that is held", (OVERHEAD,), WAITS, lambda: (held.acquire, (True, 0.015), {}))
    empty: queue.Queue[int] = queue.Queue()

    def from_queue() -> None:
        with contextlib.suppress(queue.Empty):
            empty.get(timeout=0.012)

    yield Case("queue that is empty", (OVERHEAD,), WAITS, lambda: (from_queue, (), {}))


def _loops() -> Iterator[Case]:
    count = ctypes.c_size_t(COUNT)

    def scale() -> Made:
        a, b = np.ones(COUNT, np.float32), np.ones(COUNT, np.float32)
        call = functools.partial(library().scale, pointer(a), pointer(b), count)
        return holding(call, a, b), (), {"flops": COUNT, "bytes": 8 * COUNT}

    def total() -> Made:
        a = np.ones(COUNT, np.float32)
        call = functools.partial(library().total, pointer(a), count)
        return holding(call, a), (), {"flops": COUNT, "bytes": 4 * COUNT}

    def chase() -> Made:
        links = 3 * 2**24  # 192 MB
        order = np.random.default_rng(11).permutation(links).astype(np.uint32)
        chain = np.empty(links, np.uint32)
        chain[order] = np.roll(order, -1)
        at = np.zeros(1, np.uint32)
        call = functools.partial(library().chase, pointer(chain), pointer(at), ctypes.c_size_t(STEPS))
        return holding(call, chain, at), (), {"flops": 0, "bytes": 64 * STEPS, "accesses": STEPS}

    def double() -> Made:
        return functools.partial(library().arithmetic, ctypes.c_size_t(TURNS)), (), {"flops": 64 * TURNS, "bytes": 0}

    yield Case("C scale float32", (MEMORY,), STREAM, scale)
    yield Case("C sum float32", (MEMORY,), STREAM, total)
    yield Case("C chain of loads in 192 MB", (MEMORY,), "each load waits for the one before", chase)
    yield Case("C fewer multiply-adds", (COMPUTE,), "no memory traffic at all", double)


def _torch() -> Iterator[Case]:
    import torch

    torch.manual_seed(11)
    big = torch.rand(COUNT)
    for name in ("sub", "mul", "maximum"):

        def two(name: str = name) -> Made:
            function, out = getattr(torch, name), torch.ones_like(big)
            return (lambda: function(big, big, out=out)), (), {}

        yield Case(f"torch {name} of {COUNT:,}", (MEMORY,), STREAM, two)
    yield Case("torch neg_", (MEMORY,), STREAM, lambda: (torch.rand(COUNT).neg_, (), {}))
    yield Case("torch fill_", (MEMORY,), STREAM, lambda: (torch.rand(COUNT).fill_, (2.0,), {}))
    whole = torch.ones(COUNT // 2, dtype=torch.int64)
    yield Case("torch zero_ int64", (MEMORY,), STREAM, lambda: (whole.zero_, (), {}))
    yield Case("torch mv", (MEMORY,), STREAM, lambda: (torch.mv, (torch.rand(5000, 4000), torch.rand(4000)), {}))
    for size, dtype in ((640, torch.float32), (900, torch.float64)):

        def mm(size: int = size, dtype: Any = dtype) -> Made:
            return torch.mm, (torch.rand(size, size, dtype=dtype), torch.rand(size, size, dtype=dtype)), {}

        yield Case(f"torch mm {size} {dtype}", (COMPUTE,), PRODUCT, mm)
    batch = torch.rand(6, 350, 350)
    yield Case("torch matmul of a batch", (COMPUTE,), PRODUCT, lambda: (torch.matmul, (batch, batch), {}))
    convolution = torch.nn.Conv2d(64, 64, 3, padding=1)
    image = torch.rand(4, 64, 64, 64)
    yield Case("torch Conv2d 3 x 3", (COMPUTE,), "1,152 operations an element", lambda: (convolution, (image,), {}))
    for name in ("atan", "lgamma", "digamma"):

        def series(name: str = name) -> Made:
            return getattr(torch, name), (torch.rand(1_500_000, dtype=torch.float64) + 0.5,), {}

        yield Case(f"torch {name}", (COMPUTE,), SERIES, series)
    small = torch.rand(2, 8)
    for name in ("sigmoid", "tanh", "exp"):
        yield Case(f"torch {name} of 16", (OVERHEAD,), TINY, lambda name=name: (getattr(torch, name), (small,), {}))
    yield Case("torch LayerNorm of 8", (OVERHEAD,), TINY, lambda: (torch.nn.LayerNorm(8), (small,), {}))
    yield Case("torch GRU cell of 8", (OVERHEAD,), TINY, lambda: (torch.nn.GRUCell(8, 8), (small,), {}))
    deep = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh()) for _ in range(12)])
    yield Case("torch 12 layers of 8 and tanh", (OVERHEAD,), TINY, lambda: (deep, (small,), {}))
