# SPDX-License-Identifier: Apache-2.0
"""What a program does as a whole: its total time and its peak memory, each judged by a test of its own.

Both stand beside the family of operations: their p-values are not adjusted with the others, and each fails a gate by
itself. A process is one sample. Where a program works in rounds (steps of a training loop, or root scopes that are all
called equally often), its time is that of a round, so that a longer recording is no slower program; else it is the time
in which any root scope was open. More calls are more of that time and no slower program, so it is a test only where all
processes of both sides made the same calls; else it is shown and fails nothing.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..run.roles import GC, with_roles
from .side import TOTAL_MEMORY, TOTAL_TIME, Samples, Side

if TYPE_CHECKING:
    from ..public.run import Run

Floats = NDArray[np.float64]
NS = 1e-9
SCOPE = _core.SPAN_KINDS.index("scope")
DEVICE = _core.MEMORY_SOURCES.index("device")
SAMPLE = _core.MEMORY_ACTIONS.index("sample")
# What may stand for the whole, the best first; both sides must have it in every process.
STEP, ROUND, TOTAL = "total step time", "total time of a round", "total time"
PEAK, RESIDENT = "peak memory", "peak resident memory"
NAMES = {TOTAL_TIME: (STEP, ROUND, TOTAL), TOTAL_MEMORY: (PEAK, RESIDENT)}
# The allocator's peaks have no noise of their own; those of a resident set are samples of what the system does.
EXACT = (PEAK,)


# --- of a run -------------------------------------------------------------------------------------------------


def add_wholes(side: "Side", run: "Run") -> None:
    """Add what one process did as a whole: its rounds and its total in seconds, its largest memory in bytes."""
    name, rounds, total = _time(run)
    if total > 0:  # else there is none, or nobody knows it
        side.metric(TOTAL_TIME).add(TOTAL, [total])
        if len(rounds):
            side.metric(TOTAL_TIME).add(name, rounds)
    name, peak = _peak(run)
    if peak > 0:
        side.metric(TOTAL_MEMORY).add(name, [peak])


def add_peak(side: "Side", allocated: float, resident: float) -> None:
    """Add the largest memory that the entries of a file state, in bytes, where its run has none."""
    if TOTAL_MEMORY not in side.metrics and (allocated > 0 or resident > 0):
        name, peak = (PEAK, allocated) if allocated > 0 else (RESIDENT, resident)
        side.metric(TOTAL_MEMORY).add(name, [peak])


def _time(run: "Run") -> tuple[str, Floats, float]:
    """Return (what a round is, seconds of each, seconds in all)."""
    spans, nothing = run.spans, np.empty(0)
    roots = np.flatnonzero((spans.kind == SCOPE) & (spans.parent < 0))
    if not len(roots):
        steps = _steps(run)
        return STEP, steps, float(steps.sum())
    starts, lengths = spans.start_ns[roots], spans.duration_ns[roots]
    timed = np.unique(spans.name[roots][lengths > 0])
    if (spans.flags[roots] & _core.FLAG_REPAIRED).any() or len(timed) < len(np.unique(spans.name[roots])):
        return TOTAL, nothing, math.nan  # the time of an operation is none
    order = np.argsort(starts, kind="stable")
    total = _covered(starts[order], (starts + lengths)[order])
    if int(lengths.sum()) != total:  # scopes that overlap make no rounds
        return TOTAL, nothing, total * NS
    order = order[~by_chance(run, roots[order])]  # a collection of garbage between them is no part of one
    ordered, lengths = spans.name[roots][order], lengths[order]
    names, calls = np.unique(ordered, return_counts=True)
    if not len(calls) or calls[0] < 2 or (calls != calls[0]).any():
        return TOTAL, nothing, total * NS
    rounds = np.sum([lengths[ordered == name] for name in names], axis=0) * NS
    return ROUND, rounds, total * NS


def by_chance(run: "Run", rows: NDArray[Any]) -> NDArray[np.bool_]:
    """Return of each scope whether something else than the program decides how many of its kind there are."""
    gc, backward = (with_roles(run, {role}) for role in (GC, "backward"))
    parents = run.spans.parent[rows]
    found: NDArray[np.bool_] = gc[rows] | (backward[rows] & (parents >= 0) & backward[parents])
    return found


def _steps(run: "Run") -> Floats:
    """Return the seconds of each step of a trace; of several ranks, those of the slowest at each step."""
    table = run.result("steps").table
    slowest: dict[int, int] = {}
    for step, length in zip(table.step.tolist(), table.duration_ns.tolist(), strict=True):
        slowest[step] = max(length, slowest.get(step, 0))
    return np.array([slowest[step] * NS for step in sorted(slowest)])


def _covered(starts: NDArray[np.int64], ends: NDArray[np.int64]) -> int:
    """Return the time that intervals, in order of their starts, cover together."""
    reached = np.concatenate((starts[:1], np.maximum.accumulate(ends)[:-1]))
    return int(np.maximum(ends - np.maximum(starts, reached), 0).sum())


def _peak(run: "Run") -> tuple[str, float]:
    """Return the largest memory and what it is: of the allocator, as scopes or a trace tell it, or of the samples of
    the resident set; 0 where nothing is known."""
    entries, memory = run.entries, run.memory
    told = entries.memory_peak_bytes[entries.memory_source == DEVICE]
    told = np.concatenate((told[np.isfinite(told)], memory.allocated[memory.device >= 0]))
    if len(told) and told.max() > 0:
        return PEAK, float(told.max())
    resident = memory.bytes[(memory.device < 0) & (memory.action == SAMPLE)]
    return RESIDENT, float(resident.max()) if len(resident) else 0.0


# --- of two sides ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Single:
    """One single test: what it is called, its metric, the samples of both sides by process, whether these are compared
    as they are, and whether it can fail a gate."""

    name: str
    metric: str
    launches: tuple[list[Floats], list[Floats]]
    exact: bool
    gates: bool = True


def singles_of(
    baseline: "Side", current: "Side", wanted: Sequence[str], policy: Mapping[str, float], *, paired: bool
) -> list[Single]:
    """Return the single tests that both sides allow: one for each wanted metric that they have in common."""
    found = []
    for metric in wanted:
        sides = [side.metrics.get(metric) for side in (baseline, current)]
        if sides[0] is None or sides[1] is None:
            continue
        name = _common(NAMES[metric], (sides[0], sides[1]))
        if name is None:
            continue
        values = [list(samples.launches[name]) for samples in (sides[0], sides[1])]
        if metric == TOTAL_TIME and _enough(values, policy, paired=paired):
            values = [[np.array([float(np.mean(launch))]) for launch in side] for side in values]
        same = all(len({float(value) for launch in side for value in launch}) == 1 for side in values)
        gates = name != TOTAL or _same_calls(baseline, current)
        found.append(Single(name, metric, (values[0], values[1]), name in EXACT and same, gates))
    return found


def _same_calls(baseline: "Side", current: "Side") -> bool:
    """Whether all processes of both sides made the same calls, so that their totals are of equal work."""
    chance = baseline.not_counted | current.not_counted  # a history does not keep it
    made = [
        {
            name: {len(launch) for launch in launches}
            for name, launches in side.metrics["time"].launches.items()
            if name not in chance
        }
        for side in (baseline, current)
        if "time" in side.metrics
    ]
    return len(made) == 2 and made[0] == made[1] and all(len(counts) == 1 for counts in made[0].values())


def _common(names: Sequence[str], sides: "tuple[Samples, Samples]") -> str | None:
    """Return the first that every process of both sides has, None where there is none."""
    processes = [max(map(len, samples.launches.values()), default=0) for samples in sides]
    for name in names:
        if all(
            len(samples.launches.get(name, ())) == count > 0 for samples, count in zip(sides, processes, strict=True)
        ):
            return name
    return None


def _enough(sides: Sequence[Sequence[Floats]], policy: Mapping[str, float], *, paired: bool) -> bool:
    """Whether the processes can tell how much they differ; else their rounds decide, widened by the run floor."""
    defaults = _core.compare_policy()
    least = {name: policy.get(name, defaults[name]["default"]) for name in ("least_pairs", "least_launches")}
    count = min(map(len, sides))
    return count >= least["least_launches"] or (paired and count >= least["least_pairs"])


def samples_of(single: Single) -> "tuple[Samples, Samples]":
    """Return both sides of a single test as samples of one operation."""
    found = (Samples(), Samples())
    for samples, launches in zip(found, single.launches, strict=True):
        for launch in launches:
            samples.add(single.name, launch)
    return found
