# SPDX-License-Identifier: Apache-2.0
"""The targets T1 to T9 of the gate on synthetic noise."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import engine
import models
import numpy as np
import suites

from regimeter import compare_samples
from regimeter.compare.ab import pairs as pairing
from regimeter.compare.ab.spending import levels_of, looks_of

ALPHAS = (0.05, 0.01)


@dataclass(frozen=True, slots=True)
class Line:
    """A target with what was measured. limit: e.g. '<= 0.07'. passed: None where a figure is only told."""

    target: str
    what: str
    measured: float
    limit: str
    passed: bool | None
    remark: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields."""
        return asdict(self)


def at_most(target: str, what: str, value: float, limit: float, remark: str = "") -> Line:
    """Return a line that passes up to the limit."""
    return Line(target, what, float(value), f"<= {limit:g}", bool(value <= limit), remark)


def at_least(target: str, what: str, value: float, limit: float, remark: str = "") -> Line:
    """Return a line that passes from the limit on."""
    return Line(target, what, float(value), f">= {limit:g}", bool(value >= limit), remark)


def interval(successes: float, trials: float) -> str:
    """Return the Wilson interval as a remark."""
    low, high = suites.wilson(successes, trials)
    return f"{successes:g} of {trials:g}, 95 % interval {low:.3f} to {high:.3f}"


# --- T1 to T4, T7, T9: pairs ----------------------------------------------------------------------------------

POWER = {
    ("typical", 20): {0.05: 0.95, 0.10: 0.99},
    ("typical", 50): {0.02: 0.80, 0.05: 0.99},
    ("typical", 200): {0.02: 0.95, 0.01: 0.55},
    ("quiet", 50): {0.01: 0.95},
    ("quiet", 200): {0.01: 0.99},
    ("shared", 50): {0.05: 0.75},
    ("shared", 200): {0.05: 0.92, 0.10: 0.99},
}


def level(where: str, tally: suites.Tally) -> list[Line]:
    """T1, T2."""
    lines = []
    for alpha in ALPHAS:
        false = tally.false[alpha]
        upper = float(np.mean(false)) + 1.645 * tally.error(false)
        lines.append(
            at_most(
                "T1", f"{where}: false p < {alpha:g}, upper bound", upper, 1.2 * alpha, f"mean {np.mean(false):.4f}"
            )
        )
    for alpha, limit in ((0.05, 0.07), (0.01, 0.02)):
        count = tally.any_real[alpha]
        remark = interval(count, tally.reports)
        lines.append(at_most("T2", f"{where}: any false q < {alpha:g}", count / tally.reports, limit, remark))
    return lines


def pairs(seeds: Sequence[int], count: int) -> tuple[list[Line], dict[str, Any]]:
    """Randomised pairs on all machines."""
    lines, table = [], {}
    for machine in models.MACHINES:
        for size in suites.SIZES:
            tally = suites.ours(seeds, machine, size, count)
            where = f"{machine.name}, n={size}"
            lines += level(where, tally)
            found = np.mean(tally.found, axis=0)
            for effect, least in POWER.get((machine.name, size), {}).items():
                power = found[suites.EFFECTS.index(effect)]
                lines.append(at_least("T3", f"{where}: {100 * effect:g} % found", power, least))
            called, able = float(np.mean(tally.called)), float(np.mean(tally.able))
            remark = f"the report calls 5 % detectable (in 80 % of cases) for {100 * able:.0f} % of them"
            what = f"{where}: true 5 % called"
            if machine.name != "shared" or size == 200:
                lines.append(at_least("T4", what, called, 0.95, remark))
            else:
                lines.append(Line("T4", what, called, "", None, remark + "; the noise does not allow more"))
            if machine.name == "typical" and size > 20:
                lines.append(at_most("T4", f"{where}: true 2 % called", float(np.mean(tally.below)), 0.05))
            if machine.name != "shared" and size > 20:
                lines.append(at_most("T4", f"{where}: any verdict without a change", tally.any_verdict / tally.reports,
                                     0.01, interval(tally.any_verdict, tally.reports)))  # fmt: skip
            covered = float(np.mean(tally.covered))
            lines += [at_least("T7", f"{where}: interval covers", covered, 0.94),
                      at_most("T7", f"{where}: interval covers", covered, 0.97)]  # fmt: skip
            lines.append(at_least("T9", f"{where}: reports with a detectable effect",
                                  tally.told / (2 * tally.reports), 1.0))  # fmt: skip
            table[where] = {
                "any": tally.any_real[0.05] / tally.reports,
                "verdict": tally.any_verdict / tally.reports,
                "false": float(np.mean(tally.false[0.05])),
                "power": found.tolist(),
            }
    return lines, table


