# SPDX-License-Identifier: Apache-2.0
"""regimeter: a GPU profiler for Python whose core is C.

    import regimeter

    profiler = regimeter.get_profiler()
    with profiler.profile("forward", device="gpu"):
        ...
    profiler.print_summary()

Names are imported on first use, so that importing the package costs next to nothing.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._core import BusyError, Error, FormatError, UnavailableError, __version__
    from .compare import (
        ChangeType,
        ComparisonSummary,
        OperationComparison,
        ProfilerComparison,
        compare_profiling_runs,
        compare_samples,
    )
    from .flame import FlameGraphGenerator
    from .hta import HTAAnalyzer, HTAReport
    from .profiler import GPUProfiler, get_profiler, profile
    from .records import ProfileEntry, ProfileSummary
    from .timeline import TimelineData, TimelineGenerator
    from .trace import Run, load

_HOME = {
    "BusyError": "_core",
    "Error": "_core",
    "FormatError": "_core",
    "UnavailableError": "_core",
    "__version__": "_core",
    "ChangeType": "compare",
    "ComparisonSummary": "compare",
    "OperationComparison": "compare",
    "ProfilerComparison": "compare",
    "compare_profiling_runs": "compare",
    "compare_samples": "compare",
    "FlameGraphGenerator": "flame",
    "HTAAnalyzer": "hta",
    "HTAReport": "hta",
    "GPUProfiler": "profiler",
    "get_profiler": "profiler",
    "profile": "profiler",
    "ProfileEntry": "records",
    "ProfileSummary": "records",
    "TimelineData": "timeline",
    "TimelineGenerator": "timeline",
    "Run": "trace",
    "load": "trace",
}

__all__ = [
    "BusyError",
    "ChangeType",
    "ComparisonSummary",
    "Error",
    "FlameGraphGenerator",
    "FormatError",
    "GPUProfiler",
    "HTAAnalyzer",
    "HTAReport",
    "OperationComparison",
    "ProfileEntry",
    "ProfileSummary",
    "ProfilerComparison",
    "Run",
    "TimelineData",
    "TimelineGenerator",
    "UnavailableError",
    "__version__",
    "compare_profiling_runs",
    "compare_samples",
    "get_profiler",
    "load",
    "profile",
]


def __getattr__(name: str) -> object:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
