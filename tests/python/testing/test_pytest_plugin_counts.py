# SPDX-License-Identifier: Apache-2.0
"""--perf-count: what benchmarks execute, counted in processes of their own, and judged like every other metric."""

import json
import os
import shutil
import stat

import needed
import pytest
from plugin_session import run, save, session

from regimeter.system import callgrind
from regimeter.testing.counts import CLOCK, environment
from regimeter.testing.launches import VARIABLE

pytest_plugins = ["pytester"]

TESTS = """
    def work(steps):
        total = 0
        for i in range(steps):
            total += i
        return total

    def test_call(gpu_benchmark):
        assert gpu_benchmark(work, 1000) == 499500

    def test_rounds(gpu_benchmark):
        assert gpu_benchmark.pedantic(work, args=(500,), rounds=2) == 124750

    def test_scopes(gpu_profile):
        for _ in range(4):
            with gpu_profile.profile("inner", device="cpu"):
                work(250)

    def test_duet(gpu_benchmark):
        assert gpu_benchmark.duet(work, work, 10).results == (45, 45)
"""


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    callgrind.version.cache_clear()
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # a child would import them slowly


def baseline(counts: dict[str, list[float]], **more: object) -> dict[str, object]:
    made = session({name: {"instructions": [[value] for value in values]} for name, values in counts.items()}, **more)
    made["environment"] = environment(1)
    for record in made["tests"]:
        record["clock"] = CLOCK
    return made


def count(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return run(pytester, "-p", "regimeter.pytest_plugin", "--perf-count=instructions", *arguments, apart=True)


def test_benchmarks_and_scopes_are_counted_and_judged(pytester: pytest.Pytester) -> None:
    needed.need("valgrind", shutil.which("valgrind"))
    pytester.makepyfile(TESTS)
    here = "test_benchmarks_and_scopes_are_counted_and_judged.py::"
    save(pytester.path, baseline({f"{here}test_call": [1000.0]}))
    result = count(pytester, "--perf-launches=1", "--perf-compare=main", "--perf-json=out.json")
    result.assert_outcomes(passed=4)
    assert result.ret == 1
    result.stdout.fnmatch_lines([
        f"{here}test_duet*not counted: a duet is timed*",
        "PERF GATE FAILED  1 regression*",
        f"MORE*{here}test_call*instructions*1,000 -> *",
        "Not seen: a count does not see caches*",
    ])  # fmt: skip
    document = json.loads((pytester.path / "out.json").read_text())
    found = {record["operation"].removeprefix(here): record for record in document["tests"]}
    values = {name: record["metrics"]["instructions"] for name, record in found.items()}
    assert set(values) == {"test_call", "test_rounds", "test_scopes [inner]"}
    assert {len(launches) for launches in values.values()} == {1}
    call, rounds, inner = (values[name][0][0] for name in ("test_call", "test_rounds", "test_scopes [inner]"))
    assert call > 1000 * 20
    assert rounds == pytest.approx(call / 2, rel=0.2)
    assert inner == pytest.approx(call / 4, rel=0.3)  # smaller numbers take fewer instructions
    assert document["environment"]["count"]["metric"] == "instructions"


def test_counts_and_times_are_no_baseline_of_each_other(pytester: pytest.Pytester) -> None:
    needed.need("valgrind", shutil.which("valgrind"))
    pytester.makepyfile("def test_call(gpu_benchmark):\n    gpu_benchmark(sum, [1, 2])\n")
    here = "test_counts_and_times_are_no_baseline_of_each_other.py::test_call"
    made = baseline({here: [1000.0]})
    del made["environment"]
    save(pytester.path, made)
    result = run(pytester, "-p", "regimeter.pytest_plugin", "--perf-compare=main", apart=True)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stdout.fnmatch_lines([f"No baseline: {here}: the baseline was counted under Callgrind"])


def test_without_valgrind_the_session_is_refused_with_the_remedy(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makepyfile(TESTS)
    monkeypatch.setenv("PATH", str(pytester.path))
    result = count(pytester)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--perf-count: instructions are counted by Valgrind's Callgrind*apt-get install*"])


def test_what_only_one_layout_counted_has_no_figure(pytester: pytest.Pytester) -> None:
    needed.need("valgrind", shutil.which("valgrind"))
    pytester.makepyfile(f"""
        import json, os

        def test_call(gpu_benchmark):
            task = os.environ.get({VARIABLE!r})
            if task and json.load(open(task))["count"]["layout"] == 2:
                os._exit(3)
            gpu_benchmark(sum, [1, 2])
    """)
    result = count(pytester, "--perf-launches=2", "--perf-json=out.json")
    result.stdout.fnmatch_lines([
        "*::test_call * not counted: not every layout of memory counted it",
        "Warning: layout 2: pytest ended with 3: *",
    ])  # fmt: skip
    assert json.loads((pytester.path / "out.json").read_text())["tests"] == []


def test_a_layout_that_does_not_count_leaves_no_figure(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What stands for valgrind runs the program as it is, which therefore is not counted."""
    pytester.makepyfile("def test_call(gpu_benchmark):\n    gpu_benchmark(sum, [1, 2])\n")
    folder = pytester.mkdir("bin")
    double = folder / "valgrind"
    double.write_text(
        '#!/bin/sh\ncase "$2" in --version) echo valgrind-3.19.0; exit;; esac\n'
        'while [ "$1" != -- ]; do shift; done; shift; exec "$@"\n'
    )
    double.chmod(double.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    result = count(pytester, "--perf-launches=1", "--perf-save=main")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["Warning: layout 1: pytest ended with 1: *"])
    assert not (pytester.path / ".regimeter").exists()
