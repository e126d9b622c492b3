# SPDX-License-Identifier: Apache-2.0
"""`regimeter ab` and `regimeter calibrate noise`: order, rejection, stopping, failures, commits, and what is kept."""

import argparse
import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from published import check

from regimeter import GPUProfiler, load
from regimeter.cli import main
from regimeter.cli.ab import new_folder, processors
from regimeter.compare import noise_floor
from regimeter.compare.ab import launches as launching
from regimeter.compare.ab.experiment import Experiment
from regimeter.compare.ab.launches import Command, LaunchError, launch
from regimeter.compare.ab.pairs import Pair, common_mode, judge, most_rejected, sides_of, slowed_by
from regimeter.compare.ab.spending import levels_of, looks_of, spent
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
        ["--base", "no-such-ref", "--current", "no-such-ref", "--", "x.py"],
    ],
)
def test_wrong_usage(words, program, capsys):
    assert ab(*words) == 2
    assert capsys.readouterr().err.startswith("regimeter: ")


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
    script.write_text("import os, time\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(600)\n")
    command = [sys.executable, "-m", "regimeter", "ab", "--base", str(script), "--current", str(script),
               "-o", str(tmp_path / "out")]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path)
    try:
        end = time.monotonic() + 300
        while not ((tmp_path / "pid").exists() and (tmp_path / "pid").read_text()) and time.monotonic() < end:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=300)
    finally:
        process.kill()
    assert process.returncode == 130
    end = time.monotonic() + 60  # the system ends it when its supervisor is gone, not at once
    while (Path("/proc") / (tmp_path / "pid").read_text()).exists() and time.monotonic() < end:
        time.sleep(0.05)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
    assert result(tmp_path / "out")["invalid"] == "no pair was completed"


# --- commits --------------------------------------------------------------------------------------------------


def git(folder, *words):
    who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


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


# --- pairs ----------------------------------------------------------------------------------------------------


def side(values):
    found = Side("side")
    for name, samples in values.items():
        found.metric("time").add(name, samples)
    return found


def pair(number, base, current, **fields):
    both = side(base), side(current)
    return Pair(number, ("base", "current"), ("", ""), both, common_mode=common_mode(*both), **fields)


def machine(factor, *, slow=1.0, operations=12):
    base = {f"op{i}": [1.0, 1.1, 1.2] for i in range(operations)}
    current = {name: [factor * value for value in samples] for name, samples in base.items()}
    current["op0"] = [slow * value for value in current["op0"]]
    return base, current


def test_the_common_mode_is_the_median_ratio_and_needs_ten_operations():
    assert common_mode(*map(side, machine(1.07, slow=3))) == pytest.approx(math.log(1.07))
    assert common_mode(*map(side, machine(1.07, operations=9))) is None


def test_a_pair_that_the_machine_disturbed_is_rejected():
    pairs = [pair(i, *machine(factor)) for i, factor in enumerate((1.0, 1.02, 1.1, 0.99, 1.0), 1)]
    judge(pairs)
    assert [one.number for one in pairs if one.rejected] == [3]
    assert "+10.0 %" in pairs[2].rejected


def test_a_change_of_the_whole_program_is_no_disturbance():
    pairs = [pair(i, *machine(1.5)) for i in range(1, 6)]
    judge(pairs)
    assert not any(one.rejected for one in pairs)


def test_the_values_of_one_operation_never_reject_a_pair():
    pairs = [pair(i, *machine(1.0, slow=slow)) for i, slow in enumerate((1, 100, 0.01, 1, 5), 1)]
    judge(pairs)
    assert not any(one.rejected for one in pairs)


def test_throttling_and_another_frequency_reject_a_pair():
    pairs = [
        pair(1, *machine(1.0), slowed=("hw_thermal",)),
        pair(2, *machine(1.0), frequencies_khz=(3.0e6, 2.4e6)),
        pair(3, *machine(1.0), frequencies_khz=(3.0e6, 2.99e6)),
    ]
    judge(pairs)
    assert "hw_thermal" in pairs[0].rejected
    assert "3.00 and 2.40 GHz" in pairs[1].rejected
    assert pairs[2].rejected is None


def test_a_fifth_of_the_pairs_may_be_rejected():
    for pairs in range(1, 60):
        most = most_rejected(pairs)
        assert most / (pairs + most) <= 0.2 < (most + 1) / (pairs + most + 1)


def test_throttle_bits_are_read_from_the_telemetry_of_a_run(tmp_path):
    from array import array

    from regimeter import _core
    from regimeter.public.run import Run

    thermal = next(bit for name, (bit, _, slows) in _core.clock_reasons().items() if "thermal" in name and slows)
    strings = ["", "device 0/clock_reasons", "device 0/clock_sm_mhz"]
    counters = {"time_ns": array("q", [1, 2, 3]), "series": array("I", [1, 1, 2]),
                "value": array("d", [0.0, float(1 << thermal), 7.0])}  # fmt: skip
    run = Run._build(strings, {"counters": counters}, "{}", "record", 0, 10, 0, True)
    assert any("thermal" in name for name in slowed_by(run))
    assert slowed_by(Run._build([""], {}, "{}", "record", 0, 10, 0, True)) == ()


