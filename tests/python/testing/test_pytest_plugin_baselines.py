# SPDX-License-Identifier: Apache-2.0
"""Baselines of the pytest plugin: how they are kept, and what may be one: whole sessions with possible figures, where
environments compare."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from plugin_session import run, save, session, timed
from published import check

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
    saved: pytest.Pytester,
    stop: str,
    options: tuple[str, ...],
    code: int,
    said: str,
    saving: tuple[str, ...],
) -> None:
    apart = "assert" not in stop  # what ends a session would end this one
    saved.makepyfile(HALF.format(stop=stop))
    for wanted in saving:
        result = run(saved, wanted, "--perf-json=out.json", *options, apart=apart)
        assert result.ret == code
        result.stdout.fnmatch_lines(
            [f"Nothing was saved: {said.replace('(', '[(]')}, and part of a session is no baseline"]
        )
        assert json.loads((saved.path / "out.json").read_text())["partial"] == said
    assert [path.name for path in (saved.path / ".regimeter" / "perf").iterdir()] == ["0001_main.json"]
    result = run(saved, "--perf-compare=main", *options, apart=apart)
    result.stdout.no_fnmatch_line("PERF GATE PASSED*")
    result.stdout.fnmatch_lines([f"PERF GATE OF PART OF THE TESTS *{said.replace('(', '[(]')}"])


def test_a_session_that_lost_a_worker_is_no_baseline(faked: pytest.Pytester) -> None:
    pytest.importorskip("xdist")
    faked.makepyfile(HALF.format(stop="import os; os._exit(9)"))
    result = run(faked, "-p", "xdist", "-n", "2", "--perf-save=main", apart=True)
    result.stdout.fnmatch_lines(["Nothing was saved: the session lost 1 of its workers (gw*, and part of a session *"])
    assert not (faked.path / ".regimeter").exists()


def test_tests_of_one_side_are_named(faked: pytest.Pytester) -> None:
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


def test_a_baseline_with_which_nothing_compares_decides_nothing(faked: pytest.Pytester) -> None:
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
    ("options", "code"),
    [
        ((), 4),
        (("--perf-report=junit:z.xml", "--perf-compare-fail=time:5%"), 4),
        (("--perf-missing-baseline=fail",), 4),
        (("--perf-missing-baseline=skip",), 4),
        (("--perf-compare-fail=never",), 0),
        (("--perf-disable",), 0),
        (("--perf-skip",), 0),
        (("-k", "absent"), 5),
    ],
)
@pytest.mark.parametrize("marked", ["", "@pytest.mark.skip"])
def test_a_session_that_measured_nothing_does_not_pass(
    saved: pytest.Pytester, marked: str, options: tuple[str, ...], code: int
) -> None:
    saved.makepyfile(timed(1e-3, marker=marked) + "\n        def test_plain(): pass\n")
    result = run(saved, "--perf-compare=main", "-k", "not test_step" if not marked else "", *options)
    assert result.ret == code
    result.stdout.no_fnmatch_line("PERF GATE PASSED*")
    said = "PERF GATE NOTHING DECIDED  no benchmark of this session was measured*"
    if "--perf-disable" in options or "--perf-skip" in options:
        result.stdout.no_fnmatch_line(said)
    else:
        result.stdout.fnmatch_lines([said])


def test_without_a_baseline_a_session_that_measured_nothing_says_so(faked: pytest.Pytester) -> None:
    faked.makepyfile("def test_plain(): pass")
    result = run(faked, "--perf-compare=main")
    assert result.ret == 4
    result.stdout.fnmatch_lines(["PERF GATE NOTHING DECIDED  no benchmark of this session was measured*"])
    faked.makepyfile(timed(1e-3))
    assert run(faked, "--perf-compare=main", "--perf-missing-baseline=skip").ret == 0, "the first session skips all"


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
    faked: pytest.Pytester,
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


def test_a_baseline_that_is_nested_too_deeply(faked: pytest.Pytester) -> None:
    faked.makepyfile(timed(1e-3))
    save(faked.path, {}).write_text("[" * 100_000 + "]" * 100_000)
    result = run(faked, "--perf-compare=main")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*0001_main.json cannot be read as a saved session: nested too deeply; save the session*"]
    )


# --- how they are kept ------------------------------------------------------------------------------------------


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
    for number in ("2", "0002", "02"):
        run(faked, f"--perf-compare={number}").stdout.fnmatch_lines(["Baseline: *0002_main.json*"])


@pytest.mark.parametrize("storage", ["folder", "sqlite:///history.db"])
def test_a_session_that_was_saved_twice_is_one_launch(faked: pytest.Pytester, storage: str) -> None:
    faked.makepyfile(timed(1e-3))
    for name in ("main", "nightly"):
        assert run(faked, f"--perf-save={name}", "--perf-autosave", f"--perf-storage={storage}").ret == 0
    references = [f"--perf-compare={name}" for name in ("main", "main", "nightly", "autosave:2")]
    result = run(faked, *references, "--perf-json=out.json", f"--perf-storage={storage}")
    row = json.loads((faked.path / "out.json").read_text())["comparison"]["comparisons"][0]
    assert row["baseline_launches"] == 2
    result.stdout.fnmatch_lines(["Warning: * is a session that the baseline already has: it counts once"])


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
