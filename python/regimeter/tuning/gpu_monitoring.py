# SPDX-License-Identifier: Apache-2.0
"""A monitor of kernel executions that the program reports, with the utilisation that the device itself reports.

    from regimeter import get_global_monitor

    monitor = get_global_monitor()
    monitor.record_kernel_execution("pixel_entropy", 0.0042, memory_bytes, True)
    print(monitor.get_report())

Totals are of all executions, single executions are kept up to a bound. Where the device tells its utilisation and its
memory (NVML), those are the figures; else utilisation is the share of the time since the monitor was made that was
reported as execution time, and says so, and memory is None. docs/tuning.md has the meaning of each figure.
"""

import json
import math
import operator
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from time import monotonic
from typing import Any, Literal

from .. import _core
from ..system import gpus, telemetry

NS = 1e-9
US = 1e-3
MB = 1e6
DEVICE = "device"
SHARE = "share of recorded time"


@dataclass(frozen=True, slots=True)
class MonitoringConfig:
    """What a monitor keeps and when it alerts; thresholds in percent.

    `enable_profiling` false: executions are not recorded. `max_metrics_buffer` executions are kept one by one.
    `device` is the CUDA ordinal or UUID that is asked, at most every `device_interval_seconds`. An alert on the share
    of recorded time waits for `alert_after_seconds` of it. ValueError for values that cannot be.
    """

    enable_profiling: bool = True
    max_metrics_buffer: int = 10000
    high_utilization_threshold: float = 90.0
    high_memory_threshold: float = 85.0
    enable_alerts: bool = True
    device: int | str = 0
    device_interval_seconds: float = 1.0
    alert_after_seconds: float = 1.0

    def __post_init__(self) -> None:
        """Refuse values that cannot be."""
        if operator.index(self.max_metrics_buffer) < 0:
            raise ValueError(f"max_metrics_buffer is a whole number of at least 0, not {self.max_metrics_buffer!r}")
        for name in ("high_utilization_threshold", "high_memory_threshold"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} is a percentage, not {value!r}")
        for name in ("device_interval_seconds", "alert_after_seconds"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} is a time in seconds, not {value!r}")


@dataclass(frozen=True, slots=True)
class Alert:
    """A figure that rose to its threshold; `source` says where the figure comes from."""

    kind: Literal["utilization", "memory"]
    value: float
    threshold: float
    source: str
    seconds: float

    def __str__(self) -> str:
        """Return the alert as text."""
        return f"high {self.kind}: {self.value:.1f} % ({self.source}), threshold {self.threshold:g} %"


@dataclass(frozen=True, slots=True)
class DeviceReading:
    """What the device says: percent busy, bytes of memory in use and in all; None with a reason where it does not."""

    utilization: float | None
    memory_used: float | None
    memory_total: float | None
    reason: str

    @property
    def memory_percentage(self) -> float | None:
        """Memory in use in percent of all; None where either is not known."""
        if self.memory_used is None or not self.memory_total:
            return None
        return 100.0 * self.memory_used / self.memory_total


def read_device(device: int | str) -> DeviceReading:
    """Ask NVML; a reading without figures and with the reason where there is none."""
    if not gpus.nvml_possible():
        return DeviceReading(None, None, None, gpus.reason())
    try:
        found = telemetry.read(device)
    except (_core.UnavailableError, ValueError) as error:
        return DeviceReading(None, None, None, str(error))
    names = ("gpu_utilization_percent", "memory_used_bytes", "memory_total_bytes")
    busy, used, total = (found[name].value for name in names)
    reasons = "; ".join(f"{name}: {found[name].reason}" for name in names if not found[name].known)
    return DeviceReading(busy, used, total, reasons)


