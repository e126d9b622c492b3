# SPDX-License-Identifier: Apache-2.0
"""The profiling suite under its own names: a face of the recorder, the importer, the analyses and the suggestions.

    from regimeter.suite import UnifiedProfiler

    profiler = UnifiedProfiler(output_dir="./profiles")
    with profiler.profile("forward") as session:
        model(batch)
    print(session.total_time_ms, session.bottlenecks)

docs/suite.md has every field and export. Importing this package imports no torch.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .compile_report import CompileBreak, CompileReport, FusedKernel
    from .flame import FlameGraphGenerator
    from .hta import HTAAnalyzer, HTAReport
    from .kernel import KernelInfo
    from .memory import MemoryProfiler
    from .memory_snapshot import MemorySnapshot
    from .profiler import UnifiedProfiler
    from .schedule import Schedule
    from .session import ProfileSession
    from .timeline_data import TimelineData, TimelineGenerator
    from .torch_compile import TorchCompileAnalyzer

_HOME = {
    "CompileBreak": ".compile_report",
    "CompileReport": ".compile_report",
    "FusedKernel": ".compile_report",
    "TorchCompileAnalyzer": ".torch_compile",
    "FlameGraphGenerator": ".flame",
    "HTAAnalyzer": ".hta",
    "HTAReport": ".hta",
    "KernelInfo": ".kernel",
    "MemoryProfiler": ".memory",
    "MemorySnapshot": ".memory_snapshot",
    "ProfileSession": ".session",
    "Schedule": ".schedule",
    "TimelineData": ".timeline_data",
    "TimelineGenerator": ".timeline_data",
    "UnifiedProfiler": ".profiler",
}

__all__ = [
    "CompileBreak",
    "CompileReport",
    "FlameGraphGenerator",
    "FusedKernel",
    "HTAAnalyzer",
    "HTAReport",
    "KernelInfo",
    "MemoryProfiler",
    "MemorySnapshot",
    "ProfileSession",
    "Schedule",
    "TimelineData",
    "TimelineGenerator",
    "TorchCompileAnalyzer",
    "UnifiedProfiler",
]


def __getattr__(name: str) -> object:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(home, __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
