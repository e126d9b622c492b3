# SPDX-License-Identifier: Apache-2.0
"""Pairs without what the machine did to all operations of a process: the others are a control variate.

A process on a shared machine is slower or faster as a whole, by up to 1.7 x where the sibling thread of its processor
is busy, so that pairs differ far more than the program. In each pair the median of the other operations tells what the
machine did; how strongly an operation follows it is fitted over the pairs (Lavenberg & Welch 1981), not taken to be 1.

Its mean has to be known for that: it is 0 where most operations are unchanged. Where all operations together differ by
more than chance over the pairs, the program may be slower as a whole, and nothing is taken out. Of fewer than FEW
operations one that changed, and a machine that by chance was slower on one side, make the same picture: unless such a
shift is beyond doubt (CERTAIN), nobody can tell, so all of it counts as doubt in each operation. How far the others
disagree, and the fitted coefficient, widen what is left; it is used where that has less than MOST_LEFT of the variance.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ..side import Samples, Side

Floats = NDArray[np.float64]
LEAST_OTHERS = 3
MOST_LEFT = 0.5  # of the variance
STRONGEST = 1.5  # an operation that follows the others by more does not follow them
FEW = 8  # operations
LEVEL = 0.05  # of the test whether all operations together differ
CERTAIN = 0.001  # level at which few operations that differ together are the program
TAIL = 0.995  # where Student's quantiles of both degrees of freedom are made to agree
MEDIAN_VARIANCE = math.pi / 2  # of a median of normal values, beside that of their mean


@dataclass(frozen=True, slots=True)
class Steadied:
    """What was done to an operation. raw_percent: its change before. coefficient: how strongly it follows the others,
    which was taken out; None where nothing was, because the shift of all, in percent, may be the program's."""

    raw_percent: float
    coefficient: float | None
    shift_percent: float | None = None


def steadied(baseline: Side, current: Side, least_pairs: float) -> tuple[Side, dict[str, Steadied]]:
    """Return the current side with its times less the machine's part, and what was done to which operation."""
    before, after = (side.metrics.get("time", Samples()) for side in (baseline, current))
    names = [name for name in before.launches if name in after.launches]
    pairs = max((len(before.launches[name]) for name in names), default=0)
    names = [name for name in names if _usable(before, name, pairs) and _usable(after, name, pairs)]
    if pairs < max(least_pairs, 4) or len(names) <= LEAST_OTHERS:
        return current, {}
    differences = np.array([_centers(after, name) - _centers(before, name) for name in names])
    shift = doubtful_shift(differences)
    told: Mapping[int, float | None]
    if shift is None:
        moved, told = without_common(differences)
    else:
        moved, told = in_doubt(differences), dict.fromkeys(range(len(names)))
    if not told:
        return current, {}
    moved_time = Samples(*map(dict, after.tables))
    for row in told:
        factors = np.exp(moved[row] - differences[row])
        launches = [launch * factor for launch, factor in zip(after.launches[names[row]], factors, strict=True)]
        moved_time.launches[names[row]] = launches
    made = {
        names[row]: Steadied(
            100 * math.expm1(float(differences[row].mean())),
            coefficient,
            None if shift is None else 100 * math.expm1(shift),
        )
        for row, coefficient in told.items()
    }
    return current.with_metric("time", moved_time), made


def doubtful_shift(differences: Floats) -> float | None:
    """Return by what few operations differ together where neither machine nor program is excluded, else None."""
    common = np.median(differences, axis=0)
    doubtful = len(differences) < FEW and _shifted(common, LEVEL) and not _shifted(common, CERTAIN)
    return float(common.mean()) if doubtful else None


def in_doubt(differences: Floats) -> Floats:
    """Return the differences with the shift of the others as a part of each standard error."""
    made = differences.copy()
    for row, values in enumerate(differences):
        mean = values.mean()
        error = float(np.var(values, ddof=1)) / len(values)
        shift = float(np.median(np.delete(differences, row, axis=0), axis=0).mean())
        if error > 0:
            made[row] = mean + (values - mean) * math.sqrt(1 + shift**2 / error)
    return made


def without_common(differences: Floats) -> tuple[Floats, dict[int, float]]:
    """Return differences of pairs, (operations, pairs) as logarithms, and the coefficients of the rows that changed."""
    operations, pairs = differences.shape
    if _shifted(np.median(differences, axis=0), LEVEL):
        return differences, {}
    means = differences.mean(axis=1)
    made, told = differences.copy(), {}
    # What is fitted costs a degree of freedom; the tests that follow do not know.
    cost = math.sqrt((pairs - 1) / (pairs - 2)) * _core.t_quantile(TAIL, pairs - 2) / _core.t_quantile(TAIL, pairs - 1)
    for row in range(operations):
        others = np.delete(differences, row, axis=0)
        common = np.median(others, axis=0)
        around = common - common.mean()
        power = float(around @ around)
        if power <= 0:
            continue
        coefficient = min(STRONGEST, float(around @ differences[row]) / power)
        left = differences[row] - means[row] - coefficient * around
        error = float(left @ left) / (pairs - 1) * cost**2 / pairs
        # The median of the others is 0 as far as they agree, beside what the machine did.
        apart = others.mean(axis=1) - common.mean()
        doubt = coefficient**2 * MEDIAN_VARIANCE * float(np.var(apart, ddof=1)) / len(others)
        raw = float(np.var(differences[row], ddof=1)) / pairs
        if coefficient <= 0 or error + doubt > MOST_LEFT * raw:
            continue
        width = cost * math.sqrt((error + doubt) / error) if error > 0 else cost
        made[row] = means[row] - coefficient * common.mean() + width * left
        told[row] = coefficient
    return made, told


def _shifted(common: Floats, level: float) -> bool:
    """Whether all operations together differ by more than pairs do by chance."""
    spread = float(np.std(common, ddof=1))
    if spread <= 0:
        return bool(common.mean() != 0)
    t = abs(float(common.mean())) / (spread / math.sqrt(len(common)))
    return t > _core.t_quantile(1 - level / 2, len(common) - 1)


def _usable(samples: Samples, name: str, pairs: int) -> bool:
    launches = samples.launches[name]
    return len(launches) == pairs and all(
        len(one) and bool((one > 0).all() and np.isfinite(one).all()) for one in launches
    )


def _centers(samples: Samples, name: str) -> Floats:
    return np.array([np.median(np.log(launch)) for launch in samples.launches[name]])
