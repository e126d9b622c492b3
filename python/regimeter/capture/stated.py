# SPDX-License-Identifier: Apache-2.0
"""What a profiler states in its recording of itself and of the process: the environment of its run."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .. import _core
from ..system import description, gpus
from . import counting, device_memory, recording, streams
from .structure import attachment

if TYPE_CHECKING:
    from ..profiler import GPUProfiler


def describe(profiler: "GPUProfiler", stats: Mapping[str, Any]) -> dict[str, Any]:
    """Return the environment of its run. stats: counters of its session."""
    described = description.describe()
    described["clock"] = _core.clock_name()
    described["sample_rate"] = profiler.sample_rate
    described["skipped"] = profiler._skipped()
    described |= counting.describe(profiler._count_reason)
    described |= {"stand_in": profiler._stands_in} if profiler._stands_in else {}
    described |= recording.describe()
    interval_ns = profiler._session["stacks_interval_ns"]
    described["stacks"] = {"hz": 1e9 / interval_ns if interval_ns else 0.0, "reason": profiler._stacks_reason()}
    if profiler._session["budget_ppm"] and profiler._asked.budget is not None:
        described["budget"] = {"share": profiler._session["budget_ppm"] / 1e6, "one_in": stats["one_in"]}
    if profiler._session["allocations_bytes"]:
        described["allocations"] = {"bytes": profiler._session["allocations_bytes"], "reason": _core.heap_reason()}
    described["device"] = timing = streams.describe(profiler._device_state(), asked=profiler.device_timing)
    timing.pop("service_cpu_ns", None)
    described["cost"] = {
        "per_scope_ns": profiler._cost_ns,
        "service_cpu_ns": profiler._service_cpu_ns(stats) - profiler._service_before_reset,
        "device_ns": timing.pop("scope_ns", 0) * timing.get("begun", 0),
        "parts_ns": stats["own_ns"] | profiler._spent,
    }
    described["device"].update(profiler._devices.describe(profiler))
    described["structure"] = attachment.describe(profiler._structure, profiler._asked.structure)
    reason = device_memory.reason()
    described["device"]["device_id"] = profiler.device_id
    described["device"]["device_id_reason"] = gpus.missing(profiler.device_id, described["gpus"])
    described["device"]["memory_reason"] = reason if profiler.track_memory else reason or "track_memory is off"
    return described
