# SPDX-License-Identifier: Apache-2.0
"""The history of runs on both databases: what is written is whole, is found again, and what fails leaves nothing."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa
from needed import package
from repositories import git

from regimeter.compare.side import Samples, Side
from regimeter.compare.sources import side_of
from regimeter.history import Commit, HistoryError, NoBaselineError, commit_of, open_history
from regimeter.history import schema as tables
from regimeter.history.database import location, shown, transaction, url_of
from regimeter.history.parquet import export_parquet
from regimeter.system.description import describe_machine
from regimeter.system.git import author_of, default_branch


def full_side():
    side = Side("one run", environments=[{"cpu": "x", "host": "a\0b"}, {"cpu": "x"}], warnings=["short"])
    side.memory_mb = {"mm": 12.5}
    time = side.metric("time")
    for name, values in (("z", [0.1, 0.2]), ("mm", [1e-3, 3e-3, float("nan")]), ("z", [0.3])):
        time.add(name, values)
    time.add("only a total", [2.0], total=6.0, calls=3)
    side.metric("memory_peak").add("mm", [1e12 + 1])
    return side


def same(a, b):
    assert a.metrics.keys() == b.metrics.keys()
    for metric, samples in a.metrics.items():
        other = b.metrics[metric]
        assert list(samples.launches) == list(other.launches)
        for name, launches in samples.launches.items():
            for one, two in zip(launches, other.launches[name], strict=True):
                np.testing.assert_array_equal(one, two)
        np.testing.assert_equal(samples.totals, other.totals)
        assert samples.calls == other.calls


# --- runs ---------------------------------------------------------------------------------------------------------


def test_a_run_comes_back_as_it_was(history_place):
    side = full_side()
    row = open_history(history_place).add(side, Commit("ABCDEF0123", "main", "v1", True))
    history = open_history(history_place)
    found = history.side(history.run(row.id))
    same(side, found)
    assert found.environments == side.environments
    assert (found.memory_mb, found.warnings, found.label) == (side.memory_mb, side.warnings, side.label)
    assert (row.commit, row.branch, row.tag, row.dirty) == ("abcdef0123", "main", "v1", True)
    assert abs(row.created_at - datetime.now(UTC)) < timedelta(minutes=1)


def test_names_that_databases_refuse_become_their_escapes(history_place):
    long = "kernel<" + "T, " * 5000 + ">"
    names = ["nul\0", "half \ud800", "'; DROP TABLE run; --", long, "", "日本"]
    history = open_history(history_place)
    row = history.add(side_of({name: [[1.0]] for name in names}, "x\0"), Commit(branch="b\0"))
    found = history.side(row)
    assert list(found.metrics["time"].launches) == ["nul\\x00", "half \\ud800", *names[2:]]
    assert history.operations() == sorted(found.metrics["time"].launches)
    assert history.runs(branch="b\0") == [row]


def test_runs_are_found_by_what_they_are(history_place):
    history = open_history(history_place)
    rows = [
        history.add(side_of({"a": [[1.0]]}, f"run {number}"), commit, state=state)
        for number, (commit, state) in enumerate(
            [
                (Commit("aa" * 20, "main"), "clean"),
                (Commit("ab" * 20, "main", "v1"), "regressed"),
                (Commit("ab" * 20, "dev"), "recorded"),
                (Commit(), "recorded"),
            ]
        )
    ]
    other = side_of({"a": [[1.0]]}, "elsewhere")
    other.environments = [describe_machine()]
    rows.append(history.add(other, Commit("aa" * 20, "main")))
    numbers = lambda **wanted: [rows.index(row) for row in history.runs(**wanted)]  # noqa: E731
    assert numbers() == [4, 3, 2, 1, 0]
    assert numbers(branch="main") == [4, 1, 0]
    assert numbers(commit="ab" * 20) == [2, 1]
    assert numbers(commit="a") == [4, 2, 1, 0]
    assert numbers(commit="a_") == []
    assert numbers(tag="v1") == [1]
    assert numbers(environment=rows[4].environment) == [4]
    assert numbers(branch="main", states=("clean",)) == [0]
    assert numbers(limit=2) == [4, 3]
    with pytest.raises(HistoryError, match="no run 99"):
        history.run(99)
    with pytest.raises(ValueError, match="unknown state"):
        history.add(other, state="fine")


def test_runs_of_one_side_are_its_launches(history_place):
    history = open_history(history_place)
    rows = [history.add(side_of({"a": [[float(i)], [i + 0.5]]}, f"{i}")) for i in (1, 2)]
    launches = history.side(list(reversed(rows))).metrics["time"].launches["a"]
    assert [values.tolist() for values in launches] == [[1.0], [1.5], [2.0], [2.5]]


def test_a_removed_run_leaves_nothing(history_place):
    history = open_history(history_place)
    kept, gone = (history.add(full_side()) for _ in range(2))
    history.remove(gone)
    assert history.runs() == [kept]
    counts = history.counts()
    assert (counts["run"], counts["launch"], counts["sample"]) == (1, 2, 5)


def test_export_is_read_by_pandas(history_place, tmp_path):
    pandas = package("pandas")
    history = open_history(history_place)
    history.add(full_side(), Commit("a" * 40, "main"))
    assert export_parquet(history, tmp_path / "all.parquet") == 5
    frame = pandas.read_parquet(tmp_path / "all.parquet")
    assert frame.operation.tolist() == ["mm", "z", "mm", "only a total", "z"]
    first = frame[(frame.metric == "time") & (frame.operation == "z")]
    assert [list(values) for values in first["values"]] == [[0.1, 0.2], [0.3]]
    assert set(frame.branch) == {"main"}
    assert [path.name for path in tmp_path.iterdir() if "parquet" in path.name] == ["all.parquet"]


# --- transactions -----------------------------------------------------------------------------------------------------


def test_a_run_that_fails_in_the_middle_leaves_nothing(history_place):
    history = open_history(history_place)
    side = Side("bad", {"time": Samples()})
    side.metric("time").add("good", [1.0])
    side.metric("time").launches["bad"] = [np.array(["no number"])]
    with pytest.raises(Exception):
        history.add(side)
    assert set(history.counts().values()) == {0}


def test_readers_do_not_wait_for_a_writer(history_place):
    history = open_history(history_place)
    row = history.add(side_of({"a": [[1.0]]}, "x"))
    with transaction(history.engine, writing=True) as connection:
        connection.execute(sa.delete(tables.run))
        assert open_history(history_place).runs() == [row]
    assert history.runs() == []


def test_what_the_database_refuses_is_one_line(history_place):
    history = open_history(history_place)
    with pytest.raises(HistoryError) as caught, transaction(history.engine, writing=True) as connection:
        connection.execute(sa.text("SELECT no_such_column FROM run"))
    assert "\n" not in str(caught.value)
    assert "no_such_column" in str(caught.value)


# --- places -------------------------------------------------------------------------------------------------------


def test_where_the_history_is(tmp_path, monkeypatch):
    monkeypatch.delenv("REGIMETER_HISTORY", raising=False)
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert location() == str(inner / ".regimeter" / "history.db")
    (tmp_path / ".regimeter").mkdir()
    (tmp_path / ".regimeter" / "history.db").touch()
    assert location() == str(tmp_path / ".regimeter" / "history.db")
    (tmp_path / "a" / ".git").mkdir()  # another repository begins below
    assert location() == str(inner / ".regimeter" / "history.db")
    monkeypatch.setenv("REGIMETER_HISTORY", "sqlite:///x.db")
    assert location() == "sqlite:///x.db"
    assert location("given.db") == "given.db"


def test_a_new_history_is_kept_out_of_commits(tmp_path, monkeypatch):
    monkeypatch.delenv("REGIMETER_HISTORY", raising=False)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NoBaselineError, match="no history yet"):
        open_history(create=False)
    assert not (tmp_path / ".regimeter").exists()
    open_history()
    assert (tmp_path / ".regimeter" / ".gitignore").read_text() == "*\n"
    with transaction(open_history().engine) as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"


def test_addresses():
    assert url_of("postgres://u:secret@h/d").drivername == "postgresql+psycopg"
    assert "secret" not in shown(url_of("postgresql://u:secret@h/d"))
    assert shown(url_of("file:///x/y.db")) == shown(url_of("sqlite:////x/y.db")) == "/x/y.db"
    for bad, why in (("mysql://h/d", "mysql"), ("sqlite://", "memory"), ("://", "cannot be read")):
        with pytest.raises(HistoryError, match=why):
            url_of(bad)


def test_a_server_that_is_not_there_is_an_error_of_one_line():
    with pytest.raises(HistoryError) as caught:
        open_history("postgresql://nobody:secret@127.0.0.1:1/none")
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_no_database(tmp_path):
    (tmp_path / "text.db").write_text("no database\n" * 100)
    with pytest.raises(HistoryError, match="not a database"):
        open_history(tmp_path / "text.db")
    assert (tmp_path / "text.db").read_text() == "no database\n" * 100


# --- commits ------------------------------------------------------------------------------------------------------


@pytest.fixture
def repository(tmp_path):
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "file").write_text("1")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "-q", "-m", "first")
    return tmp_path


def test_commit_as_git_says(repository):
    sha = git(repository, "rev-parse", "HEAD")
    assert commit_of(str(repository), {}) == Commit(sha, "main", None, False)
    git(repository, "tag", "v1")
    (repository / "file").write_text("2")
    assert commit_of(str(repository), {}) == Commit(sha, "main", "v1", True)
    assert default_branch(str(repository)) == "main"
    git(repository, "checkout", "-q", "--detach")
    assert commit_of(str(repository), {}).branch is None
    ci = {"GITHUB_REF_TYPE": "branch", "GITHUB_REF_NAME": "topic", "GITHUB_SHA": "ignored"}
    assert commit_of(str(repository), ci) == Commit(sha, "topic", "v1", True)
    git(repository, "config", "user.name", "Ada")
    git(repository, "config", "user.email", "ada@example.org")
    assert author_of(str(repository)) == "Ada <ada@example.org>"


def test_commit_without_git(tmp_path, monkeypatch):
    assert commit_of(str(tmp_path), {}) == Commit()
    ci = {"CI_COMMIT_SHA": "a" * 40, "CI_COMMIT_BRANCH": "main", "CI_COMMIT_TAG": "v2"}
    assert commit_of(str(tmp_path), ci) == Commit("a" * 40, "main", "v2", None)
    monkeypatch.setenv("PATH", str(Path(tmp_path)))
    assert commit_of(str(tmp_path), {}) == Commit()
    assert default_branch(str(tmp_path)) is None


def test_a_git_that_hangs_is_given_up(tmp_path, monkeypatch):
    (tmp_path / "git").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr("regimeter.system.git.TIMEOUT_S", 0.2)
    assert commit_of(str(tmp_path), {}) == Commit()


def test_history_needs_its_extra_only(run_python):
    code = """
        import sys
        sys.modules["sqlalchemy"] = None
        import regimeter, regimeter.cli
        try:
            import regimeter.history
        except ImportError as error:
            print(error)
    """
    assert "pip install 'regimeter[history]'" in run_python(code).stdout
