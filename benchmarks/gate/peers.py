# SPDX-License-Identifier: Apache-2.0
"""The decision rules of other tools at their defaults, for many operations at once.

Each takes two arrays of times, (operations, samples) of one process a side, and returns which operations it calls
slower or faster. The tools' sources are named; the rules are written anew from what they do.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def mean_5_percent(a: Floats, b: Floats) -> Flags:
    """Means differ by 5 %: what a script of one's own does."""
    return np.abs(b.mean(1) / a.mean(1) - 1) >= 0.05


def pytest_benchmark(a: Floats, b: Floats) -> Flags:
    """`--benchmark-compare-fail=median:5%`, PercentageRegressionCheck in pytest_benchmark/utils.py; both directions."""
    return np.abs(np.median(b, 1) / np.median(a, 1) - 1) > 0.05


def mann_whitney_p(a: Floats, b: Floats) -> Floats:
    """Two-sided p-value of Mann and Whitney 1947 with the normal approximation, without ties."""
    n, m = a.shape[1], b.shape[1]
    order = np.argsort(np.concatenate([a, b], axis=1), axis=1)
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(1, n + m + 1)[None, :], axis=1)
    u = ranks[:, :n].sum(1) - n * (n + 1) / 2
    z = np.maximum(np.abs(u - n * m / 2) - 0.5, 0) / np.sqrt(n * m * (n + m + 1) / 12)
    return 2 * stats.norm.sf(z)


def benchstat(a: Floats, b: Floats) -> Flags:
    """p < .05 of Mann-Whitney: golang/perf benchmath; google/benchmark tools/gbench/report.py has the same."""
    return mann_whitney_p(a, b) < 0.05


def asv(a: Floats, b: Floats) -> Flags:
    """`asv continuous`: p < .002 of Mann-Whitney (asv/_stats.py is_different) and medians apart by the factor 1.1."""
    ratio = np.median(b, 1) / np.median(a, 1)
    return (mann_whitney_p(a, b) < 0.002) & ((ratio > 1.1) | (ratio < 1 / 1.1))


def criterion(a: Floats, b: Floats, resamples: int = 500) -> Flags:
    """criterion.rs src/analysis/compare.rs, src/report.rs: bootstrap of Welch's t from the pooled samples, p < .05, and
    the 95 % bootstrap interval of the ratio of means beyond 1 % on one side. All operations share their resamples;
    500 stand for its 100 000."""
    rng = np.random.default_rng(1)
    n, m = a.shape[1], b.shape[1]
    observed = _welch(a.mean(1), a.var(1, ddof=1), n, b.mean(1), b.var(1, ddof=1), m)
    pooled = np.concatenate([a, b], axis=1)
    first, second = _weights(rng, resamples, n + m, n), _weights(rng, resamples, n + m, m)
    null = _welch(*_moments(pooled, first, n), n, *_moments(pooled, second, m), m)
    p = (np.abs(null) > np.abs(observed)[:, None]).mean(1)
    ratio = (b @ _weights(rng, resamples, m, m)) / m / ((a @ _weights(rng, resamples, n, n)) / n) - 1
    low, high = np.quantile(ratio, [0.025, 0.975], axis=1)
    return (p < 0.05) & ((low > 0.01) | (high < -0.01))


def _weights(rng: np.random.Generator, resamples: int, size: int, draws: int) -> Floats:
    return rng.multinomial(draws, np.full(size, 1 / size), resamples).T.astype(np.float64)


def _moments(values: Floats, weights: Floats, draws: int) -> tuple[Floats, Floats]:
    mean = values @ weights / draws
    return mean, np.maximum((values**2) @ weights / draws - mean**2, 1e-300) * draws / (draws - 1)


def _welch(mean_a: Floats, var_a: Floats, n: int, mean_b: Floats, var_b: Floats, m: int) -> Floats:
    return (mean_a - mean_b) / np.sqrt(var_a / n + var_b / m)


def nvbench_legacy(a: Floats, b: Floats) -> Flags:
    """nvbench python/scripts/nvbench_compare.py: means differ by more than the smaller relative deviation."""
    noise = np.minimum(a.std(1, ddof=1) / a.mean(1), b.std(1, ddof=1) / b.mean(1))
    return np.abs(b.mean(1) / a.mean(1) - 1) > noise


def nvbench_robust(a: Floats, b: Floats) -> Flags:
    """nvbench docs/nvbench_compare_robust.md: the intervals [min, Q3] are apart by at least 0.5 %. Its confirmation in
    clock cycles needs clock rates, which are taken for equal here."""
    low_a, high_a = a.min(1), np.quantile(a, 0.75, axis=1)
    low_b, high_b = b.min(1), np.quantile(b, 0.75, axis=1)
    return (low_b / high_a - 1 >= 0.005) | (low_a / high_b - 1 >= 0.005)


RULES: dict[str, Callable[[Floats, Floats], Flags]] = {
    "mean 5 %": mean_5_percent,
    "pytest-benchmark median:5%": pytest_benchmark,
    "benchstat, google/benchmark (MWU)": benchstat,
    "asv continuous": asv,
    "criterion": criterion,
    "nvbench legacy": nvbench_legacy,
    "nvbench robust": nvbench_robust,
}
