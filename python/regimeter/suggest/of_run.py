# SPDX-License-Identifier: Apache-2.0
"""The suggestions for a Run: the tables of the C core, in words."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .. import _core
from ..run.records import ENTRY_FIELDS, SUMMARY_FIELDS
from ..system.arrays import np
from ..system.quantities import known
from .messages import MESSAGES
from .of_aggregates import suggestions_of_aggregates
from .roadmap import with_roadmap
from .suggestion import NOT_BOUNDED, UNBOUNDED, Evidence, OptimizationSuggestion, OptimizationType, Priority, speedup_of
from .words import fill, improvement, quantities, subject, thresholds

if TYPE_CHECKING:
    from ..public.run import Run

MS = 1e-6  # per nanosecond
WORK = ("kernel", "memcpy", "memset", "accelerator")  # spans of devices
# Rules whose subject is the span with most of the time; of an annotation that is the time outside of operators.
ASKING = ("host_bound",)


def suggestions_of_run(
    run: "Run",
    policy: Mapping[str, float] | None = None,
    ceilings: Mapping[str, float] | None = None,
    trace: str = "TRACE",
) -> list[OptimizationSuggestion]:
    """Return the suggestions, most valuable first; those whose time others count come last.

    policy: thresholds by name (docs/schema.md). ceilings: measured peaks by token, for bounds by the roofline. trace:
    how the commands name the run. ValueError for an unknown name.
    """
    found = _by_rules(run, policy, ceilings, trace)
    return _with_documented(found, run, policy) if run.source == "export" and run.has_start_times else found


def open_ones(found: list[OptimizationSuggestion], top_n: int | None = None) -> list[OptimizationSuggestion]:
    """Return those whose time no other one counts, at most `top_n`. ValueError for a negative number."""
    if top_n is not None and top_n < 0:
        raise ValueError(f"top_n must not be negative, got {top_n}")
    return [one for one in found if one.merged_into is None][:top_n]


def _by_rules(
    run: "Run",
    policy: Mapping[str, float] | None,
    ceilings: Mapping[str, float] | None,
    trace: str,
) -> list[OptimizationSuggestion]:
    """Return what the rules say of the run, in the order of a roadmap."""
    if not run.has_start_times:
        return suggestions_of_aggregates(_as_profile(run), policy)
    table, figures = run._suggest(dict(policy or {}), None if ceilings is None else dict(ceilings))
    evidence: dict[int, list[Evidence]] = {}
    for i in range(len(figures)):
        evidence.setdefault(int(figures.suggestion[i]), []).append(_evidence(figures, i))
    limits = thresholds(policy)
    found = [_suggestion(run, table, i, tuple(evidence.get(i, ())), limits, trace) for i in range(len(table))]
    if found and not np.isin(run.spans.kind, [_core.SPAN_KINDS.index(kind) for kind in WORK]).any():
        looks = {one.rule: MESSAGES[one.rule].look_host for one in found}
        found = [replace(one, verify=looks[one.rule].format(trace=trace) or one.verify) for one in found]
    return with_roadmap(found)


def _with_documented(
    found: list[OptimizationSuggestion], run: "Run", policy: Mapping[str, float] | None
) -> list[OptimizationSuggestion]:
    """Return suggestions and, behind them, what the documented rules say of an exported profile beside them."""
    said = {(one.operation, one.rule) for one in found}
    own = open_ones(found)
    merged = [one for one in found if one.merged_into is not None]
    more = [
        replace(one, bounded=False, saved_high_ms=0.0, speedup_low=math.nan, speedup_high=math.nan)
        for one in suggestions_of_aggregates(_as_profile(run), policy)
        if (one.operation, one.rule) not in said
    ]
    return with_roadmap(own + more + merged)


def _as_profile(run: "Run") -> dict[str, Any]:
    """Return a run without start times in the form that the documented rules read."""
    summary = {key: {f: getattr(row, f) for f in SUMMARY_FIELDS} for key, row in run.get_summary().items()}
    return {"entries": [{f: getattr(row, f) for f in ENTRY_FIELDS} for row in run.get_entries()], "summary": summary}


def _is_annotation(run: "Run", span: int) -> bool:
    return span >= 0 and _core.SPAN_KINDS[run.spans.kind[span]] == "annotation"


def _evidence(table: Any, row: int) -> Evidence:
    code = int(table.quantity[row])
    value, threshold, span = float(table.value[row]), float(table.threshold[row]), int(table.span[row])
    return Evidence(
        _core.QUANTITIES[code],
        known(value),
        known(threshold),
        _core.QUANTITY_UNITS[code],
        None if span < 0 else span,
    )


def _suggestion(
    run: "Run", table: Any, row: int, evidence: tuple[Evidence, ...], limits: Mapping[str, str], trace: str
) -> OptimizationSuggestion:
    rule = _core.SUGGESTION_RULES[table.rule[row]]
    message, name, bounded = MESSAGES[rule], run.string(int(table.subject[row])), bool(table.bounded[row])
    about = subject(name)
    if rule in ASKING and _is_annotation(run, int(table.span[row])):
        about += ", outside of any operator"
    words = quantities((one.quantity, one.value, one.unit) for one in evidence) | {"subject": about}
    low, high = int(table.saved_low_ns[row]) * MS, int(table.saved_high_ns[row]) * MS
    current = max(int(table.current_ns[row]), int(table.path_ns[row])) * MS
    faster = float(table.speedup_low[row]), float(table.speedup_high[row])
    merged, idle = int(table.merged_into[row]), int(table.idle_ns[row]) * MS
    return OptimizationSuggestion(
        operation=name,
        type=OptimizationType(_core.SUGGESTION_TYPES[table.type[row]]),
        priority=Priority(_core.PRIORITIES[table.priority[row]]),
        description=fill(message.title, words, limits),
        expected_improvement=_expected(bounded, merged >= 0, low, high, faster, idle),
        implementation_hint=fill(message.advice, words, limits),
        current_time_ms=current,
        estimated_time_ms=current - high if bounded else UNBOUNDED,
        potential_speedup=speedup_of(current, current - high) if bounded else UNBOUNDED,
        rule=rule,
        bounded=bounded,
        saved_low_ms=low,
        saved_high_ms=high,
        speedup_low=faster[0],
        speedup_high=faster[1],
        path_share=float(table.path_share[row]),
        confidence=_core.DEGREES[table.confidence[row]],
        effort=_core.DEGREES[table.effort[row]],
        evidence=evidence,
        bound=message.bound,
        refuted_by=message.refuted,
        verify=message.look.format(trace=trace),
        merged_into=_core.SUGGESTION_RULES[table.rule[merged]] if merged >= 0 else None,
    )


def _expected(bounded: bool, merged: bool, low: float, high: float, faster: tuple[float, float], idle: float) -> str:
    if not bounded:
        return NOT_BOUNDED
    return (
        "counted by another suggestion" if merged else improvement(low, high, *faster, idle if idle >= 0 else math.nan)
    )