def rough(seeds: Sequence[int], count: int) -> list[Line]:
    """The level and the coverage where operations are less alike and pairs share less."""
    lines = []
    for machine in models.ROUGH:
        for size in suites.SIZES:
            tally = suites.ours(seeds, machine, size, count)
            lines += level(f"{machine.name}, n={size}", tally)
            covered = float(np.mean(tally.covered))
            lines += [at_least("T7", f"{machine.name}, n={size}: interval covers", covered, 0.94),
                      at_most("T7", f"{machine.name}, n={size}: interval covers", covered, 0.97)]  # fmt: skip
    return lines


def launches(seeds: Sequence[int], count: int) -> list[Line]:
    """Launches that are not paired, and a shift of 1.5 % of everything between the sides."""
    lines = []
    for machine in models.MACHINES:
        for shift in (0.0, 0.015):
            tally = suites.ours(seeds, machine, 50, count, paired=False, shift=shift)
            where = f"{machine.name}, n=50, not paired, shift {100 * shift:g} %"
            lines += level(where, tally)
    return lines


# --- T5: one process a side -----------------------------------------------------------------------------------


def single(seeds: Sequence[int], count: int) -> list[Line]:
    """One process a side, each operation judged by itself: how often it is called changed without a change."""
    lines = []
    for model in models.SINGLE:
        for n in (20, 50, 200):
            rng = np.random.default_rng([*seeds, n, *model.__name__.encode()])
            logs = np.stack([model(rng, count, n), model(rng, count, n)])[:, :, None]
            report = engine.compare(
                suites.times(logs[0]), suites.times(logs[1]), paired=False, fdr="none", run_floor=models.RUN_FLOOR
            )
            called = int(report.changed.sum())
            lines.append(at_most("T5", f"one process, {model.__name__}, n={n}: false verdicts", called / count, 0.05,
                                 interval(called, count)))  # fmt: skip
            size = np.expm1(np.abs(np.log1p(report.change)))
            lines.append(at_most("T5", f"one process, {model.__name__}, n={n}: verdicts below the detectable effect",
                                 float((report.changed & (size < report.detectable)).sum()), 0.0))  # fmt: skip
            known = np.isfinite(report.detectable)
            lines.append(at_least("T9", f"one process, {model.__name__}, n={n}: rows with a detectable effect",
                                  float(known.mean()), 1.0))  # fmt: skip
    return lines


# --- the runner -----------------------------------------------------------------------------------------------


def sequential(seeds: Sequence[int], count: int) -> list[Line]:
    """`regimeter ab` looks at the pairs several times: the whole error rate, and how many pairs that saves."""
    lines = []
    looks = looks_of(10)
    levels = levels_of(0.05, looks)
    true = suites.effects()
    for machine in models.MACHINES:
        any_false = total = used = used_null = 0
        found = []
        for logs, _ in suites.reports(seeds, machine, 200, count):
            total += 1
            null = [look_at(logs, k, a) for k, a in zip(looks, levels, strict=True)]
            any_false += any(bool((one.q < a).any()) for one, a in zip(null, levels, strict=True))
            used_null += next((k for k, one in zip(looks, null, strict=True) if settled(one)), looks[-1])
            logs[1] += true[:, None, None]
            for k, alpha in zip(looks, levels, strict=True):
                report = look_at(logs, k, alpha)
                if settled(report):
                    break
            used += k
            found.append(suites.by_effect((report.q < alpha) & (report.change > 0)))
        powers = zip(suites.EFFECTS, np.mean(found, axis=0), strict=True)
        remark = (
            f"{interval(any_false, total)}; pairs used {used_null / total:.1f} without a change, "
            f"{used / total:.1f} with; found "
            + ", ".join(f"{100 * effect:g} %: {power:.2f}" for effect, power in powers)
        )
        lines.append(at_most("T2", f"{machine.name}, looks after {looks}: any false alarm at any look",
                             any_false / total, 0.07, remark))  # fmt: skip
    return lines


def look_at(logs: suites.Floats, pairs: int, alpha: float) -> engine.Report:
    """Judge the first pairs at a level."""
    return suites.judge(logs[:, :, :pairs], alpha=alpha, interval=1 - alpha)


