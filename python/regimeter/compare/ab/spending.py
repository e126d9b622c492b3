# SPDX-License-Identifier: Apache-2.0
"""Looking at pairs more than once without more false alarms than promised.

The error rate is spent over the looks by the O'Brien-Fleming-type function of Lan & DeMets (Biometrika 70, 1983),
a(t) = 2 - 2 Phi(z / sqrt(t)) with z the normal quantile of 1 - alpha / 2 and t the part of the pairs that are there.
Each look is held to what it may spend, a(t_k) - a(t_k-1), on its own: by the union bound the whole error rate is at
most alpha however the looks and the operations depend on one another, which the exact joint boundaries, known for one
normal statistic, do not give for a false-discovery rate. The price is a last look at .031 instead of .05.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import NormalDist

# Parts of the pairs after which there is a look.
PARTS = (0.5, 0.7, 1.0)
LEAST = 5


def looks_of(pairs: int, *, early: bool = True) -> tuple[int, ...]:
    """Return after how many pairs to look; the last is `pairs`. Fewer than LEAST pairs are not looked at early."""
    if not early:
        return (pairs,)
    found = sorted({math.ceil(part * pairs) for part in PARTS})
    return tuple(look for look in found if look >= LEAST or look == pairs)


def spent(alpha: float, part: float) -> float:
    """Return what may be spent once `part` (0 to 1) of the pairs is there."""
    if part <= 0:
        return 0.0
    normal = NormalDist()
    return 2 * (1 - normal.cdf(normal.inv_cdf(1 - alpha / 2) / math.sqrt(min(part, 1.0))))


def levels_of(alpha: float, looks: Sequence[int]) -> tuple[float, ...]:
    """Return the level of each look; their sum is alpha."""
    sums = [0.0, *(spent(alpha, look / looks[-1]) for look in looks[:-1]), alpha]
    return tuple(after - before for before, after in pairwise(sums))
