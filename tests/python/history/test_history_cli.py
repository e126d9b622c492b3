# SPDX-License-Identifier: Apache-2.0
"""``regimeter baseline`` and ``regimeter history``: what is printed, as text and as JSON, and the exit codes."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from published import check

from regimeter.compare.sources import side_of
from regimeter.history import Commit, open_history

# What a command does with a database is looked at on both in test_history.py and test_history_baselines.py.
on_a_file = pytest.mark.parametrize("history_place", ["sqlite"], indirect=True)


@pytest.fixture
def call(history_place, command, monkeypatch):
    """Run the command with a history of its own, outside of any CI; return what it prints where it should."""
    for name in [name for name in os.environ if name.startswith(("GITHUB_", "CI_", "GIT_COMMIT", "BUILDKITE_"))]:
        monkeypatch.delenv(name)

    def run(*words, code=0):
        done = command(*words, env={"REGIMETER_HISTORY": history_place})
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout if code in (0, 1, 3) else done.stderr

    return run


@pytest.fixture
def profile(tmp_path):
    """Write a profile of one operation, as export_json does."""

    def write(name, *times, operation="mm"):
        entries = [{"operation": operation, "duration_ms": ms} for ms in times]
        (tmp_path / name).write_text(json.dumps({"entries": entries}))
        return name

    return write


def test_a_baseline_from_its_saving_to_its_removal(call, profile):
    assert "rel: run 1 of commit abc" in call(
        "baseline", "save", "rel", profile("a.json", 1.0), profile("b.json", 2.0), "--commit", "abc", "--branch", "main"
    )
    call("history", "add", profile("c.json", 3.0), "--branch", "main")
    assert call("baseline", "promote", "rel", "last", "--reason", "faster", "-q").startswith("rel: now run 2")
    assert "run 1 of commit abc" in call("baseline", "promote", "rel", "1", "--reason", "no, slower", "-q")
    rows = check(json.loads(call("baseline", "list", "--all", "--json")))["rows"]
    assert [(row["action"], row["run_id"], row["reason"]) for row in rows] == [
        ("save", 1, "saved"),
        ("promote", 2, "faster"),
        ("promote", 1, "no, slower"),
    ]
    assert call("baseline", "list").startswith("rel: run 1 (promote by ")
    assert "withdrawn" in call("baseline", "rm", "rel")
    assert "no baselines" in call("baseline", "list")
    assert call("baseline", "rm", "rel", code=5).count("\n") == 1


@on_a_file
def test_acceptances(call):
    call("baseline", "accept", "--op", "mm*", "--reason", "new feature", "--until", "2031-12-31")
    assert "mm*: accepted until 2031-12-31 (accept by " in call("baseline", "list")
    assert "--reason" in call("baseline", "accept", "--op", "mm", code=2)
    assert "expected a day" in call("baseline", "accept", "--op", "m", "--reason", "r", "--until", "soon", code=2)
    assert "is over" in call("baseline", "accept", "--op", "m", "--reason", "r", "--until", "2020-01-01", code=2)


@on_a_file
def test_a_run_does_not_confirm_itself(call, profile):
    for number in range(8):
        call("history", "add", profile(f"{number}.json", number), "--state", "clean")
    slow = profile("slow.json", 30)
    assert "is the run itself" in call("history", "judge", slow, "--confirm", slow, code=2)


@on_a_file
def test_promotion_after_clean_runs(call, profile):
    for number in range(3):
        call("history", "add", profile("a.json", 1.0 + number), "--branch", "main", "--state", "clean")
    assert "unchanged" in call("baseline", "promote", "--after-clean", "4", "--branch", "main")
    assert "3 clean runs in a row on main: 1, 2, 3" in call(
        "baseline", "promote", "--after-clean", "3", "--branch", "main"
    )
    document = check(json.loads(call("baseline", "promote", "--after-clean", "3", "--branch", "main", "--json")))
    assert document["row"] is None
    assert "no default branch" in call("baseline", "promote", "--after-clean", "3", code=2)


@on_a_file
def test_usage(call, profile):
    for words in (
        ("baseline", "save", "name"),
        ("baseline", "save", "db:x", profile("a.json", 1.0)),
        ("baseline", "save", "x", profile("empty.json")),
        ("baseline", "rm"),
        ("baseline", "list", "more"),
        ("baseline", "promote", "x", "last"),
        ("history",),
        ("history", "export"),
        ("history", "add"),
        ("history", "list", "more"),
        ("history", "mm", "--limit", "0"),
    ):
        assert call(*words, code=2).count("\n") == 1, words
    call("history", "add", "absent.json", code=2)
    assert "no such run" in call("baseline", "promote", "x", "db:none", "--reason", "r", code=5)


@on_a_file
def test_a_series_with_its_change(call, history_place):
    history, rng = open_history(history_place), np.random.default_rng(1)
    for level in [1e-3] * 15 + [1.3e-3] * 15:
        history.add(side_of({"mm \x1b[31m": [[level * np.exp(rng.normal(0, 0.01))]]}, "run"), Commit("c" * 40, "main"))
    text = call("history", "--op", "mm \x1b[31m")
    assert "\x1b" not in text
    lines = text.splitlines()
    assert len(lines) == 1 + 30 + 1
    assert lines[16].startswith("  --- ")
    assert "(+3" in lines[16] or "(+29" in lines[16]
    (series,) = check(json.loads(call("history", "mm \x1b[31m", "--json", "--branch", "main")))["series"]
    assert [change["at"] for change in series["changes"]] == [15]
    assert series["changes"][0]["run"] == series["points"][15]["run"]["id"]
    (short,) = json.loads(call("history", "mm \x1b[31m", "--limit", "4", "--json"))["series"]
    assert len(short["points"]) == 4
    assert "did you mean mm" in call("history", "mm", code=5)
    assert call("history", "mm", "--branch", "none", code=5).count("\n") == 1


@on_a_file
def test_judging_a_run(call, profile, history_place):
    rng = np.random.default_rng(2)
    history = open_history(history_place)
    for _ in range(8):
        history.add(side_of({"mm": [1e-3 * np.exp(rng.normal(0, 0.01, 3))]}, "run"), state="clean")
    call("history", "add", profile("run.json", 1.001, 0.999), "--state", "clean")
    assert "0 otherwise" not in call("history", "judge", profile("same.json", 1.0))
    slow = profile("slow.json", 1.2, 1.2)
    suspected = call("history", "judge", slow, code=3)
    assert "mm  suspected  " in suspected
    assert "Could have missed: below" in suspected
    again = profile("again.json", 1.2, 1.2)
    assert f"Next: run it once more, then regimeter history judge {slow} --confirm AGAIN" in suspected
    assert "mm  regression  " in call("history", "judge", slow, "--confirm", again, code=1)
    document = check(json.loads(call("history", "judge", slow, "--confirm", again, "--json", code=1)))
    assert document["comparisons"][0]["change_type"] == "regression"
    assert document["confirmed"]


def test_the_database_itself(call, profile, tmp_path):
    call("history", "add", profile("a.json", 1.0, 2.0), "--branch", "dev", "--tag", "v1")
    assert "run 1 " in call("history", "list", "--tag", "v1")
    assert "no such runs" in call("history", "list", "--branch", "main")
    assert "nothing to do" in call("history", "migrate")
    info = json.loads(call("history", "info", "--json"))
    assert info["schema"] == info["head"]
    assert info["rows"]["sample"] == 3  # of the operation, and of the two single tests
    assert "3 rows" in call("history", "export", "--parquet", "all.parquet")
    assert (tmp_path / "all.parquet").exists()


def test_no_history_is_exit_code_5(tmp_path, command):
    assert command("baseline", "list", "--db", "none.db").returncode == 5
    assert not (tmp_path / "none.db").exists()


def test_a_missing_extra_is_said_in_a_line(tmp_path):
    code = "import sys; sys.modules['sqlalchemy'] = None; import regimeter.cli as c; sys.exit(c.main(['history', 'x']))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert "pip install 'regimeter[history]'" in done.stderr
    assert done.stderr.count("\n") == 1
