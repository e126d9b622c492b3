# SPDX-License-Identifier: Apache-2.0
"""Statistics of one kernel: times in nanoseconds, never rounded to microseconds, and what follows from them."""

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

HOST_CALL, KERNEL = "host_call", "kernel"


@dataclass(frozen=True)
class Times:
    """Measured times: `totals_ns`, each of `repeats` runs. Figures are of one run.

    faults: pages that the process touched first during all of them, None where that was not counted. The standard
    deviation is that of the population (divided by n, not n - 1), as in the documented profiler.
    """

    totals_ns: tuple[int, ...]
    repeats: int = 1
    faults: int | None = None

    def __post_init__(self) -> None:
        """Refuse no times."""
        if not self.totals_ns or self.repeats < 1:
            raise ValueError("at least one time is needed")

    @functools.cached_property
    def ns(self) -> NDArray[np.float64]:
        """The times of one run, in nanoseconds."""
        return np.asarray(self.totals_ns, dtype=np.float64) / self.repeats

    @property
    def mean_ns(self) -> float:
        """The mean."""
        return float(self.ns.mean())

    @property
    def stddev_ns(self) -> float:
        """The standard deviation, of the population."""
        return float(self.ns.std())

    @property
    def min_ns(self) -> float:
        """The shortest."""
        return float(self.ns.min())

    @property
    def max_ns(self) -> float:
        """The longest."""
        return float(self.ns.max())

    @property
    def p50_ns(self) -> float:
        """The median."""
        return float(np.median(self.ns))

    @property
    def p95_ns(self) -> float:
        """The 95th percentile, between the two nearest times linearly."""
        return float(np.percentile(self.ns, 95))

    @property
    def cv(self) -> float | None:
        """Standard deviation by mean; None where the mean is 0."""
        return self.stddev_ns / self.mean_ns if self.mean_ns > 0 else None

    @property
    def throughput(self) -> float | None:
        """Runs a second at the mean; None where the mean is 0."""
        return 1e9 / self.mean_ns if self.mean_ns > 0 else None

    @property
    def faults_per_run(self) -> float | None:
        """Page faults of one run: what its time has of the system's work for new pages."""
        return None if self.faults is None else self.faults / (len(self.totals_ns) * self.repeats)

    def median_interval(self, level: float) -> tuple[float, float] | None:
        """Return the interval of the median from order statistics, in nanoseconds; None for too few times.

        Free of any distribution: the ranks r and n + 1 - r with 2 P(Binomial(n, 1/2) < r) <= 1 - level. It takes the
        times for independent, which those of one process are not quite.
        """
        n, rank, tail = len(self.totals_ns), 0, 0.0
        while rank < n // 2:
            tail += math.comb(n, rank) / 2.0**n if n < 1000 else _binomial(n, rank)
            if 2 * tail > 1 - level:
                break
            rank += 1
        ordered = np.sort(self.ns)
        return (float(ordered[rank - 1]), float(ordered[n - rank])) if rank else None

    def cv_interval(self, level: float, resamples: int) -> tuple[float, float] | None:
        """Return the percentile interval of the coefficient of variation by bootstrap; None for fewer than 6 times.

        The resampling begins at the same seed every time: equal times give equal intervals.
        """
        n = len(self.totals_ns)
        if n < 6 or self.mean_ns <= 0:
            return None
        drawn = np.random.default_rng(0).choice(self.ns, (max(1, int(resamples)), n))
        low, high = np.quantile(drawn.std(axis=1) / drawn.mean(axis=1), [(1 - level) / 2, 1 - (1 - level) / 2])
        return float(low), float(high)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON values."""
        return {
            "iterations": len(self.totals_ns),
            "repeats": self.repeats,
            "totals_ns": list(self.totals_ns),
            "mean_ns": self.mean_ns,
            "stddev_ns": self.stddev_ns,
            "min_ns": self.min_ns,
            "max_ns": self.max_ns,
            "p50_ns": self.p50_ns,
            "p95_ns": self.p95_ns,
            "cv": self.cv,
            "throughput_per_second": self.throughput,
            "page_faults_per_run": self.faults_per_run,
        }


def _binomial(n: int, k: int) -> float:
    """Return the binomial probability of k of n, through logarithms: 2^n is beyond a double from 1024 on."""
    return math.exp(math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) - n * math.log(2))


@dataclass(frozen=True, slots=True)
class KernelStats:
    """One kernel as it was measured.

    host_call: a call that gets arrays and returns arrays, copies and allocation included, which is what the
    documented profiler and its budgets time. kernel: the computation alone. One of them may be None, with its reason
    in `unavailable`. The figures without a prefix (mean_us, cv, ...) are those of `basis`: the host call where there
    is one. operations and bytes are of one run, by definition; None for a function of the user's.
    """

    name: str
    workload_description: str
    backend: str = ""
    device: str = ""
    host_call: Times | None = None
    kernel: Times | None = None
    parameters: Mapping[str, float] = field(default_factory=dict)
    operations: float | None = None
    bytes: float | None = None
    unavailable: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def basis(self) -> str:
        """Which times the figures without a prefix are of: 'host_call' or 'kernel'."""
        return HOST_CALL if self.host_call is not None else KERNEL

    @property
    def times(self) -> Times:
        """The times of the basis. ValueError where nothing was timed."""
        found = self.host_call if self.host_call is not None else self.kernel
        if found is None:
            raise ValueError(f"{self.name}: nothing was timed")
        return found

    @property
    def iterations(self) -> int:
        """Number of times; warm-up is not among them."""
        return len(self.times.totals_ns)

    @property
    def times_us(self) -> list[float]:
        """The times in microseconds, with their fractions."""
        return [float(value) for value in self.times.ns / 1e3]

    @property
    def mean_us(self) -> float:
        """The mean in microseconds."""
        return self.times.mean_ns / 1e3

    @property
    def stddev_us(self) -> float:
        """The standard deviation of the population in microseconds."""
        return self.times.stddev_ns / 1e3

    @property
    def min_us(self) -> float:
        """The shortest time in microseconds."""
        return self.times.min_ns / 1e3

    @property
    def max_us(self) -> float:
        """The longest time in microseconds."""
        return self.times.max_ns / 1e3

    @property
    def p50_us(self) -> float:
        """The median in microseconds."""
        return self.times.p50_ns / 1e3

    @property
    def p95_us(self) -> float:
        """The 95th percentile in microseconds."""
        return self.times.p95_ns / 1e3

    @property
    def cv(self) -> float | None:
        """Standard deviation by mean, a share of one."""
        return self.times.cv

    @property
    def throughput_ops_sec(self) -> float | None:
        """Runs a second at the mean (10^6 / mean_us); not arithmetic operations, see `rate`."""
        return self.times.throughput

    @property
    def rate(self) -> float | None:
        """Operations a second of the kernel at its median: derived from a definition of the work."""
        if self.operations is None or self.kernel is None or self.kernel.p50_ns <= 0:
            return None
        return self.operations / self.kernel.p50_ns * 1e9

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        figures = ("mean_us", "stddev_us", "min_us", "max_us", "p50_us", "p95_us", "cv", "throughput_ops_sec")
        return {
            "name": self.name,
            "workload_description": self.workload_description,
            "backend": self.backend,
            "device": self.device,
            "basis": self.basis,
            "iterations": self.iterations,
            "times_us": self.times_us,
            **{name: getattr(self, name) for name in figures},
            "host_call": None if self.host_call is None else self.host_call.to_dict(),
            "kernel": None if self.kernel is None else self.kernel.to_dict(),
            "parameters": dict(self.parameters),
            "operations": self.operations,
            "bytes": self.bytes,
            "operations_per_second": self.rate,
            "unavailable": dict(self.unavailable),
            "facts": dict(self.facts),
        }