def test_sides_keep_pairs_together_where_a_launch_lacks_an_operation():
    pairs = [
        Pair(1, ("base", "current"), ("", ""), (side({"a": [1], "b": [10]}), side({"a": [2], "b": [20]}))),
        Pair(2, ("base", "current"), ("", ""), (side({"a": [3]}), side({"a": [4], "b": [99]}))),
        Pair(3, ("base", "current"), ("", ""), (side({"a": [5], "b": [30]}), side({"a": [6], "b": [40], "new": [1]}))),
    ]
    base, current = sides_of(pairs)
    get = lambda one, name: [launch.tolist() for launch in one.metric("time").launches.get(name, ())]  # noqa: E731
    assert get(base, "a") == [[1], [3], [5]]
    assert get(current, "b") == [[20], [40]]
    assert get(base, "b") == [[10], [30]]
    assert get(base, "new") == []
    assert get(current, "new") == [[1]]
    assert "2 of 3 pairs" in base.warnings[0]
    assert set(sides_of(pairs, ["n*"])[1].metric("time").launches) == {"new"}


# --- looks ----------------------------------------------------------------------------------------------------


def test_the_spending_function_is_the_published_one():
    """Lan & DeMets 1983: O'Brien-Fleming type, two-sided .05 at a half spends .0056 (.00305 one-sided .025 doubled)."""
    assert spent(0.05, 0.5) == pytest.approx(0.00557, abs=1e-5)
    assert spent(0.05, 1.0) == pytest.approx(0.05)
    assert spent(0.05, 0.0) == 0


@pytest.mark.parametrize("pairs", [1, 4, 5, 6, 7, 10, 33, 1000])
def test_the_looks_spend_alpha_and_no_more(pairs):
    looks = looks_of(pairs)
    levels = levels_of(0.05, looks)
    assert looks[-1] == pairs
    assert all(look >= 5 for look in looks[:-1])
    assert sum(levels) == pytest.approx(0.05)
    assert all(level > 0 for level in levels)
    assert looks_of(pairs, early=False) == (pairs,)


def test_looking_again_and_again_does_not_alarm_more_often():
    """Normal differences without an effect; .05 may be erred with: in 2000 experiments 100, give or take 10."""
    from scipy import stats

    rng = np.random.default_rng(4)
    differences = rng.normal(0, 1, (2000, 10))
    looks = looks_of(10)
    alarms = np.zeros(2000, dtype=bool)
    for look, level in zip(looks, levels_of(0.05, looks), strict=True):
        alarms |= stats.ttest_1samp(differences[:, :look], 0, axis=1).pvalue < level
    assert alarms.mean() <= 0.05 + 0.01


# --- noise ----------------------------------------------------------------------------------------------------


def launches(rng, count, spread):
    return [side({f"op{i}": np.exp(rng.normal(0, spread)) * np.ones(3) for i in range(12)}) for _ in range(count)]


def test_the_floor_is_the_spread_of_launches():
    rng = np.random.default_rng(1)
    floor = noise_floor.learn(launches(rng, 400, 0.02), {})
    assert floor.overall == pytest.approx(0.02, rel=0.1)
    assert np.median(list(floor.paired.values())) == pytest.approx(0.02 * math.sqrt(2), rel=0.1)
    with pytest.raises(ValueError, match="at least 3"):
        noise_floor.learn(launches(rng, 2, 0.02), {})


def test_detectable_effects_are_those_of_the_t_test():
    """Chow et al.: with sd 1 and n = 10 pairs, 80 % power at .05 needs a mean of about .996."""
    from scipy import stats

    effect = math.log1p(noise_floor.detectable(0.01, 10))
    shifted = stats.nct(9, effect / 0.01 * math.sqrt(10))
    assert shifted.sf(stats.t.ppf(0.975, 9)) == pytest.approx(0.8, abs=0.02)


def test_compare_uses_the_kept_floor_unless_told_another(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("REGIMETER_CACHE", str(tmp_path))
    with GPUProfiler(enable_detailed_metrics=False) as profiler:
        with profiler.profile("op", device="cpu"):
            pass
        here = profiler.run().environment
    for name, factor in (("base", 1.0), ("current", 1.6)):
        entries = [
            {"operation": f"op{at}", "duration_ms": (1 if at else factor) * (10 + 0.01 * i)}
            for i in range(20)
            for at in range(4)
        ]
        (tmp_path / f"{name}.json").write_text(json.dumps({"entries": entries, "environment": here}))
    words = ["compare", str(tmp_path / "base.json"), str(tmp_path / "current.json")]
    assert main(words) == 1
    noise_floor.keep(noise_floor.NoiseFloor({"op0": 0.3}, {"op0": 0.3}, 20, here))
    assert main(words) == 0
    assert main([*words, "--run-floor", "1%"]) == 1
    capsys.readouterr()


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