def settled(report: engine.Report, threshold: float = 0.05) -> bool:
    """The rule by which the runner stops."""
    size = np.maximum(report.change, 1 / (1 + report.change) - 1)
    return bool((report.conclusive & (~report.changed | (size >= threshold))).all())


def disturbed(seeds: Sequence[int], count: int) -> list[Line]:
    """One launch in twenty is 20 % slower as a whole: pairs rejected by their common mode and run again."""
    from dataclasses import replace

    machine = replace(models.TYPICAL, name="typical, bad launches", bad=0.05)
    pairs, samples = suites.SIZES[200]
    true = suites.effects()[:, None, None]
    kept, rejecting, invalid = suites.Tally(), suites.Tally(), 0
    for seed in seeds:
        rng = np.random.default_rng([seed, 20])
        for _ in range(count // len(seeds)):
            more = pairs + pairing.most_rejected(pairs)
            logs = models.launches(rng, machine, suites.OPERATIONS, more, samples)
            medians = np.median(logs, axis=3)
            modes = np.median(medians[1] - medians[0], axis=0)
            bad = np.abs(modes - np.median(modes)) > math.log1p(pairing.GUARD)
            sound = np.flatnonzero(~bad)[:pairs]
            for tally, which in ((kept, np.arange(pairs)), (rejecting, sound)):
                if len(which) < pairs:
                    invalid += 1
                    continue
                tally.null(suites.judge(logs[:, :, which]))
                changed = logs[:, :, which].copy()
                changed[1] += true
                tally.changed(suites.judge(changed), true[:, 0, 0])
    lines = level("typical, n=200, 5 % bad launches kept", kept)
    lines += level("typical, n=200, 5 % bad launches rejected", rejecting)
    for name, tally, least in (("kept", kept, None), ("rejected", rejecting, 0.95)):
        power = float(np.mean(tally.found, axis=0)[1])
        what = f"typical, n=200, 5 % bad launches {name}: 2 % found"
        remark = f"{invalid} of {count} invalid: too many bad pairs" if least else "told, not promised"
        lines.append(at_least("T3", what, power, least, remark) if least else Line("T3", what, power, "", None, remark))
    return lines


def order(seeds: Sequence[int], count: int) -> list[Line]:
    """What pairing and random order are worth: the same launches, one side after the other."""
    lines = []
    for machine in models.MACHINES:
        false = []
        for logs, _ in suites.reports(seeds, machine, 200, count, randomised=False):
            false.append(float((suites.judge(logs[:, :20], paired=False, common_mode_operations=1e9).p < 0.05).mean()))
        lines.append(Line("T1", f"{machine.name}, n=200, one side after the other: false p < 0.05",
                          float(np.mean(false)), "", None, "told: why sides must alternate"))  # fmt: skip
    return lines


# --- T8, T9 ---------------------------------------------------------------------------------------------------


def speed() -> list[Line]:
    """CPU time of 10,000 operations with 200 samples a side, one thread; the least of several."""
    rng = np.random.default_rng(8)
    lines = []
    for shape, paired in (((10_000, 10, 20), True), ((10_000, 10, 20), False), ((10_000, 1, 200), False)):
        values = [suites.times(rng.normal(0, 0.02, shape)) for _ in range(2)]
        least = min(cpu_time(lambda: engine.compare(*values, paired=paired)) for _ in range(5))  # noqa: B023
        what = (
            f"10,000 operations, {shape[1]} x {shape[2]} samples a side, {'paired' if paired else 'not paired'}: CPU s"
        )
        lines.append(at_most("T8", what, least, 1.0, "least of 5"))
    return lines


def cpu_time(call: Callable[[], object]) -> float:
    """Return the CPU time of this thread for a call."""
    start = time.thread_time()
    call()
    return time.thread_time() - start


def honesty() -> list[Line]:
    """Reports of any size name their smallest detectable effect."""
    rng = np.random.default_rng(9)
    lines = []
    for what, processes, paired in (("one process", 1, False), ("three processes", 3, False), ("ten pairs", 10, True)):
        sides = [{"op": suites.times(rng.normal(0, 0.02, (processes, 20))).tolist()} for _ in range(2)]
        comparison = compare_samples(*sides, paired=paired)
        told = comparison.mde_percent is not None and "missed" in comparison.to_text().lower()
        lines.append(at_least("T9", f"text report of {what} tells what it could have missed", float(told), 1.0))
    return lines
