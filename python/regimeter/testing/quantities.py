# SPDX-License-Identifier: Apache-2.0
"""Quantities as people write them: "3 ms", "2 GiB", "2.5 %"."""

import math
import re

PATTERN = re.compile(r"\s*([0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?)\s*([^\s0-9]*)\s*")
SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}
BYTES = {
    "b": 1.0,
    "kb": 1e3,
    "mb": 1e6,
    "gb": 1e9,
    "tb": 1e12,
    "kib": 2.0**10,
    "mib": 2.0**20,
    "gib": 2.0**30,
    "tib": 2.0**40,
}
TIME_STEPS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
BYTE_STEPS = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))


def seconds(value: str | float) -> float:
    """Return a time in seconds; a bare number is one. ValueError for anything else than a positive time."""
    return _positive(value, SECONDS, "a time such as '3 ms' or '250 us'", lower=False)


def size(value: str | float) -> float:
    """Return a size in bytes; 1 MB = 10^6 bytes, 1 MiB = 2^20. ValueError for anything else than a size."""
    return _positive(value, BYTES, "a size such as '2 GiB' or '300 MB'", lower=True)


def percent(value: str | float) -> float:
    """Return a percentage as a number, 5 for '5%' and for 5. ValueError unless it is at least 0."""
    number, unit = _split(value)
    if unit not in ("", "%") or not math.isfinite(number) or number < 0:
        raise ValueError(f"{value!r} is not a percentage such as '5%' or '2.5%'")
    return number


def _split(value: object) -> tuple[float, str]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value), ""
    match = PATTERN.fullmatch(value) if isinstance(value, str) else None
    return (float(match[1]), match[2]) if match else (math.nan, "")


def _positive(value: str | float, units: dict[str, float], expected: str, lower: bool) -> float:
    number, unit = _split(value)
    factor = units.get(unit.lower() if lower else unit) if unit else 1.0
    if factor is None or not math.isfinite(number) or number <= 0:
        raise ValueError(f"{value!r} is not {expected}")
    return number * factor


def time_text(value: float) -> str:
    """Return a time with the unit that fits it."""
    return _text(value, TIME_STEPS, "s")


def size_text(value: float) -> str:
    """Return a size with the unit that fits it."""
    return _text(value, BYTE_STEPS, "bytes")


def _text(value: float, steps: tuple[tuple[float, str], ...], rest: str) -> str:
    for factor, unit in steps:
        if abs(value) >= factor:
            return f"{value / factor:.4g} {unit}"
    return f"{value:.4g} {rest}"
