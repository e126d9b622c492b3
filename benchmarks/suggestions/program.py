# SPDX-License-Identifier: Apache-2.0
"""One program in a process of its own: what the suggestions for it say, and what following them saves.

Usage: python -m benchmarks.suggestions.program NAME [ROUNDS] [SCALE]; prints one line of JSON.

Sides alternate in pairs of random order. The figures of a pair are the time saved and its part of the side before; the
estimate is their median, and the interval that of order statistics, which supposes nothing about their distribution.
Recordings are spread over the pairs, so that bounds and measurement see the same machine; bounds are medians over them.
"""

import importlib
import json
import math
import random
import statistics
import sys
from collections.abc import Sequence
from time import perf_counter_ns
from types import ModuleType
from typing import Any

from regimeter import ProfilerOptimizer
from regimeter.suggest import OptimizationSuggestion

from .record import record, unrecorded

RECORDINGS = 5
COVERED = 0.95
MS = 1e-6


def load(name: str) -> ModuleType:
    """Return the module of a program."""
    return importlib.import_module(f"{__package__}.{name}")


def prepare(program: ModuleType, scale: float) -> Any:
    """Return what both sides work with; one thread, so that a neighbour on the machine disturbs less."""
    import torch

    torch.set_num_threads(1)
    return program.prepare(scale)


def told(program: ModuleType, side: str, work: Any) -> tuple[list[OptimizationSuggestion], float]:
    """Return what is suggested for a side, in order, with those that others count last; and the whole in ms."""
    reset(program, work, side)
    run = record(program, getattr(program, side), work)
    optimizer = ProfilerOptimizer(run)
    whole = run._suggest({}, None)[0].whole_ns
    found = [*optimizer.get_suggestions(), *optimizer.get_merged_suggestions()]
    return found, float(whole[0]) * MS if len(whole) else math.nan


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the narrowest pair of order statistics that covers the median with COVERED, by the binomial law."""
    ordered, n = sorted(values), len(values)
    rank, outside = 0, 0.0
    while rank < n // 2:
        outside += 2 * math.comb(n, rank) / 2**n
        if outside > 1 - COVERED:
            break
        rank += 1
    return ordered[max(rank - 1, 0)], ordered[min(n - rank, n - 1)]


def reset(program: ModuleType, work: Any, side: str) -> None:
    """Do what is to be done before a side and belongs to neither."""
    if hasattr(program, "reset"):
        program.reset(work, side)


def milliseconds(call: Any) -> float:
    """Return the milliseconds that a call takes."""
    begin = perf_counter_ns()
    call()
    return (perf_counter_ns() - begin) * MS


def measure(name: str, rounds: int, scale: float) -> dict[str, Any]:
    """Return what was predicted and what was measured."""
    program = load(name)
    work = prepare(program, scale)
    if program.RULE is None:
        told(program, "before", work)
        said, _ = told(program, "before", work)
        return {"said": [[one.rule, one.priority.value] for one in said if one.merged_into is None]}
    calls = {side: unrecorded(program, getattr(program, side), work) for side in ("before", "after")}
    for side, call in calls.items():
        reset(program, work, side)
        call()
    told(program, "after", work)  # the first recording of a process is slow
    dice, pairs, recordings = random.Random(0), [], []
    for i in range(rounds):
        if i % max(rounds // RECORDINGS, 1) == 0 and len(recordings) < RECORDINGS:
            recordings.append(told(program, "before", work))
        order = ["before", "after"]
        dice.shuffle(order)
        taken = {}
        for side in order:
            reset(program, work, side)
            taken[side] = milliseconds(calls[side])
        pairs.append((taken["before"], taken["after"]))
    found = _result(program, recordings, pairs)
    after, _ = told(program, "after", work)
    found["left"] = any(one.rule == program.RULE and one.priority.value in ("critical", "high") for one in after)
    return found


def _result(program: ModuleType, recordings: list[Any], pairs: list[tuple[float, float]]) -> dict[str, Any]:
    saved = [before - after for before, after in pairs]
    shares = [(before - after) / before for before, after in pairs]
    mine = [[one for one in found if one.rule == program.RULE] for found, _ in recordings]
    found: dict[str, Any] = {
        "rule": program.RULE,
        "heard": sum(bool(one) for one in mine),
        "first": sum(all_[0].rule == program.RULE for all_, _ in recordings if all_),
        "order": [[one.rule, one.merged_into] for one in recordings[0][0][:4]],
        "recordings": len(recordings),
        "pairs": len(pairs),
        "before_ms": statistics.median(before for before, _ in pairs),
        "after_ms": statistics.median(after for _, after in pairs),
        "recorded_ms": statistics.median(whole for _, whole in recordings),
        "saved_ms": [statistics.median(saved), *interval(saved)],
        "saved_share": [statistics.median(shares), *interval(shares)],
    }
    said = [(one[0], whole) for one, (_, whole) in zip(mine, recordings, strict=True) if one]
    if said:
        low, high = ([getattr(one, name) for one, _ in said] for name in ("saved_low_ms", "saved_high_ms"))
        wholes = [whole for _, whole in said]
        found |= {
            "bounded": said[0][0].bounded,
            "priority": said[0][0].priority.value,
            "low_ms": statistics.median(low),
            "high_ms": statistics.median(high),
            "low_share": statistics.median(a / b for a, b in zip(low, wholes, strict=True)),
            "high_share": statistics.median(a / b for a, b in zip(high, wholes, strict=True)),
        }
    return found


if __name__ == "__main__":
    name, *more = sys.argv[1:]
    rounds, scale = int(more[0]) if more else 15, float(more[1]) if len(more) > 1 else 1.0
    print(json.dumps(measure(name, rounds, scale)))
