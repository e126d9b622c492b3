# SPDX-License-Identifier: Apache-2.0
"""For each rule on scopes, telemetry and hardware counters a run that has the fault, and one that has not."""

from collections.abc import Callable
from typing import Any

from runs import build_run, named_kernel

from regimeter import Run, _core

MS = 1_000_000
GB = 10**9
GPU, CPU = _core.DEVICES.index("gpu"), _core.DEVICES.index("cpu")
BEGIN, END = _core.MEMORY_ACTIONS.index("begin"), _core.MEMORY_ACTIONS.index("end")


def scopes(
    durations: list[int],
    device: int = GPU,
    *,
    device_ns: int | None = None,
    memory: int | None = None,
    beside: int | None = None,
    waiting_ns: int = 0,
) -> Run:
    """One operation, called again and again; device_ns: measured device time of each call; memory: that it takes;
    beside: device of another operation before it; waiting_ns: that its thread waited for a processor in all."""
    spans: list[dict[str, Any]] = []
    start = 0
    if beside is not None:
        row = {"kind": "scope", "name": "other", "lane": 0, "start_ns": 0, "duration_ns": MS, "flags": beside << 8}
        spans.append(row | {"parent": -1})
        start = MS
    for duration in durations:
        spans.append(
            {
                "kind": "scope",
                "name": "step",
                "lane": 0,
                "start_ns": start,
                "duration_ns": duration,
                "flags": device << 8,
                "parent": -1,
            }
        )
        start += duration + 1000
    tables: dict[str, Any] = {}
    if device_ns is not None:
        tables["intervals"] = [
            {"span": i, "duration_ns": device_ns, "start_ns": row["start_ns"]} for i, row in enumerate(spans)
        ]
    if memory is not None:
        tables["memory"] = [
            {
                "time_ns": row["start_ns"] + at,
                "action": action,
                "bytes": size,
                "allocated": size,
                "span": i,
                "device": -1,
            }
            for i, row in enumerate(spans)
            for at, action, size in ((0, BEGIN, 0), (row["duration_ns"], END, memory))
        ]
    tables["pressure"] = [{"time_ns": start, "interval_ns": start, "lane": 0, "waiting_ns": waiting_ns}]
    return build_run(spans, [{"process": 1, "device": -1}], **tables)


def series(**values: list[float]) -> Run:
    """Readings of a device, one a second, beside a kernel."""
    rows = [
        {"time_ns": i * 10**9, "series": name, "value": float(value), "device": 0, "span": -1}
        for name, readings in values.items()
        for i, value in enumerate(readings)
    ]
    return build_run([named_kernel("a", 0, 5)], [{"process": 0, "device": 0}], counters=rows)


def counted(**values: float) -> Run:
    """A kernel that profiler ranges have counted."""
    names = {
        "sm": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
        "memory": "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
        "fadd": "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum",
        "fmul": "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum",
        "ffma": "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
    }
    spans = [{**named_kernel("a", 0, MS), "kind": "counter_range"}, named_kernel("a", 0, MS)]
    rows = [
        {"time_ns": 0, "series": names[key], "value": value, "device": 0, "span": 0} for key, value in values.items()
    ]
    return build_run(spans, [{"process": 0, "device": 0}], counters=rows)


def memory(readings: list[float]) -> Run:
    return series(memory_used_bytes=readings, memory_total_bytes=[80.0 * GB] * len(readings))


def load(high: float, low: float | None = None, used: float = 70 * GB) -> Run:
    readings = [high] * 20 + [high if low is None else low] * 20
    return series(gpu_utilization_percent=readings, memory_used_bytes=[used] * 40, memory_total_bytes=[80.0 * GB] * 40)


def clocks(usual: float, highest: float, busy: float = 99) -> Run:
    return series(clock_sm_mhz=[highest] * 5 + [usual] * 35, gpu_utilization_percent=[busy] * 40)


Case = tuple[Callable[[], Run], Callable[[], Run]]
SERIES_CASES: dict[str, Case] = {
    "small_gpu_scope": (lambda: scopes([MS // 2] * 3, device_ns=MS // 5), lambda: scopes([MS // 2] * 3)),
    "large_cpu_scope": (
        lambda: scopes([20 * MS] * 2, CPU, memory=2_000_000, beside=GPU),
        lambda: scopes([20 * MS] * 2, CPU, memory=2_000_000, beside=CPU),
    ),
    "repeated_scope": (lambda: scopes([2 * MS] * 12, device_ns=MS), lambda: scopes([2 * MS] * 12)),
    "memory_heavy_scope": (lambda: scopes([2 * MS] * 2, memory=200_000_000), lambda: scopes([2 * MS] * 2, memory=1000)),
    "idle_scope": (
        lambda: scopes([2 * MS] * 3, device_ns=MS // 2),
        lambda: scopes([2 * MS] * 3, device_ns=MS * 3 // 2),
    ),
    "variable_scope": (
        lambda: scopes([MS] * 10 + [9 * MS] * 2, CPU, waiting_ns=MS),
        lambda: scopes([MS] * 10 + [9 * MS] * 2, CPU, waiting_ns=16 * MS),
    ),
    "low_utilization": (lambda: load(30), lambda: load(90)),
    "fluctuating_utilization": (lambda: load(95, 2), lambda: load(95, 60)),
    "batch_size": (lambda: load(30, used=10 * GB), lambda: load(30)),
    "device_memory_growth": (lambda: memory([i * GB for i in range(10, 60)]), lambda: memory([50.0 * GB] * 50)),
    "device_memory_full": (lambda: memory([79.0 * GB] * 30), lambda: memory([60.0 * GB] * 30)),
    "hot_device": (
        lambda: series(temperature_gpu_celsius=[60] * 30 + [88]),
        lambda: series(temperature_gpu_celsius=[60] * 30),
    ),
    "power_limited": (lambda: series(clock_reasons=[4] * 30), lambda: series(clock_reasons=[1] * 30)),
    "thermal_slowdown": (lambda: series(clock_reasons=[0] * 25 + [64] * 5), lambda: series(clock_reasons=[4] * 30)),
    "clock_drop": (lambda: clocks(1200, 1900), lambda: clocks(1200, 1900, busy=10)),
    "latency_bound_kernel": (lambda: counted(sm=20, memory=30), lambda: counted(sm=20, memory=70)),
    "memory_bound_kernel": (lambda: counted(sm=20, memory=90), lambda: counted(sm=95, memory=90)),
    "unfused_arithmetic": (
        lambda: counted(sm=85, memory=20, fadd=40, fmul=40, ffma=20),
        lambda: counted(sm=85, memory=20, fadd=5, fmul=5, ffma=90),
    ),
}
