# SPDX-License-Identifier: Apache-2.0
"""Rows of a comparison: from what the core says of one operation, and from two quantities without noise."""

import math
from statistics import median
from typing import Any

from .. import _core
from ..system.quantities import finite
from .result import ChangeType, OperationComparison
from .side import Samples

CHANGES = {
    "no_change": ChangeType.NO_CHANGE,
    "improvement": ChangeType.IMPROVEMENT,
    "regression": ChangeType.REGRESSION,
    "new": ChangeType.NEW_OPERATION,
    "removed": ChangeType.REMOVED_OPERATION,
    "invalid": ChangeType.INVALID,
}
LARGEST_BOUND = 0.01
CHANGED = (ChangeType.IMPROVEMENT, ChangeType.REGRESSION)
# With five layouts the interval reaches from the least to the greatest (6.3 %), with eight it leaves one out (7 %).
LAYOUTS_MAY_ERR = 0.08


def scaled(value: float | None, factor: float) -> float | None:
    """Return the value times the factor, None where it is not known."""
    return None if value is None or not math.isfinite(value) else value * factor


def least_q(tier: str, pairs: int, baseline: int, current: int) -> float | None:
    """Return the q below which so many processes support none, for print: what exchanging them could reach, at most
    LARGEST_BOUND; None where nothing was exchanged."""
    if tier not in ("single", "launches", "paired") or not (pairs or (baseline and current)):
        return None
    ways = 2.0**pairs if pairs else math.comb(baseline + current, baseline)
    return min(LARGEST_BOUND, 2 / ways)


def sampled_fields(values: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an OperationComparison for one row of the core's table ``comparison``."""
    change = CHANGES[_core.VERDICTS[values["verdict"]]]
    return {
        "change_type": change,
        "is_significant": change in CHANGED,
        "baseline": finite(values["baseline"]),
        "current": finite(values["current"]),
        "change_percent": scaled(values["change"], 100),
        "low_percent": scaled(values["low"], 100),
        "high_percent": scaled(values["high"], 100),
        "p": finite(values["p"]),
        "q": finite(values["q"]),
        "least_q": least_q(
            _core.TIERS[values["tier"]], values["pairs"], values["baseline_launches"], values["current_launches"]
        ),
        "rank_p": finite(values["rank_p"]),
        "tier": _core.TIERS[values["tier"]],
        "reason": _core.VERDICT_REASONS[values["reason"]],
        "conclusive": bool(values["conclusive"]),
        "gates": bool(values["gates"]),
        "pairs": values["pairs"],
        "baseline_launches": values["baseline_launches"],
        "current_launches": values["current_launches"],
        "baseline_samples": values["baseline_samples"],
        "current_samples": values["current_samples"],
        "share": finite(values["share"]),
        "detectable_percent": scaled(values["detectable"], 100),
        "needed": values["needed"] if values["needed"] >= 0 else None,
        "baseline_slow": finite(values["baseline_slow"]),
        "current_slow": finite(values["current_slow"]),
        "autocorrelation": finite(values["autocorrelation"]),
    }


def exact_row(
    name: str, metric: str, unit: str, before: Samples, after: Samples, tolerance: float = 0.0
) -> OperationComparison:
    """Return the row of a quantity that is the same in every process of a side.

    tolerance: part of the baseline by which it may differ and still count as unchanged.
    """
    values = [_only(samples, name) for samples in (before, after)]
    if values[0] is None or values[1] is None:
        change = ChangeType.NEW_OPERATION if values[0] is None else ChangeType.REMOVED_OPERATION
        reason, percent = "one_side", None
    else:
        percent = 100 * (values[1] / values[0] - 1) if values[0] else None
        change = ChangeType.REGRESSION if values[1] > values[0] else ChangeType.IMPROVEMENT
        reason = "exact_difference"
        if values[0] == values[1]:
            change, reason, percent = ChangeType.NO_CHANGE, "equal", 0.0
        elif abs(values[1] - values[0]) <= tolerance * abs(values[0]):
            change, reason = ChangeType.NO_CHANGE, "below_threshold"
    return OperationComparison(
        operation=name,
        metric=metric,
        unit=unit,
        change_type=change,
        is_significant=change in CHANGED,
        baseline=values[0],
        current=values[1],
        change_percent=percent,
        tier="exact",
        reason=reason,
        conclusive=True,
        baseline_launches=len(before.launches.get(name, ())),
        current_launches=len(after.launches.get(name, ())),
    )


def counted_row(
    name: str, metric: str, unit: str, before: Samples, after: Samples, tolerance: float
) -> OperationComparison:
    """Return the row of a quantity that was counted in several layouts of memory, the same on both sides.

    The change is the median over the layouts of the change in each; the interval that of the median by the sign test,
    which needs no assumption on how layouts differ. `current` is the baseline's median with that change. Beyond the
    tolerance as a whole it is a change, within it none, and else the layouts disagree.
    """
    sides = [[float(launch[0]) for launch in samples.launches.get(name, ())] for samples in (before, after)]
    layouts = min(map(len, sides))
    if not layouts or min(map(min, sides)) <= 0:
        return exact_row(name, metric, unit, before, after)
    ratios = sorted(new / old for old, new in zip(*sides, strict=False))
    low, change, high = (100 * (ratio - 1) for ratio in _median_of(ratios))
    limit = 100 * tolerance
    verdict, reason = ChangeType.NO_CHANGE, "layouts"
    if low > limit or high < -limit:
        verdict, reason = ChangeType.REGRESSION if low > limit else ChangeType.IMPROVEMENT, "exact_difference"
    elif -limit <= low and high <= limit:
        reason = "equal" if low == high == 0.0 else "below_threshold"
    return OperationComparison(
        operation=name,
        metric=metric,
        unit=unit,
        change_type=verdict,
        is_significant=verdict in CHANGED,
        baseline=median(sides[0]),
        current=median(sides[0]) * (1 + change / 100),
        change_percent=change,
        low_percent=low,
        high_percent=high,
        tier="exact",
        reason=reason,
        conclusive=reason != "layouts",
        pairs=layouts,
        baseline_launches=len(sides[0]),
        current_launches=len(sides[1]),
    )


def _median_of(ordered: list[float]) -> tuple[float, float, float]:
    """Return (low, median, high) of values in order: the narrowest interval whose ends the sign test leaves out with
    at most LAYOUTS_MAY_ERR together; of a few values, from the first to the last."""
    out, count = 0, len(ordered)
    while 2 * sum(math.comb(count, less) for less in range(out + 2)) <= LAYOUTS_MAY_ERR * 2**count:
        out += 1
    return ordered[out], median(ordered), ordered[count - 1 - out]


def _only(samples: Samples, name: str) -> float | None:
    launches = samples.launches.get(name)
    return float(launches[0][0]) if launches and len(launches[0]) else None
