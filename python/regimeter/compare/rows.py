# SPDX-License-Identifier: Apache-2.0
"""Rows of a comparison: from what the core says of one operation, and from two quantities without noise."""

import math
from typing import Any

from .. import _core
from .result import ChangeType, OperationComparison
from .samples import Samples

CHANGES = {
    "no_change": ChangeType.NO_CHANGE,
    "improvement": ChangeType.IMPROVEMENT,
    "regression": ChangeType.REGRESSION,
    "new": ChangeType.NEW_OPERATION,
    "removed": ChangeType.REMOVED_OPERATION,
    "invalid": ChangeType.INVALID,
}
CHANGED = (ChangeType.IMPROVEMENT, ChangeType.REGRESSION)


def known(value: Any) -> Any:
    """Return None for NaN and infinity, which JSON does not have, and any other value as it is."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def scaled(value: float | None, factor: float) -> float | None:
    """Return the value times the factor, None where it is not known."""
    return None if value is None or not math.isfinite(value) else value * factor


def sampled_fields(values: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an OperationComparison for one row of the core's table ``comparison``."""
    change = CHANGES[_core.VERDICTS[values["verdict"]]]
    return {
        "change_type": change,
        "is_significant": change in CHANGED,
        "baseline": known(values["baseline"]),
        "current": known(values["current"]),
        "change_percent": scaled(values["change"], 100),
        "low_percent": scaled(values["low"], 100),
        "high_percent": scaled(values["high"], 100),
        "p": known(values["p"]),
        "q": known(values["q"]),
        "rank_p": known(values["rank_p"]),
        "tier": _core.TIERS[values["tier"]],
        "reason": _core.VERDICT_REASONS[values["reason"]],
        "conclusive": bool(values["conclusive"]),
        "gates": bool(values["gates"]),
        "pairs": values["pairs"],
        "baseline_launches": values["baseline_launches"],
        "current_launches": values["current_launches"],
        "baseline_samples": values["baseline_samples"],
        "current_samples": values["current_samples"],
        "share": known(values["share"]),
        "detectable_percent": scaled(values["detectable"], 100),
        "needed": values["needed"] if values["needed"] >= 0 else None,
        "baseline_slow": known(values["baseline_slow"]),
        "current_slow": known(values["current_slow"]),
        "autocorrelation": known(values["autocorrelation"]),
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


def _only(samples: Samples, name: str) -> float | None:
    launches = samples.launches.get(name)
    return float(launches[0][0]) if launches and len(launches[0]) else None
