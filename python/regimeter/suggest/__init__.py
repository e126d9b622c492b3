# SPDX-License-Identifier: Apache-2.0
"""What to try next.

    from regimeter import ProfilerOptimizer

    optimizer = ProfilerOptimizer("trace.json.gz")
    optimizer.print_suggestions()

Which rules there are, when they speak and where their bounds come from: docs/suggestions.md.
"""

from .suggestion import Evidence, OptimizationSuggestion, OptimizationType, Priority

__all__ = ["Evidence", "OptimizationSuggestion", "OptimizationType", "Priority"]
