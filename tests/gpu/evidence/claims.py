# SPDX-License-Identifier: Apache-2.0
"""A claim: what was to be shown, the value that was found, the limit, and whether it holds."""

import math
from typing import Any, NamedTuple

from . import doubles

NOT_JUDGED = "not judged on doubles"


class Claim(NamedTuple):
    """`holds` is None where nothing can be said, and then `limit` or `value` tells why."""

    claim: str
    value: Any
    limit: str
    holds: bool | None


def _number(value: Any) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if known else None


def physical(made: Claim) -> Claim:
    """Return a claim about what only hardware has, a time, a rate, a share of a peak: on doubles it shows nothing."""
    return made._replace(limit=f"{made.limit}; {NOT_JUDGED}", holds=None) if doubles.ON else made


def at_most(claim: str, value: Any, limit: float, unit: str = "") -> Claim:
    """Return the claim that a number is not above the limit; a number that is not known shows nothing."""
    number = _number(value)
    return Claim(claim, value, f"<= {limit:g} {unit}".rstrip(), None if number is None else number <= limit)


def at_least(claim: str, value: Any, limit: float, unit: str = "") -> Claim:
    """Return the claim that a number is not below the limit."""
    number = _number(value)
    return Claim(claim, value, f">= {limit:g} {unit}".rstrip(), None if number is None else number >= limit)


def between(claim: str, value: Any, low: float, high: float, unit: str = "") -> Claim:
    """Return the claim that a number lies in a window, its ends included."""
    number = _number(value)
    limit = f"{low:g} to {high:g} {unit}".rstrip()
    return Claim(claim, value, limit, None if number is None else low <= number <= high)


def equal(claim: str, value: Any, wanted: Any) -> Claim:
    """Return the claim that a value is exactly this."""
    return Claim(claim, value, f"== {wanted}", None if value is None else value == wanted)


def shown(claim: str, value: Any, note: str = "no limit; a figure") -> Claim:
    """Return a figure that is reported and not judged."""
    return Claim(claim, value, note, None)
