# SPDX-License-Identifier: Apache-2.0
"""The documented rules on an exported profile: at the documented thresholds, with the documented priorities.

They rest on counts and means, so nothing here says that a premise was measured; what is bounded is bounded by the sums
of the file. A profile of the program behind the specification states device times, overheads and utilisations that are
constant shares of the duration. Such figures bound nothing, and are said to be what the file states.
"""

import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .. import _core
from ..run.fixed_shares import fixed_figures, is_same_part
from .messages import MESSAGES
from .roadmap import with_roadmap
from .suggestion import NOT_BOUNDED, UNBOUNDED, Evidence, OptimizationSuggestion, OptimizationType, Priority, speedup_of
from .words import fill, improvement, quantities, subject, thresholds

# Where a rule speaks of a figure that was measured here in a run, these words name whose figure it is.
STATED = "The file states a GPU utilisation of {busy_share} for {subject}; limit: {suggest_scope_busy_share}"
CONSTANT = STATED + "; it states one of two constants for every call, which is no measurement"

# The priorities of the program behind the specification, and the order of its speed-ups, which are constants: of what
# no sum bounds nothing else can be told. Batching is urgent from twice its number of calls on.
DOCUMENTED = {
    "cacheable_scope": Priority.CRITICAL,
    "small_gpu_scope": Priority.HIGH,
    "large_cpu_scope": Priority.MEDIUM,
    "repeated_scope": Priority.MEDIUM,
    "idle_scope": Priority.MEDIUM,
    "memory_heavy_scope": Priority.MEDIUM,
}
URGENT_FACTOR = 2
URGENCY = list(Priority)


@dataclass(frozen=True, slots=True)
class _Operation:
    name: str
    calls: float
    total_ms: float
    mean_ms: float
    memory_mb: float
    utilization: float
    device: str
    overhead_ms: float  # nan where it is not a measurement
    constant: bool  # the utilisation is one of two constants
    durations_ms: tuple[float, ...]


def suggestions_of_aggregates(
    data: Mapping[str, Any], policy: Mapping[str, float] | None = None
) -> list[OptimizationSuggestion]:
    """Return the suggestions for a dictionary with "summary", and "entries" where there are any.

    ValueError for a dictionary of another form or for an unknown threshold.
    """
    limits = {name: float(row["default"]) for name, row in _core.policy().items()}
    unknown = [name for name in policy or {} if name not in limits]
    if unknown:
        raise ValueError(f"no threshold is called {unknown[0]!r}")
    limits |= {name: float(value) for name, value in (policy or {}).items()}
    operations = _operations(data)
    whole = math.fsum(one.total_ms for one in operations)
    found = [made for one in operations for made in _judge(one, limits, whole, policy)]
    order = list(DOCUMENTED)
    found.sort(
        key=lambda made: (
            not made.bounded,
            -made.potential_speedup if made.bounded else 0.0,
            URGENCY.index(made.priority),
            order.index(made.rule) if made.rule in order else len(order),
            made.operation,
        )
    )
    return with_roadmap(found)


def _number(row: Mapping[str, Any], key: str) -> float:
    value = row.get(key)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan


def _operations(data: Mapping[str, Any]) -> list[_Operation]:
    summary = data.get("summary")
    if not isinstance(summary, Mapping):
        raise ValueError("profiling_data must be an exported profile with the key 'summary': operation -> figures")
    entries = [row for row in data.get("entries") or () if isinstance(row, Mapping)]
    by_name: dict[str, list[Mapping[str, Any]]] = {}
    for row in entries:
        by_name.setdefault(str(row.get("operation")), []).append(row)
    constant = "gpu_utilization" in fixed_figures(entries)
    found = []
    for name, row in summary.items():
        if not isinstance(row, Mapping):
            raise ValueError(f"summary[{name!r}] must be a dictionary of figures")
        own = by_name.get(str(name), [])
        found.append(
            _Operation(
                str(name),
                _number(row, "call_count"),
                _number(row, "total_time_ms"),
                _number(row, "avg_time_ms"),
                _number(row, "avg_memory_mb"),
                _number(row, "avg_gpu_utilization"),
                _device(row, own),
                _overhead(own),
                constant,
                tuple(d for d in (_number(entry, "duration_ms") for entry in own) if d >= 0),
            )
        )
    return found


def _device(row: Mapping[str, Any], entries: list[Mapping[str, Any]]) -> str:
    """Return what the file says of the device; a stated GPU time means one where it says nothing."""
    stated = row.get("device") or next((entry.get("device") for entry in entries if entry.get("device")), None)
    if stated:
        return "cpu" if str(stated) == "cpu" else "gpu"
    return "gpu" if _number(row, "total_gpu_time_ms") > 0 else "cpu"


def _overhead(entries: Iterable[Mapping[str, Any]]) -> float:
    """Return the sum of measured overheads; nan where a call has none, or where they are one share of all durations."""
    pairs = [(_number(row, "overhead_ms"), _number(row, "duration_ms")) for row in entries]
    if not pairs or any(math.isnan(value) for pair in pairs for value in pair):
        return math.nan
    return math.nan if is_same_part(pairs) else math.fsum(overhead for overhead, _ in pairs)


