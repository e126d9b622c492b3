# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin: its fixtures, its options and markers, launches, and sessions that do not use it."""

import json
import tomllib
import xml.etree.ElementTree as ElementTree

import pytest
from places import ROOT
from plugin_session import loading, run
from published import check

pytest_plugins = ["pytester"]


def test_a_benchmark_returns_what_the_function_returns_and_is_listed(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_sum(gpu_benchmark):
            assert gpu_benchmark(sum, [1, 2], start=3) == 6
            assert gpu_benchmark.samples and gpu_benchmark.median > 0
        """
    )
    result = run(pytester)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*= perf =*", "*::test_sum * x *", "*Not compared.*--perf-save main*"])


def test_pedantic_calls_exactly_as_often_as_asked(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_counts(gpu_benchmark):
            calls = []
            gpu_benchmark.pedantic(lambda: calls.append(1), rounds=7, iterations=3, warmup_rounds=2)
            assert len(calls) == (7 + 2) * 3
            assert len(gpu_benchmark.samples) == 7

        def test_setup_and_teardown(gpu_benchmark):
            seen = []
            def setup():
                seen.append("setup")
                return (len(seen),), {"b": 2}
            gpu_benchmark.pedantic(lambda a, b: seen.append((a, b)), setup=setup,
                                   teardown=lambda a, b: seen.append("end"), rounds=2)
            assert seen == ["setup", (1, 2), "end", "setup", (4, 2), "end"]
        """
    )
    run(pytester).assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("gpu_benchmark.pedantic(int, rounds=0)", "rounds is a number of at least 1"),
        ("gpu_benchmark.pedantic(int, setup=int, iterations=2)", "iterations has to be 1"),
        ("gpu_benchmark.pedantic(int, args=(1,), setup=lambda: ((1,), {}))", "both the call and setup"),
        ("gpu_benchmark.pedantic(int, clock='sun')", "unknown clock 'sun'"),
        ("gpu_benchmark(int); gpu_benchmark(int)", "a test times one thing"),
        ("gpu_benchmark(int); gpu_benchmark.limit_time('1 s')", "before the code is measured"),
        ("gpu_benchmark.limit_time('3 parsecs')", "expected a time above 0 such as * or 1h, got '3 parsecs'"),
        ("gpu_benchmark.limit_launches(1.5)", "not a number of launches"),
        ("gpu_benchmark.limit_launches(-1)", "not a number of launches"),
        ("gpu_benchmark(lambda: 1 / 0)", "ZeroDivisionError"),
    ],
)
def test_errors_of_a_test_name_what_is_wrong(pytester: pytest.Pytester, call: str, error: str) -> None:
    pytester.makepyfile(f"def test_it(gpu_benchmark):\n    {call}\n")
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"*{error}*"])


def test_the_collector_and_tracers_are_back_after_timing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import gc, sys

        def test_it(gpu_benchmark):
            seen = []
            def trace(*_): return None
            sys.settrace(trace)
            try:
                gpu_benchmark.pedantic(lambda: seen.append((gc.isenabled(), sys.gettrace())), rounds=3)
                assert sys.gettrace() is trace
            finally:
                sys.settrace(None)
            assert gc.isenabled()
            assert seen == [(False, None)] * 3
        """
    )
    run(pytester).assert_outcomes(passed=1)


def test_a_profile_is_judged_by_its_scopes(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_step(gpu_profile):
            for _ in range(4):
                with gpu_profile.profile("forward", device="cpu"):
                    pass
            assert gpu_profile.get_summary()["forward"].call_count == 4
        """
    )
    result = run(pytester, "--perf-save=main")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*::test_step [[]forward]*", "Saved: *0001_main.json"])


def test_disable_calls_once_and_judges_nothing(faked: pytest.Pytester) -> None:
    faked.makepyfile(
        """
        import pytest
        @pytest.mark.limit_time("1 ns")
        def test_it(gpu_benchmark):
            calls = []
            gpu_benchmark(calls.append, 1)
            assert calls == [1] and gpu_benchmark.samples == []
        def test_duet(gpu_benchmark):
            assert gpu_benchmark.duet(int, float).results == (0, 0.0)
        """
    )
    result = run(faked, "--perf-disable")
    result.assert_outcomes(passed=2)
    result.stdout.no_fnmatch_line("*= perf =*")


