# SPDX-License-Identifier: Apache-2.0
"""What the panels show: series by operation, and the roofs. No drawing here."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from .. import _core
from .sweep import Point
from .work import PIPES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..calibration import Calibration

UNDECIDED = ("AMBIGUOUS", "UNKNOWN")
LEAST_SIZES = 2  # in a row, up to the largest
REGIMES = ("OVERHEAD_BOUND", "MEMORY_BOUND", "COMPUTE_BOUND", "AMBIGUOUS", "UNKNOWN")


@dataclass(frozen=True, slots=True)
class Line:
    """A series of a panel: x, y and what was measured, for each point."""

    panel: str
    name: str
    points: tuple[tuple[float, float, Point], ...]


@dataclass(frozen=True, slots=True)
class Roof:
    """Measured ceilings in bytes/s and FLOP/s, None where not measured."""

    bandwidth: float | None
    flops: float | None
    bandwidth_name: str
    flops_name: str


@dataclass(frozen=True, slots=True)
class Band:
    """A roof with its interval of 95 %: of "memory" in bytes/s, of "compute" in operations/s.

    low, high: None where no spread is known.
    """

    name: str
    of: str
    value: float
    low: float | None
    high: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Plot:
    """All that is drawn. bands: the two roofs with their intervals, those of them that were measured."""

    title: str
    points: tuple[Point, ...]
    lines: tuple[Line, ...]
    roof: Roof
    bands: tuple[Band, ...]


PANELS = (
    ("time", "Time by size", "elements", "ms"),
    ("throughput", "Throughput", "elements", "elements/s"),
    ("bandwidth", "Bandwidth, part of the measured roof", "elements", "1 = roof"),
    ("roofline", "Roofline", "FLOP/byte", "FLOP/s"),
)


def plot_of(points: Sequence[Point], ceilings: "Calibration", dtype: str) -> Plot:
    """Return what is drawn of points of one type."""
    roofs = roof(ceilings, dtype)
    pipe = roofs.flops_name.removeprefix("compute_")
    shown = tuple(band for band in bands(ceilings.vector()) if band.name in ("memory", pipe))
    return Plot(f"{ceilings.name}, {dtype}", tuple(points), lines(points), roofs, shown)


def sentence(plot: Plot) -> str:
    """Return what the plots show: from which size on memory limits an operation, and how near one comes to the roof."""
    said = []
    for name in dict.fromkeys(point.operation for point in plot.points):
        sizes = [(point.elements, point.profile["regime"]) for point in plot.points if point.operation == name]
        judged = [(size, regime) for size, regime in sorted(sizes) if regime not in UNDECIDED]
        tail = len(judged)
        while tail and judged[tail - 1][1] == "MEMORY_BOUND":
            tail -= 1
        if len(judged) - tail >= LEAST_SIZES:
            said.append(f"memory limits {name} from {judged[tail][0]:,} elements on")
            break
    best = max(plot.points, key=lambda point: point.profile["achieved_flops"] or 0.0, default=None)
    reached = (best.profile["achieved_flops"] or 0.0) if best else 0.0
    if best and reached:
        of = f", {100 * reached / plot.roof.flops:.0f} % of the roof" if plot.roof.flops else ""
        said.append(f"the best {best.operation} reaches {reached / 1e9:,.3g} GFLOP/s{of}")
    text = "; ".join(said)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def roof(ceilings: "Calibration", dtype: str) -> Roof:
    """Return the roofs of a type: the better of copy and triad, and the pipe's peak."""
    known = {name: found.value for name, found in ceilings.ceilings.items() if found.value is not None}
    best = _memory(known)
    pipe = f"compute_{PIPES[dtype]}"
    return Roof(known.get(best), known.get(pipe), best, pipe)


def bands(vector: "NDArray[Any]") -> list[Band]:
    """Return the roofs of a calibration's vector (value and spread of each ceiling): the memory's, then each pipe's.

    A spread is two standard deviations of the logarithm, as docs/regime_profiler.md says.
    """
    rows = dict(zip(_core.CEILINGS, vector.tolist(), strict=True))
    known = {name: value for name, (value, _) in rows.items() if not math.isnan(value)}
    shown = [
        name for name in (_memory(known), *(name for name in known if name.startswith("compute_"))) if name in known
    ]
    return [_band(name, *rows[name]) for name in shown]


def _band(name: str, value: float, spread: float) -> Band:
    of, _, short = name.partition("_")
    wide = not math.isnan(spread)
    return Band(
        "memory" if of == "memory" else short,
        of,
        value,
        value / (1 + spread) if wide else None,
        value * (1 + spread) if wide else None,
    )


def _memory(known: Mapping[str, float]) -> str:
    """Return the ceiling that is the roof of the memory: the faster of copy and triad."""
    return max(("memory_copy", "memory_triad"), key=lambda name: known.get(name, 0.0))


def lines(points: Sequence[Point]) -> tuple[Line, ...]:
    """Return the series of all panels."""
    found = []
    for panel, *_ in PANELS:
        for operation in dict.fromkeys(point.operation for point in points):
            mine = [_place(panel, point) for point in points if point.operation == operation]
            known = tuple(place for place in mine if place is not None)
            if known:
                found.append(Line(panel, operation, known))
    return tuple(found)


def _place(panel: str, point: Point) -> tuple[float, float, Point] | None:
    profile = point.profile
    seconds = profile["evidence"]["judged_ms"] / 1e3
    if seconds <= 0:
        return None
    x, y = float(point.elements), None
    if panel == "time":
        y = seconds * 1e3
    elif panel == "throughput":
        y = point.elements / seconds
    elif panel == "bandwidth":
        y = profile["bandwidth_utilization"]
    elif profile["compute_intensity"] and profile["achieved_flops"]:
        x, y = profile["compute_intensity"], profile["achieved_flops"]
    return None if y is None else (x, y, point)
