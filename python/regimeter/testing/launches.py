# SPDX-License-Identifier: Apache-2.0
"""The same tests again in fresh processes, for samples that differ as processes differ.

A child is pytest with the session's own arguments, so that options of conftest.py hold, and the variable below: it
runs the named tests only, in a random order, writes their records, and neither judges nor saves.
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ..system import callgrind
from .records import Record

VARIABLE = "REGIMETER_PERF_LAUNCH"
# A child gets this many times what the session took, and a start-up.
PATIENCE, START_SECONDS = 10, 120
SLOWER = 1000  # under Callgrind, with calls to warm up


def child() -> dict[str, Any] | None:
    """Return what this process was told to run, None where it is no child."""
    path = os.environ.get(VARIABLE)
    if not path:
        return None
    told = json.loads(Path(path).read_text(encoding="utf-8"))
    return told if isinstance(told, dict) else None


def select(told: dict[str, Any], items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the tests that the child runs, in its order."""
    import random

    wanted = set(told["tests"])
    chosen = [item for item in items if item.nodeid in wanted]
    random.Random(told["seed"]).shuffle(chosen)
    return chosen


def write(told: dict[str, Any], records: Sequence[Record]) -> None:
    """Leave the records for the parent."""
    Path(told["out"]).write_text(json.dumps([record.to_dict() for record in records], default=str), encoding="utf-8")


def repeat(config: pytest.Config, records: Sequence[Record], times: int, took: float, seed: int = 0) -> list[str]:
    """Run the tests of the records again in `times` fresh processes, one after the other, and add their samples.

    took: seconds of this session, from which the children's time limit follows. Return what went wrong, a line each.
    """
    again = {record.operation: record for record in records if record.metrics and record.kind != "duet"}
    if not again or times < 1:
        return []
    problems = []
    with tempfile.TemporaryDirectory(prefix="regimeter-perf-") as folder:
        for number in range(times):
            told = {
                "tests": sorted({record.test for record in again.values()}),
                "seed": seed + number,
                "out": os.path.join(folder, f"{number}.json"),
            }
            task = os.path.join(folder, f"{number}.task")
            Path(task).write_text(json.dumps(told), encoding="utf-8")
            problem = _run(config, task, folder, took * PATIENCE + START_SECONDS)
            missing = _take(again, str(told["out"]))
            if problem or missing:
                text = problem or f"{len(missing)} tests gave no samples, the first is {missing[0]}"
                problems.append(f"launch {number + 2}: {text}")
    return problems


def count(
    config: pytest.Config, records: Sequence[Record], layouts: int, took: float
) -> tuple[list[Record], list[str]]:
    """Run the tests of the records under Callgrind, in a process for each layout of memory.

    Return their records, with a count of each layout in the order of the layouts, and what went wrong, a line each; an
    operation that some layout has no count of has none.
    """
    found: dict[str, Record] = {record.operation: record for record in records if record.unavailable}
    tests = sorted({record.test for record in records if not record.unavailable})
    problems: list[str] = []
    with tempfile.TemporaryDirectory(prefix="regimeter-perf-") as folder:
        for layout in range(1, layouts + 1) if tests else ():
            log, out = os.path.join(folder, "callgrind.log"), os.path.join(folder, f"{layout}.json")
            counted: dict[str, Any] = {"log": log, "layout": layout}
            told = {"tests": tests, "seed": 0, "out": out, "count": counted}
            task = os.path.join(folder, "task.json")
            Path(task).write_text(json.dumps(told), encoding="utf-8")
            problem = _run(config, task, folder, took * SLOWER + START_SECONDS * PATIENCE, counted)
            for record in _read(out):
                if layout == 1:
                    found[record.operation] = record
                elif record.operation in found:
                    found[record.operation].metrics.setdefault("instructions", []).extend(
                        record.metrics.get("instructions", ())
                    )
            if problem:
                problems.append(f"layout {layout}: {problem}")
    for record in found.values():
        if len(record.metrics.get("instructions", ())) < layouts and not record.unavailable:
            record.metrics.pop("instructions", None)
            record.unavailable["instructions"] = "not every layout of memory counted it"
    return list(found.values()), problems


def _run(config: pytest.Config, task: str, folder: str, limit: float, counted: dict[str, Any] | None = None) -> str:
    """Run one child; return what went wrong, '' when nothing did. counted: where and in which layout it counts."""
    command = [sys.executable, "-m", "pytest", *map(str, config.invocation_params.args), *_quiet(config, folder)]
    environment = {**os.environ, VARIABLE: task}
    # pytest-xdist and pytest-cov hand themselves down by these.
    for name in [name for name in environment if name.startswith(("PYTEST_XDIST_", "COV_CORE_", "COVERAGE_PROCESS_"))]:
        del environment[name]
    held: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
    if counted is not None:
        held = callgrind.addresses_held()
        command = callgrind.command(counted["log"], command)
        environment = callgrind.environment(environment, counted["layout"])
    try:
        with held:
            done = subprocess.run(
                command,
                cwd=config.invocation_params.dir,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=limit,
                check=False,
            )
    except subprocess.TimeoutExpired:
        return f"it did not end within {limit:.0f} s"
    if done.returncode == 0:
        return ""
    last = [line for line in done.stdout.decode("utf-8", "replace").splitlines() if line.strip()]
    return f"pytest ended with {done.returncode}: {last[-1] if last else 'no output'}"


def _quiet(config: pytest.Config, folder: str) -> list[str]:
    """Return arguments that keep a child from writing what the session writes, and from starting workers."""
    extra = []
    if config.pluginmanager.hasplugin("xdist"):
        extra += ["-n", "0"]
    if config.pluginmanager.hasplugin("_cov") or config.pluginmanager.hasplugin("pytest_cov"):
        extra += ["--no-cov"]
    if getattr(config.option, "xmlpath", None):
        extra += ["--junitxml", os.path.join(folder, "ignored.xml")]
    if getattr(config.option, "basetemp", None):
        extra += ["--basetemp", os.path.join(folder, "basetemp")]
    return extra


def _read(out: str) -> list[Record]:
    """Return the records that a child left, none where it left nothing that can be read."""
    try:
        return [Record.from_dict(one) for one in json.loads(Path(out).read_text(encoding="utf-8"))]
    except (OSError, ValueError):
        return []


def _take(again: dict[str, Record], out: str) -> list[str]:
    """Add a child's samples as further launches; return the operations that it has none of."""
    found = {record.operation: record for record in _read(out)}
    for operation, record in again.items():
        for metric, launches in found[operation].metrics.items() if operation in found else ():
            record.metrics.setdefault(metric, []).extend(launches)
    return sorted(operation for operation in again if operation not in found)
