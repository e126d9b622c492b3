# SPDX-License-Identifier: Apache-2.0
"""Reports of many operations, simulated: how often a rule alarms, what it finds, what intervals cover."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import engine
import models
import numpy as np
import peers
from numpy.typing import NDArray

Floats = NDArray[np.float64]
OPERATIONS = 200
EFFECTS = (0.01, 0.02, 0.05, 0.10)
CHANGED = 10  # operations of each effect: with four effects a fifth of the report
SIZES = {20: (5, 4), 50: (10, 5), 200: (10, 20)}  # samples -> launches a side, samples a launch


def effects() -> Floats:
    """Return the true change of each operation of a report with changes, as logarithms."""
    true = np.zeros(OPERATIONS)
    for number, effect in enumerate(EFFECTS):
        true[number * CHANGED : (number + 1) * CHANGED] = np.log1p(effect)
    return true


def by_effect(flags: NDArray[np.bool_]) -> Floats:
    """Return the share of flagged operations of each effect."""
    return flags[: len(EFFECTS) * CHANGED].reshape(len(EFFECTS), CHANGED).mean(1)


def wilson(successes: float, trials: float, z: float = 1.959963984540054) -> tuple[float, float]:
    """Return the interval of a proportion after Wilson 1927."""
    if not trials:
        return 0.0, 1.0
    share, bottom = successes / trials, 1 + z * z / trials
    center = (share + z * z / (2 * trials)) / bottom
    half = z * np.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials)) / bottom
    return max(0.0, center - half), min(1.0, center + half)


@dataclass(slots=True)
class Tally:
    """What was seen in a number of reports. Shares are means over reports; errors are those between reports."""

    reports: int = 0
    any_real: dict[float, int] = field(default_factory=lambda: {0.05: 0, 0.01: 0})
    any_verdict: int = 0
    false: dict[float, list[float]] = field(default_factory=lambda: {0.05: [], 0.01: []})
    covered: list[float] = field(default_factory=list)
    found: list[Floats] = field(default_factory=list)
    able: list[float] = field(default_factory=list)
    called: list[float] = field(default_factory=list)
    below: list[float] = field(default_factory=list)
    told: int = 0  # reports with a smallest detectable effect

    def null(self, report: engine.Report) -> None:
        """Count a report without any change."""
        self.reports += 1
        for alpha in self.any_real:
            self.any_real[alpha] += bool((report.q < alpha).any())
            self.false[alpha].append(float((report.p < alpha).mean()))
        self.any_verdict += bool(report.changed.any())
        self.covered.append(float(((report.low <= 0) & (report.high >= 0)).mean()))
        self.told += bool(np.isfinite(report.facts["detectable_median"]))

    def changed(self, report: engine.Report, true: Floats, threshold: float = 0.05) -> None:
        """Count a report with changes."""
        change = np.expm1(true)
        self.covered.append(float(((report.low <= change) & (report.high >= change)).mean()))
        self.found.append(by_effect((report.q < 0.05) & (report.change > 0)))
        at = np.isclose(change, threshold)
        self.able.append(float((report.detectable[at] < threshold).mean()))
        self.called.append(float(report.slower[at].mean()))
        small = np.isclose(change, threshold / 2.5)
        self.below.append(float(report.slower[small].mean()))
        self.told += bool(np.isfinite(report.facts["detectable_median"]))

    def error(self, values: Sequence[float]) -> float:
        """Return the standard error of a mean over reports."""
        return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def reports(
    seeds: Sequence[int], machine: models.Machine, size: int, count: int, *, randomised: bool = True
) -> Iterator[tuple[Floats, np.random.Generator]]:
    """Yield logarithms of both sides, `count` times over the seeds."""
    pairs, samples = SIZES[size]
    for seed in seeds:
        rng = np.random.default_rng([seed, size, *machine.name.encode()])
        for _ in range(count // len(seeds)):
            yield models.launches(rng, machine, OPERATIONS, pairs, samples, randomised=randomised), rng


def times(logs: Floats) -> Floats:
    """Return times of a millisecond."""
    return 1e-3 * np.exp(logs)


def judge(logs: Floats, *, paired: bool = True, **policy: float) -> engine.Report:
    """Compare both sides; operations of any share count."""
    return engine.compare(times(logs[0]), times(logs[1]), paired=paired, **policy)


def ours(
    seeds: Sequence[int], machine: models.Machine, size: int, count: int, *, paired: bool = True, shift: float = 0.0
) -> Tally:
    """Tally our rule: each simulated noise is judged without a change and with changes."""
    tally, true = Tally(), effects()
    for logs, _ in reports(seeds, machine, size, count):
        logs[1] += shift
        tally.null(judge(logs, paired=paired))
        logs[1] += true[:, None, None]
        tally.changed(judge(logs, paired=paired), true)
    return tally


def of_peers(seeds: Sequence[int], machine: models.Machine, size: int, count: int) -> dict[str, dict[str, object]]:
    """Return what peers' rules do with as many samples of one process a side."""
    true = effects()[:, None]
    rows = {name: [0, [], []] for name in peers.RULES}
    for seed in seeds:
        rng = np.random.default_rng([seed, size, *machine.name.encode(), 1])
        for _ in range(count // len(seeds)):
            logs = models.launches(rng, machine, OPERATIONS, 1, size)[:, :, 0]
            before, after = times(logs[0]), times(logs[1])
            for name, rule in peers.RULES.items():
                flags = rule(before, after)
                rows[name][0] += bool(flags.any())
                rows[name][1].append(flags.mean())
                rows[name][2].append(by_effect(rule(before, after * np.exp(true))))
    return {
        name: {"any": n / len(false), "false": float(np.mean(false)), "power": np.mean(power, axis=0).tolist()}
        for name, (n, false, power) in rows.items()
    }
