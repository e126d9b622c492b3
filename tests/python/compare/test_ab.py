# SPDX-License-Identifier: Apache-2.0
"""`regimeter ab` and `regimeter calibrate noise`: order, stopping, failures, commits, and what is kept."""

import argparse
import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from published import check
from repositories import git

from regimeter import load
from regimeter.cli import main
from regimeter.cli.ab import new_folder, processors
from regimeter.compare.ab import launches as launching
from regimeter.compare.ab.experiment import Experiment
from regimeter.compare.ab.launches import Command, LaunchError, launch
from regimeter.compare.ab.pairs import Pair
from regimeter.compare.ab.spending import spent
from regimeter.compare.side import Side

# Writes scopes of stated lengths, so that what is compared does not depend on the machine: {operation: seconds}.
PROGRAM = """
import os, random, sys
from array import array
from regimeter.public.run import Run

scale = float(sys.argv[1])
gauss = random.Random(os.environ["REGIMETER_RECORD"][-15:]).gauss
names = [f"op{i}" for i in range(12)]
rows = [(name, int(1e6 * gauss(1, 0.002) * (scale if name == "op3" else 1))) for name in names for _ in range(5)]
strings = ["", "main", *names]
spans = {
    "start_ns": array("q", (i * 10_000_000 for i in range(len(rows)))),
    "duration_ns": array("q", (length for _, length in rows)),
    "name": array("I", (strings.index(name) for name, _ in rows)),
    "lane": array("I", [0] * len(rows)),
    "flags": array("I", [0] * len(rows)),
}
tables = {"spans": spans, "lanes": {"name": array("I", [1]), "process": array("q", [1]), "thread": array("q", [1])}}
run = Run._build(strings, tables, "{}", "record", 0, 10_000_000 * len(rows), 0, True)
run.save(os.environ["REGIMETER_RECORD"])
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    path = tmp_path / "bench.py"
    path.write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return path


class Ended:
    """A process that has ended well before anybody waits for it."""

    def wait(self, seconds):
        return 0


@pytest.fixture
def at_once(program, monkeypatch):
    """The program, run in this process when it is launched: for what follows from recordings, whoever made them."""
    code = compile(PROGRAM, "bench.py", "exec")

    def start(command, file, *rest):
        log = f"{file[:-4]}.log"
        Path(log).write_text("")
        with monkeypatch.context() as here:
            here.setenv("REGIMETER_RECORD", file)
            here.setattr(sys, "argv", list(command.program))
            exec(code, {})
        return launching._Started(command, file, log, Ended(), 0.0, 0.01)

    monkeypatch.setattr(launching, "_start", start)
    return program


def ab(*words):
    return main(["ab", *map(str, words)])


def result(folder):
    return check(json.loads((folder / "ab.json").read_text()))


# --- the whole ------------------------------------------------------------------------------------------------


def test_a_slowdown_is_found_and_fails_the_gate(at_once, tmp_path, capsys):
    folder = tmp_path / "out"
    code = ab("--base", f"{at_once} 1", "--current", f"{at_once} 1.2", "--pairs", 6, "--seed", 1, "-o", folder)
    printed = capsys.readouterr()
    found = result(folder)
    rows = {row["operation"]: row for row in found["comparison"]["comparisons"]}
    assert code == 1
    assert rows["op3"]["change_type"] == "regression"
    assert rows["op3"]["tier"] == "paired"
    assert rows["op3"]["change_percent"] == pytest.approx(20, abs=1)
    assert {row["change_type"] for name, row in rows.items() if name != "op3"} == {"no_change"}
    assert found["seed"] == 1
    assert "op3" in printed.out
    assert "seed 1" in printed.out
    assert "pair 1:" in printed.err
    assert sorted(path.name for path in folder.glob("*.rgm"))[0] == "base-01.rgm"
    assert not list(folder.glob("*.log"))


def test_the_same_passes_and_arguments_follow_both_commands(at_once, tmp_path):
    folder = tmp_path / "out"
    assert ab("--base", at_once, "--current", at_once, "--pairs", 5, "-q", "-o", folder, "--", "1") == 0
    found = result(folder)
    assert found["base"] == f"{at_once} 1"
    assert found["ended"] == "all pairs"
    assert found["pairs_used"] == 5
    assert found["level"] == pytest.approx(0.05)


def test_the_order_is_random_and_made_again_by_its_seed(at_once, tmp_path):
    orders = []
    for number, seed in enumerate((7, 7, 8)):
        folder = tmp_path / f"out{number}"
        ab("--base", f"{at_once} 1", "--current", f"{at_once} 1", "--pairs", 4, "--all-pairs", "--seed", seed, "-q",
           "-o", folder)  # fmt: skip
        orders.append([tuple(pair["order"]) for pair in result(folder)["pairs"]])
    assert orders[0] == orders[1] != orders[2]
    assert len(set(orders[0])) == 2


def test_it_stops_when_nothing_is_open(at_once, tmp_path):
    folder = tmp_path / "out"
    assert ab("--base", f"{at_once} 1", "--current", f"{at_once} 1", "--pairs", 10, "-q", "-o", folder) == 0
    found = result(folder)
    assert found["ended"] == "settled"
    assert found["pairs_used"] == 5
    assert found["level"] == pytest.approx(spent(0.05, 0.5))


def test_the_budget_ends_it_with_what_is_there(at_once, tmp_path):
    folder = tmp_path / "out"
    ab("--base", f"{at_once} 1", "--current", f"{at_once} 1", "--pairs", 50, "--all-pairs", "--budget", "0.01s", "-q",
       "-o", folder)  # fmt: skip
    found = result(folder)
    assert found["ended"] == "budget"
    assert found["pairs_used"] == 1
    assert found["comparison"]["comparisons"]


@pytest.mark.parametrize(
    ("fill", "budget", "pairs"), [(True, 60.0, 60), (True, 5.0, 10), (True, math.inf, 10), (False, 60.0, 10)]
)
def test_a_budget_is_filled_where_no_number_of_pairs_is_asked_for(fill, budget, pairs):
    command = Command.parse(["a.py"])
    experiment = Experiment(command, command, "", fill=fill, budget_s=budget)
    experiment.found.pairs.append(Pair(1, ("base", "current"), ("", ""), (Side("a"), Side("b")), (0.4, 0.6)))
    experiment._plan()
    assert experiment.pairs == pairs


def test_both_sides_run_on_the_processors_that_were_asked_for(program, tmp_path, capsys):
    mine = os.sched_getaffinity(0)
    chosen = max(mine)
    script = tmp_path / "where.py"
    script.write_text(
        "import os, sys, regimeter\nwith regimeter.GPUProfiler() as p, p.profile('work', device='cpu'):\n"
        f"    assert os.sched_getaffinity(0) == {{{chosen}}}, os.sched_getaffinity(0)\n"
    )
    folder = tmp_path / "pinned"
    sides = ("--base", script, "--current", script, "--pairs", 1, "--one-after-the-other", "--fail-on", "never")
    assert ab(*sides, "--cpus", chosen, "-o", folder) == 0
    assert result(folder)["cpus"] == [chosen]
    assert f"both sides ran on processor {chosen}" in capsys.readouterr().out
    assert os.sched_getaffinity(0) == mine


@pytest.mark.parametrize(
    ("text", "found"), [("0", {0}), ("0-1,1", {0, 1}), ("9999", None), ("1-0", None), ("a", None), ("", None)]
)
def test_processors_are_numbers_that_there_are(text, found, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})
    if found is not None:
        assert processors(text) == found
        return
    with pytest.raises(argparse.ArgumentTypeError, match="processors"):
        processors(text)


def test_only_some_operations(at_once, tmp_path):
    folder = tmp_path / "out"
    ab("--base", at_once, "--current", at_once, "--pairs", 5, "--ops", "op1*", "-q", "-o", folder, "--", "1")
    names = {row["operation"] for row in result(folder)["comparison"]["comparisons"]}
    assert names == {"op1", "op10", "op11"}


def test_a_program_without_scopes_is_one_operation_on_both_sides(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text("sum(range(1000))\n")
    folder = tmp_path / "out"
    ab("--base", "one.py", "--current", "two.py", "--pairs", 1, "--one-after-the-other", "-q", "-o", folder)
    rows = result(folder)["comparison"]["comparisons"]
    assert [row["operation"] for row in rows] == ["program"]
    assert rows[0]["change_type"] not in ("new_operation", "removed_operation")


# --- failures -------------------------------------------------------------------------------------------------


def test_a_failing_command_is_named_with_its_code_and_last_lines(program, tmp_path, capsys):
    broken = tmp_path / "broken.py"
    broken.write_text("print('first line')\nraise SystemExit(1)\n")
    folder = tmp_path / "out"
    assert ab("--base", f"{program} 1", "--current", broken, "--seed", 1, "-o", folder) == 4
    text = capsys.readouterr().err
    assert "ended with exit code 1" in text
    assert "first line" in text
    assert "current" in text
    assert result(folder)["ended"] == "failed"
    assert any("first line" in path.read_text() for path in folder.glob("*.log"))


@pytest.mark.parametrize(
    "words",
    [
        ["--base", "x.py"],
        ["--base", "", "--current", "x.py"],
        ["--base", "python", "--current", "x.py"],
        ["--base", ".", "--current", "x.py"],
        ["--base", "a.py", "--current", "b.py", "--pairs", "0"],
        ["--base", "a.py", "--current", "b.py", "--budget", "soon"],
        ["--base", "bench.py", "--current", "bench.py", "--metric", "colour"],
        ["--base", "bench.py", "--current", "bench.py", "--alpha", "1.5"],
        ["--base", "bench.py", "--current", "bench.py", "--min-share", "-1"],
        ["--base", "no-such-ref", "--current", "no-such-ref", "--", "x.py"],
    ],
)
def test_wrong_usage(words, program, tmp_path, capsys):
    assert ab(*words) == 2
    said = capsys.readouterr().err
    assert said.startswith("regimeter: ")
    if (option := words[-2]) in ("--metric", "--alpha", "--min-share"):
        assert option in said
    assert not list(tmp_path.glob("regimeter-ab-*")), "nothing runs before all is known to be right"


def test_a_folder_with_something_in_it_is_not_used(program, tmp_path, capsys):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("")
    assert ab("--base", program, "--current", program, "-o", tmp_path / "out") == 2
    assert "not empty" in capsys.readouterr().err


def test_interrupted_it_keeps_and_compares_what_is_there(program, tmp_path):
    folder = tmp_path / "out"
    command = [sys.executable, "-m", "regimeter", "ab", "--base", f"{program} 1", "--current", f"{program} 1.5",
               "--pairs", "200", "--all-pairs", "--one-after-the-other", "-o", str(folder)]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    try:
        for line in process.stderr:
            if line.startswith("regimeter: pair 1:"):
                break
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=300)
    finally:
        process.kill()
    assert process.returncode == 130
    found = result(folder)
    assert found["ended"] == "stopped"
    assert found["pairs_used"] >= 1
    assert "op3" in out
    assert len(found["comparison"]["comparisons"]) == 12


def test_an_interrupted_program_does_not_stay(tmp_path):
    script = tmp_path / "sleeper.py"
    script.write_text("import os, time\nopen(f'{os.getpid()}.pid', 'w').close()\ntime.sleep(600)\n")
    command = [sys.executable, "-m", "regimeter", "ab", "--base", str(script), "--current", str(script),
               "-o", str(tmp_path / "out")]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path)
    try:
        end = time.monotonic() + 300
        while not list(tmp_path.glob("*.pid")) and time.monotonic() < end:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=300)
    finally:
        process.kill()
    assert process.returncode == 130
    begun = [int(path.stem) for path in tmp_path.glob("*.pid")]
    assert begun
    end = time.monotonic() + 60  # the system ends them when their supervisor is gone, not at once
    while any(Path("/proc", str(pid)).exists() for pid in begun) and time.monotonic() < end:
        time.sleep(0.05)
    for pid in begun:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert result(tmp_path / "out")["invalid"] == "no pair was completed"


# --- commits --------------------------------------------------------------------------------------------------


def test_commits_are_run_from_worktrees_and_the_tree_is_left_alone(program, tmp_path, monkeypatch):
    tree = tmp_path / "tree"
    (tree / "sub").mkdir(parents=True)
    git(tree, "init", "-q", "-b", "main")
    (tree / "bench.py").write_text(PROGRAM.replace("sys.argv[1]", "__import__('value').SCALE"))
    (tree / "value.py").write_text("SCALE = 1.0\n")
    git(tree, "add", ".")
    git(tree, "commit", "-q", "-m", "one")
    (tree / "value.py").write_text("SCALE = 1.3\n")
    git(tree, "commit", "-q", "-a", "-m", "two")
    (tree / "value.py").write_text("SCALE = 99.0  # not committed\n")
    monkeypatch.chdir(tree)
    before = git(tree, "status", "--porcelain"), (tree / "value.py").read_text()
    few = "--pairs", 1, "--one-after-the-other", "--fail-on", "never", "-q"
    code = ab("--base", "HEAD~1", "--current", "main", *few, "-o", tmp_path / "out", "--",
              "python", "bench.py")  # fmt: skip
    rows = {row["operation"]: row for row in result(tmp_path / "out")["comparison"]["comparisons"]}
    assert code == 0
    assert rows["op3"]["change_percent"] == pytest.approx(30, abs=1)
    assert (git(tree, "status", "--porcelain"), (tree / "value.py").read_text()) == before
    assert len(git(tree, "worktree", "list").splitlines()) == 1
    assert len(load(str(tmp_path / "out" / "base-01.rgm")).spans) == 60
    assert ab("--base", "main", "--current", ".", *few, "-o", tmp_path / "here", "--", "bench.py") == 0
    rows = {row["operation"]: row for row in result(tmp_path / "here")["comparison"]["comparisons"]}
    assert rows["op3"]["change_percent"] > 5000


# --- commands and launches ------------------------------------------------------------------------------------


def test_command_lines():
    plain = Command.parse(["bench.py", "--fast"])
    assert plain.interpreter == (sys.executable,)
    assert plain.program == ("bench.py", "--fast")
    options = Command.parse(["python3", "-O", "-X", "dev", "-m", "pkg.bench", "1"])
    assert options.interpreter == (sys.executable, "-O", "-X", "dev")
    assert options.program == ("-m", "pkg.bench", "1")
    assert options.name == "pkg.bench"
    assert Command.parse(["/opt/python3.12", "a.py"]).interpreter == ("/opt/python3.12",)
    with pytest.raises(ValueError, match="names no program"):
        Command.parse(["python", "-O"])


def test_a_launch_ended_by_a_signal_says_so(tmp_path):
    (tmp_path / "dies.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\n")
    with pytest.raises(LaunchError, match="SIGTERM") as caught:
        launch(Command.parse([str(tmp_path / "dies.py")]), str(tmp_path / "run.rgm"))
    assert caught.value.code == -signal.SIGTERM


# --- noise ----------------------------------------------------------------------------------------------------


def test_calibrate_noise_learns_prints_and_keeps(at_once, tmp_path, capsys):
    assert main(["calibrate", "noise", "--repeat", "8", "-q", "--json", "--", str(at_once), "1"]) == 0
    found = check(json.loads(capsys.readouterr().out))
    assert found["launches"] == 8
    assert len(found["operations"]) == 12
    assert 0 < found["overall"] < 0.01  # the program's medians of 5 differ by about .1 %
    assert [row["comparisons"] for row in found["alarms"]] == [48, 24, 12]
    assert all(row["low"] <= row["alarms"] / row["comparisons"] <= row["high"] for row in found["alarms"])
    assert [row["pairs"] for row in found["detectable"]] == [0, 5, 10, 20, 40]
    assert os.path.exists(found["file"])
    assert found["file"].startswith(str(tmp_path / "cache"))


def test_calibrate_noise_in_words(at_once, capsys):
    assert main(["calibrate", "noise", "--repeat", "4", "-q", "--dry-run", "--", str(at_once), "1"]) == 0
    text = capsys.readouterr().out
    assert "noise floor" in text
    assert "95 % interval" in text
    assert "10 pairs" in text
    assert main(["calibrate", "noise", "--repeat", "2"]) == 2


def test_experiments_of_one_second_have_folders_of_their_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("time.strftime", lambda form: "20260101-000000")
    assert [new_folder(None, "ab") for _ in range(3)] == [
        "regimeter-ab-20260101-000000", "regimeter-ab-20260101-000000-2", "regimeter-ab-20260101-000000-3",
    ]  # fmt: skip
    assert len(list(tmp_path.iterdir())) == 3
