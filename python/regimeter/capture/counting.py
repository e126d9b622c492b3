# SPDX-License-Identifier: Apache-2.0
"""Inside a program whose instructions are counted: what ``regimeter record --count`` begins before it."""

import gc
import os
from typing import Any

from .. import _core
from . import recording

OPTION = "count"
SERIES = "instructions"
# Blocks of the heap that a layout takes first, so that what follows lies elsewhere: sizes of small objects.
SIZES, MOST = range(32, 512, 16), 60
_kept: list[bytes] = []
# The threads of the profiler rest: what they free at some moment is where the program allocates next.
HOUR_NS = 3_600_000_000_000
SESSION = {"drain_interval_ns": HOUR_NS, "anchor_interval_ns": HOUR_NS}


def told() -> dict[str, Any] | None:
    """Return what the program was told about counting, None where it was told nothing."""
    found = recording.options().get(OPTION)
    return found if isinstance(found, dict) and recording.is_owner() else None


def hold_still() -> None:
    """Before the program: switch the collector off, and begin the heap as the layout says."""
    asked = told()
    if asked is None:
        return
    gc.disable()
    lay_out(int(asked["layout"]))


def lay_out(layout: int) -> None:
    """Take as many blocks from the heap as the layout says."""
    import random

    dice = random.Random(layout)
    for size in SIZES:
        _kept.extend(bytes(size) for _ in range(dice.randrange(MOST)))


def start(profiler: Any) -> str | None:
    """Count the scopes of a profiler from here on; return the reason why they are not, None when nobody asked."""
    asked = told()
    if asked is None:
        return None
    try:
        _core.count_open(asked["log"])
    except _core.UnavailableError as error:
        return str(error)
    return "" if profiler._count() else "the process was forked"


def describe(reason: str | None) -> dict[str, Any]:
    """Return what the environment of a run says of counting, nothing where nobody asked for it."""
    asked = told()
    if asked is None or reason is None:
        return {}
    import ctypes

    return {
        "count": {
            "metric": SERIES,
            "tool": f"callgrind {asked['version']}",
            "layout": str(asked["layout"]),
            "hash_seed": os.environ.get("PYTHONHASHSEED"),
            "steady_heap": hasattr(ctypes.CDLL(None), "rgm_steady_heap"),
            "collector": "on" if gc.isenabled() else "off",
            "reason": reason,
        }
    }
