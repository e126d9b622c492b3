# SPDX-License-Identifier: Apache-2.0
"""The memory pool against malloc, numpy.empty and torch: time of an allocation and its end, and with a first use.

``python benchmarks/pool.py [--json]``. Each figure is the median of repetitions, the candidates in turns; a ratio is
the pool's time over the candidate's. Host memory; with ``--device`` also a CUDA device, where there is one.
"""

import ctypes
import json
import random
import statistics
import sys
from collections.abc import Callable
from time import perf_counter_ns

import numpy as np

import regimeter

SIZES = (8 << 10, 256 << 10, 4 << 20, 64 << 20)
REPETITIONS = 41
PAGE = 4096
Act = Callable[[int, bool], None]


def candidates() -> dict[str, Act]:
    """Return what allocates, touches every page if asked, and gives back."""
    pool = regimeter.ActiveMemoryPool.with_defaults()
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    libc.malloc.argtypes = [ctypes.c_size_t]
    libc.free.argtypes = [ctypes.c_void_p]

    def from_pool(size: int, use: bool) -> None:
        buffer = pool.allocate(size)
        if use:
            np.frombuffer(buffer, "u1")[::PAGE] = 1
        pool.free(buffer)

    def from_malloc(size: int, use: bool) -> None:
        address = libc.malloc(size)
        if use:
            np.frombuffer((ctypes.c_ubyte * size).from_address(address), "u1")[::PAGE] = 1
        libc.free(address)

    def from_numpy(size: int, use: bool) -> None:
        array = np.empty(size, "u1")
        if use:
            array[::PAGE] = 1

    found: dict[str, Act] = {"pool": from_pool, "malloc": from_malloc, "numpy.empty": from_numpy}
    try:
        import torch
    except ImportError:
        return found

    def from_torch(size: int, use: bool) -> None:
        tensor = torch.empty(size, dtype=torch.uint8)
        if use:
            tensor.numpy()[::PAGE] = 1

    found["torch.empty"] = from_torch
    return found


def on_device() -> dict[str, Act]:
    """Return the same of a CUDA device, without a first use."""
    pool = regimeter.ActiveMemoryPool.with_defaults()
    bare = regimeter.ActiveMemoryPool(regimeter.ActivePoolConfig(enabled=False))
    found: dict[str, Act] = {
        "pool (device)": lambda size, use: pool.free(pool.allocate(size, 0)),
        "cuMemAlloc": lambda size, use: bare.free(bare.allocate(size, 0)),
    }
    try:
        import torch
    except ImportError:
        return found
    found["torch (device)"] = lambda size, use: (torch.empty(size, dtype=torch.uint8, device="cuda:0"), None)[1]
    return found


def measure(acts: dict[str, Act], size: int, use: bool) -> dict[str, float]:
    """Return the median microseconds of each, measured in turns of random order."""
    times: dict[str, list[int]] = {name: [] for name in acts}
    rng = random.Random(1)
    for turn in range(REPETITIONS + 2):
        order = list(acts)
        rng.shuffle(order)
        for name in order:
            begin = perf_counter_ns()
            acts[name](size, use)
            took = perf_counter_ns() - begin
            if turn >= 2:
                times[name].append(took)
    return {name: statistics.median(values) / 1e3 for name, values in times.items()}


def main() -> None:
    """Measure and print."""
    groups = [(candidates(), use) for use in (False, True)]
    if "--device" in sys.argv:
        groups.append((on_device(), False))
    rows = []
    for acts, use in groups:
        for size in SIZES:
            found = measure(acts, size, use)
            first = next(iter(found.values()))
            rows.append({"bytes": size, "touched": use, "us": found, "ratio": {n: first / v for n, v in found.items()}})
    if "--json" in sys.argv:
        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        print(f"{row['bytes'] >> 10:>7} KiB {'touched  ' if row['touched'] else 'untouched'}", end="")
        for name, value in row["us"].items():
            print(f"  {name} {value:.1f} us (x{row['ratio'][name]:.3g})", end="")
        print()


if __name__ == "__main__":
    main()