class GpuMonitor:
    """Totals of the executions that a program reports, and alerts.

    `on_alert` is called with an `Alert` when a figure rises to its threshold, once until it has fallen below again, on
    the thread that recorded, with no lock held: it may use the monitor. What it raises is counted
    (`alert_errors`), not raised. `clock` gives seconds and `reader` a `DeviceReading`, for tests. All methods can be
    called from any thread.
    """

    def __init__(
        self,
        config: MonitoringConfig | None = None,
        *,
        on_alert: Callable[[Alert], object] | None = None,
        clock: Callable[[], float] = monotonic,
        reader: Callable[[int | str], DeviceReading] = read_device,
    ) -> None:
        """Make a monitor; its time begins now."""
        self.config = config or MonitoringConfig()
        self.on_alert = on_alert
        self.alert_count = 0
        self.alert_errors = 0
        self._clock, self._reader = clock, reader
        self._core = _core.KernelMonitor(self.config.max_metrics_buffer)
        self._lock = threading.Lock()
        self._begin = clock()
        self._reading: DeviceReading | None = None
        self._reading_at = -math.inf
        self._high: set[str] = set()

    def record_kernel_execution(
        self, name: str, duration: float | timedelta, mem: int | None = None, success: bool = True
    ) -> None:
        """Record an execution: `duration` in seconds or a timedelta, `mem` in bytes where it is known.

        ValueError for a duration that is negative or not finite, or negative memory; TypeError for a name that is none.
        """
        if not isinstance(name, str):
            raise TypeError(f"the name of a kernel is a text, not {name!r}")
        if not self.config.enable_profiling:
            return
        seconds = duration.total_seconds() if isinstance(duration, timedelta) else float(duration)
        if not (math.isfinite(seconds) and 0 <= seconds < 1e9):
            raise ValueError(f"a duration is finite and not negative, not {duration!r}")
        if mem is not None and mem < 0:
            raise ValueError(f"memory is not negative, not {mem!r}")
        now = self._clock()
        self._core.add(name, round(seconds / NS), -1 if mem is None else int(mem), success, round(now / NS))
        if self.config.enable_alerts:
            self._check(now)

    def get_utilization_stats(self) -> dict[str, Any]:
        """Return the documented figures, and what they rest on.

        `utilization_percentage` is the device's where `utilization_source` is ``device``, else recorded time over the
        time since the monitor began, which is above 100 where executions overlap. `memory_percentage` is the device's
        or None. `current_memory_mb` and `peak_memory_mb` are those that were reported (1 MB = 10^6 bytes), None
        where none was. A mean, least or largest time of no execution is None.
        """
        now = self._clock()
        return self._figures(now, self._device(now))

    def kernel_stats(self) -> dict[str, dict[str, Any]]:
        """Return the totals of each kernel, times in microseconds, `success_rate` 0 to 1."""
        return {name: _kernel(row) for name, row in self._core.kernels().items()}

    def recent(self) -> list[dict[str, Any]]:
        """Return the executions that are kept, the oldest first; `seconds` is the end, since the monitor began."""
        return [
            {
                "kernel": name,
                "seconds": end_ns * NS - self._begin,
                "duration_us": duration_ns * US,
                "memory_bytes": None if memory < 0 else memory,
                "success": success,
            }
            for name, end_ns, duration_ns, memory, success in self._core.records()
        ]

    def get_report(self) -> str:
        """Return the figures as text, kernels by their total time."""
        figures = self.get_utilization_stats()
        head = "GPU monitor" if self.config.enable_profiling else "GPU monitor (recording switched off)"
        calls = (
            f"executions    {figures['total_kernel_calls']}, {figures['failed_calls']} failed; "
            f"{figures['kept_executions']} kept one by one, {figures['dropped_executions']} dropped"
        )
        utilization = f"utilization   {_percent(figures['utilization_percentage'])} ({figures['utilization_source']})"
        reason = f" ({figures['device_reason']})" if figures["device_reason"] else ""
        memory = f"memory        {_percent(figures['memory_percentage'])} of the device{reason}"
        last, most = (_megabytes(figures[name]) for name in ("current_memory_mb", "peak_memory_mb"))
        failures = f", {self.alert_errors} callbacks failed" if self.alert_errors else ""
        lines = [head, calls, utilization, memory, f"reported      {last} last, {most} most"]
        lines.append(f"alerts        {self.alert_count}{failures}")
        rows = sorted(self.kernel_stats().items(), key=lambda item: (-item[1]["total_time_us"], item[0]))
        lines += [f"  {name}: {_kernel_text(row)}" for name, row in rows]
        return "\n".join(lines)

    def export_json(self, path: str | Path | None = None) -> str:
        """Return the figures as JSON with the documented keys, and write them to `path` if given."""
        document = {**self.get_utilization_stats(), "per_kernel_stats": self.kernel_stats()}
        text = json.dumps(document, indent=2, allow_nan=False)
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def reset(self) -> None:
        """Forget all executions and alerts; the monitor's time begins anew."""
        self._core.reset()
        with self._lock:
            self._begin = self._clock()
            self._high.clear()
            self.alert_count = self.alert_errors = 0

    # --- inside ----------------------------------------------------------------------------------------------------

    def _device(self, now: float) -> DeviceReading:
        """Return the last reading, a new one when it is old; one thread asks while others use what there is."""
        with self._lock:
            reading = self._reading
            if reading is not None and now - self._reading_at < self.config.device_interval_seconds:
                return reading
            self._reading_at = now
        fresh = self._reader(self.config.device)
        with self._lock:
            self._reading = fresh
        return fresh

    def _figures(self, now: float, device: DeviceReading) -> dict[str, Any]:
        totals = self._core.totals()
        every = totals["all"]
        calls, elapsed = every["call_count"], now - self._begin
        share = 100.0 * every["total_ns"] * NS / elapsed if elapsed > 0 and calls else None
        known = device.utilization is not None
        peak, current = every["peak_memory_bytes"], totals["current_memory_bytes"]
        return {
            "total_kernel_calls": calls,
            "successful_calls": calls - every["failed_calls"],
            "failed_calls": every["failed_calls"],
            "utilization_percentage": device.utilization if known else share,
            "utilization_source": DEVICE if known else SHARE,
            "recorded_share_percentage": share,
            "avg_execution_time_us": every["total_ns"] * US / calls if calls else None,
            "peak_memory_mb": None if peak < 0 else peak / MB,
            "current_memory_mb": None if current < 0 else current / MB,
            "memory_source": "reported by the program",
            "memory_percentage": device.memory_percentage,
            "device_memory_used_mb": None if device.memory_used is None else device.memory_used / MB,
            "device_memory_total_mb": None if device.memory_total is None else device.memory_total / MB,
            "device_reason": device.reason or None,
            "elapsed_seconds": elapsed,
            "kept_executions": totals["kept"],
            "dropped_executions": totals["dropped"],
        }

    def _check(self, now: float) -> None:
        config = self.config
        figures = self._figures(now, self._device(now))
        source = figures["utilization_source"]
        utilization = figures["utilization_percentage"]
        if source == SHARE and figures["elapsed_seconds"] < config.alert_after_seconds:
            utilization = None
        self._compare("utilization", utilization, config.high_utilization_threshold, source, now)
        self._compare("memory", figures["memory_percentage"], config.high_memory_threshold, DEVICE, now)

    def _compare(
        self, kind: Literal["utilization", "memory"], value: float | None, threshold: float, source: str, now: float
    ) -> None:
        if value is None:
            return
        with self._lock:
            before = kind in self._high
            if value >= threshold:
                self._high.add(kind)
            else:
                self._high.discard(kind)
            fresh = value >= threshold and not before
            self.alert_count += fresh
        if fresh and self.on_alert is not None:
            try:
                self.on_alert(Alert(kind, value, threshold, source, now - self._begin))
            except Exception:
                with self._lock:
                    self.alert_errors += 1


