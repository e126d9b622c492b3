# SPDX-License-Identifier: Apache-2.0
"""Usual operations that are neither streams nor products: the set that an acceptance test labelled, rebuilt.

Rules of verdicts for usual code were worked on with it.
"""

import hashlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .case import Case, Made

OVER, MEM, COMP = ("OVERHEAD_BOUND",), ("MEMORY_BOUND",), ("COMPUTE_BOUND",)
RANDOM = np.random.default_rng(11)


def loop(count: int) -> int:
    """Return a sum, by the interpreter."""
    total = 0
    for i in range(count):
        total += i * i
    return total


def loop_of_adds(values: Any, count: int) -> Any:
    """Add small arrays many times."""
    for _ in range(count):
        values = np.add(values, values)
    return values


def read_whole(path: str) -> bytes:
    """Return what is in a file."""
    with open(path, "rb") as file:
        return file.read()


def file_of(count: int) -> str:
    """Return the path of a file of so many bytes, which the page cache holds."""
    path = os.path.join(tempfile.gettempdir(), f"regimes-usual-{os.getpid()}-{count}")
    if not os.path.exists(path):
        with open(path, "wb") as file:
            file.write(os.urandom(count))
    return path


def digest(data: bytes) -> str:
    """Return a sum of bytes."""
    return hashlib.sha256(data).hexdigest()


def _case(name: str, make: Callable[[], Made], labels: tuple[str, ...], reason: str) -> Case:
    return Case(name, labels, reason, make)


def numpy_cases() -> Iterator[Case]:
    """Yield those of NumPy, SciPy and Python."""
    big, million = 32_000_000, 2_000_000
    yield _case("np.add 8", lambda: (np.add, (np.ones(8), np.ones(8)), {}), OVER, "8 elements")
    yield _case("np.matmul 16", lambda: (np.matmul, (np.ones((16, 16)),) * 2, {}), OVER, "8,192 operations")
    yield _case("sleep", lambda: (time.sleep, (0.02,), {}), OVER, "waits")
    yield _case("np.add 32M out=", lambda: (np.add, (np.ones(big), np.ones(big), np.ones(big)), {}), MEM, "streams")
    yield _case("copyto 32M", lambda: (np.copyto, (np.ones(big), np.ones(big)), {}), MEM, "streams")
    yield _case("np.dot 32M", lambda: (np.dot, (np.ones(big), np.ones(big)), {}), MEM, "streams")
    yield _case("matrix-vector 8192", lambda: (np.matmul, (np.ones((8192, 8192)), np.ones(8192)), {}), MEM, "each once")
    yield _case("np.matmul 1500", lambda: (np.matmul, (np.ones((1500, 1500)),) * 2, {}), COMP, "a product")
    yield _case("np.exp f64 1M", lambda: (np.exp, (RANDOM.random(1_000_000),), {}), COMP, "a series")
    yield _case(
        "np.take random", lambda: (np.take, (np.ones(big), RANDOM.integers(0, big, million)), {}), MEM, "chance"
    )
    yield _case(
        "transposed copy", lambda: (np.ascontiguousarray, (np.ones((4096, 4096)).T,), {}), MEM, "columns of rows"
    )
    yield _case("np.sort 2M", lambda: (np.sort, (RANDOM.random(million),), {}), COMP, "comparisons")
    yield _case("np.cumsum 60k", lambda: (np.cumsum, (RANDOM.random(60_000),), {}), COMP, "a chain of additions")
    yield _case("Python loop", lambda: (loop, (300_000,), {}), OVER, "interpreter")
    yield _case("Python loop of np.add", lambda: (loop_of_adds, (np.zeros(10), 20_000), {}), OVER, "calls")
    yield _case("file read", lambda: (read_whole, (file_of(64_000_000),), {}), OVER, "the system copies a file")
    yield _case("np.fromfile", lambda: (np.fromfile, (file_of(64_000_000), "u1"), {}), OVER, "the system copies a file")
    yield _case("np.fft 1M", lambda: (np.fft.fft, (RANDOM.random(1 << 20),), {}), COMP, "butterflies")
    yield _case("np.linalg.svd 300", lambda: (np.linalg.svd, (RANDOM.random((300, 300)),), {}), COMP, "n^3")
    yield _case("sha256 16 MB", lambda: (digest, (os.urandom(16_000_000),), {}), COMP, "a chain of rounds")
    from scipy import ndimage, special

    yield _case("gammaln", lambda: (special.gammaln, (RANDOM.random(500_000) * 9 + 1,), {}), COMP, "a series")
    image = RANDOM.random((1000, 1000))
    yield _case("gaussian_filter", lambda: (ndimage.gaussian_filter, (image, 3.0), {}), COMP, "25 taps twice")


def torch_cases() -> Iterator[Case]:
    """Yield those of torch."""
    import torch

    functional = torch.nn.functional

    def adds(values: Any) -> Any:
        for _ in range(3000):
            values = torch.add(values, 1.0)
        return values

    big = 32_000_000
    yield _case("torch.add 10", lambda: (torch.add, (torch.ones(10), torch.ones(10)), {}), OVER, "10 elements")
    yield _case("3000 torch adds", lambda: (adds, (torch.ones(4),), {}), OVER, "calls")
    yield _case(
        "torch.mul 32M", lambda: (torch.mul, (torch.ones(big), torch.ones(big)), {}), MEM, "streams, first touch"
    )
    yield _case("torch.relu 32M", lambda: (torch.relu, (torch.randn(big),), {}), MEM, "streams, first touch")
    images, filters = torch.randn(8, 64, 56, 56), torch.randn(64, 64, 3, 3)
    yield _case("conv2d", lambda: (functional.conv2d, (images, filters), {}), COMP, "a product")
    index = torch.randint(0, big, (2_000_000,))
    yield _case("torch.gather random", lambda: (torch.gather, (torch.ones(big), 0, index), {}), MEM, "chance")
    yield _case("torch.sort 2M", lambda: (torch.sort, (torch.randn(2_000_000),), {}), COMP, "comparisons")
    yield _case(
        "torch.cumsum 2M f64", lambda: (torch.cumsum, (torch.randn(2_000_000).double(), 0), {}), COMP, "a chain"
    )
    wide = torch.randn(4096, 1024)
    yield _case("layer_norm", lambda: (functional.layer_norm, (wide, (1024,)), {}), MEM + COMP, "a few operations each")
    yield _case("softmax", lambda: (torch.softmax, (wide, -1), {}), MEM + COMP, "exponentials of a stream")
    yield _case("torch.fft 1M", lambda: (torch.fft.fft, (torch.randn(1 << 20),), {}), COMP, "butterflies")


def cases() -> Iterator[Case]:
    """Yield all."""
    import importlib.util

    yield from numpy_cases()
    if importlib.util.find_spec("torch") is not None:
        yield from torch_cases()
