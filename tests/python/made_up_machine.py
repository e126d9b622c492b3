# SPDX-License-Identifier: Apache-2.0
"""A machine and calls that are made up, so that no verdict depends on the machine that the tests run on."""

from collections.abc import Callable
from typing import Any

import pytest

from regimeter import _core
from regimeter.calibration import Calibration, Ceiling
from regimeter.regime import calls
from regimeter.regime.stopwatch import Measurement

REGIMES = {"OVERHEAD_BOUND", "MEMORY_BOUND", "COMPUTE_BOUND", "AMBIGUOUS", "UNKNOWN"}


def calibration(flops: float = 1e11, bandwidth: float = 1e10) -> Calibration:
    """Return ceilings of a host: of double precision, half of single precision, and of all memory."""
    values = {"compute_fp64": flops, "compute_fp32": 2 * flops, "dispatch_python": 50.0, "dispatch_numpy": 400.0}
    values |= dict.fromkeys(("memory_copy", "memory_triad", "cache_l1", "cache_l2", "cache_l3"), bandwidth)
    values["dispatch_torch"] = 1000.0
    units = {name: row["unit"] for name, row in _core.ceilings().items()}
    rows = {name: Ceiling(values.get(name), 0.02 if name in values else None, unit) for name, unit in units.items()}
    return Calibration("cpu", "made up", 1, rows, rows, {}, 0.0, True, 0.0)


def measurement(ns: float = 1e8, **told: Any) -> Measurement:
    """Return five calls that took so long and kept one thread busy all the time, unless told otherwise."""
    wall = dict.fromkeys(("wall_ns", "enqueue_ns", "thread_cpu_ns", "process_cpu_ns"), ns)
    counts: dict[str, Any] = dict.fromkeys(("stolen_ns", "faults", "waits", "preempted"), 0)
    number = told.get("calls", 5)
    rest = {"device_ns": None, "calls": number, "spread": 0.01 if number > 1 else None, "times_ns": (int(ns),) * number}
    return Measurement(**wall | counts | rest | told)


def every_call_takes(monkeypatch: pytest.MonkeyPatch, ns: float, **told: Any) -> None:
    """Let whatever is measured have taken so long; it is called once."""
    found = measurement(ns, **told)
    monkeypatch.setattr("regimeter.regime.stopwatch.measure", lambda call, repeat, *rest: (call(), found))


def profile_of(function: Callable[..., Any], *args: Any, repeat: int = 5, **question: Any) -> dict[str, Any]:
    """Return the profile of a call on the machine that is made up."""
    asked = calls.Question(repeat, **question)
    return calls.profile_call(function, args, {}, asked, lambda device: calibration())[1]
