# SPDX-License-Identifier: Apache-2.0
"""Two sides compared: did it get slower, with what certainty, and what could have been missed.

    comparison = regimeter.compare_profiling_runs("baseline.json", "current.json")
    comparison.print_summary()
    sys.exit(comparison.exit_code)

The rule is in docs/comparison.md: processes are compared, not samples; all operations together are held to one
false-discovery rate; a regression is a real difference that may reach the threshold.
"""

from .comparison import ProfilerComparison, compare_profiling_runs, compare_samples
from .result import ChangeType, ComparisonSummary, OperationComparison

__all__ = [
    "ChangeType",
    "ComparisonSummary",
    "OperationComparison",
    "ProfilerComparison",
    "compare_profiling_runs",
    "compare_samples",
]
