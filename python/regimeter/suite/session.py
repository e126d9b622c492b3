# SPDX-License-Identifier: Apache-2.0
"""What was found of one profiled block, function or trace: figures, kernels, what stands out, what to try."""

import json
import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..run.trace_facts import anomalies_of
from ..suggest.paragraphs import shown
from ..system.quantities import known
from .flame import FlameGraphGenerator
from .hta import HTAAnalyzer
from .imported import exported, run_of_trace
from .kernel import KernelInfo, kernels_of
from .timeline_data import TimelineGenerator
from .window import cut

if TYPE_CHECKING:
    from ..public.run import Run

FORMAT, VERSION = "regimeter.suite.session", 1
TOP_KERNELS, TOP_OPERATORS, MOST_POINTS = 50, 50, 2000
MB = 1e-6  # per byte
NO_DEVICE_WORK = "no device work was recorded"
NO_ALLOCATIONS = "no allocation is in the trace (profile_memory), and no device's allocator was in use"
NO_TRACE = "nothing was recorded yet"
ALLOCATIONS = tuple(_core.MEMORY_ACTIONS.index(action) for action in ("alloc", "free"))


@dataclass(slots=True)
class ProfileSession:
    """What was found. A figure is nan where `unavailable` says why, so ``f"{x:.2f}ms"`` prints "nanms"; JSON has null.

    total_time_ms: wall time of the block, or of one call of the function. timing: how it was measured. cuda_time_ms:
    time in which a device worked, the union of its work, idle time left out; of the calls that were traced.
    cpu_time_ms: processor time of all threads of the process over the same time as total_time_ms.
    times_ms: calls that were timed without the profiler. inflation: what the profiler adds, measured or derived.
    peak_memory_mb, allocated_memory_mb: of torch's allocator of the device; without a device, tensors' bytes on the
    host above what there was at the beginning: the largest, and at the end. reserved_memory_mb: the device's pool.
    kernels: by name, most time first; operators of the host are in `operators`, whose rows are those of
    ``run.result("operators")``. kernel_summary: how many kernels and launches there are, and their time.
    bottlenecks, recommendations: what ``HTAAnalyzer`` and ``run.suggestions()`` say of the trace.
    trace_path, trace_paths: the last trace that was kept, and all. timeline_data: figures of ``TimelineGenerator``.
    memory_timeline: {time_ms, allocated_mb}. calls: how often the function ran. steps: {phase, time_ms} of a schedule.
    run: the imported trace; result: what the function's last call returned. failed: the block raised.
    """

    name: str = "profile"
    total_time_ms: float = math.nan
    cuda_time_ms: float = math.nan
    cpu_time_ms: float = math.nan
    peak_memory_mb: float = math.nan
    allocated_memory_mb: float = math.nan
    reserved_memory_mb: float = math.nan
    kernels: list[KernelInfo] = field(default_factory=list)
    kernel_summary: dict[str, Any] = field(default_factory=dict)
    bottlenecks: list[str] = field(default_factory=list)
    recommendations: list[str] = field(default_factory=list)
    trace_path: Path | None = None
    trace_paths: list[Path] = field(default_factory=list)
    flame_graph_data: dict[str, Any] = field(default_factory=dict, repr=False)
    flame_graph_path: Path | None = None
    memory_snapshot_path: Path | None = None
    timeline_data: dict[str, Any] = field(default_factory=dict, repr=False)
    memory_timeline: list[dict[str, float]] = field(default_factory=list, repr=False)
    device_name: str = ""
    timestamp: str = ""
    operators: list[dict[str, Any]] = field(default_factory=list, repr=False)
    times_ms: list[float] = field(default_factory=list, repr=False)
    timing: str = ""
    inflation: dict[str, Any] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)
    steps: list[dict[str, Any]] = field(default_factory=list, repr=False)
    unavailable: dict[str, str] = field(default_factory=dict)
    anomalies: list[dict[str, Any]] = field(default_factory=list, repr=False)
    failed: bool = False
    mark: str = ""
    run: "Run | None" = field(default=None, repr=False, compare=False)
    result: Any = field(default=None, repr=False, compare=False)

    @classmethod
    def from_trace(cls, trace: "Run | str | os.PathLike[str]", name: str | None = None) -> "ProfileSession":
        """Return the session of a trace that is there already, which has no processor time. Errors: as of `load`."""
        run = run_of_trace(trace)
        session = cls(name or ("trace" if run is trace else Path(os.fspath(trace)).name))  # type: ignore[arg-type]
        session.read(run)
        session.total_time_ms = run.duration_ns / 1e6
        session.timing = "from the first to the last event of the trace, recorded by the profiler"
        session.unavailable["cpu_time_ms"] = "a trace has no processor time"
        return session

    def complete(self, trace: Any) -> "ProfileSession":
        """Fill in what another profiler's trace tells of this block, once that profiler has stopped; return self.

        trace: the profiler, or the file that it wrote. Only what the block did is taken from it. ValueError where the
        block is not in it; other errors as of ``regimeter.load``.
        """
        self.read(cut(exported(trace) if hasattr(trace, "export_chrome_trace") else trace, self.mark))
        return self

    def read(self, run: "Run", *, flame_graph: bool = True, memory: bool = True) -> None:
        """Take everything from an imported trace."""
        self.run = run
        self.anomalies = anomalies_of(run)
        self.kernels = kernels_of(run)
        self.kernel_summary = _summary_of(self.kernels)
        self.operators = list(run.result("operators", top=TOP_OPERATORS))
        times = run.analyse("active_times")
        for name in ("kernels", "cuda_time_ms", "trace"):
            self.unavailable.pop(name, None)
        if len(times) and int(times.n_device[0]):
            self.cuda_time_ms = int(times.device_ns[0]) / 1e6
        else:
            self.unavailable["cuda_time_ms"] = self.unavailable["kernels"] = NO_DEVICE_WORK
        report = HTAAnalyzer().analyze_trace(run)
        suggestions = run.suggestions(shown())
        self.bottlenecks = [*report.bottlenecks, *(one.description for one in suggestions)]
        self.recommendations = report.recommendations
        self.timeline_data = TimelineGenerator().from_run(run).to_dict()
        if flame_graph:
            self.flame_graph_data = FlameGraphGenerator().from_run(run)
        if memory:
            self._read_memory(run)

    def _read_memory(self, run: "Run") -> None:
        """Take the host's memory of tensors from a trace: the allocator of a device tells its own peak."""
        memory = run.memory
        rows = np.flatnonzero(np.isin(memory.action, ALLOCATIONS) & (memory.device < 0))
        if not len(rows):
            for name in ("peak_memory_mb", "allocated_memory_mb"):
                if math.isnan(getattr(self, name)):
                    self.unavailable.setdefault(name, NO_ALLOCATIONS)
            return
        rows = rows[np.argsort(memory.time_ns[rows], kind="stable")]
        signed = np.where(memory.action[rows] == ALLOCATIONS[0], memory.bytes[rows], -memory.bytes[rows])
        level = np.cumsum(signed)
        every = max(1, len(rows) // MOST_POINTS)
        chosen = np.unique(np.append(np.arange(0, len(rows), every), int(np.argmax(level))))
        self.memory_timeline = [
            {"time_ms": (time - run.start_ns) / 1e6, "allocated_mb": value * MB}
            for time, value in zip(memory.time_ns[rows][chosen].tolist(), level[chosen].tolist(), strict=True)
        ]
        if math.isnan(self.peak_memory_mb):
            self.peak_memory_mb = max(0, int(level.max())) * MB
            self.allocated_memory_mb = int(level[-1]) * MB
            self.unavailable.pop("peak_memory_mb", None)
            self.unavailable.pop("allocated_memory_mb", None)

    def page(self, path: str | os.PathLike[str]) -> None:
        """Write the trace as the page that ``regimeter report`` writes. UnavailableError where there is no trace."""
        if self.run is None:
            raise _core.UnavailableError(f"{self.name}: no page: {self.unavailable.get('trace', NO_TRACE)}")
        self.run.write_html(path, title=self.name)

    def to_dict(self) -> dict[str, Any]:
        """Return the session ready for JSON: null stands for a figure that is not there."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "name": self.name,
            "timing": {
                "total_ms": known(self.total_time_ms),
                "cuda_ms": known(self.cuda_time_ms),
                "cpu_ms": known(self.cpu_time_ms),
                "how": self.timing,
                "calls": self.calls,
                "times_ms": self.times_ms,
                "steps": self.steps,
                "inflation": self.inflation,
            },
            "memory": {
                "peak_mb": known(self.peak_memory_mb),
                "allocated_mb": known(self.allocated_memory_mb),
                "reserved_mb": known(self.reserved_memory_mb),
            },
            "kernels": _plain([kernel.to_dict() for kernel in self.kernels[:TOP_KERNELS]]),
            "kernel_summary": self.kernel_summary,
            "operators": _plain(self.operators),
            "bottlenecks": self.bottlenecks,
            "recommendations": self.recommendations,
            "timeline": _plain(self.timeline_data),
            "memory_timeline": self.memory_timeline,
            "files": {
                "trace": _path(self.trace_path),
                "traces": [os.fspath(path) for path in self.trace_paths],
                "flame_graph": _path(self.flame_graph_path),
                "memory_snapshot": _path(self.memory_snapshot_path),
            },
            "device": self.device_name,
            "timestamp": self.timestamp,
            "failed": self.failed,
            "unavailable": self.unavailable,
            "anomalies": self.anomalies,
        }


def _summary_of(kernels: list[KernelInfo]) -> dict[str, Any]:
    return {
        "kernels": len(kernels),
        "launches": sum(kernel.call_count for kernel in kernels),
        "total_us": sum(kernel.cuda_time_us for kernel in kernels),
    }


def _path(path: Path | None) -> str | None:
    return None if path is None else os.fspath(path)


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value, default=str, allow_nan=False))
