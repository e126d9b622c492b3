# SPDX-License-Identifier: Apache-2.0
"""The lightweight profile: one call, less than two microseconds more, and no question to the user's arguments.

A call as short as one without work is OVERHEAD_BOUND, and so is one that mostly waited. A longer one needs its work:
with flops= or bytes= it is judged against the ceilings that are kept, which costs some ten microseconds. One of
LONG_NS and more is judged by its work and own rate as the full profile does it, where ceilings are kept and the
processor worked all the time: once for a function and the shapes of its arguments, and again where its time is another
and that costs at most a twentieth of what such calls took so far. Else it is UNKNOWN, with the reason and what to do.
A wait of a program with several threads is none where more threads want a processor than there are: the caller may
have waited for helpers that others kept from working. Where an argument lies on a device the call has only been
enqueued when it returns: nobody waits for it, so it is UNKNOWN whatever is given.
"""

import os
import time
from collections.abc import Callable
from typing import Any

from .. import _core
from . import floor, memory
from .arguments import arrays_in, device_of
from .policy import VALUE
from .suggestion import suggest_optimization
from .work import pipe_of

LONG_NS = 200_000  # a hundred times what the lightweight profile may add
MOST_VERDICTS = 256
FIRST_TIMES = 5  # first calls have cold caches and new memory: an open verdict is asked for so often
REFRESH_NS = 1_000_000_000  # memory is read at most once a second, by a call that then takes some 0.1 ms

# Short, waited, not known, waited while other threads of the program worked a little: as the core wants them.
_ANSWERS: Any = tuple(
    {"runtime_ms": None, "regime": regime, "memory": None, "detail": detail, "calls": 1, "reason": reason,
     "advice": suggest_optimization({"regime": regime, "detail": detail, "reason": reason})}
    for regime, detail, reason in (
        ("OVERHEAD_BOUND", "latency", "floor"), ("OVERHEAD_BOUND", "wait", "cpu_idle"),
        ("UNKNOWN", "none", "no_work"), ("UNKNOWN", "none", "load"))
)  # fmt: skip

# Of calls with arrays of a device: a short one is one that was enqueued quickly.
_ENQUEUED: Any = (
    _ANSWERS[2]
    | {"reason": "no_time", "advice": "The call was only enqueued: leave out lightweight=True to wait for the device."},
) * len(_ANSWERS)

# Type of an argument -> whether its arrays lie on a device: never, always, or as `is_cuda` says.
HOST, DEVICE, ASK = range(3)
_kinds: dict[type, int] = {}
_floors: dict[type, float] = {}
_memory: dict[str, Any] = {"oom_risk": memory.UNKNOWN, "peak_allocated_mb": None}
_refresh_at = 0
_device_memory: dict[str, Any] = {"oom_risk": memory.UNKNOWN, "peak_allocated_mb": None}
_device_refresh_at = 0


def profile_light(
    profiler: Any,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    flops: float | None,
    bytes: float | None,
) -> tuple[Any, dict[str, Any]]:
    """Call `function` once; return what it returned, and runtime_ms, regime, detail, reason, advice, memory, calls."""
    for value in args:
        kind = _kinds.get(type(value))
        if kind is None:
            kind = _find_kind(value)
        if kind is not HOST and (kind is DEVICE or value.is_cuda):
            return _enqueue(function, args, kwargs, value)
    shortest = _floors.get(type(function))
    if shortest is None:
        shortest = _find_floor(function)
    if time.monotonic_ns() > _refresh_at:
        _refresh()
    cpu_ns = time.process_time_ns()
    result, profile = _core.light_call(function, args, kwargs, shortest, _ANSWERS, _memory)
    if profile["reason"] == "load":
        _doubt_wait(profile)
    if flops is None and bytes is None:
        if profile["reason"] == "no_work" and profile["runtime_ms"] * 1e6 >= LONG_NS:
            _judge_long(profile, function, args, kwargs, result, time.process_time_ns() - cpu_ns)
        return result, profile
    if profile["regime"] == "UNKNOWN":
        _judge(profiler, profile, args, flops, bytes)
    return result, profile


def _judge_long(
    profile: dict[str, Any], function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any, cpu_ns: int
) -> None:
    """Put the verdict on a long call of a function of a library into its profile, as far as there may be one."""
    wall_ns = profile["runtime_ms"] * 1e6
    key = _key_of(function, args, kwargs)
    if key is None:
        return
    if cpu_ns < VALUE["worked_share"] * wall_ns:
        profile |= {"reason": "load", "advice": _ANSWERS[3]["advice"]}
        return
    known = _verdicts.get(key)
    if known is None:
        if len(_verdicts) >= MOST_VERDICTS:
            _verdicts.clear()
        known = _verdicts[key] = _Verdict()
    known.called_ns += wall_ns
    alike = known.said and known.wall_ns / VALUE["alike"] <= wall_ns <= known.wall_ns * VALUE["alike"]
    undecided = known.said.get("regime") in (None, "AMBIGUOUS", "UNKNOWN") and known.times < FIRST_TIMES
    if undecided or (not alike and known.spent_ns <= VALUE["light_share"] * known.called_ns):
        begin = time.perf_counter_ns()
        known.times += 1
        said = _judge_as_full(function, args, kwargs, result, wall_ns, cpu_ns)
        known.spent_ns += time.perf_counter_ns() - begin
        known.said, known.wall_ns = said, wall_ns
        alike = True
    if alike:
        profile |= known.said


