# SPDX-License-Identifier: Apache-2.0
"""Quantities as people write them, read in one place: "3 ms", "2 GiB", "2.5 %"."""

import math
import re
from typing import Any

PATTERN = re.compile(r"\s*([0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?)\s*([^\s0-9]*)\s*")
SECONDS = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "min": 60.0,
    "h": 3600.0,
}
BYTES = {"b": 1.0, "bytes": 1.0} | {
    unit: base**power
    for power, letter in enumerate("kmgt", 1)
    for unit, base in ((letter, 1e3), (f"{letter}b", 1e3), (f"{letter}ib", 2.0**10))
}
TIME_EXAMPLES = "500ms, 2s, 10m or 1h"
SIZE_EXAMPLES = "500MB, 8G or 2GiB"
PERCENT_EXAMPLES = "5% or 2.5%"
TIME_STEPS = ((3600.0, "h"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
BYTE_STEPS = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))


def seconds(value: str | float, bare: str = "", least: float = 0.0, most: float = math.inf) -> float:
    """Return a time in seconds: a number and a unit of :data:`SECONDS`, in lower case.

    bare: the unit of a number without one, "" where a unit must be said. ValueError, with examples, for anything
    else than a time above 0 from `least` to `most` seconds.
    """
    number = _scaled(value, SECONDS, SECONDS.get(bare))
    if not least <= number <= most:
        ends = f"from {time_text(least)} to {time_text(most)}" if least or most < math.inf else "above 0"
        raise ValueError(f"expected a time {ends} such as {TIME_EXAMPLES}, got {value!r}")
    return number


def size(value: str | float, bare: str = "") -> float:
    """Return a size in bytes: 1 MB, or M, is 10^6 bytes, 1 MiB 2^20, in any case of letters.

    bare: the unit of a number without one, "" where a unit must be said. ValueError, with examples, for anything
    else than a size above 0.
    """
    plain = value.lower() if isinstance(value, str) else value
    number = _scaled(plain, BYTES, BYTES.get(bare.lower()))
    if math.isnan(number):
        raise ValueError(f"expected a size above 0 such as {SIZE_EXAMPLES}, got {value!r}")
    return number


def percent(value: str | float) -> float:
    """Return a percentage as a number, 5 for '5%' and for 5. ValueError unless it is at least 0."""
    number, unit = _split(value)
    if unit not in ("", "%") or not math.isfinite(number) or number < 0:
        raise ValueError(f"expected a percentage such as {PERCENT_EXAMPLES}, got {value!r}")
    return number


def _split(value: object) -> tuple[float, str]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value), ""
    match = PATTERN.fullmatch(value) if isinstance(value, str) else None
    return (float(match[1]), match[2]) if match else (math.nan, "")


def _scaled(value: object, units: dict[str, float], bare: float | None) -> float:
    """Return the value in the base unit, NaN for what is no quantity above 0 in one of the units."""
    number, unit = _split(value)
    factor = units.get(unit) if unit else bare
    scaled = math.nan if factor is None else number * factor
    return scaled if math.isfinite(scaled) and scaled > 0 else math.nan


def known(value: float | None) -> float | None:
    """Return a figure, None for NaN, as JSON has it."""
    return None if value is None or math.isnan(value) else value


def finite(value: Any) -> Any:
    """Return None for NaN and infinity, which JSON does not have, and any other value as it is."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


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
