# SPDX-License-Identifier: Apache-2.0
"""Loops in C through ctypes, and waits. The work is told, because nobody can see into a loop in C."""

import ctypes
import functools
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .case import BEYOND, COMPUTE, MEMORY, OVERHEAD, STREAM, TINY, WAITS, Case, Made

FLAGS = ("-O3", "-march=native", "-ffp-contract=fast", "-shared", "-fPIC")
LINKS = 2**25  # of four bytes: 128 MB
STEPS = 300_000
TURNS = 5_000_000


@functools.cache
def library() -> Any:
    """Build the loops; None without a compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    built = Path(tempfile.mkdtemp()) / "kernels.so"
    subprocess.run([compiler, *FLAGS, str(Path(__file__).with_name("kernels.c")), "-o", str(built)], check=True)
    found = ctypes.CDLL(str(built))
    found.arithmetic.restype = found.total.restype = ctypes.c_double
    return found


def pointer(array: Any) -> Any:
    """Return the address as ctypes wants it."""
    return array.ctypes.data_as(ctypes.c_void_p)


def cases() -> Iterator[Case]:
    """Yield the waits, and the loops where there is a compiler."""
    yield from _waits()
    if library() is not None:
        yield from _loops()


def _loops() -> Iterator[Case]:
    count = ctypes.c_size_t(BEYOND)

    def triad() -> Made:
        a, b, c = (np.ones(BEYOND) for _ in range(3))
        call = functools.partial(library().triad, pointer(a), pointer(b), pointer(c), count)
        return holding(call, a, b, c), (), {"flops": 2 * BEYOND, "bytes": 24 * BEYOND}

    def copy() -> Made:
        a, b = np.ones(BEYOND), np.ones(BEYOND)
        call = functools.partial(library().copy, pointer(a), pointer(b), count)
        return holding(call, a, b), (), {"flops": 0, "bytes": 16 * BEYOND}

    def fill() -> Made:
        a = np.ones(BEYOND)
        call = functools.partial(library().fill, pointer(a), count)
        return holding(call, a), (), {"flops": 0, "bytes": 8 * BEYOND}

    def chase() -> Made:
        order = np.random.default_rng(3).permutation(LINKS).astype(np.uint32)
        links = np.empty(LINKS, np.uint32)
        links[order] = np.roll(order, -1)
        at = np.zeros(1, np.uint32)
        call = functools.partial(library().chase, pointer(links), pointer(at), ctypes.c_size_t(STEPS))
        return holding(call, links, at), (), {"flops": 0, "bytes": 64 * STEPS, "accesses": STEPS}

    def arithmetic() -> Made:
        call = functools.partial(library().arithmetic, ctypes.c_size_t(TURNS))
        return call, (), {"flops": 64 * TURNS, "bytes": 0}

    yield Case("C triad", (MEMORY,), STREAM, triad)
    yield Case("C copy", (MEMORY,), STREAM, copy)
    yield Case("C fill", (MEMORY,), STREAM, fill)
    yield Case("C chain of loads", (MEMORY,), "each load waits for the one before, in 128 MB in random order", chase)
    yield Case("C multiply-adds in registers", (COMPUTE,), "no memory traffic at all", arithmetic)
    yield Case("C empty function", (OVERHEAD,), TINY, lambda: (library().nothing, (), {"flops": 0, "bytes": 0}))


def holding(call: Any, *arrays: Any) -> Any:
    """Return the call, which keeps the arrays alive."""
    call.arrays = arrays
    return call


def _waits() -> Iterator[Case]:
    for milliseconds in (1, 20):
        yield Case(
            f"sleep {milliseconds} ms", (OVERHEAD,), WAITS, lambda ms=milliseconds: (time.sleep, (ms / 1e3,), {})
        )
    yield Case("wait for an event", (OVERHEAD,), WAITS, lambda: (threading.Event().wait, (0.01,), {}))
    yield Case("another process", (OVERHEAD,), WAITS, lambda: (subprocess.run, (["sleep", "0.02"],), {}))
    yield Case("empty Python function", (OVERHEAD,), TINY, lambda: (lambda: None, (), {}))