_global: GpuMonitor | None = None
_global_lock = threading.Lock()


def get_global_monitor() -> GpuMonitor:
    """Return the monitor of this process, made at the first call."""
    global _global
    with _global_lock:
        if _global is None:
            _global = GpuMonitor()
        return _global


def existing_monitor() -> GpuMonitor | None:
    """Return the monitor of this process where one has been made."""
    with _global_lock:
        return _global


def _kernel(row: dict[str, int]) -> dict[str, Any]:
    calls = row["call_count"]
    return {
        "call_count": calls,
        "total_time_us": row["total_ns"] * US,
        "avg_time_us": row["total_ns"] * US / calls,
        "min_time_us": row["min_ns"] * US,
        "max_time_us": row["max_ns"] * US,
        "success_rate": 1.0 - row["failed_calls"] / calls,
        "peak_memory_mb": None if row["peak_memory_bytes"] < 0 else row["peak_memory_bytes"] / MB,
    }


def _kernel_text(row: dict[str, Any]) -> str:
    return (
        f"{row['call_count']} calls, {row['total_time_us']:.1f} us in all, mean {row['avg_time_us']:.1f} us "
        f"({row['min_time_us']:.1f} to {row['max_time_us']:.1f}), {100 * row['success_rate']:.1f} % succeeded"
    )


def _percent(value: float | None) -> str:
    return "not known" if value is None else f"{value:.1f} %"


def _megabytes(value: float | None) -> str:
    return "none" if value is None else f"{value:.1f} MB"
