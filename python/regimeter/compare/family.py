# SPDX-License-Identifier: Apache-2.0
"""The rows of a decision: all operations and metrics as one family, and the single tests beside it."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .. import _core
from .floors import Floors
from .options import Options
from .per_run import PerRun
from .result import ChangeType, OperationComparison
from .rows import counted_row, exact_row, sampled_fields, scaled
from .samples import pack
from .side import COUNTED, EXACT, TIMES, UNITS, Samples, Side
from .side import WHOLE_METRICS as WHOLES
from .wholes import Single, samples_of

Key = tuple[str, str]  # metric, operation
Sides = tuple[Side, Side]
Runs = Mapping[str, PerRun]


def compare_rows(
    baseline: Side, current: Side, options: Options, policy: dict[str, float], floors: Floors
) -> tuple[list[OperationComparison], dict[str, Any]]:
    """Return a row for each operation and metric, and the facts that hold for all.

    Rows with a threshold of their own are taken from the comparison at that threshold: p and q do not depend on it, so
    each row's q is that of the whole family.
    """
    sides = (baseline, current)
    rows, facts = _family(sides, options, policy, floors)
    if options.row_rule is None:
        return rows, facts
    usual = (options.significance_threshold, policy.get("min_share"))
    made = {usual: rows}
    found = []
    for place, row in enumerate(rows):
        rule = options.row_rule(row.operation, row.metric)
        if rule not in made:
            own = {**policy, "threshold": rule[0] / 100, "min_share": rule[1]}
            made[rule] = _family(sides, options, own, floors)[0]
        found.append(made[rule][place])
    return found, facts


def _family(
    sides: Sides, options: Options, policy: dict[str, float], floors: Floors
) -> tuple[list[OperationComparison], dict[str, Any]]:
    exact: list[OperationComparison] = []
    keys: list[Key] = []
    runs = {metric: PerRun(sides, metric) for metric in TIMES}
    for metric in options.metrics:
        before, after = (metric_of(side, metric) for side in sides)
        for name in dict.fromkeys((*before.launches, *after.launches)):
            if metric in COUNTED:
                row = counted_row(name, metric, UNITS[metric], before, after, _count_tolerance(options, policy))
                more = _common_fields(sides, runs, metric, name, row.baseline, row.current, row.change_percent)
                exact.append(replace(row, **more))
            elif metric in EXACT and all(_constant(samples, name) for samples in (before, after)):
                tolerance = _tolerance(metric, options, policy)
                row = exact_row(name, metric, UNITS[metric], before, after, tolerance)
                more = _common_fields(sides, runs, metric, name, row.baseline, row.current, None)
                exact.append(replace(row, **more))
            else:
                keys.append((metric, name))
    if not keys:
        return exact, {}
    rows, facts = _by_samples(sides, runs, keys, options, policy, floors)
    return [*rows, *exact], facts


def _by_samples(
    sides: Sides, runs: Runs, keys: list[Key], options: Options, policy: dict[str, float], floors: Floors
) -> tuple[list[OperationComparison], dict[str, Any]]:
    packed = []
    for side in sides:
        together = Samples()
        for number, (metric, name) in enumerate(keys):
            samples = metric_of(side, metric)
            if name in samples.launches:
                together.launches[str(number)] = samples.launches[name]
                together.totals[str(number)] = samples.totals[name]
        packed.append(pack(together, [str(number) for number in range(len(keys))]))
    codes = {name: number for number, name in enumerate((*TIMES, *EXACT))}
    metrics = np.array([codes[metric] for metric, _ in keys], dtype=np.uint8)
    known = np.array([floors.by_operation.get(name, math.nan) for _, name in keys], dtype=np.float64)
    table, facts = _core.compare(
        len(keys), packed[0], packed[1], options.paired, policy, options.fdr, options.decision, known, metrics
    )
    columns = {name: getattr(table, name).tolist() for name in table.columns}
    rows = [_row(sides, runs, key, {name: values[i] for name, values in columns.items()}) for i, key in enumerate(keys)]
    if floors.inferred:
        rows = [_without_chance(row) for row in rows]
    worst = facts["worst"]
    return rows, {**facts, "worst_operation": keys[worst][1] if worst >= 0 else None}


def _row(sides: Sides, runs: Runs, key: Key, values: dict[str, Any]) -> OperationComparison:
    metric, name = key
    found = sampled_fields(values)
    more = _common_fields(sides, runs, metric, name, found["baseline"], found["current"], found["change_percent"])
    return OperationComparison(operation=name, metric=metric, unit=UNITS[metric], **found, **more)


def _without_chance(row: OperationComparison) -> OperationComparison:
    """Return the row of one process a side without p and q: its floor is inferred, which is no probability."""
    if row.tier != "single" or max(row.baseline_launches, row.current_launches) > 1:
        return row
    return replace(row, p=None, q=None, least_q=None)


def _common_fields(
    sides: Sides,
    runs: Runs,
    metric: str,
    name: str,
    baseline: float | None,
    current: float | None,
    percent: float | None,
) -> dict[str, Any]:
    """Return the fields that do not depend on how the row was compared."""
    before, after = (metric_of(side, metric) for side in sides)
    memory = [side.memory_mb.get(name) for side in sides]
    fields = {
        "baseline_calls": before.calls.get(name, 0.0),
        "current_calls": after.calls.get(name, 0.0),
        "baseline_memory_mb": memory[0],
        "current_memory_mb": memory[1],
        "memory_change_mb": memory[1] - memory[0] if memory[0] is not None and memory[1] is not None else None,
    }
    if metric in TIMES:
        fields |= {
            "baseline_time_ms": scaled(baseline, 1e3),
            "current_time_ms": scaled(current, 1e3),
            # One estimate of the change, in both units.
            "change_ms": None if percent is None or baseline is None else baseline * percent * 10,
            "baseline_total_ms": scaled(before.totals.get(name), 1e3),
            "current_total_ms": scaled(after.totals.get(name), 1e3),
            **runs[metric].fields(name),
            **_clock_fields(sides, metric, name, percent),
        }
    return fields


def _clock_fields(sides: Sides, metric: str, name: str, percent: float | None) -> dict[str, float]:
    """Return the clocks of the device during an operation, each the mean of its processes, and the change in cycles;
    nothing unless every process of both sides with such work knows its clock."""
    clocks = [side.clocks.get((metric, name), []) for side in sides]
    launches = [len(metric_of(side, metric).launches.get(name, ())) for side in sides]
    if not all(clocks) or [len(known) for known in clocks] != launches:
        return {}
    before, after = (sum(known) / len(known) for known in clocks)
    found = {"baseline_clock_mhz": before, "current_clock_mhz": after}
    return found if percent is None else found | {"cycles_percent": 100 * ((1 + percent / 100) * after / before - 1)}


def metric_of(side: Side, metric: str) -> Samples:
    """Return a metric of a side, empty where it has none. The calls of a process are those that it has times of."""
    if metric != "calls" or "calls" in side.metrics:
        return side.metrics.get(metric, Samples())
    found, time = Samples(), side.metrics.get("time", Samples())
    for name, launches in time.launches.items():
        counts = [float(len(launch)) for launch in launches]
        if sum(counts) != time.calls[name]:  # averages stand for more calls than they are
            counts = [time.calls[name] / len(launches)] * len(launches)
        for count in counts:
            found.add(name, [count])
    return found


def _tolerance(metric: str, options: Options, policy: Mapping[str, float]) -> float:
    """Return by what part a quantity without noise may differ: a threshold of its own, else what rounding makes."""
    if options.row_rule:
        return policy["threshold"]
    return _peak_tolerance(policy) if metric.startswith("memory") else 0.0


def _count_tolerance(options: Options, policy: Mapping[str, float]) -> float:
    default: float = _core.compare_policy()["count_tolerance"]["default"]
    return policy["threshold"] if options.row_rule else policy.get("count_tolerance", default)


def _as_stated(policy: Mapping[str, float]) -> dict[str, float]:
    """Return the policy for what is no time: no slow machine makes more memory, so nothing widens its floor."""
    return {name: value for name, value in policy.items() if name not in ("run_floor", "floor_df", "speed_floor")}


def _peak_tolerance(policy: Mapping[str, float]) -> float:
    default: float = _core.compare_policy()["peak_tolerance"]["default"]
    return policy.get("peak_tolerance", default)


def _constant(samples: Samples, name: str) -> bool:
    launches = samples.launches.get(name, ())
    return len({float(value) for launch in launches for value in launch}) <= 1


def compare_whole(single: Single, options: Options, policy: dict[str, float], floors: Floors) -> OperationComparison:
    """Make a single test: alone, so that no other row adjusts its p-value."""
    before, after = samples_of(single)
    unit = WHOLES[single.metric]
    if single.exact:
        return exact_row(single.name, single.metric, unit, before, after, _peak_tolerance(policy))
    table, _ = _core.compare(
        1, pack(before, [single.name]), pack(after, [single.name]), options.paired,
        _as_stated(policy) if floors.inferred and unit != "s" else policy, "none",
        options.decision, None, np.zeros(1, dtype=np.uint8),
    )  # fmt: skip
    values = {name: getattr(table, name).tolist()[0] for name in table.columns}
    fields = sampled_fields(values) | {"gates": single.gates, "share": None}
    if not single.gates:  # another amount of work is no slower program, nor a faster one
        fields |= {"change_type": ChangeType.NO_CHANGE, "is_significant": False, "conclusive": True, "reason": "calls"}
        fields |= dict.fromkeys(("p", "q", "low_percent", "high_percent", "detectable_percent", "needed"))
    row = OperationComparison(operation=single.name, metric=single.metric, unit=unit, **fields)
    return _without_chance(row) if floors.inferred else row
