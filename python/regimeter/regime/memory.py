# SPDX-License-Identifier: Apache-2.0
"""Memory round a call: of torch's allocator on a CUDA device, of the process on the host.

1 MB is 10^6 bytes. What is not measured is None.
"""

import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from ..capture.device_memory import TorchMemoryProbe
from ..system.memory import memory_limits, process_memory
from .arguments import arrays_in, describe, device_of
from .policy import VALUE

MB = 1e6
LOW, MEDIUM, HIGH, UNKNOWN = "LOW", "MEDIUM", "HIGH", "UNKNOWN"


@dataclass(frozen=True, slots=True)
class MemoryAnalysis:
    """Memory of a call in MB; each figure is None where it is not measured.

    allocated_mb: after the call, of torch's allocator on a device, the resident set on the host. reserved_mb: what the
    allocator holds (on the host: malloc). peak_allocated_mb: inside the call on a device; on the host the
    largest resident set of the process so far, because the system keeps no other, without what a calibration took.
    total_available_mb: of the device or
    the machine, or the limit of the control group. fragmentation_ratio: reserved / peak allocated, of devices.
    oom_risk: "LOW", "MEDIUM", "HIGH" or "UNKNOWN". headroom_mb: what can still be taken. usage_percentage: of the
    total.
    """

    allocated_mb: float | None = None
    reserved_mb: float | None = None
    peak_allocated_mb: float | None = None
    total_available_mb: float | None = None
    fragmentation_ratio: float | None = None
    oom_risk: str = UNKNOWN
    headroom_mb: float | None = None
    usage_percentage: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the figures by name."""
        return asdict(self)


def oom_risk(headroom_bytes: float | None, usage: float | None) -> str:
    """Return the risk by headroom in bytes and used part (0 to 1); "UNKNOWN" where neither is known."""
    if headroom_bytes is None and usage is None:
        return UNKNOWN
    headroom = float("inf") if headroom_bytes is None else headroom_bytes
    used = 0.0 if usage is None else usage
    if headroom < VALUE["oom_high_headroom_bytes"] or used > VALUE["oom_high_usage"]:
        return HIGH
    if headroom < VALUE["oom_medium_headroom_bytes"] or used > VALUE["oom_medium_usage"]:
        return MEDIUM
    return LOW


class Watch:
    """Memory from here to `analysis()`; on a device, with torch, the peak inside is the call's own."""

    def __init__(self, device: str, library: str | None = None) -> None:
        self.device = device
        self._by_cupy = library == "cupy"
        self._probe = TorchMemoryProbe() if device.startswith("cuda") else None
        self._index = int(device.rpartition(":")[2]) if ":" in device else 0
        self._token = self._probe.begin(self._index) if self._probe and not self._by_cupy else None

    def analysis(self) -> MemoryAnalysis:
        """Return what has been used since the watch began."""
        if self._probe is None:
            return of_host()
        if self._by_cupy:
            return _of_cupy(self._index)
        if self._token is None:
            return MemoryAnalysis()
        measured = self._probe.end(self._token)
        return MemoryAnalysis() if measured is None else _of_device(self._index, *measured[2:])


def _of_cupy(device: int) -> MemoryAnalysis:
    """CuPy's pool keeps no peak."""
    cupy: Any = sys.modules["cupy"]
    with cupy.cuda.Device(device) as place:
        pool = cupy.get_default_memory_pool()
        return _made(pool.used_bytes(), None, pool.total_bytes(), *place.mem_info)


def _of_device(device: int, allocated: int, peak: int, reserved: int) -> MemoryAnalysis:
    return _made(allocated, peak, reserved, *sys.modules["torch"].cuda.mem_get_info(device))


def _made(allocated: int, peak: int | None, reserved: int, free: int, total: int) -> MemoryAnalysis:
    headroom = free + reserved - allocated
    usage = 1.0 - headroom / total if total else None
    return MemoryAnalysis(
        allocated / MB,
        reserved / MB,
        None if peak is None else peak / MB,
        total / MB,
        reserved / peak if peak else None,
        oom_risk(headroom, usage),
        headroom / MB,
        None if usage is None else usage * 100,
    )


def of_array(value: Any) -> MemoryAnalysis:
    """Return the memory of the device that an array lies on as it is now; the peak is torch's since its last reset."""
    found = describe(value)
    if found is None or not found.device.startswith("cuda"):
        return MemoryAnalysis()
    device = int(found.device.rpartition(":")[2])
    if found.library == "cupy":
        return _of_cupy(device)
    cuda = sys.modules["torch"].cuda
    return _of_device(
        device, cuda.memory_allocated(device), cuda.max_memory_allocated(device), cuda.memory_reserved(device)
    )


def of_host() -> MemoryAnalysis:
    """Return the memory of this process and machine as it is now."""
    own = process_memory()
    total, available = memory_limits()
    usage = 1.0 - available / total if total and available is not None else None
    return MemoryAnalysis(
        _mb(own.get("resident")),
        _mb(own.get("malloc_held")),
        _mb(own.get("resident_peak")),
        _mb(total),
        None,
        oom_risk(available, usage),
        _mb(available),
        None if usage is None else usage * 100,
    )


def _mb(amount: int | float | None) -> float | None:
    return None if amount is None else amount / MB


def analyze_memory(function: Callable[..., Any], *args: Any, device_id: int = 0, **kwargs: Any) -> MemoryAnalysis:
    """Call `function` once and return the memory round the call; what it raises is raised.

    The device is the one of the arguments' arrays, `device_id` where torch uses CUDA and the arguments have none.
    """
    device = device_of(arrays_in(args, kwargs))
    torch = sys.modules.get("torch")
    if device == "cpu" and torch is not None and torch.cuda.is_initialized():
        device = f"cuda:{device_id}"
    watch = Watch(device)
    function(*args, **kwargs)
    return watch.analysis()


def get_memory_summary(analysis: MemoryAnalysis) -> str:
    """Return the analysis as a few lines of text."""

    def mb(value: float | None) -> str:
        return "unavailable" if value is None else f"{value:,.1f} MB"

    usage = "unavailable" if analysis.usage_percentage is None else f"{analysis.usage_percentage:.1f} %"
    return "\n".join(
        (
            f"allocated {mb(analysis.allocated_mb)}, peak {mb(analysis.peak_allocated_mb)}",
            f"reserved {mb(analysis.reserved_mb)} of {mb(analysis.total_available_mb)}, in use {usage}",
            f"headroom {mb(analysis.headroom_mb)}, risk of running out of memory: {analysis.oom_risk}",
        )
    )
