# SPDX-License-Identifier: Apache-2.0
"""Whether memory grows from step to step: by the change points of the core, not by two readings."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from .. import _core

ALPHA = 0.01
WARMUP = 2  # steps in which optimizers and caches get their memory
THIRDS = 3


def trend_of(levels: Sequence[float]) -> dict[str, Any]:
    """Return what bytes at the ends of steps say: {verdict, steps, bytes_per_step, p, reason}.

    verdict: "grows" where the levels changed upward and never downward (change points at 1 %), and each third of the
    steps lies above the one before; "level" where not; None with a reason where there are too few steps. The first two
    steps are left out. bytes_per_step: the median slope of all pairs of steps. p: of the likeliest change.
    """
    values = np.asarray(levels, dtype=np.float64)[WARMUP:]
    least = int(_core.policy()["suggest_growth_steps"]["default"])
    found: dict[str, Any] = {"verdict": None, "steps": len(values), "bytes_per_step": None, "p": None, "reason": ""}
    if len(values) < least:
        found["reason"] = f"{len(values)} steps after the first {WARMUP}: fewer than {least} show no trend"
        return found
    found["bytes_per_step"] = _slope(values)
    changes = _core.change_points(values, ALPHA, False)
    found["p"] = min((p for _, p, _, _ in changes), default=None)
    upward = bool(changes) and all(after > before for _, _, before, after in changes)
    parts = np.array_split(values, THIRDS)
    rising = all(b.min() > a.max() for a, b in pairwise(parts))
    found["verdict"] = "grows" if upward and rising else "level"
    return found


def _slope(values: "np.ndarray[Any, Any]") -> float:
    first, last = np.triu_indices(len(values), 1)
    return float(np.median((values[last] - values[first]) / (last - first)))
