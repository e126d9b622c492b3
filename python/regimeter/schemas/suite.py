# SPDX-License-Identifier: Apache-2.0
"""Documents of the profiling suite."""

from typing import Any, NotRequired, TypedDict

from .runs import LostAnomaly, Row


class Frame(TypedDict):
    """A frame of a flame graph, as d3-flame-graph takes it. Times in microseconds."""

    name: str
    value: float
    kind: str
    activity: str
    count: int
    first_us: float
    host_us: float
    host_self_us: float
    device_us: float
    device_self_us: float
    children: list["Frame"]


class Flame(Frame):
    """The root of a flame graph: `regimeter flame TRACE --json`. It names no format: its form is d3-flame-graph's."""

    order: str
    trace: str
    anomalies: list[LostAnomaly]


class OutOfMemory(TypedDict):
    """What was held when memory ended: a file that MemoryProfiler writes."""

    name: str
    time: str
    error: str
    requested_bytes: int | None
    analysis: dict[str, Any]


class TimelineFigures(TypedDict):
    """Times in microseconds, utilizations in percent of the total time."""

    total_time_us: float
    cpu_active_time_us: float
    gpu_active_time_us: float
    overlap_time_us: float
    cpu_utilization: float | None
    gpu_utilization: float | None
    event_count: int
    cpu_event_count: int
    gpu_event_count: int


class Timeline(TypedDict):
    """Figures of a timeline, without its events: `regimeter timeline TRACE --json`."""

    summary: TimelineFigures
    streams: list[Row]
    anomalies: list[LostAnomaly]
    file: NotRequired[str]


class Session(TypedDict):
    """What UnifiedProfiler found: `regimeter profile --json`. Where a figure is null, `unavailable` says why."""

    name: str
    timing: dict[str, Any]
    memory: dict[str, float | None]
    kernels: list[Row]
    kernel_summary: dict[str, Any]
    operators: list[Row]
    bottlenecks: list[str]
    recommendations: list[str]
    timeline: dict[str, Any]
    memory_timeline: Any
    files: dict[str, Any]
    device: str
    timestamp: Any
    unavailable: dict[str, str]
    anomalies: list[LostAnomaly]
    failed: bool


class MemoryProfile(TypedDict):
    """What MemoryProfiler found: `MemoryProfiler.export`, `regimeter memory SCRIPT --json`."""

    timeline: list[Row]
    peak_analysis: dict[str, Any]
    markers: Any
    samples: list[Row]