def _judge(
    one: _Operation, limits: Mapping[str, float], whole: float, policy: Mapping[str, float] | None
) -> Iterable[OptimizationSuggestion]:
    mean_ns, memory = one.mean_ms * 1e6, one.memory_mb * 1e6
    remaining = 1 - 1 / one.calls if one.calls > 0 else math.nan

    def make(rule: str, saved_ms: float, **figures: tuple[float, str]) -> OptimizationSuggestion:
        return _make(one, rule, saved_ms, whole, figures, limits, policy)

    if one.device == "gpu" and 0 < mean_ns < limits["suggest_small_gpu_ns"]:
        yield make("small_gpu_scope", one.overhead_ms, mean_ns=(mean_ns, "suggest_small_gpu_ns"))
    if one.device == "cpu" and mean_ns > limits["suggest_large_cpu_ns"] and memory > limits["suggest_large_cpu_bytes"]:
        yield make(
            "large_cpu_scope",
            one.total_ms,
            mean_ns=(mean_ns, "suggest_large_cpu_ns"),
            bytes=(memory, "suggest_large_cpu_bytes"),
        )
    if one.calls >= limits["suggest_batch_calls"] and mean_ns < limits["suggest_batch_ns"]:
        yield make(
            "repeated_scope",
            one.overhead_ms * remaining,
            count=(one.calls, "suggest_batch_calls"),
            mean_ns=(mean_ns, "suggest_batch_ns"),
        )
    if memory > limits["suggest_memory_bytes"]:
        yield make("memory_heavy_scope", math.nan, bytes=(memory, "suggest_memory_bytes"))
    if one.calls >= limits["suggest_cache_calls"] and mean_ns < limits["suggest_cache_ns"]:
        yield make(
            "cacheable_scope",
            one.total_ms * remaining,
            count=(one.calls, "suggest_cache_calls"),
            mean_ns=(mean_ns, "suggest_cache_ns"),
        )
    if one.device == "gpu" and one.utilization / 100 < limits["suggest_scope_busy_share"]:
        yield make("idle_scope", math.nan, busy_share=(one.utilization / 100, "suggest_scope_busy_share"))
    mean = math.fsum(one.durations_ms) / len(one.durations_ms) if one.durations_ms else 0.0
    if len(one.durations_ms) >= limits["suggest_batch_calls"] and mean > 0:
        variation = statistics.stdev(one.durations_ms) / mean
        beyond = math.fsum(one.durations_ms) - len(one.durations_ms) * statistics.median(one.durations_ms)
        if variation > limits["suggest_variation"] and beyond >= limits["suggest_least_share"] * whole:
            longest = (max(one.durations_ms) * 1e6, "")
            yield make("variable_scope", beyond, ratio=(variation, "suggest_variation"), longest_ns=longest)


def _make(
    one: _Operation,
    rule: str,
    saved_ms: float,
    whole: float,
    figures: Mapping[str, tuple[float, str]],
    limits: Mapping[str, float],
    policy: Mapping[str, float] | None,
) -> OptimizationSuggestion:
    message, number = MESSAGES[rule], _core.SUGGESTION_RULES.index(rule)
    units = dict(zip(_core.QUANTITIES, _core.QUANTITY_UNITS, strict=True))
    evidence = tuple(Evidence(name, value, limits.get(limit), units[name]) for name, (value, limit) in figures.items())
    words = quantities((e.quantity, e.value, e.unit) for e in evidence) | {"subject": subject(one.name)}
    bounded = not math.isnan(saved_ms) and whole > 0
    saved = min(saved_ms, one.total_ms) if bounded else 0.0
    faster = (whole / (whole - saved) if whole > saved else math.inf) if bounded else math.nan
    left = one.total_ms - saved
    return OptimizationSuggestion(
        operation=one.name,
        type=OptimizationType(_core.SUGGESTION_RULE_TYPES[number].lower()),
        priority=_priority(one, rule, saved / whole if bounded else 0.0, limits),
        description=fill(_title(one, rule), words, thresholds(policy)),
        expected_improvement=improvement(0.0, saved, 1.0, faster) if bounded else NOT_BOUNDED,
        implementation_hint=message.advice,
        current_time_ms=one.total_ms,
        estimated_time_ms=left if bounded else UNBOUNDED,
        potential_speedup=speedup_of(one.total_ms, left) if bounded else UNBOUNDED,
        rule=rule,
        bounded=bounded,
        saved_high_ms=saved,
        speedup_low=1.0 if bounded else math.nan,
        speedup_high=faster,
        path_share=one.total_ms / whole if whole > 0 else math.nan,
        confidence="low",
        effort=_core.SUGGESTION_RULE_EFFORTS[number].lower(),
        evidence=evidence,
        bound=message.bound,
        refuted_by=message.refuted,
        verify="regimeter record PROGRAM",
    )


def _title(one: _Operation, rule: str) -> str:
    """Return the text of a finding; where the rule speaks of what is measured in a run, it is the file that says it."""
    if rule != "idle_scope":
        return MESSAGES[rule].title
    return CONSTANT if one.constant else STATED


def _priority(one: _Operation, rule: str, share: float, limits: Mapping[str, float]) -> Priority:
    """Return the documented priority, or a higher one where the sums of the file give it."""
    weighted = share * limits["suggest_low_weight"]
    by_saving = next((p for p in URGENCY[:-1] if weighted >= limits[f"suggest_{p.value}_share"]), Priority.LOW)
    documented = DOCUMENTED.get(rule, Priority.LOW)
    if rule == "repeated_scope" and one.calls >= URGENT_FACTOR * limits["suggest_batch_calls"]:
        documented = Priority.HIGH
    return min(by_saving, documented, key=URGENCY.index)
