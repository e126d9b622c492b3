# SPDX-License-Identifier: Apache-2.0
"""Blocks and decorated functions with a regime: `profile_block`, `GPUProfilerContext`, `profile_regime`."""

import functools
import inspect
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from types import TracebackType
from typing import Any, Self, TypeVar, cast

from ..system.joints import joint
from . import calls, memory, stopwatch, verdict
from .suggestion import suggest_optimization
from .work import COUNTED, Work, with_given

F = TypeVar("F", bound=Callable[..., Any])


class GPUProfilerContext:
    """Measures a block and says what limits it.

    ::

        with GPUProfilerContext("step") as block:
            ...
        print(block.analysis["regime"])

    name: of the block. device: "cpu", "cuda" or "cuda:N"; by default `device_id` where torch uses CUDA and the block
    gave it work, else the host. Both ends of a block on a device wait for it. flops, bytes,
    operators: work of the block, as in `profile_with_result`; torch's operators are counted otherwise, unless
    count_work is False. `analysis` is None inside the block, then the profile, also when the block raised; the
    exception goes on. A context can be used again, also inside of itself.
    """

    def __init__(
        self,
        name: str = "block",
        device_id: int = 0,
        *,
        device: str | None = None,
        flops: float | None = None,
        bytes: float | None = None,
        operators: int | None = None,
        count_work: bool | None = None,
        profiler: Any = None,
    ) -> None:
        self.name = name
        self.device_id = device_id
        self.question = calls.Question(1, flops, bytes, operators, None, count_work, device)
        self.analysis: dict[str, Any] | None = None
        self._profiler = profiler
        self._open: list[tuple[Any, ...]] = []

    def __enter__(self) -> Self:
        device = self.question.device or self._likely_device()
        calls.check_device(device)
        notes: list[str] = []
        mode = calls.counting_of_block(self.question, notes)
        watch = memory.Watch(device)
        self.analysis = None
        watching = stopwatch.Interval(stopwatch.clock_for("torch", device))
        self._open.append((mode, watch, watching, notes, device))
        if mode is not None:
            mode.__enter__()
        watching.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        mode, watch, watching, notes, device = self._open.pop()
        measured = watching.end()
        if mode is not None:
            mode.__exit__(kind, error, traceback)
        analysis = watch.analysis()
        if self.question.device is None and device != "cpu" and not _used_device(mode, measured):
            device, measured, analysis = "cpu", replace(measured, device_ns=None), memory.of_host()
        self.analysis = self._analyse(device, mode, measured, analysis, notes)
        if error is not None:
            self.analysis["warnings"].append(f"the block raised {type(error).__name__}")

    def _likely_device(self) -> str:
        cuda = getattr(sys.modules.get("torch"), "cuda", None)
        return f"cuda:{self.device_id}" if cuda is not None and cuda.is_initialized() else "cpu"

    def _analyse(
        self, device: str, mode: Any, measured: stopwatch.Measurement, analysis: memory.MemoryAnalysis, notes: list[str]
    ) -> dict[str, Any]:
        work = Work()
        if mode is not None and mode.count.operators:
            work = mode.count.work(COUNTED)
            measured = calls.without_counting(measured, mode, notes)
        elif self.question.flops is None or self.question.bytes is None:
            notes.append("no operator of torch was seen in the block: its work is unknown; give flops= and bytes=")
        work = with_given(work, self.question.flops, self.question.bytes)
        if self.question.operators is not None:
            work = replace(work, operators=self.question.operators)
        library = "torch" if mode is not None and mode.count.operators else "python"
        call = verdict.Call(GPUProfilerContext, (), library, device, measured, work)
        judged = calls.judge(call, lambda where: calls.need_ceilings(self._profiler, where), notes)
        profile = calls.describe(measured, work, judged, device, analysis, notes)
        profile["name"] = self.name
        profile["suggestion"] = suggest_optimization(profile)
        return profile