class _Verdict:
    """What was said of calls of one function with arguments of the same shapes, and what saying it took."""

    __slots__ = ("called_ns", "said", "spent_ns", "times", "wall_ns")

    def __init__(self) -> None:
        self.said: dict[str, Any] = {}
        self.times = 0
        self.wall_ns = self.called_ns = self.spent_ns = 0.0


_verdicts: dict[Any, _Verdict] = {}


def _key_of(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return what calls have in common of which one verdict holds; None for what is not of a known library."""
    values = (*args, *kwargs.values())
    shapes = tuple((str(getattr(x, "dtype", type(x))), tuple(getattr(x, "shape", ()))) for x in values)
    try:
        key = (function, shapes, tuple(kwargs))
        hash(key)
    except TypeError:
        return None
    from . import replay  # 12 ms, for operations that no verdict is known of

    return key if key in _verdicts or replay.is_known(function, args, kwargs) else None


def _judge_as_full(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any, wall_ns: float, cpu_ns: float
) -> dict[str, Any]:
    # With NumPy more than 100 ms, for the first call of an operation that turns out to be judged as in full.
    from ..calibration.measure import kept
    from . import known_work, verdict
    from .stopwatch import Measurement

    ceilings = kept("cpu")[0]
    if ceilings is None:
        told = {"regime": "UNKNOWN", "detail": "none", "reason": "no_ceilings"}
        return told | {"advice": suggest_optimization(told)}
    measured = Measurement(
        wall_ns, wall_ns, None, min(cpu_ns, wall_ns), cpu_ns, 0.0, 0.0, 0.0, 0.0, 1, None, (round(wall_ns),)
    )
    libraries = {array.library for array in arrays_in(args, kwargs, result, getattr(function, "__self__", None))}
    library = "torch" if "torch" in libraries else "numpy" if "numpy" in libraries else "python"
    found = known_work.of_call(function, args, kwargs, result, None)
    call = verdict.Call(function, args, library, "cpu", measured, found)
    judged = verdict.judge(call, ceilings)
    profile = {name: judged[name] for name in ("regime", "detail", "confidence", "leans_to", "reason")}
    about = profile | {"evidence": judged, "calls": 1, "flops": found.flops, "bytes": found.bytes}
    advice = suggest_optimization(about)
    if judged["regime"] in ("AMBIGUOUS", "UNKNOWN"):
        advice = "One call by the clock alone does not tell: leave out lightweight=True, or give flops= and bytes=."
    return profile | {"advice": advice}


def _doubt_wait(profile: dict[str, Any]) -> None:
    """Decide on a wait during which helpers worked a little: without a processor free for them it tells nothing."""
    wanted, there = _runnable(), len(os.sched_getaffinity(0))
    if wanted is not None and wanted > there:
        profile["advice"] = f"{wanted} threads, {there} processors. {profile['advice']}"
    else:
        profile |= {name: _ANSWERS[1][name] for name in ("regime", "detail", "reason", "advice")}


def _runnable() -> int | None:
    """Return how many threads of the machine want a processor now, None where the system does not tell."""
    try:
        with open("/proc/loadavg", encoding="ascii") as file:
            return int(file.read().split()[3].partition("/")[0])
    except (OSError, ValueError, IndexError):
        return None


def _find_kind(value: Any) -> int:
    if not hasattr(type(value), "__cuda_array_interface__") and not hasattr(type(value), "is_cuda"):
        kind = HOST
    else:
        kind = ASK if hasattr(type(value), "is_cuda") else DEVICE
    _kinds[type(value)] = kind
    return kind


def _enqueue(function: Callable[..., Any], args: Any, kwargs: Any, value: Any) -> tuple[Any, dict[str, Any]]:
    """Call with arrays of a device; the time is the host's."""
    global _device_memory, _device_refresh_at
    if time.monotonic_ns() > _device_refresh_at:
        now = memory.of_array(value)
        _device_memory = {"oom_risk": now.oom_risk, "peak_allocated_mb": now.peak_allocated_mb}
        _device_refresh_at = time.monotonic_ns() + REFRESH_NS
    return _core.light_call(function, args, kwargs, 0.0, _ENQUEUED, _device_memory)


def _find_floor(function: Any) -> float:
    """Return the shortest single call of the library whose kind of function this is; measured once."""
    library = type(function).__module__.partition(".")[0]
    if library == "builtins":
        library = str(getattr(function, "__module__", "") or "").partition(".")[0]
    known = library if library in ("numpy", "torch") else "python"
    found = floor.shortest_call(known, None, (), cold=True)[0]
    if type(function).__name__ != "builtin_function_or_method":  # of which every library has some
        _floors[type(function)] = found
    return found


def _refresh() -> None:
    global _memory, _refresh_at
    now = memory.of_host()
    _memory = {"oom_risk": now.oom_risk, "peak_allocated_mb": now.peak_allocated_mb}
    _refresh_at = time.monotonic_ns() + REFRESH_NS


def _judge(
    profiler: Any, profile: dict[str, Any], args: tuple[Any, ...], flops: float | None, bytes: float | None
) -> None:
    found = arrays_in(args)
    device, pipe = device_of(found), pipe_of(found) or "fp64"
    ceilings = profiler._calibration(device)
    judged = _core.classify(
        host=device == "cpu",
        time_ns=profile["runtime_ms"] * 1e6,
        time_spread=VALUE["single_call_spread"],
        operations=None if flops is None else {pipe: float(flops)},
        bytes=bytes,
        ceilings=ceilings.vector(),
        single=ceilings.vector(threads=1),
        machine_threads=ceilings.threads,
    )
    profile |= {name: judged[name] for name in ("regime", "detail", "confidence", "leans_to", "reason")}
    profile["advice"] = suggest_optimization(profile)
