# SPDX-License-Identifier: Apache-2.0
"""Programs of a pair that run in turn: nothing overlaps, nobody waits for ever, and neighbouring turns are compared."""

import json
import os
import sys

import numpy as np
import pytest

from regimeter import load
from regimeter.compare import Options, decide
from regimeter.compare.ab.experiment import Experiment
from regimeter.compare.ab.in_turns import by_neighbours, by_turn
from regimeter.compare.ab.launches import Command, LaunchError, launch_in_turns
from regimeter.compare.ab.pairs import joined
from regimeter.compare.side import Samples, Side
from regimeter.compare.sources import side_of
from regimeter.run.turns import ALONE, Turns
from regimeter.run.witness import witness_line

# Rounds of two operations; what PROGRAM % ... puts between them is what a test is about.
PROGRAM = """
import os, sys, threading, time
from regimeter import GPUProfiler

def work(units):
    value = 1
    for _ in range(units * 100):
        value = value * 1103515245 % 2147483647

more = int(sys.argv[1]) if len(sys.argv) > 1 else 0
{before}
with GPUProfiler() as profiler:
    for number in range(30):
        for name, units in (("first", 40 + more), ("second", 40)):
            with profiler.profile(name, device="cpu"):
                work(units)
        {between}
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run one pair; `words` of either side, what stands before and between its scopes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def call(before="", between="", current=None, pairs=1, **options):
        commands = []
        for side, text in (("base", None), ("current", current)):
            (tmp_path / f"{side}.py").write_text(text or PROGRAM.format(before=before, between=between))
            commands.append(Command.parse([str(tmp_path / f"{side}.py")]))
        (tmp_path / "out").mkdir()
        one = Experiment(*commands, str(tmp_path / "out"), pairs=pairs, seed=1, early=False, in_turns=True, **options)
        one.run()
        return one

    return call


def on_the_clock(path):
    """Return begin and end of each scope that ran in a turn, as the system's clock has them, and the turns' numbers."""
    found = load(path)
    numbers = Turns.of(found).at(found.spans.start_ns)
    begin = found.spans.start_ns
    return np.column_stack([begin, begin + found.spans.duration_ns, numbers])[numbers != ALONE]


def test_nothing_of_one_program_runs_within_a_scope_of_the_other(run):
    one = run(turn_s=0.0005)
    (pair,) = one.found.pairs
    assert pair.turns > 20
    assert pair.wall_s == max(pair.seconds)
    rows = np.concatenate([on_the_clock(path) for path in pair.files])
    rows = rows[np.argsort(rows[:, 0])]
    assert (np.diff(rows[:, 2]) >= 0).all()  # turns of both follow one another, which are even and odd
    changes = np.diff(rows[:, 2]) > 0
    assert changes.sum() > 20
    assert (rows[1:, 0] >= rows[:-1, 1])[changes].all()
    assert "in turn with another" in witness_line(load(pair.files[0]))


def test_a_change_is_found_and_the_door_does_not_matter(run, tmp_path):
    current = PROGRAM.format(before="", between="").replace("else 0", "else 20")
    one = run(pairs=5, current=current)
    rows = {row.operation: row for row in one.comparison.comparisons}
    assert rows["first"].change_percent == pytest.approx(50, abs=25)
    files = [[pair.files[side] for pair in one.found.pairs] for side in range(2)]
    again = decide(*files, Options(paired=True, alpha=one.level, policy={"interval": 1 - one.level}))
    assert [(row.operation, row.change_percent, row.q) for row in again.comparisons] == [
        (row.operation, row.change_percent, row.q) for row in one.comparison.comparisons
    ]
    assert any("ran in turn" in line for line in one.evidence())
    document = json.loads((tmp_path / "out" / "ab.json").read_text())
    assert document["in_turns"] is True
    assert all(row["turns"] for row in document["pairs"])


# --- programs that cannot, or that end otherwise ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "between", "why"),
    [
        (
            "",
            "threading.Thread(target=lambda: profiler.profile('t', device='cpu')(work)(1)).start()",
            "several threads",
        ),
        ("GPUProfiler(enabled=False)", "", ""),
        ("", "os.fork() or os._exit(0)", ""),
    ],
    ids=["threads", "two-profilers", "forks"],
)
def test_programs_of_other_kinds(run, before, between, why):
    one = run(before, between)
    (pair,) = one.found.pairs
    assert why in one.apart
    assert bool(one.apart) == bool(why) == (not pair.turns)
    assert pair.rejected is None


def test_a_program_of_one_scope_runs_one_after_the_other(run):
    text = "from regimeter import GPUProfiler\nwith GPUProfiler() as p, p.profile('all', device='cpu'): sum(range(9))\n"
    one = run(current=text)
    assert not one.found.pairs[0].turns
    assert "first turn" in one.apart


def test_a_program_without_a_profiler_is_run_again_one_after_the_other(run):
    one = run(current="sum(range(1000))\n")
    assert one.apart == "one of the programs makes no profiler"
    assert len(one.found.pairs) == 1
    assert any("could not run in turn" in line for line in one.evidence())


def test_a_program_that_leaves_at_once_does_not_hold_the_other(run):
    one = run(current=PROGRAM.format(before="", between="number == 15 and (profiler.close(), os._exit(0))"))
    (pair,) = one.found.pairs
    assert pair.turns
    assert len(load(pair.files[0]).spans) == 60
    assert Turns.of(load(pair.files[0])).numbers[-1] == ALONE


def test_a_program_that_fails_ends_the_other(run, tmp_path):
    sleeper = "import time\nfrom regimeter import GPUProfiler\np = GPUProfiler()\ntime.sleep(600)\n"
    (tmp_path / "sleeper.py").write_text(sleeper)
    (tmp_path / "failing.py").write_text("raise SystemExit(3)\n")
    commands = {name: Command.parse([str(tmp_path / f"{name}.py")]) for name in ("sleeper", "failing")}
    files = [str(tmp_path / f"{name}.rgm") for name in commands]
    with pytest.raises(LaunchError, match=r"failing: .*exit code 3"):
        launch_in_turns(commands, files, (), 1)


def test_counts_take_no_turns(tmp_path, refused):
    (tmp_path / "x.py").write_text("")
    words = ["--base", str(tmp_path / "x.py"), "--current", str(tmp_path / "x.py")]
    refused(["ab", *words, "--count", "instructions", "--in-turns", "-o", str(tmp_path / "out")], "--in-turns")


def test_a_table_of_turns_in_the_environment_of_others_is_no_concern(tmp_path, monkeypatch):
    """A program that the recorded one starts inherits what that was told, and must not wait."""
    monkeypatch.setenv("REGIMETER_RECORD_OPTIONS", json.dumps({"turns": [99, 0]}))
    monkeypatch.setenv("REGIMETER_RECORD", str(tmp_path / "run.rgm"))
    monkeypatch.setenv("REGIMETER_RECORD_OWNER", f"1 {tmp_path / 'run.rgm'}")
    script = "from regimeter import GPUProfiler\nwith GPUProfiler() as p, p.profile('x', device='cpu'): pass\n"
    assert os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-c", script]) == 0


# --- neighbouring turns -----------------------------------------------------------------------------------------


def sides_of_turns(turns=12, change=0.0, seed=1):
    """Two sides of one pair, three samples a turn, on a machine that is 1.6 x slower for stretches of some turns."""
    dice = np.random.default_rng(seed)
    machine = 0.47 * (np.cumsum(dice.random(2 * turns) < 0.2) % 2)
    sides = (Side("baseline"), Side("current"))
    for place, side in enumerate(sides):
        numbers = np.repeat(np.arange(1 + place, 1 + 2 * turns, 2), 3)
        values = np.exp(machine[numbers - 1] + place * change + dice.normal(0, 0.002, len(numbers)))
        side.metric("time").add("work", values, turns=numbers)
    return sides


def test_a_machine_of_two_speeds_cancels_between_neighbouring_turns():
    raw, beside = [], []
    for seed in range(40):
        before, after = sides_of_turns(change=0.1, seed=seed)
        moved, told = by_neighbours(before, after)
        assert told["work"].differences == 23
        times = [side.metrics["time"].launches["work"][0] for side in (before, after, moved)]
        raw.append(np.median(np.log(times[1])) - np.median(np.log(times[0])) - 0.1)
        beside.append(np.median(np.log(times[2])) - np.median(np.log(times[0])) - 0.1)
    assert np.std(beside) < np.std(raw) / 4


def test_turns_that_were_interrupted_count_less():
    """More than half of the turns of one side are several times longer; the median of differences would follow them."""
    found = []
    for seed in range(40):
        before, after = sides_of_turns(change=0.1, seed=seed)
        dice = np.random.default_rng(seed)
        for side, share in ((before, 0.2), (after, 0.6)):
            launch = side.metrics["time"].launches["work"][0]
            launch *= np.repeat(np.where(dice.random(12) < share, np.exp(dice.uniform(0.5, 2.5, 12)), 1.0), 3)
        moved = by_neighbours(before, after)[0].metrics["time"].launches["work"][0]
        found.append(np.median(np.log(moved)) - np.median(np.log(before.metrics["time"].launches["work"][0])))
    assert abs(np.median(found) - 0.1) < 0.1
    assert np.median(np.abs(np.array(found) - 0.1)) < 0.15


def test_sides_that_change_places_change_the_sign_alone():
    before, after = sides_of_turns(change=0.1)
    there = by_neighbours(before, after)[0].metrics["time"].launches["work"][0]
    back = by_neighbours(after, before)[0].metrics["time"].launches["work"][0]
    logs = [np.median(np.log(side.metrics["time"].launches["work"][0])) for side in (before, after)]
    assert np.median(np.log(there)) - logs[0] == pytest.approx(-(np.median(np.log(back)) - logs[1]))


def test_without_enough_neighbours_a_pair_is_as_it_is():
    before, after = sides_of_turns(turns=1)
    assert by_neighbours(before, after) == (after, {})
    for side in (before, after):
        side.metrics["time"].turns["work"] = [None]
    assert by_neighbours(before, after) == (after, {})


def test_what_ran_alone_is_in_no_turn():
    numbers, values = by_turn(np.arange(6.0), np.array([1, 1, 3, 3, ALONE, ALONE]))
    assert numbers.tolist() == [1, 3]
    assert values.tolist() == [0.5, 2.5]


def test_turns_are_kept_with_their_samples_when_sides_are_joined():
    before, after = sides_of_turns()
    sides = joined([(before, after), (before, after)])
    assert [len(turns) for turns in sides[1].metrics["time"].turns["work"]] == [36, 36]
    assert by_neighbours(*sides)[1]["work"].pairs == 2
    plain = side_of({"work": [[1.0, 2.0]]}, "x").metrics["time"]
    assert plain.turns == {"work": [None]}
    both = Samples()
    both.extend(plain)
    both.extend(before.metrics["time"])
    assert [turns is None for turns in both.turns["work"]] == [True, False]
