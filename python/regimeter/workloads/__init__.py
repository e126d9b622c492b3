# SPDX-License-Identifier: Apache-2.0
"""The nine workloads as a suite: run, sweep, budgets, A/B, trends.

    report = regimeter.run_workloads(["matrix_multiply"], backend="c")
    report.print_summary()

docs/workloads.md says what each workload computes, what is timed, and what every alert means.
"""

from .advice import Advice
from .alerts import Alert
from .backends import backends
from .budgets import Budget, BudgetResult, Budgets, check_budgets
from .statistics import KernelStats, Times
from .suite import WorkloadReport, profile_kernel, run_workloads
from .sweep import Sweep, run_sweep
from .trend import Trend, keep, trend_of
from .versus import Versus, run_versus

__all__ = [
    "Advice",
    "Alert",
    "Budget",
    "BudgetResult",
    "Budgets",
    "KernelStats",
    "Sweep",
    "Times",
    "Trend",
    "Versus",
    "WorkloadReport",
    "backends",
    "check_budgets",
    "keep",
    "profile_kernel",
    "run_sweep",
    "run_versus",
    "run_workloads",
    "trend_of",
]
