# SPDX-License-Identifier: Apache-2.0
"""A kernel over sizes: how its time grows with the work, and from where on its rate no longer does."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .backend import Request
from .backends import AUTO, resolve
from .catalog import SCALED, choose
from .policy import thresholds
from .statistics import KernelStats
from .suite import _count, measure

FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)


@dataclass(frozen=True)
class Sweep:
    """Sizes in the order of their work. over: the parameters that were scaled together."""

    name: str
    over: tuple[str, ...]
    stats: tuple[KernelStats, ...]
    note: str = ""
    policy: Mapping[str, float] = field(default_factory=thresholds)

    def medians_ns(self, what: str = "kernel") -> list[float]:
        """Return the median of each size; what: 'kernel' or 'host_call'. ValueError where it was not timed."""
        found = [getattr(one, what) for one in self.stats]
        if any(times is None for times in found):
            raise ValueError(f"{self.name}: no {what} times")
        return [times.p50_ns for times in found]

    @property
    def what(self) -> str:
        """Which times the figures are of: kernels where there are any."""
        return "kernel" if all(one.kernel is not None for one in self.stats) else "host_call"

    @property
    def work(self) -> list[float]:
        """Operations of each size, by definition."""
        return [float(one.operations or 0.0) for one in self.stats]

    @property
    def rates(self) -> list[float]:
        """Operations a second at the median of each size."""
        return [work / ns * 1e9 for work, ns in zip(self.work, self.medians_ns(self.what), strict=True)]

    @property
    def exponent(self) -> float | None:
        """The exponent e of time = c * work^e, least squares on logarithms over all sizes; None for fewer than 2."""
        return _slope(self.work, self.medians_ns(self.what))

    @property
    def exponents(self) -> list[float | None]:
        """The exponent from each size to the next."""
        work, times = self.work, self.medians_ns(self.what)
        return [_slope(work[i : i + 2], times[i : i + 2]) for i in range(len(work) - 1)]

    @property
    def saturated_from(self) -> int | None:
        """Place of the smallest size from which on every rate is near the best one.

        None where only the largest size is: the rate still grew, and where it ends was not seen.
        """
        rates = self.rates
        limit = self.policy["saturated_share"] * max(rates)
        at = len(rates)
        while at > 0 and rates[at - 1] >= limit:
            at -= 1
        return at if at < len(rates) - 1 else None

    @property
    def verdict(self) -> str:
        """What the sweep shows, in a sentence."""
        if self.exponent is None:
            return "one size tells nothing about scaling"
        text = f"time grows with the work to the power {self.exponent:.2f}"
        at = self.saturated_from
        if at is None:
            falls = self.rates[-1] < self.policy["saturated_share"] * max(self.rates)
            rest = "the rate falls again at the largest sizes" if falls else "the rate still grows at the largest size"
            return f"{text}; {rest}, so no saturation was seen in this range"
        if at == 0:
            return f"{text}; saturated at every size of this range"
        return f"{text}; saturated from {self.stats[at].workload_description} on"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return {
            "format": "regimeter.workload_sweep",
            "version": 1,
            "name": self.name,
            "over": list(self.over),
            "basis": self.what,
            "note": self.note,
            "exponent": self.exponent,
            "exponents": self.exponents,
            "operations_per_second": self.rates,
            "saturated_from": self.saturated_from,
            "verdict": self.verdict,
            "kernels": [one.to_dict() for one in self.stats],
        }


def _slope(work: Sequence[float], times: Sequence[float]) -> float | None:
    x, y = np.log(np.maximum(work, 1e-300)), np.log(np.maximum(times, 1e-300))
    if len(x) < 2 or math.isclose(float(x.min()), float(x.max())):
        return None
    return float(np.polyfit(x, y, 1)[0])


def run_sweep(
    name: str,
    *,
    over: Sequence[str] | None = None,
    factors: Sequence[float] = FACTORS,
    backend: str = AUTO,
    sizes: Mapping[str, float] | None = None,
    warmup: int = 3,
    iterations: int = 20,
    calls: int = 0,
    device: int | str = 0,
    threads: int = 0,
    policy: Mapping[str, float] | None = None,
    tell: Callable[[str], None] | None = None,
) -> Sweep:
    """Run a workload at its sizes times each factor and return how its time scales.

    over: the parameters that are scaled together; by default those that make the workload larger. The other arguments
    are those of `run_workloads`. ValueError for a parameter that there is not, or a size out of bounds.
    """
    workload, limits = choose([name])[0], thresholds(policy)
    scaled = tuple(over) if over else SCALED[name]
    base = workload.sizes(sizes)
    unknown = [one for one in scaled if one not in base]
    if unknown:
        raise ValueError(f"{name} has no parameter {unknown[0]!r}; it has: {', '.join(base)}")
    if not factors or not all(math.isfinite(one) and one > 0 for one in factors):
        raise ValueError("factors are numbers above 0")
    plans = []
    for factor in sorted(factors):
        other = {p: max(1.0, round(base[p] * factor)) if workload.parameters[p].whole else base[p] * factor
                 for p in scaled}  # fmt: skip
        plan = workload.sizes(base | other)
        if plan not in plans:
            plans.append(plan)
    runner, note = resolve(backend, device)
    request = Request(_count("warmup", warmup, 0), _count("iterations", iterations, 1), _count("calls", calls, 0),
                      device, _count("threads", threads, 0))  # fmt: skip
    stats = []
    for plan in plans:
        if tell is not None:
            tell(workload.describe(plan))
        stats.append(measure(runner, workload, plan, request))
    return Sweep(name, scaled, tuple(stats), note, limits)
