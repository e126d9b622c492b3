# SPDX-License-Identifier: Apache-2.0
"""What may be a baseline of the pytest plugin: whole sessions with possible figures, where environments compare."""

import json

import pytest
from plugin_session import run, save, session, settled  # noqa: F401  (a fixture)
from test_pytest_plugin import faked, timed  # noqa: F401  (a fixture)

pytest_plugins = ["pytester"]

HALF = """
    import pytest
    def test_step(gpu_benchmark, work):
        gpu_benchmark.pedantic(work, args=(1e-3,), rounds=9)
    def test_stop():
        {stop}
    def test_later(gpu_benchmark, work):
        gpu_benchmark.pedantic(work, args=(1e-3,), rounds=9)
"""


SAVING = ("--perf-save=main", "--perf-autosave", "--perf-update-baseline")


@pytest.mark.parametrize(
    ("stop", "options", "code", "said", "saving"),
    [
        ("raise KeyboardInterrupt", (), 2, "the session was interrupted", SAVING[::2]),
        ("pytest.exit('enough')", (), 2, "the session was interrupted", SAVING[1:2]),
        ("assert False", ("-x",), 1, "the session ended early (stopping after 1 failures)", SAVING),
    ],
)
def test_part_of_a_session_is_no_baseline(
    faked: pytest.Pytester,  # noqa: F811
    stop: str,
    options: tuple[str, ...],
    code: int,
    said: str,
    saving: tuple[str, ...],
) -> None:
    apart = "assert" not in stop  # what ends a session would end this one
    faked.makepyfile(timed(1e-3))
    run(faked, "--perf-save=main")
    faked.makepyfile(HALF.format(stop=stop))
    for wanted in saving:
        result = run(faked, wanted, "--perf-json=out.json", *options, apart=apart)
        assert result.ret == code
        result.stdout.fnmatch_lines(
            [f"Nothing was saved: {said.replace('(', '[(]')}, and part of a session is no baseline"]
        )
        assert json.loads((faked.path / "out.json").read_text())["partial"] == said
    assert [path.name for path in (faked.path / ".regimeter" / "perf").iterdir()] == ["0001_main.json"]
    result = run(faked, "--perf-compare=main", *options, apart=apart)
    result.stdout.no_fnmatch_line("PERF GATE PASSED*")
    result.stdout.fnmatch_lines([f"PERF GATE OF PART OF THE TESTS *{said.replace('(', '[(]')}"])


def test_a_session_that_lost_a_worker_is_no_baseline(faked: pytest.Pytester) -> None:  # noqa: F811
    pytest.importorskip("xdist")
    faked.makepyfile(HALF.format(stop="import os; os._exit(9)"))
    result = run(faked, "-p", "xdist", "-n", "2", "--perf-save=main", apart=True)
    result.stdout.fnmatch_lines(["Nothing was saved: the session lost 1 of its workers (gw*, and part of a session *"])
    assert not (faked.path / ".regimeter").exists()


def test_tests_of_one_side_are_named(faked: pytest.Pytester) -> None:  # noqa: F811
    here = "test_tests_of_one_side_are_named.py"
    save(faked.path, session({f"{here}::test_step": {"time": [[1e-3] * 20]}, f"{here}::test_gone": {"time": [[1.0]]}}))
    faked.makepyfile(timed(1e-3) + "\n        def test_new(gpu_benchmark, work):\n"
                     "            gpu_benchmark.pedantic(work, args=(1e-3,), rounds=9)\n")  # fmt: skip
    result = run(faked, "--perf-compare=main")
    assert result.ret == 0
    result.stdout.fnmatch_lines([
        "PERF GATE PASSED*, 1 without baseline",
        f"Not judged, the baseline does not have them: {here}::test_new",
        f"1 test of the baseline did not run: {here}::test_gone",
    ])  # fmt: skip


def test_a_baseline_with_which_nothing_compares_decides_nothing(faked: pytest.Pytester) -> None:  # noqa: F811
    name = "test_a_baseline_with_which_nothing_compares_decides_nothing.py::test_step"
    faked.makepyfile(timed(1e-3))
    other = {"metadata": {"batch_size": 8}, "device": {"name": "A100"}}
    for document, said in (
        (session({"other.py::test_step": {"time": [[1e-3] * 9]}}), "no benchmark of this session can be compared"),
        (
            session({name: {"time": [[1e-3] * 9]}}, environment={**other, "units": {"*_ms": "hours"}}),
            "not comparable: ",
        ),
    ):
        save(faked.path, document)
        result = run(faked, "--perf-compare=main")
        result.assert_outcomes(passed=1)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stdout.fnmatch_lines([f"PERF GATE NOTHING DECIDED  {said}*"])
        assert run(faked, "--perf-compare=main", "--perf-compare-fail=never").ret == 0
        assert run(faked, "--perf-compare=main", "--perf-update-baseline").ret == 0, "that is what replaces it"
        for path in (faked.path / ".regimeter" / "perf").iterdir():
            path.unlink()


@pytest.mark.parametrize(
    ("metrics", "place"),
    [
        ({"time": [[1e-3, -1.0]]}, "tests[0].metrics.time[0][1] is -1.0, no time in seconds"),
        ({"time": [[0.0]]}, "tests[0].metrics.time[0][0] is 0.0, no time"),
        ({"time": [[1e308]]}, "tests[0].metrics.time[0][0] is 1e+308, no time"),
        ({"time": [["fast"]]}, "tests[0].metrics.time[0][0] is 'fast', no time"),
        ({"time": [[True]]}, "tests[0].metrics.time[0][0] is True, no time"),
        ({"time": [[float("nan")]]}, "tests[0].metrics.time[0][0] is nan, no time"),
        ({"memory_peak": [[-5]]}, "tests[0].metrics.memory_peak[0][0] is -5, no amount"),
        ({"time": [1.0]}, "tests[0].metrics.time is no list of launches"),
        ([1.0], "tests[0].metrics is no object"),
    ],
)
def test_a_damaged_baseline_is_one_error_with_its_place(
    faked: pytest.Pytester,  # noqa: F811
    metrics: object,
    place: str,
) -> None:
    faked.makepyfile(timed(1e-3))
    path = save(faked.path, session({"a.py::test_it": metrics}))  # type: ignore[dict-item]
    result = run(faked, "--perf-compare=main")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = [line for line in result.errlines if line]
    assert path.name in line
    assert place in line
    assert "save the session anew with --perf-save" in line


def test_a_baseline_that_is_nested_too_deeply(faked: pytest.Pytester) -> None:  # noqa: F811
    faked.makepyfile(timed(1e-3))
    save(faked.path, {}).write_text("[" * 100_000 + "]" * 100_000)
    result = run(faked, "--perf-compare=main")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*0001_main.json cannot be read as a saved session: nested too deeply; save the session*"]
    )
