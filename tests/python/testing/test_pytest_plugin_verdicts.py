# SPDX-License-Identifier: Apache-2.0
"""Verdicts of the pytest plugin at the end of a session, on samples that the tests write."""

import json
import random
import xml.etree.ElementTree as ElementTree

import pytest
from plugin_session import run, save, session, timed
from published import check

pytest_plugins = ["pytester"]


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


def test_a_regression_fails_the_session_and_no_test(saved: pytest.Pytester) -> None:
    assert run(saved, "--perf-compare=main").ret == 0
    saved.makepyfile(timed(1.2e-3))
    result = run(saved, "--perf-compare=main", "--junitxml=out.xml", "--perf-json=out.json")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["PERF GATE FAILED  1 regression*", "SLOWER *test_step*1 ms -> 1.2 ms*+20.0 %*"])
    cases = ElementTree.parse(saved.path / "out.xml").getroot().iter("testcase")
    told = {one.get("name"): one.get("value") for case in cases for one in case.iter("property")}
    assert told["perf.time.verdict"] == "regression"
    assert float(told["perf.time.change_percent"]) == pytest.approx(20, abs=0.1)
    assert float(told["perf.time.low_percent"]) < 20 < float(told["perf.time.high_percent"])
    assert 0 <= float(told["perf.time.q"]) < 0.05
    written = check(json.loads((saved.path / "out.json").read_text()))
    assert written["failed"] is True
    assert written["comparison"]["comparisons"][0]["change_type"] == "regression"
    assert len(written["tests"][0]["metrics"]["time"][0]) == 20


def test_a_slowdown_of_everything_fails_although_no_test_stands_out(faked: pytest.Pytester) -> None:
    here = "test_a_slowdown_of_everything_fails_although_no_test_stands_out.py"
    luck = random.Random(1)
    samples = {
        f"{here}::test_step[{number}]": {
            "time": [[1e-3 * (1 + number) * luck.uniform(0.99, 1.01)] * 5 for _ in range(3)]
        }
        for number in range(12)
    }
    save(faked.path, session(samples))
    faked.makepyfile(
        """
        import os, random
        import pytest
        @pytest.mark.parametrize("number", range(12))
        def test_step(gpu_benchmark, work, number):
            luck = 1 + random.Random(os.getpid() * 100 + number).uniform(-0.01, 0.01)  # of this process
            gpu_benchmark.pedantic(work, args=(1.3e-3 * (1 + number) * luck,), rounds=5)
        """
    )
    result = run(faked, "--perf-compare=main", "--perf-launches=3")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["PERF GATE FAILED*everything together slower*", "All tests together: +[23]?.? %*"])


def test_an_improvement_passes_and_is_told(saved: pytest.Pytester) -> None:
    saved.makepyfile(timed(0.8e-3))
    result = run(saved, "--perf-compare=main")
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
def test_thresholds_of_options_and_markers(saved: pytest.Pytester, options: list[str], marker: str, code: int) -> None:
    saved.makepyfile(timed(1.2e-3, marker=marker))
    assert run(saved, "--perf-compare=main", *options).ret == code


def test_a_difference_below_its_threshold_passes_and_is_told(saved: pytest.Pytester) -> None:
    saved.makepyfile(timed(1.1e-3, marker=f"@{WIDE}"))
    result = run(saved, "--perf-compare=main")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*::test_step*real, below the threshold*"])


def test_what_cannot_be_told_from_the_machine_is_no_pass(saved: pytest.Pytester) -> None:
    saved.makepyfile(timed(1.2e-3))
    result = run(saved, "--perf-compare=main", "--perf-noise=30%", "--perf-json=out.json")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["PERF GATE UNDECIDED*1 unchanged (1 for want of data)*"])
    assert json.loads((saved.path / "out.json").read_text())["comparison"]["outcome"] == "undecided"


def test_an_accepted_regression_passes_until_its_day(saved: pytest.Pytester) -> None:
    saved.makepyfile(timed(1.2e-3, marker="@pytest.mark.gpu_perf(accept='checks inputs', until='2999-12-31')"))
    accepted = run(saved, "--perf-compare=main")
    assert accepted.ret == 0
    accepted.stdout.fnmatch_lines(["PERF GATE PASSED  1 regression (1 accepted)*", "SLOWER *accepted: checks inputs*"])
    saved.makepyfile(timed(1.2e-3, marker="@pytest.mark.gpu_perf(accept='checks inputs', until='2001-12-31')"))
    expired = run(saved, "--perf-compare=main")
    assert expired.ret == 1
    expired.stdout.fnmatch_lines(["No longer accepted: *accepted until 2001-12-31 (checks inputs)"])


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
