# SPDX-License-Identifier: Apache-2.0
"""How much processes of one program differ on this machine: learned from launches of the same, kept for comparisons.

The floor of an operation is the standard deviation of the logarithm of its median from launch to launch. It holds the
error of the median itself, which makes it a little large, and is widened for the number of launches it was learned
from, so that an interval of the normal distribution keeps its level.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist, median, stdev
from typing import Any

import numpy as np

from .. import _core
from ..run.environment import Environment
from ..run.identity import Stored, facts_of
from ..system.cache import NoCacheError, cache_folder, file_of
from ..system.files import atomic_writer
from .side import Side

FORMAT = "regimeter.noise"
FEWEST = 3  # launches from which a deviation is known at all
PAIRS = (5, 10, 20, 40)


@dataclass(frozen=True, slots=True)
class NoiseFloor:
    """Floors by operation as a part of 1, and one for operations that were not seen: the median of them.

    paired: standard deviation of the difference of two launches that follow one another, by operation.
    """

    operations: Mapping[str, float]
    paired: Mapping[str, float]
    launches: int
    environment: Stored

    @property
    def overall(self) -> float | None:
        """The floor of an operation that was not seen, None when none was."""
        return median(self.operations.values()) if self.operations else None

    def to_dict(self) -> dict[str, Any]:
        """Return the floors as JSON values."""
        return {
            "format": FORMAT,
            "version": 1,
            "launches": self.launches,
            "overall": self.overall,
            "operations": dict(self.operations),
            "paired": dict(self.paired),
            "environment": facts_of([self.environment], "noise"),
        }


# --- learning -------------------------------------------------------------------------------------------------


def levels(sides: Sequence[Side]) -> dict[str, list[float]]:
    """Return the logarithm of each operation's median in each launch, for operations that all launches have."""
    found: dict[str, list[float]] = {}
    for side in sides:
        for name, launches in side.metrics["time"].launches.items() if "time" in side.metrics else ():
            value = float(np.median(np.concatenate(launches)))
            if value > 0 and math.isfinite(value):
                found.setdefault(name, []).append(math.log(value))
    return {name: values for name, values in found.items() if len(values) == len(sides)}


def learn(sides: Sequence[Side], environment: Stored) -> NoiseFloor:
    """Return the floors that launches of one program show. ValueError for fewer than FEWEST launches."""
    if len(sides) < FEWEST:
        raise ValueError(f"{len(sides)} launches cannot tell how much they differ; at least {FEWEST} can")
    values = levels(sides)
    wider = _core.t_quantile(0.975, len(sides) - 1) / NormalDist().inv_cdf(0.975)
    return NoiseFloor(
        {name: stdev(series) * wider for name, series in values.items()},
        {name: _paired(series) for name, series in values.items()},
        len(sides),
        environment,
    )


def _paired(series: Sequence[float]) -> float:
    """Standard deviation of the difference of neighbours; its mean is 0 because they are launches of the same."""
    squares = [(second - first) ** 2 for first, second in zip(series[::2], series[1::2], strict=False)]
    return math.sqrt(sum(squares) / len(squares))


def detectable(spread: float, pairs: int, alpha: float = 0.05, power: float = 0.8) -> float:
    """Return the smallest change of one operation that so many pairs detect, as a part of 1.

    spread: standard deviation of the difference of a pair. Two-sided paired t-test, without help of other operations.
    """
    df = pairs - 1
    return math.expm1((_core.t_quantile(1 - alpha / 2, df) + _core.t_quantile(power, df)) * spread / math.sqrt(pairs))


def detectable_single(floor: float, alpha: float = 0.05, power: float = 0.8) -> float:
    """Return the smallest change that one process a side detects where samples have no spread of their own."""
    df = float(_core.compare_policy()["inferred_df"]["default"])
    return math.expm1((_core.t_quantile(1 - alpha / 2, df) + _core.t_quantile(power, df)) * math.sqrt(2) * floor)


def wilson(successes: int, trials: int, z: float = 1.959963984540054) -> tuple[float, float]:
    """Return the 95 % interval of a proportion after Wilson 1927; (0, 1) without trials."""
    if not trials:
        return 0.0, 1.0
    share, bottom = successes / trials, 1 + z * z / trials
    center = (share + z * z / (2 * trials)) / bottom
    half = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials)) / bottom
    # Both ends are exact where nothing or all was counted; rounding must not move them past the share.
    return (max(0.0, center - half) if successes else 0.0), (min(1.0, center + half) if successes < trials else 1.0)


# --- keeping --------------------------------------------------------------------------------------------------


def path_of(environments: Iterable[Stored]) -> Path:
    """Return the file for one machine and interpreter, below the cache folder. NoCacheError where there is none."""
    return file_of(cache_folder("noise"), facts_of(environments, "noise"))


def keep(floor: NoiseFloor) -> str:
    """Write the floors for later comparisons and return the file. NoCacheError or OSError where that cannot be."""
    path = path_of([floor.environment])
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with atomic_writer(path) as out:
        json.dump(floor.to_dict(), out, ensure_ascii=False, indent=1, default=str)
    return str(path)


def known(environments: Iterable[Stored]) -> dict[str, Any] | None:
    """Return what was kept for the one machine of these environments; None for several, none, or a broken file."""
    stated = [one for one in map(Environment.of, environments) if one.host]
    try:
        paths = {path_of([one]) for one in stated}
        found = json.loads(paths.pop().read_bytes()) if len(paths) == 1 else None
    except (OSError, ValueError, NoCacheError):
        return None
    if not isinstance(found, dict) or found.get("format") != FORMAT or not _is_floor(found.get("overall")):
        return None
    return found if isinstance(found.get("operations"), dict) else None


def by_operation(found: Mapping[str, Any]) -> dict[str, float]:
    """Return the floors by operation of what :func:`known` returned."""
    return {str(name): float(value) for name, value in found["operations"].items() if _is_floor(value)}


def _is_floor(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 10