def _used_device(mode: Any, measured: stopwatch.Measurement) -> bool:
    if mode is not None and mode.count.devices:
        return any(device.startswith("cuda") for device in mode.count.devices)
    return not measured.is_unresolved


def profile_block(name: str = "block", **options: Any) -> GPUProfilerContext:
    """Return a `GPUProfilerContext`: ``with profile_block("step") as block: ...``, then ``block.analysis``."""
    return GPUProfilerContext(name, **options)


def profile_regime(
    function: F | None = None,
    /,
    *,
    log_to: Any = None,
    device_id: int = 0,
    name: str | None = None,
    lightweight: bool = False,
    on_profile: Callable[[dict[str, Any]], None] | None = None,
    profiler: Any = None,
) -> Any:
    """Decorate a function so that each call is profiled; with or without parentheses.

    The decorated function returns what the function returned, runs it once a call and keeps the last profile in its
    attribute `last_profile`. log_to: anything with ``log(dict)`` (Weights & Biases) or ``add_scalar(name, value,
    step)`` (TensorBoard); a logger that fails costs one warning. on_profile: called with each profile. Coroutines and
    generators are refused with TypeError: their call does not run them.
    """
    if function is None:
        return functools.partial(
            profile_regime,
            log_to=log_to,
            device_id=device_id,
            name=name,
            lightweight=lightweight,
            on_profile=on_profile,
            profiler=profiler,
        )
    if not callable(function):
        raise TypeError(f"a function is expected, not {type(function).__name__}")
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        raise TypeError("the call of a coroutine or generator function does not run it: decorate what it calls")
    label = name or str(getattr(function, "__qualname__", type(function).__qualname__))
    steps = 0

    @functools.wraps(function)
    def profiled(*args: Any, **kwargs: Any) -> Any:
        nonlocal steps
        used = profiler or joint("profiler")()
        if lightweight:
            result, profile = used.profile_with_result(function, *args, lightweight=True, **kwargs)
        else:
            question = calls.Question()
            result, profile = calls.profile_call(function, args, kwargs, question, used._calibration)
        profiled.last_profile = profile  # type: ignore[attr-defined]
        _report(label, profile, steps, log_to, on_profile)
        steps += 1
        return result

    profiled.last_profile = None  # type: ignore[attr-defined]
    return cast(F, profiled)


def scalars(label: str, profile: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers of a profile under ``label/name``, without those that are not known."""
    names = ("runtime_ms", "flops_utilization", "bandwidth_utilization", "achieved_flops", "achieved_bandwidth")
    found = {f"{label}/{name}": profile[name] for name in names if profile.get(name) is not None}
    peak = profile["memory"].get("peak_allocated_mb")
    return found if peak is None else found | {f"{label}/peak_allocated_mb": peak}


def log(logger: Any, label: str, profile: dict[str, Any], step: int) -> None:
    """Send a profile to a logger with ``log`` or ``add_scalar``. TypeError for anything else."""
    if hasattr(logger, "add_scalar"):
        for name, value in scalars(label, profile).items():
            logger.add_scalar(name, value, step)
        if hasattr(logger, "add_text"):
            logger.add_text(f"{label}/regime", profile["regime"], step)
    elif hasattr(logger, "log"):
        logger.log(scalars(label, profile) | {f"{label}/regime": profile["regime"]})
    else:
        raise TypeError(f"log_to needs log(dict) or add_scalar(name, value, step); {type(logger).__name__} has neither")


def _report(label: str, profile: dict[str, Any], step: int, log_to: Any, on_profile: Any) -> None:
    try:
        if log_to is not None:
            log(log_to, label, profile, step)
        if on_profile is not None:
            on_profile(profile)
    except Exception as error:
        if step == 0:
            warnings.warn(f"the profile of {label} could not be logged: {error}", RuntimeWarning, stacklevel=3)
