# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin: fixtures, storage, verdicts at the end of a session.

Verdicts are tested with samples that the tests write: a stand-in for the clock makes every call last what the test
says, so no verdict here hangs on how fast the machine is.
"""

import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from places import ROOT
from plugin_session import loading, run, save, session, settled  # noqa: F401  (a fixture)
from published import check

pytest_plugins = ["pytester"]

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
    return f"""
        import pytest
        {marker}
        def test_step(gpu_benchmark, work):
            gpu_benchmark.pedantic(work, args=({seconds},), rounds={rounds})
    """


@pytest.fixture
def faked(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeconftest(CLOCK)
    pytester.makeini("[pytest]\naddopts = --perf-noise=1%")  # nothing but the code moves this clock
    return pytester


# --- the fixture ------------------------------------------------------------------------------------------------


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


# --- verdicts ---------------------------------------------------------------------------------------------------


def test_without_a_baseline_the_session_passes_and_says_how_to_make_one(faked: pytest.Pytester) -> None:
    faked.makepyfile(timed(1e-3))
    result = run(faked, "--perf-compare=main")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["There is no baseline 'main' in *", "Make one: *pytest --perf-save main*"])


def test_missing_baseline_can_fail_or_skip(faked: pytest.Pytester) -> None:
    faked.makepyfile(timed(1e-3))
    failed = run(faked, "--perf-compare=main", "--perf-missing-baseline=fail")
    assert failed.ret == pytest.ExitCode.TESTS_FAILED
    failed.assert_outcomes(passed=1)
    failed.stdout.fnmatch_lines(["PERF GATE FAILED*1 without baseline"])
    run(faked, "--perf-compare=main", "--perf-missing-baseline=skip").assert_outcomes(skipped=1)


def test_a_regression_fails_the_session_and_no_test(faked: pytest.Pytester) -> None:
    faked.makepyfile(timed(1e-3))
    assert run(faked, "--perf-save=main").ret == 0
    assert run(faked, "--perf-compare=main").ret == 0
    faked.makepyfile(timed(1.2e-3))
    result = run(faked, "--perf-compare=main", "--junitxml=out.xml", "--perf-json=out.json")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["PERF GATE FAILED  1 regression*", "SLOWER *test_step*1 ms -> 1.2 ms*+20.0 %*"])
    cases = ElementTree.parse(faked.path / "out.xml").getroot().iter("testcase")
    told = {one.get("name"): one.get("value") for case in cases for one in case.iter("property")}
    assert told["perf.time.verdict"] == "regression"
    assert float(told["perf.time.change_percent"]) == pytest.approx(20, abs=0.1)
    assert float(told["perf.time.low_percent"]) < 20 < float(told["perf.time.high_percent"])
    assert 0 <= float(told["perf.time.q"]) < 0.05
    written = check(json.loads((faked.path / "out.json").read_text()))
    assert written["failed"] is True
    assert written["comparison"]["comparisons"][0]["change_type"] == "regression"
    assert len(written["tests"][0]["metrics"]["time"][0]) == 20


def test_a_slowdown_of_everything_fails_although_no_test_stands_out(faked: pytest.Pytester) -> None:
    many = """
        import os, random
        import pytest
        @pytest.mark.parametrize("number", range(12))
        def test_step(gpu_benchmark, work, number):
            luck = 1 + random.Random(os.getpid() * 100 + number).uniform(-0.01, 0.01)  # of this process
            gpu_benchmark.pedantic(work, args=(SECONDS * (1 + number) * luck,), rounds=5)
    """
    faked.makepyfile(many.replace("SECONDS", "1e-3"))
    assert run(faked, "--perf-save=main", "--perf-launches=3").ret == 0
    faked.makepyfile(many.replace("SECONDS", "1.3e-3"))
    result = run(faked, "--perf-compare=main", "--perf-launches=3")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["PERF GATE FAILED*everything together slower*", "All tests together: +[23]?.? %*"])


def test_an_improvement_passes_and_is_told(faked: pytest.Pytester) -> None:
    faked.makepyfile(timed(1e-3))
    run(faked, "--perf-save=main")
    faked.makepyfile(timed(0.8e-3))
    result = run(faked, "--perf-compare=main")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["PERF GATE PASSED*1 improvement*", "faster *-20.0 %*"])


WIDE = "pytest.mark.gpu_perf(threshold=60)"


@pytest.mark.parametrize(
    ("options", "marker", "code"),
    [
        ([], "", 1),
        (["--perf-compare-fail=time:250%"], "", 0),
        (["--perf-compare-fail=time:12.5%"], "", 1),
        (["--perf-compare-fail=time:50%"], "@pytest.mark.gpu_perf(threshold='12%')", 1),
        ([], f"@{WIDE}", 0),
        ([], f"pytestmark = {WIDE}\n        @pytest.mark.gpu_perf(threshold='12%')", 1),  # the closest one counts
        (["--perf-compare-fail=never"], "", 0),
        (["--perf-compare-fail=memory_peak:5%"], "", 0),
        (["--perf-compare-fail=time:50%", "--perf-compare-fail=time:10%"], "", 1),
    ],
)
def test_thresholds_of_options_and_markers(faked: pytest.Pytester, options: list[str], marker: str, code: int) -> None:
    faked.makepyfile(timed(1e-3))
    run(faked, "--perf-save=main")
    faked.makepyfile(timed(1.2e-3, marker=marker))
    assert run(faked, "--perf-compare=main", *options).ret == code


def test_a_difference_below_its_threshold_passes_and_is_told(faked: pytest.Pytester) -> None:
    faked.makepyfile(timed(1e-3))
    run(faked, "--perf-save=main")
    faked.makepyfile(timed(1.1e-3, marker=f"@{WIDE}"))
    result = run(faked, "--perf-compare=main")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*::test_step*real, below the threshold*"])


def test_an_accepted_regression_passes_until_its_day(faked: pytest.Pytester) -> None:
    faked.makepyfile(timed(1e-3))
    run(faked, "--perf-save=main")
    faked.makepyfile(timed(1.2e-3, marker="@pytest.mark.gpu_perf(accept='checks inputs', until='2999-12-31')"))
    accepted = run(faked, "--perf-compare=main")
    assert accepted.ret == 0
    accepted.stdout.fnmatch_lines(["PERF GATE PASSED  1 regression (1 accepted)*", "SLOWER *accepted: checks inputs*"])
    faked.makepyfile(timed(1.2e-3, marker="@pytest.mark.gpu_perf(accept='checks inputs', until='2001-12-31')"))
    expired = run(faked, "--perf-compare=main")
    assert expired.ret == 1
    expired.stdout.fnmatch_lines(["No longer accepted: *accepted until 2001-12-31 (checks inputs)"])


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


def test_all_tests_are_one_family(faked: pytest.Pytester) -> None:
    """q of each row is its p adjusted for every test of the session, whatever threshold the test has."""
    samples = {}
    body = ["import pytest"]
    for number in range(6):
        name = f"test_all_tests_are_one_family.py::test_{number}"
        samples[name] = {"time": [[1e-3 * (1 + 0.0004 * (i * 5 % 7 - 3)) for i in range(20)]]}
        marker = f"@pytest.mark.gpu_perf(threshold={1 + number})"
        body.append(f"{marker}\ndef test_{number}(gpu_benchmark, work):")
        body.append(f"    gpu_benchmark.pedantic(work, args=({1e-3 * (1 + 0.006 * number)},), rounds=20)")
    save(faked.path, session(samples))
    faked.makepyfile("\n".join(body))
    run(faked, "--perf-compare=main", "--perf-json=out.json")
    rows = json.loads((faked.path / "out.json").read_text())["comparison"]["comparisons"]
    p = sorted((row["p"], row["operation"]) for row in rows)
    assert len(p) == 6
    # Benjamini and Hochberg, the slow way.
    naive = {
        name: min(len(p) * other / (rank + 1) for rank, (other, _) in enumerate(p) if rank >= at)
        for at, (_, name) in enumerate(p)
    }
    for row in rows:
        assert row["q"] == pytest.approx(min(1.0, naive[row["operation"]]), rel=1e-9)


def test_a_test_that_fails_is_neither_compared_nor_saved(faked: pytest.Pytester) -> None:
    faked.makepyfile(
        "def test_it(gpu_benchmark, work):\n    gpu_benchmark.pedantic(work, args=(1e-3,), rounds=5)\n    assert 0\n"
    )
    result = run(faked, "--perf-save=main")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["Nothing was saved: no benchmark passed"])
    assert not (faked.path / ".regimeter").exists()


def test_update_makes_the_session_the_baseline_and_keeps_what_did_not_run(faked: pytest.Pytester) -> None:
    save(faked.path, session({"other.py::test_old": {"time": [[1.0]]}}))
    faked.makepyfile(timed(1e-3))
    assert run(faked, "--perf-update-baseline").ret == 0
    faked.makepyfile(timed(1.5e-3))
    result = run(faked, "--perf-compare=main", "--perf-update-baseline")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["Baseline updated: *0003_main.json", "The new baseline takes over 1 regressions*"])
    document = check(json.loads((faked.path / ".regimeter/perf/0003_main.json").read_text()))
    assert {one["operation"].rpartition("::")[2] for one in document["tests"]} == {"test_step", "test_old"}
    assert run(faked, "--perf-compare=main").ret == 0


def test_several_saved_sessions_are_launches(faked: pytest.Pytester) -> None:
    faked.makepyfile(timed(1e-3))
    for _ in range(3):
        run(faked, "--perf-save=main")
    run(faked, "--perf-compare=main:3", "--perf-json=out.json")
    row = json.loads((faked.path / "out.json").read_text())["comparison"]["comparisons"][0]
    assert row["baseline_launches"] == 3


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("{", "cannot be read as a saved session"),
        ('{"format": "other"}', "its format is not 'regimeter.perf'"),
        ('{"format": "regimeter.perf", "version": 9}', "its version is 9"),
        ('{"format": "regimeter.perf", "version": 1, "tests": [1]}', "no list of records"),
        ("[]", "its format is not"),
    ],
)
def test_an_unreadable_baseline_ends_the_session_before_the_first_test(
    faked: pytest.Pytester, text: str, error: str
) -> None:
    save(faked.path, {}).write_text(text)
    faked.makepyfile(timed(1e-3))
    result = run(faked, "--perf-compare=main")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*0001_main.json*{error}*"])


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


def test_hostile_names_stay_names(faked: pytest.Pytester) -> None:
    name = "../../etc/pass wd\n<&>"
    faked.makepyfile(timed(1e-3))
    assert run(faked, f"--perf-save={name}").ret == 0
    files = list((faked.path / ".regimeter" / "perf").iterdir())
    assert len(files) == 1
    assert json.loads(files[0].read_text())["name"] == name
    from regimeter.testing.storage import FileStorage

    assert len(FileStorage(files[0].parent).find(name)) == 1


def test_a_database_keeps_sessions_as_files_do(faked: pytest.Pytester, history_place: str) -> None:
    place = history_place if "://" in history_place else f"sqlite:///{history_place}"
    storage = f"--perf-storage={place}"
    faked.makepyfile(timed(1e-3))
    for _ in range(2):
        assert run(faked, storage, "--perf-save=main").ret == 0
    assert run(faked, storage, "--perf-compare=main:2").ret == 0
    faked.makepyfile(timed(1.2e-3))
    result = run(faked, storage, "--perf-compare=main", "--perf-report=junit:out.xml")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["PERF GATE FAILED  1 regression*", "Baseline: run 2 (main)*"])
    assert "<failure" in (faked.path / "out.xml").read_text()
    result = run(faked, storage, "--perf-compare=other")
    result.stdout.fnmatch_lines(["There is no baseline 'other'*"])
    # The runs are the history's own: its verbs see the test as an operation, and the newest session last.
    from regimeter.history import open_history
    from regimeter.history.series import series_of

    history = open_history(history_place, create=False)
    (operation,) = history.operations()
    (series,) = series_of(history, operation)
    assert operation.endswith(".py::test_step")
    assert [point.launches for point in series.points] == [1, 1]


# --- duets ------------------------------------------------------------------------------------------------------


def test_a_duet_finds_the_slower_function_and_fails_the_session(faked: pytest.Pytester) -> None:
    faked.makepyfile(
        """
        def test_duet(gpu_benchmark, work):
            found = gpu_benchmark.duet(lambda: work(1e-3), lambda: work(1.1e-3), pairs=60)
            assert abs(found.row.change_percent - 10) < 0.2
            assert "one process" in found.cannot_see
        """
    )
    result = run(faked)
    result.assert_outcomes(passed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["PERF GATE FAILED  1 regression*", "SLOWER *+10.0 %*", "Duets: *was not seen"])


def test_a_duet_of_equals_passes_and_leaves_random_numbers_alone(faked: pytest.Pytester) -> None:
    faked.makepyfile(
        """
        import random
        def test_duet(gpu_benchmark, work):
            state, order = random.getstate(), []
            def old(): order.append("old"); work(1e-3)
            def new(): order.append("new"); work(1e-3)
            gpu_benchmark.duet(old, new, pairs=50)
            assert random.getstate() == state
            pairs = [tuple(order[-100:][at:at + 2]) for at in range(0, 100, 2)]
            assert set(pairs) == {("old", "new"), ("new", "old")}
        """
    )
    result = run(faked)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["PERF GATE PASSED*1 unchanged*"])


# --- the plugin as a guest --------------------------------------------------------------------------------------


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


def test_two_sessions_that_save_at_once_keep_both(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from regimeter.testing.storage import FileStorage\n"
        "store = FileStorage(Path(sys.argv[1]))\n"
        "for i in range(20): store.save({'format': 'regimeter.perf', 'version': 1, 'name': sys.argv[2], 'tests': []})\n"
    )
    children = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path), name]) for name in ("a", "b")]
    assert [child.wait(300) for child in children] == [0, 0]
    names = sorted(path.name for path in tmp_path.iterdir())
    assert len(names) == 40
    assert sum(name.endswith("_a.json") for name in names) == 20


def test_the_plugin_is_an_entry_point() -> None:
    import tomllib

    project = ROOT / "pyproject.toml"
    with project.open("rb") as file:
        points = tomllib.load(file)["project"]["entry-points"]["pytest11"]
    assert points == {"regimeter": "regimeter.pytest_plugin"}
    assert loading() in ([], ["-p", "regimeter.pytest_plugin"])
