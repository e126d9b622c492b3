# SPDX-License-Identifier: Apache-2.0
"""The same operation on several CUDA devices, side by side."""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..system import gpus
from ..system.joints import joint
from .calls import Question, profile_call
from .errors import MultiGPUError
from .policy import VALUE


@dataclass(frozen=True, slots=True)
class MultiGPUAnalysis:
    """Profiles by device. load_balance: mean over longest time, 1.0 is even. utilization_variance: of the FLOP
    utilisations, None where one is unknown. communication_overhead_ms is measured by no run of independent operations
    and therefore None: a trace of the job has it (docs/communication.md)."""

    per_gpu: dict[int, dict[str, Any]]
    load_balance: float
    communication_overhead_ms: float | None
    bottleneck_gpu: int | None
    total_time_ms: float
    utilization_variance: float | None
    warnings: tuple[str, ...] = field(default=())


def available_devices() -> list[int]:
    """Return the ordinals of the CUDA devices that torch can use, [] without any."""
    torch: Any = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return []
    return list(range(torch.cuda.device_count()))


def _need(devices: Sequence[int] | None) -> list[int]:
    there = available_devices()
    if not there:
        reason = gpus.reason() if "torch" in sys.modules else "torch is not loaded"
        raise MultiGPUError(f"no CUDA device can be used: {reason}; profile_operation works on the host")
    wanted = there if devices is None else list(devices)
    missing = sorted(set(wanted) - set(there))
    if missing or not wanted:
        raise MultiGPUError(f"devices {missing or wanted} are not there; there are {there}")
    return wanted


def profile_multi_gpu(
    operation: Callable[..., Any],
    devices: Sequence[int] | None = None,
    operation_kwargs: Mapping[str, Any] | None = None,
    *,
    profiler: Any = None,
) -> MultiGPUAnalysis:
    """Call ``operation(device_id, **operation_kwargs)`` once on each device, one after the other, and compare.

    devices: ordinals, all by default. MultiGPUError without devices, or for one that is not there.
    """
    wanted = _need(devices)
    if profiler is None:
        profiler = joint("profiler")()
    torch = sys.modules["torch"]
    begin = time.perf_counter_ns()
    profiles: dict[int, dict[str, Any]] = {}
    for device in wanted:
        with torch.cuda.device(device):
            question = Question(device=f"cuda:{device}")  # also where the operation makes its tensors itself
            given = dict(operation_kwargs or {})
            profiles[device] = profile_call(operation, (device,), given, question, profiler._calibration)[1]
    return summarize(profiles, (time.perf_counter_ns() - begin) / 1e6)


def profile_data_parallel(
    model: Any, inputs: Any, devices: Sequence[int] | None = None, *, profiler: Any = None
) -> MultiGPUAnalysis:
    """Run a replica of a model on an even part of the inputs on each device, and compare. Errors as above."""
    wanted = _need(devices)
    torch: Any = sys.modules["torch"]
    replicas = torch.nn.parallel.replicate(model, wanted, detach=True)
    parts = dict(zip(wanted, torch.nn.parallel.scatter(inputs, wanted), strict=False))
    by_device = dict(zip(wanted, replicas, strict=True))
    return profile_multi_gpu(lambda device: by_device[device](parts[device]), list(parts), profiler=profiler)


def summarize(profiles: dict[int, dict[str, Any]], total_time_ms: float) -> MultiGPUAnalysis:
    """Return the comparison of profiles by device."""
    times = {device: float(profile["runtime_ms"]) for device, profile in profiles.items()}
    longest = max(times, key=lambda device: times[device])
    mean = sum(times.values()) / len(times)
    used = [profile["flops_utilization"] for profile in profiles.values()]
    variance = None
    if len(used) > 1 and all(value is not None for value in used):
        middle = sum(used) / len(used)
        variance = sum((value - middle) ** 2 for value in used) / len(used)
    balance = mean / times[longest] if times[longest] else 1.0
    notes = ["devices were measured one after the other: what they take from one another is not in it"]
    uneven = balance < VALUE["balance_uneven"]
    if uneven:
        notes.append(f"device {longest} takes {times[longest] / mean:.2f} times the mean")
    return MultiGPUAnalysis(profiles, balance, None, longest if uneven else None, total_time_ms, variance, tuple(notes))
