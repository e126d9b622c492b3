# SPDX-License-Identifier: Apache-2.0
"""A budget of the own cost: what is made rarer, that no scope is, and what a reader is told of it."""

import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from watching import Watched

import regimeter
from regimeter import GPUProfiler, Run
from regimeter.capture import rates
from regimeter.run.summary_text import notes

GENEROUS = "100%"
NOTHING = "0.0001%"  # a millionth: all that can become rarer does
RECORDED = """
    import regimeter
    with regimeter.profile("work", device="cpu"):
        pass
"""


def series(run: Run, name: str) -> list[float]:
    counters = run.tables.counters
    return [
        float(value) for at, value in zip(counters.series, counters.value, strict=True) if run.string(int(at)) == name
    ]


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, int]:
    """A recording that its budget was too small for, read from its file, and how many scopes it had."""
    path = tmp_path_factory.mktemp("budget") / "run.rgm"
    scopes, until = 0, time.monotonic() + 60
    with GPUProfiler(path=path, budget=NOTHING, track_memory=True, stacks=True) as profiler:
        while profiler._stats()["one_in"]["scope_memory"] == 1 and time.monotonic() < until:
            for _ in range(100):
                with profiler.profile("read", device="cpu"):
                    scopes += 1
        for _ in range(20_000):
            with profiler.profile("work", device="cpu"):
                scopes += 1
    return regimeter.load(path), scopes


def test_every_scope_stays_and_memory_is_read_of_a_part(strict: tuple[Run, int]) -> None:
    run, scopes = strict
    assert len(run.spans) == scopes
    assert len(np.unique(run.memory.span[run.memory.span >= 0])) < scopes - 10_000
    (work,) = [one for one in run.get_summary().values() if one.operation == "work"]
    assert work.call_count == 20_000


def test_each_change_is_in_the_recording_and_told(strict: tuple[Run, int]) -> None:
    run, _ = strict
    changes = sum(len(series(run, f"budget/{name}_one_in")) for name in run.environment["budget"]["one_in"])
    (row,) = [row for row in run.anomaly_list() if row["code"] == "rates_changed"]
    assert row["count"] == changes >= 1
    assert series(run, "budget/scope_memory_one_in")[0] == 256
    assert min(series(run, "budget/own_cost_share")) > 1e-6
    assert run.environment["budget"]["share"] == 1e-6
    (line,) = [line for line in notes(run, list(run.get_summary().values())) if line.startswith("Budget of that cost:")]
    over = len(series(run, "budget/own_cost_share"))
    assert f"{over} of {over} seconds cost more; rates changed {changes} times" in line
    assert "memory of scopes one in 256" in line


def test_a_budget_that_is_enough_changes_nothing() -> None:
    with GPUProfiler(budget=GENEROUS, track_memory=True) as profiler, profiler.profile("work", device="cpu"):
        pass
    run = profiler.run()
    assert set(run.environment["budget"]["one_in"].values()) == {1}
    assert "rates_changed" not in {row["code"] for row in run.anomaly_list()}
    assert "Budget of that cost: 100.00 %; " in "\n".join(notes(run, list(run.get_summary().values())))


def test_without_a_budget_there_is_none() -> None:
    with GPUProfiler() as profiler, profiler.profile("work", device="cpu"):
        pass
    run = profiler.run()
    assert "budget" not in run.environment
    assert not any(line.startswith("Budget") for line in notes(run, list(run.get_summary().values())))


@pytest.mark.parametrize(
    ("asked", "ppm"), [("0.5%", 5000), ("0.5", 5000), (0.5, 5000), (100, 10**6), (1e-9, 1), (None, 0)]
)
def test_a_budget_is_a_percentage(asked: Any, ppm: int) -> None:
    assert rates.budget_ppm(asked) == ppm


@pytest.mark.parametrize("asked", ["0%", "101%", "-1%", "much", "5 ms", 0, True])
def test_what_is_no_budget(asked: Any) -> None:
    with pytest.raises(ValueError, match=r"percentage such as 5%|above 0 and at most 100 %"):
        GPUProfiler(budget=asked)


def started(folder: Path, verb: str, *words: str) -> "subprocess.CompletedProcess[str]":
    (folder / "program.py").write_text(textwrap.dedent(RECORDED))
    command = [sys.executable, "-m", "regimeter", verb, *words, str(folder / "program.py")]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_recorded_programs_have_it(tmp_path: Path) -> None:
    done = started(tmp_path, "record", "--budget", "0.5%", "-o", str(tmp_path / "run.rgm"))
    assert done.returncode == 0, done.stderr
    assert "Budget of that cost: 0.50 %" in done.stderr
    assert regimeter.load(tmp_path / "run.rgm").environment["budget"]["share"] == 0.005


def test_watched_programs_have_it(tmp_path: Path) -> None:
    watched = Watched(tmp_path, "--budget", "2%")
    watched.until(601)
    watched.process.communicate("\n", timeout=60)
    assert regimeter.load(watched.run).environment["budget"]["share"] == 0.02


@pytest.mark.parametrize("verb", ["record", "monitor"])
def test_a_wrong_one_names_the_option(verb: str, tmp_path: Path) -> None:
    done = started(tmp_path, verb, "--budget", "much")
    assert done.returncode == 2
    assert "argument --budget: expected a percentage such as 5% or 2.5%, got 'much'" in done.stderr
