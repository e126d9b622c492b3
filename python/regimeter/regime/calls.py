# SPDX-License-Identifier: Apache-2.0
"""Profiling one call: run it as often as asked, measure, find its work, and say what limits it."""

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import FunctionType
from typing import TYPE_CHECKING, Any

from .. import _core
from ..calibration import calibration_for
from ..capture import device_memory
from ..system.text import percent
from . import known_work, memory, operators, plain_data, replay, steps, stopwatch, torch_work, unwrap, verdict, work
from .arguments import Array, arrays_in, device_of
from .errors import CUDANotAvailableError
from .policy import VALUE
from .stopwatch import Measurement
from .suggestion import suggest_optimization
from .work import Work

if TYPE_CHECKING:
    from ..calibration import Calibration


STEP_CALLS = 3  # of a call in a function, which has run once before
NATIVE = ("builtin_function_or_method", "ufunc", "method_descriptor", "OpOverload", "OpOverloadPacket")


@dataclass(frozen=True, slots=True)
class Question:
    """What the caller told: repetitions, work, and whether operators of torch may be counted in the call."""

    repeat: int = 1
    flops: float | None = None
    bytes: float | None = None
    operators: int | None = None
    accesses: float | None = None
    count_work: bool | None = None
    device: str | None = None

    def __post_init__(self) -> None:
        if type(self.repeat) is not int or self.repeat < 1:
            raise ValueError(f"repeat must be at least 1, got {self.repeat!r}")
        for name in ("flops", "bytes", "operators", "accesses"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < float("inf"):
                raise ValueError(f"{name} must be a finite number of at least 0, got {value!r}")


def profile_call(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    question: Question,
    calibration: Callable[[str], "Calibration"],
) -> tuple[Any, dict[str, Any]]:
    """Call `function` question.repeat times and return what it returned last, and its profile.

    calibration: called with the device after the call. What the function raises is raised as it is, and nothing is
    kept. CUDANotAvailableError when a CUDA device was asked for and is not there.
    """
    if not callable(function):
        raise TypeError(f"a function is expected, not {type(function).__name__}")
    before = arrays_in(args, kwargs, getattr(function, "__self__", None), function)
    device = question.device or device_of(before)
    check_device(device)
    clock = stopwatch.clock_for(_library(before), device)
    notes: list[str] = []
    inner = operators.as_function(*(unwrap.single_call(function, args, kwargs) or (function, args, kwargs)))
    known = device == "cpu" and replay.is_known(*inner)
    mode = _counting(inner[0] if known else function, before, question, notes)
    call = functools.partial(function, *args, **kwargs)
    watch = memory.Watch(device, _library(before))
    try:
        unknown = device == "cpu" and not known and (question.flops is None or question.bytes is None)
        pace = device == "cpu" and (unknown or not _is_native(function))
        result, measured, first = _measure(call, question.repeat, clock, mode, pace, unknown)
    except BaseException:
        watch.analysis()  # ends the look at the allocator's peak
        raise
    analysis = watch.analysis()
    counted = None if mode is None or not mode.count.operators else mode.count.work(work.COUNTED)
    outside = None
    if counted is not None:
        outside = _outside_share(function, first, measured, mode)
        measured = without_counting(measured, mode, notes)
    if counted is None and inner[0] is not function and (known or plain_data.of_call(*inner[:2]) is not None):
        function, args, kwargs = inner  # it is nothing but this call
    found = known_work.of_call(function, args, kwargs, result, counted)
    found = work.with_given(found, question.flops, question.bytes)
    if question.operators is not None:
        found = replace(found, operators=question.operators)
    if found.flops and found.pipe is None:
        notes.append("the element type is not known: the given FLOPs are judged by the double precision ceiling")
        found = replace(found, pipe="fp64")
    library = _library(arrays_in(args, kwargs, result, getattr(function, "__self__", None))) or (
        "torch" if counted else "python"
    )
    if library == "python" and question.operators and "numpy" in sys.modules:
        library = "numpy"  # operators are calls of a library, and torch's would have been counted
    call_of = verdict.Call(function, args, library, device, measured, found, outside, question.accesses, inner, result)
    judged = judge(call_of, calibration, notes)
    if device == "cpu" and judged["regime"] not in verdict.REGIMES and not (question.flops or question.bytes):
        judged = _by_steps(call_of, kwargs, judged, calibration)
    profile = describe(measured, found, judged, device, analysis, notes)
    return result, profile | {"advice": suggest_optimization(profile)}


def _by_steps(
    whole: verdict.Call, kwargs: dict[str, Any], judged: dict[str, Any], calibration: Callable[[str], "Calibration"]
) -> dict[str, Any]:
    """Return the verdict on a call by those on the known calls that it consists of, as it was where that is nothing."""
    if type(whole.function) is not FunctionType:
        return judged
    least_ns = VALUE["step_share"] * whole.measured.own_ns

    def one(called: Any, args: tuple[Any, ...], kwargs: dict[str, Any], changes: bool) -> Any:
        call = functools.partial(called, *args, **kwargs)
        result, measured = stopwatch.measure(call, 1)
        if measured.own_ns < least_ns:
            return result, measured.own_ns, {"regime": "UNKNOWN", "detail": "none", "confidence": None}
        if not changes:
            result, measured = stopwatch.measure(call, STEP_CALLS)
        found = known_work.of_call(called, args, kwargs, result, None)
        library = _library(arrays_in(args, kwargs, result, getattr(called, "__self__", None))) or "python"
        inner = (called, args, kwargs)
        step = verdict.Call(called, args, library, "cpu", measured, found, inner=inner, result=result)
        return result, measured.own_ns, verdict.judge(step, calibration("cpu"))

    found = steps.of_function(whole.function, whole.args, kwargs, one)
    return judged if found is None else steps.combined(found, whole.measured.own_ns, judged)


def check_device(device: str) -> None:
    """Raise CUDANotAvailableError for a CUDA device that is not there, ValueError for an unknown kind."""
    kind = device.partition(":")[0]
    if kind in ("cpu", "meta"):
        return
    if kind != "cuda":
        raise ValueError(f"unknown device {device!r}; valid are: cpu, cuda, cuda:N")
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    if cupy is None and (torch is None or not torch.cuda.is_available()):
        raise CUDANotAvailableError(f"{device} cannot be used: {device_memory.reason()}; pass arrays of the host")


def _library(found: list[Array]) -> str | None:
    for name in ("torch", "cupy", "numpy"):
        if any(array.library == name for array in found):
            return name
    return None


def _counting(function: Any, before: list[Array], question: Question, notes: list[str]) -> Any:
    """Return a mode that counts torch's operators in the call, None where that is not needed or not safe."""
    if question.count_work is False or "torch" not in sys.modules:
        return None
    if question.flops is not None and question.bytes is not None:
        return None
    if _library(before) not in ("torch", None) or torch_work.is_plain(function)[0] is not None:
        return None
    if _library(before) is None and type(function).__name__ in ("builtin_function_or_method", "ufunc", "type"):
        return None
    reason = torch_work.must_not_count(function)
    if reason is not None and not question.count_work:
        notes.append(f"operators were not counted ({reason}): give flops= and bytes=, or count_work=True")
        return None
    torch_work.entry_cost_ns()  # what torch loads when a mode is used first must not be inside of the call
    return torch_work.make_mode()


def counting_of_block(question: Question, notes: list[str]) -> Any:
    """Return a counting mode for a block, None where torch is not loaded or it is not safe."""
    if question.count_work is False or "torch" not in sys.modules:
        return None
    reason = torch_work.must_not_count(None)
    if reason is not None and not question.count_work:
        notes.append(f"operators were not counted ({reason}): give flops= and bytes=, or count_work=True")
        return None
    torch_work.entry_cost_ns()
    return torch_work.make_mode()


def _measure(
    call: Callable[[], Any], repeat: int, clock: stopwatch.DeviceClock | None, mode: Any, pace: bool, touched: bool
) -> tuple[Any, Measurement, Measurement]:
    """Return the result, the measurement, and that of the call whose operators were counted."""
    if mode is None:
        result, measured = stopwatch.measure(call, repeat, clock, pace, touched)
        return result, measured, measured
    times: tuple[int, ...] = ()
    if repeat > 3:  # what a first call prepares is outside of operators, and in no later one
        times = stopwatch.measure(call, 1, clock)[1].times_ns
    result, measured = stopwatch.measure(functools.partial(_call_in, mode, call), 1, clock)
    if repeat == 1:
        return result, measured, measured
    # The time of the call that was counted is left out; the others run as the program would run them.
    result = None
    result, others = stopwatch.measure(call, repeat - 1 - len(times), clock, pace)
    return result, replace(others, calls=repeat, times_ns=(*times, *others.times_ns)), measured


def _is_native(function: Any) -> bool:
    """Say whether a call runs no instruction of Python that lasts: a function of a library without Python code."""
    return not hasattr(function, "__code__") and type(function).__name__ in NATIVE


def _call_in(mode: Any, call: Callable[[], Any]) -> Any:
    with mode:
        return call()


def without_counting(measured: Measurement, mode: Any, notes: list[str]) -> Measurement:
    """Subtract what the counter cost, as far as its call is the one that was timed."""
    if measured.calls > 1:
        return measured
    entry, uncertain = torch_work.entry_cost_ns()
    operators = mode.count.operators
    if measured.device_ns is not None:
        return _beside_counting(measured, mode, notes)
    cost = min(mode.count.own_ns + operators * entry, 0.9 * measured.own_ns)
    left = measured.own_ns - cost
    spread = (operators * uncertain + VALUE["counting_spread"] * cost) / left
    notes.append(
        f"{operators} operators were counted in the call that was timed: {cost / 1e6:.3f} ms of counting is "
        f"subtracted, which leaves {percent(spread, 0)} of uncertainty; repeat=2 times a call without the counter"
    )
    return replace(
        measured,
        wall_ns=measured.wall_ns - cost,
        enqueue_ns=max(0.0, measured.enqueue_ns - cost),
        thread_cpu_ns=max(0.0, measured.thread_cpu_ns - cost),
        process_cpu_ns=max(0.0, measured.process_cpu_ns - cost),
        spread=spread + VALUE["single_call_spread"],
    )


def _beside_counting(measured: Measurement, mode: Any, notes: list[str]) -> Measurement:
    """On a device counting costs nothing, but the device may have waited for the host that counted: not subtracted."""
    entry, _ = torch_work.entry_cost_ns()
    cost = mode.count.own_ns + mode.count.operators * entry
    share = min(1.0, cost / max(1.0, measured.own_ns))
    notes.append(
        f"{mode.count.operators} operators were counted in the call that was timed: the device may have waited up to "
        f"{cost / 1e6:.3f} ms for it, {percent(share, 0)} of the time; repeat=2 times a call without the counter"
    )
    return replace(measured, spread=share + VALUE["single_call_spread"])


def _outside_share(function: Any, counted: Measurement, timed: Measurement, mode: Any) -> tuple[float, float] | None:
    """Return the part of a call that this thread spent outside of operators, at least and at most; None where that may
    be work.

    The call that was counted tells, but counting takes more there than is known of it; where other calls were timed,
    what operators took in the first one leaves the rest of their time.
    """
    if counted.device_ns is not None or not torch_work.is_torch_alone(function):
        return None
    entry, _ = torch_work.entry_cost_ns()
    own = mode.count.own_ns + mode.count.operators * entry
    shares = [1.0 - mode.count.inside_ns / max(1.0, whole) for whole in (counted.thread_cpu_ns - own, timed.own_ns)]
    low, high = sorted(min(1.0, max(0.0, share)) for share in (shares[0], shares[timed.calls > 1]))
    return low, high


def judge(call: verdict.Call, calibration: Callable[[str], "Calibration"], notes: list[str]) -> dict[str, Any]:
    try:
        ceilings = calibration(call.device)
    except (_core.Error, MemoryError) as error:  # the call is done: what it returned must not be lost
        notes.append(f"no ceilings of {call.device}: {error}")
        spread = VALUE["single_call_spread"]
        return _core.classify(host=call.device == "cpu", time_ns=call.measured.own_ns, time_spread=spread)
    judged = verdict.judge(call, ceilings)
    if judged.pop("ceilings_matter", True):
        notes.extend(ceilings.warnings)
    if call.device != "cpu" and judged["regime"] != "UNKNOWN" and verdict.is_impossible(call, ceilings):
        notes.append(
            "the device cannot have done this work in the time between the events: it ran in another stream than the "
            "current one, or the work is not what was taken; there is no verdict"
        )
        judged |= {
            "regime": "UNKNOWN",
            "detail": "model_error",
            "confidence": 0.0,
            "leans_to": None,
            "reason": "faster",
        }
    return judged


def ceilings_of(profiler: Any, device: str) -> "Calibration | None":
    """Return the calibration that a profiler uses (the kept one without a profiler), None where there is none."""
    try:
        found: Calibration = calibration_for(device) if profiler is None else profiler._calibration(device)
    except _core.UnavailableError:
        return None
    return found


def need_ceilings(profiler: Any, device: str) -> "Calibration":
    """Return the same; UnavailableError where there is none."""
    found = ceilings_of(profiler, device)
    if found is None:
        raise _core.UnavailableError(f"the ceilings of {device} are not known")
    return found


# --- the dictionary ----------------------------------------------------------------------------------------------


def describe(
    measured: Measurement,
    found: Work,
    judged: dict[str, Any],
    device: str,
    analysis: memory.MemoryAnalysis,
    notes: list[str],
) -> dict[str, Any]:
    """Return the profile: the documented keys, then what they rest on."""
    runtime_ns = measured.wall_ns if measured.device_ns is None else measured.device_ns
    seconds = 0.0 if measured.is_unresolved else measured.own_ns / 1e9
    _doubt(measured, found, notes)
    return {
        "runtime_ms": runtime_ns / 1e6,
        "achieved_flops": found.flops / seconds if found.flops is not None and seconds else None,
        "achieved_bandwidth": found.bytes / seconds if found.bytes is not None and seconds else None,
        "flops_utilization": judged.get("flops_utilization"),
        "bandwidth_utilization": judged.get("sol_memory"),
        "regime": judged["regime"],
        "compute_intensity": found.intensity,
        "memory": analysis.to_dict(),
        "detail": judged["detail"],
        "confidence": judged["confidence"],
        "leans_to": judged["leans_to"],
        "evidence": _evidence(measured, judged),
        "calls": measured.calls,
        "flops": found.flops,
        "bytes": found.bytes,
        "source": {"flops": found.flops_source, "bytes": found.bytes_source},
        "device": device,
        "pipe": found.pipe,
        "warnings": [*found.warnings, *notes],
    }


def _evidence(measured: Measurement, judged: dict[str, Any]) -> dict[str, Any]:
    shown = (
        "reason",
        "limits",
        "steps",
        "sol_compute",
        "sol_memory",
        "latency_share",
        "floor_share",
        "wait_share",
        "ridge",
        "memory_roof",
        "model_ns",
        "overhead_probability",
        "memory_probability",
        "compute_probability",
    )
    return {
        **{name: judged.get(name) for name in shown},
        "wall_ms": measured.wall_ns / 1e6,
        "judged_ms": measured.own_ns / 1e6,
        "stolen_ms": measured.stolen_ns / 1e6,
        "enqueue_ms": measured.enqueue_ns / 1e6,
        "device_ms": None if measured.device_ns is None else measured.device_ns / 1e6,
        "busy_threads": measured.busy_threads,
        "spread": measured.spread,
        "page_faults": measured.faults,
        "file_bytes": measured.file_bytes,
        "touched": None if measured.touched is None else measured.touched.to_dict(),
        "waits": measured.waits,
        "preempted": measured.preempted,
        "times_ms": [took / 1e6 for took in measured.times_ns],
    }


def _doubt(measured: Measurement, found: Work, notes: list[str]) -> None:
    if (
        measured.device_ns is None
        and found.bytes
        and measured.faults * stopwatch.PAGE_BYTES > VALUE["first_touch_share"] * found.bytes
    ):
        notes.append(
            f"{measured.faults:.0f} pages were touched for the first time inside the call, which the system fills with "
            "zeros first: a call that writes into memory that exists already (out=) is faster"
        )
    if measured.is_unresolved:
        notes.append(
            f"the device time is below the {VALUE['event_resolution_ns']:.0f} ns that events resolve: no rates; the "
            "verdict takes that much for it"
        )
    if measured.device_ns is None and measured.stolen_ns > VALUE["stolen_share"] * measured.wall_ns:
        notes.append(
            f"for {percent(measured.stolen_ns / measured.wall_ns, 0)} of the time other processes had the processor; "
            "rates and verdict are of the rest (evidence: judged_ms)"
        )
