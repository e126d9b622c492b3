# SPDX-License-Identifier: Apache-2.0
"""The backends of the C core: kernels on a CUDA device, C on this processor."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import _core
from ..system import gpus, telemetry
from ..system.processors import cpu_model
from .backend import Measured, Request
from .catalog import Arrays, Workload
from .statistics import Times
from .steady import settle_allocator


def _times(result: Mapping[str, Any], key: str, repeats: str = "", faults: str = "") -> Times | None:
    if not result[key]:
        return None
    return Times(tuple(result[key]), int(result.get(repeats, 1)), result.get(faults))


def _outputs(workload: Workload, result: Mapping[str, Any]) -> Arrays:
    return {name: np.frombuffer(data, workload.buffers[name]["dtype"]) for name, data in result["outputs"].items()}


class HostBackend:
    """C on this processor: the fast implementation by one of its sets, or the scalar reference."""

    def __init__(self, name: str) -> None:
        self.name = name

    def measure(
        self, workload: Workload, sizes: Mapping[str, float], request: Request, inputs: Arrays | None = None
    ) -> Measured:
        """Run and time; ValueError where this processor cannot run the set."""
        settle_allocator()
        result = _core.run_workload(
            workload.name,
            backend=self.name,
            parameters=dict(sizes),
            inputs=inputs,
            warmup=request.warmup,
            iterations=request.iterations,
            calls=request.calls,
            threads=request.threads,
        )
        return Measured(
            kernel=_times(result, "times_ns", "repeats", "faults"),
            host_call=_times(result, "call_times_ns", "call_repeats", "call_faults"),
            outputs=_outputs(workload, result),
            device=cpu_model(),
            facts={"set": result["set"], "threads": result["threads"]},
        )


class DeviceBackend:
    """CUDA kernels: a kernel's time is that between two events around one launch."""

    name = "device"

    def measure(
        self, workload: Workload, sizes: Mapping[str, float], request: Request, inputs: Arrays | None = None
    ) -> Measured:
        """Run and time; UnavailableError where there is no driver, device or run-time compiler."""
        if not isinstance(request.device, int):
            raise ValueError(f"the device of the backend 'device' is a number, got {request.device!r}")
        result = _core.run_workload(
            workload.name,
            request.device,
            parameters=dict(sizes),
            inputs=inputs,
            warmup=request.warmup,
            iterations=request.iterations,
            calls=request.calls,
        )
        facts = {name: result[name] for name in ("arch", "capability", "gaps")}
        return Measured(
            kernel=_times(result, "times_ns"),
            host_call=_times(result, "call_times_ns"),
            outputs=_outputs(workload, result),
            device=device_name(request.device, result["capability"]),
            facts=facts,
        )


def device_name(ordinal: int, capability: int) -> str:
    """Return what NVML calls a CUDA device, or its compute capability where NVML does not tell."""
    plain = f"CUDA device {ordinal} of compute capability {capability // 10}.{capability % 10}"
    if not gpus.nvml_possible():
        return plain
    try:
        return next((one.name for one in telemetry.devices() if one.ordinal == ordinal and one.name), plain)
    except _core.UnavailableError:
        return plain
