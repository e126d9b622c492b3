# SPDX-License-Identifier: Apache-2.0
"""Runs and baselines in a database: SQLite with no configuration, PostgreSQL by URL.

Importing this package needs the extra ``history``; nothing else of regimeter imports it before it is used.
"""

try:
    import alembic  # noqa: F401
    import sqlalchemy  # noqa: F401
except ModuleNotFoundError as missing:
    raise ImportError(
        f"the history of runs needs {missing.name}; install it with: pip install 'regimeter[history]'"
    ) from missing

from ..system.git import Commit, commit_of
from .baselines import Baseline, Baselines, resolve_baseline
from .errors import HistoryError, NoBaselineError
from .judge import HistoryComparison, judge_against_history
from .migrate import migrate, state_of
from .series import Point, Series
from .store import History, RunRow, open_history

__all__ = [
    "Baseline",
    "Baselines",
    "Commit",
    "History",
    "HistoryComparison",
    "HistoryError",
    "NoBaselineError",
    "Point",
    "RunRow",
    "Series",
    "commit_of",
    "judge_against_history",
    "migrate",
    "open_history",
    "resolve_baseline",
    "state_of",
]
