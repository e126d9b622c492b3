# SPDX-License-Identifier: Apache-2.0
"""Two sides compared: did it get slower, with what certainty, and what could have been missed.

    comparison = regimeter.compare_profiling_runs("baseline.json", "current.json")
    comparison.print_summary()
    sys.exit(comparison.exit_code)

The rule is in docs/comparison.md: processes are compared, not samples; all operations together are held to one
false-discovery rate; a regression is a real difference that may reach the threshold. `decide` is the one path to a
verdict, for Python, the commands, pytest and the pages.
"""

from .comparison import ProfilerComparison, compare_profiling_runs, compare_samples
from .decide import Decision, decide
from .options import Options
from .result import ChangeType, ComparisonSummary, OperationComparison

__all__ = [
    "ChangeType",
    "ComparisonSummary",
    "Decision",
    "OperationComparison",
    "Options",
    "ProfilerComparison",
    "compare_profiling_runs",
    "compare_samples",
    "decide",
]
