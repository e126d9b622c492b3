# SPDX-License-Identifier: Apache-2.0
"""What torch.profiler adds to the time of the code it records.

Where code may be repeated, calls with and without the profiler are compared. A block that runs once cannot be: then it
is derived from what the profiler adds to one operator and to one Python call, measured here once a process on calls of
our own, times how many of them the trace has.
"""

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core

if TYPE_CHECKING:
    from ..public.run import Run

CALLS, ROUNDS = 200, 3
OPERATOR, PYTHON = (_core.SPAN_KINDS.index(kind) for kind in ("cpu_op", "python"))
US = 1e-3  # per ns

_known: dict[tuple[Any, ...], tuple[float, float]] = {}


def measured(plain_ms: float, profiled_ms: float, what: str) -> dict[str, Any]:
    """Return the inflation from times of the same work without and with the profiler."""
    return {
        "method": "measured",
        "what": what,
        "unprofiled_ms": plain_ms,
        "profiled_ms": profiled_ms,
        "ratio": profiled_ms / plain_ms if plain_ms > 0 else None,
    }


def derived(torch: Any, run: "Run", total_ms: float, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the profiler added to a block, from the events of its trace: an estimate, and what it rests on."""
    operator_ns, python_ns = cost_of(torch, options)
    operators = int(np.count_nonzero(run.spans.kind == OPERATOR))
    functions = int(np.count_nonzero(run.spans.kind == PYTHON))
    added_ms = (operators * operator_ns + functions * python_ns) / 1e6
    return {
        "method": "derived",
        "what": "events of the trace times what the profiler adds to one, measured on this machine in this process;"
        " events of threads that worked at once are added up",
        "operators": operators,
        "python_calls": functions,
        "per_operator_us": operator_ns * US,
        "per_python_call_us": python_ns * US,
        "added_ms": added_ms,
        "share": added_ms / total_ms if total_ms > 0 else None,
    }


def cost_of(torch: Any, options: Mapping[str, Any]) -> tuple[float, float]:
    """Return what the profiler with these options adds to an operator and to a Python call, in ns; measured once."""
    key = tuple(sorted((name, bool(value)) for name, value in options.items()))
    if key not in _known:
        _known[key] = _measure(torch, options)
    return _known[key]


def _measure(torch: Any, options: Mapping[str, Any]) -> tuple[float, float]:
    with torch.no_grad():
        small = torch.zeros(1)  # of the host: on a device the profiler adds the cost of a launch, which is left out

    def operators() -> None:
        for _ in range(CALLS):
            small.neg()

    def functions() -> None:
        for _ in range(CALLS):
            _nothing()

    bare = [_shortest(work) for work in (operators, functions)]
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], **options):
        recorded = [_shortest(work) for work in (operators, functions)]
    added = [max(0.0, with_it - without) / CALLS for with_it, without in zip(recorded, bare, strict=True)]
    python_ns = added[1] if options.get("with_stack") else 0.0
    return max(0.0, added[0] - python_ns), python_ns  # calling an operator is a Python call too


def _nothing() -> None:
    return None


def _shortest(work: Callable[[], None]) -> float:
    work()
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter_ns()
        work()
        times.append(time.perf_counter_ns() - begin)
    return float(min(times))
