# SPDX-License-Identifier: Apache-2.0
"""Sessions of pytest inside a test, with the plugin, and saved sessions whose samples the test writes."""

import contextlib
import gc
import importlib
import json
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

QUICK = ("-p", "no:cacheprovider", "--perf-max-time=10ms", "--perf-min-rounds=3")

# A clock that the code under test moves: work(seconds) lasts that long, and nothing else takes time.
CLOCK = """
    import pytest
    from regimeter.compare.ab import measure

    class Clock:
        now = 0

    def tick():
        Clock.now += 1
        return Clock.now

    @pytest.fixture(autouse=True)
    def clock(monkeypatch):
        monkeypatch.setitem(measure.CLOCKS, "wall", tick)

    @pytest.fixture
    def work():
        state = {"calls": 0}
        def work(seconds):
            state["calls"] += 1
            # A spread of 0.2 %, the same in every session.
            Clock.now += int(seconds * 1e9 * (1 + 0.001 * (state["calls"] * 7 % 5 - 2)))
            return state["calls"]
        return work
"""


def timed(seconds: float, rounds: int = 20, marker: str = "") -> str:
    """Return the test of a call that lasts so long by the clock of `faked`."""
    return f"""
        import pytest
        {marker}
        def test_step(gpu_benchmark, work):
            gpu_benchmark.pedantic(work, args=({seconds},), rounds={rounds})
    """


@pytest.fixture
def faked(pytester: pytest.Pytester) -> pytest.Pytester:
    """A folder for sessions whose calls last what the test says, so no verdict hangs on how fast the machine is."""
    pytester.makeconftest(CLOCK)
    pytester.makeini("[pytest]\naddopts = --perf-noise=1%")  # nothing but the code moves this clock
    return pytester


@pytest.fixture
def saved(faked: pytest.Pytester) -> pytest.Pytester:
    """A folder with a test of 1 ms, which is the baseline `main`."""
    faked.makepyfile(timed(1e-3))
    assert run(faked, "--perf-save=main").ret == 0
    return faked


@pytest.fixture(autouse=True, scope="module")
def settled() -> None:
    """What other tests left is no garbage: each timing and each session would look through all of it.

    And databases can be used: what a session is the first to import is forgotten with it, and not all can be imported
    twice.
    """
    with contextlib.suppress(ImportError):
        for name in ("sqlalchemy.dialects.postgresql.psycopg", "sqlalchemy.dialects.sqlite", "alembic.command"):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()


def loading() -> list[str]:
    """Return the arguments that load the plugin: none where it is installed with its entry point."""
    installed = any(one.value == "regimeter.pytest_plugin" for one in entry_points(group="pytest11"))
    return [] if installed else ["-p", "regimeter.pytest_plugin"]


def run(
    pytester: pytest.Pytester, *arguments: str, apart: bool = False, guests: Sequence[str] | None = ()
) -> pytest.RunResult:
    """Run pytest with the plugin, in this process or apart from it.

    guests: the plugins that it is loaded with, None for all that are installed, each by its entry point.
    """
    start = pytester.runpytest_subprocess if apart else pytester.runpytest_inprocess
    if guests is None:
        return start(*loading(), *QUICK, *arguments)
    # Most of the start of a process, of the session and of those that it starts, would be plugins that nobody uses.
    pytester._monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    loaded = [word for name in ("regimeter.pytest_plugin", *guests) for word in ("-p", name)]
    return start(*loaded, *QUICK, *arguments)


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
