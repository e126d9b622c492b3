# SPDX-License-Identifier: Apache-2.0
"""Figures as words, for the texts of the rules."""

import math
from collections.abc import Iterable, Mapping

from .. import _core
from ..system.text import amount, duration, shorten

NAME_WIDTH = 80
UNKNOWN = "an unknown value"
LARGE_SPEEDUP = 10
NEAR = 0.005  # times that print alike are one


def figure(value: float | None, unit: str) -> str:
    """Return a value in its unit."""
    if value is None or math.isnan(value):
        return UNKNOWN
    if unit == "ns":
        return duration(value / 1e6)
    if unit == "us":
        return duration(value / 1e3)
    if unit == "bytes":
        return amount(value)
    if unit == "bytes/s":
        return f"{amount(value)}/s"
    if unit == "share":
        return f"{value:.1%}".replace("%", " %")
    if unit == "percent":
        return f"{value:.3g} %"
    if unit == "celsius":
        return f"{value:.3g} °C"
    return f"{value:,.3g} {unit}".rstrip() if abs(value) < 1000 else f"{value:,.0f} {unit}".rstrip()


def thresholds(given: Mapping[str, float] | None = None) -> dict[str, str]:
    """Return every threshold as words, by name; those given instead of the defaults."""
    given = given or {}
    return {
        name: _threshold(name, given.get(name, row["default"]), row["unit"]) for name, row in _core.policy().items()
    }


def _threshold(name: str, value: float, unit: str) -> str:
    if not unit and name.endswith("_share"):
        return f"{value:.3g}" if value > 1 else f"{100 * value:.3g} %"
    return figure(value, unit if unit in ("ns", "us", "bytes", "percent", "celsius") else "")


class _Words(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return UNKNOWN


def fill(template: str, *sources: Mapping[str, str]) -> str:
    """Return a text with its places filled; what no source knows is called unknown."""
    words = _Words()
    for source in sources:
        words.update(source)
    return template.format_map(words)


def quantities(figures: Iterable[tuple[str, float | None, str]]) -> dict[str, str]:
    """Return figures (name, value, unit) as words by name; the first of a name counts."""
    found: dict[str, str] = {}
    for name, value, unit in figures:
        found.setdefault(name, figure(value, unit))
    return found


def subject(name: str) -> str:
    """Return a name as it stands in a sentence."""
    return shorten(name, NAME_WIDTH) if name else "the run"


def improvement(low_ms: float, high_ms: float, low: float, high: float, idle_ms: float = math.nan) -> str:
    """Return the bounds of a saving as a sentence; idle_ms: the device's idle time, where that is what bounds it."""
    least = f"{duration(low_ms)} to " if low_ms > 0 else "at most "
    times = f"{_times(low)} to {_times(high)}" if low_ms > 0 else f"at most {_times(high)}"
    if high > LARGE_SPEEDUP:  # next to nothing is left: by how much cannot be told from a recording
        times = f"up to more than {LARGE_SPEEDUP} times"
    why = ""
    if idle_ms > high_ms * (1 + NEAR):
        why = f", with the other suggestions at most the {duration(idle_ms)} that the device idles"
    elif not math.isnan(idle_ms):
        why = ", which is all that the device idles"
    return f"saves {least}{duration(high_ms)}{why}; the run becomes {times} as fast"


def _times(speedup: float) -> str:
    return f"{speedup:.2f}x"
