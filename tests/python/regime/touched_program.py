# SPDX-License-Identifier: Apache-2.0
"""Looks at the memory of calls whose size is known, in a process that does nothing else, and prints them as JSON.

Threads of a test process would be counted with it, and memory of what ran before may lie in huge pages.
"""

import functools
import json
from typing import Any

import numpy as np
import small_calibration

import regimeter
from regimeter.regime import limits, stopwatch

MIB = 1 << 20
REPEAT = 9
SMALL = np.random.default_rng(1).random(60_000)
WIDE = bytearray(16 * MIB)


def wide() -> Any:
    for place in range(0, len(WIDE), 4096):
        WIDE[place] += 1
    return SMALL.argsort()  # the longest call, of a mebibyte


def look(function: Any) -> dict[str, Any]:
    _, measured = stopwatch.measure(function, REPEAT, touched=True)
    assert measured.touched is not None
    return measured.touched.to_dict()


def queries() -> dict[str, Any]:
    try:
        from scipy.spatial import cKDTree
    except ImportError:
        return {}
    found = {}
    with regimeter.GPUProfiler(device_timing=False) as profiler:
        for name, count in (("near", 3000), ("far", 120_000)):
            points = np.random.default_rng(2).random((count, 3))
            _, told = profiler.profile_with_result(cKDTree(points).query, points[:4000], 5, repeat=REPEAT)
            found[name] = {key: told["evidence"][key] for key in ("limits", "touched")}
    return found


if __name__ == "__main__":
    exec(small_calibration.PROGRAM)  # where this machine has no calibration yet
    limits.cache_sizes = lambda: (48 * 1024, 4 * MIB, 64 * MIB)  # whatever this machine has
    reads = {size: look(functools.partial(b"x".__add__(bytes(size)).count, b"x")) for size in (MIB, 24 * MIB)}
    print(json.dumps({"reads": reads, "wide": look(wide), "line": wide.__code__.co_firstlineno + 3, **queries()}))