def test_only_and_skip(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_timed(gpu_benchmark): gpu_benchmark(int)\ndef test_plain(): pass\n")
    run(pytester, "--perf-only").assert_outcomes(passed=1, deselected=1)
    run(pytester, "--perf-skip").assert_outcomes(passed=1, skipped=1)
    assert run(pytester, "--perf-only", "--perf-skip").ret == pytest.ExitCode.USAGE_ERROR


@pytest.mark.parametrize(
    ("marker", "error"),
    [
        ("gpu_perf(until='soon', accept='x')", "until is a date"),
        ("gpu_perf(until='2026-12-31')", "say accept='reason' too"),
        ("gpu_perf(threshold='5 ms')", "expected a percentage such as"),
        ("gpu_perf(metrics=['speed'])", "unknown metric 'speed'"),
        ("gpu_perf(metrics=[])", "metrics is an empty list"),
        ("gpu_perf(speed=3)", "gpu_perf has no argument 'speed'"),
        ("gpu_perf('3%')", "named arguments only"),
        ("gpu_perf(min_share=2)", "min_share is a part of the whole"),
        ("gpu_perf(pairs=True)", "pairs is a number of at least 1"),
        ("limit_time()", "limit_time takes one limit"),
        ("no_leak(3)", "no_leak takes no limit"),
    ],
)
def test_a_marker_that_is_wrong_fails_its_test(pytester: pytest.Pytester, marker: str, error: str) -> None:
    pytester.makepyfile(f"import pytest\n@pytest.mark.{marker}\ndef test_it(gpu_benchmark): gpu_benchmark(int)\n")
    result = run(pytester)
    assert result.ret == 1
    result.stdout.fnmatch_lines([f"*{error}*"])


@pytest.mark.parametrize(
    ("option", "error"),
    [
        ("--perf-compare-fail=speed:5%", "unknown metric 'speed'"),
        ("--perf-compare-fail=time", "expected a percentage such as"),
        ("--perf-compare-fail=time:-5%", "expected a percentage such as"),
        ("--perf-launches=0", "takes a number from 1"),
        ("--perf-max-time=fast", "--perf-max-time: expected a time above 0 such as 500ms, 2s, 10m or 1h, got 'fast'"),
        ("--perf-noise=loud", "expected a percentage such as"),
        ("--perf-storage=mysql://x", "valid are a folder"),
        ("--perf-report=pdf:x", "valid are github"),
        ("--perf-report=junit", "say where to write it"),
        ("--perf-missing-baseline=fail", "give that too"),
        ("--perf-save= ", "takes a name"),
    ],
)
def test_a_wrong_option_is_a_usage_error(pytester: pytest.Pytester, option: str, error: str) -> None:
    pytester.makepyfile("def test_it(): pass")
    more = ["--perf-save=x"] if "storage" in option else []
    result = run(pytester, option, *more)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{error}*"])


# --- as a guest, and in launches -------------------------------------------------------------------------------


def test_a_session_that_does_not_use_the_plugin_imports_nothing_heavy(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(): pass")
    pytester.makeconftest(
        """
        import sys
        def pytest_unconfigure():
            heavy = [name for name in sys.modules if name.startswith(("regimeter.", "numpy", "torch"))]
            print("loaded:", sorted(heavy))
        """
    )
    result = pytester.runpytest_subprocess(*loading(), "-p", "no:cacheprovider", "-s")
    assert "loaded: ['regimeter.pytest_plugin']" in result.outlines


def test_launches_are_processes_of_their_own(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        def pytest_addoption(parser):
            parser.addoption("--size", type=int, default=0)
        """
    )
    pytester.makepyfile(
        """
        import os, pathlib
        def test_it(gpu_benchmark, request):
            assert request.config.getoption("--size") == 7
            with open("pids", "a") as file:
                print(os.getpid(), file=file)
            gpu_benchmark.pedantic(sum, args=([1],), rounds=4)
        def test_plain():
            pathlib.Path("plain").open("a").write("x")
        """
    )
    result = run(pytester, "--size=7", "--perf-launches=3", "--perf-save=main", "--junitxml=out.xml", apart=True)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*::test_it *3 processes x 4 x 1*"])
    assert len(set((pytester.path / "pids").read_text().split())) == 3
    assert (pytester.path / "plain").read_text() == "x"
    document = check(json.loads((pytester.path / ".regimeter/perf/0001_main.json").read_text()))
    assert [len(one) for one in document["tests"][0]["metrics"]["time"]] == [4, 4, 4]
    assert len(list(ElementTree.parse(pytester.path / "out.xml").getroot().iter("testcase"))) == 2


def test_a_launch_that_fails_is_told(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pathlib
        def test_it(gpu_benchmark):
            first = not pathlib.Path("ran").exists()
            pathlib.Path("ran").touch()
            gpu_benchmark.pedantic(sum, args=([1],), rounds=2)
            assert first
        """
    )
    result = run(pytester, "--perf-launches=2", apart=True)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["Warning: launch 2: pytest ended with 1: *"])


def test_the_plugin_is_an_entry_point() -> None:

    project = ROOT / "pyproject.toml"
    with project.open("rb") as file:
        points = tomllib.load(file)["project"]["entry-points"]["pytest11"]
    assert points == {"regimeter": "regimeter.pytest_plugin"}
    assert loading() in ([], ["-p", "regimeter.pytest_plugin"])
