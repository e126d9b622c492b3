# SPDX-License-Identifier: Apache-2.0
"""Sessions of pytest inside a test, with the plugin, and saved sessions whose samples the test writes."""

import contextlib
import json
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

# A session within a test forgets the modules that it imported, and some of these cannot be imported twice.
import regimeter.compare.comparison
import regimeter.profiler
import regimeter.report.files
import regimeter.system.description
import regimeter.testing.benchmark
import regimeter.testing.profile
import regimeter.testing.session
import regimeter.testing.whole

with contextlib.suppress(ImportError):  # of an extra
    import sqlalchemy.dialects.postgresql.psycopg
    import sqlalchemy.dialects.sqlite  # noqa: F401

    import regimeter.history.baselines
    import regimeter.history.migrate
    import regimeter.history.store
    import regimeter.testing.storage_database  # noqa: F401

QUICK = ("-p", "no:cacheprovider", "--perf-max-time=10ms", "--perf-min-rounds=3")
# Plugins that would be loaded by their entry points; a session names those that it wants.
OTHERS = ("benchmark", "memray", "xdist", "_cov", "pytest_cov", "hypothesispytest", "anyio")


def loading() -> list[str]:
    """Return the arguments that load the plugin: none where it is installed with its entry point."""
    installed = any(one.value == "regimeter.pytest_plugin" for one in entry_points(group="pytest11"))
    return [] if installed else ["-p", "regimeter.pytest_plugin"]


def run(pytester: pytest.Pytester, *arguments: str, apart: bool = False) -> pytest.RunResult:
    """Run pytest with the plugin, in this process or apart from it."""
    given = [*loading(), *QUICK, *arguments]
    return pytester.runpytest_subprocess(*given) if apart else pytester.runpytest_inprocess(*given)


def session(tests: Mapping[str, Mapping[str, Sequence[Sequence[float]]]], **more: Any) -> dict[str, Any]:
    """Return a saved session of samples by test, metric and launch."""
    records = [{"operation": name, "test": name, "metrics": metrics, "rounds": 9} for name, metrics in tests.items()]
    return {"format": "regimeter.perf", "version": 1, "name": "main", "tests": records, **more}


def save(folder: Path, document: object, name: str = "0001_main.json") -> Path:
    """Write a saved session into the storage of a test's session."""
    path = folder / ".regimeter" / "perf" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document), encoding="utf-8")
    return path
