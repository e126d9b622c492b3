# SPDX-License-Identifier: Apache-2.0
"""A history that its user may only read: it answers as any other, stays as it is, and refuses changes in one line."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from regimeter.compare.sources import side_of
from regimeter.history import Baselines, Commit, open_history

QUESTIONS = """if True:
    import os, sys
    from regimeter.cli import main

    def ask(where):
        words = (["mm"], ["list"], ["info"], ["mm", "--json"])
        return [main(["history", *one, "--db", where]) for one in words]

    ask(sys.argv[1])  # modules that are imported when used are, while this user may still read them
    if os.geteuid() == 0:
        os.setresuid(65534, 65534, 65534)
    for where in sys.argv[2:]:
        print("asking", where, file=sys.stderr, flush=True)
        print("codes", ask(where), main(["baseline", "rm", "main", "--db", where]), flush=True)
"""

# A writer that dies after its last run, with a second connection that keeps its log from being folded in.
DIES = """
    import os, signal, sys
    from regimeter.compare.sources import side_of
    from regimeter.history import open_history
    history = open_history(sys.argv[1])
    other = history.engine.connect()
    other.exec_driver_sql("SELECT * FROM run")
    history.add(side_of({"mm": [[2.0]]}, "last"))
    os.kill(os.getpid(), signal.SIGKILL)
"""
REFUSED = "this user may read the history but not change it"


def fill(where):
    history = open_history(where)
    for number in range(12):
        run = history.add(side_of({"mm": [[1.0 + number / 1000]]}, "run"), Commit("a" * 40, "main"))
    Baselines(history).save("main", run, "here")


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def close(folder):
    """Let nobody write a folder and what is in it."""
    for path in folder.iterdir():
        path.chmod(0o444)
    folder.chmod(0o555)


def test_a_question_does_not_write(run_python):
    """Files without a log, with that of a killed writer, and with one whose index is gone, which nobody can read."""
    with tempfile.TemporaryDirectory() as place:
        own, still, dead, torn = (Path(place, name, "history.db") for name in ("own", "still", "dead", "torn"))
        for path in (own, still, dead):
            fill(path)
        assert run_python(DIES, dead, check=False).returncode < 0
        shutil.copytree(dead.parent, torn.parent)
        (torn.parent / "history.db-shm").unlink()
        shared = [path.parent for path in (still, dead, torn)]
        before = [contents(folder) for folder in shared]
        assert [sorted(files) for files in before] == [
            ["history.db"],
            ["history.db", "history.db-shm", "history.db-wal"],
            ["history.db", "history.db-wal"],
        ]
        for folder in shared:
            close(folder)
        Path(place).chmod(0o755)
        command = [sys.executable, "-c", QUESTIONS, *map(str, (own, still, dead, torn))]
        done = subprocess.run(command, capture_output=True, text=True, cwd="/", check=False)
        after = [contents(folder) for folder in shared]
        for folder in shared:
            folder.chmod(0o755)
    answers = [line for line in done.stdout.splitlines() if line.startswith("codes")]
    assert answers == ["codes [0, 0, 0, 0] 2"] * 2 + ["codes [2, 2, 2, 2] 2"], done.stdout + done.stderr
    assert "  last" in done.stdout  # the run in the log of the killed writer
    still_said, dead_said, torn_said = (part.splitlines()[1:] for part in done.stderr.split("asking ")[1:])
    for said in (still_said, dead_said):
        assert len(said) == 1
        assert REFUSED in said[0]
    assert len(torn_said) == 5
    assert all("a writer that was killed left a log" in line for line in torn_said)
    assert after == before


def test_a_new_history_where_nothing_may_be_written(command, tmp_path):
    (tmp_path / "a.json").write_text(json.dumps({"entries": [{"operation": "mm", "duration_ms": 1.0}]}))
    done = command("history", "add", "a.json", "--db", "/proc/history.db")
    assert done.returncode == 2
    assert "make its folder one that this user may write in, or name another with --db" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.fixture
def reader(history_place):
    """Name a history of 12 runs as a role that may only SELECT in it does."""
    from psycopg import sql

    fill(history_place)
    role = sql.Identifier(name := f"regimeter_reader_{os.getpid()}_{os.urandom(4).hex()}")
    engine = open_history(history_place).engine

    def run(*statements):
        with engine.begin() as connection:
            for text in statements:
                cursor = connection.connection.cursor()
                cursor.execute(sql.SQL(text).format(role=role, schema=sql.Identifier(schema)))

    with engine.begin() as connection:
        schema = connection.exec_driver_sql("SELECT current_schema()").scalar()
    run(
        "CREATE ROLE {role} LOGIN",
        "GRANT USAGE ON SCHEMA {schema} TO {role}",
        "GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {role}",
    )
    try:
        yield engine.url.set(drivername="postgresql", username=name).render_as_string(hide_password=False)
    finally:
        run("DROP OWNED BY {role}", "DROP ROLE {role}")


@pytest.mark.parametrize("history_place", ["postgresql"], indirect=True)
def test_a_role_that_may_only_select(reader, command, tmp_path):
    (tmp_path / "a.json").write_text(json.dumps({"entries": [{"operation": "mm", "duration_ms": 1.0}]}))
    for words in (["mm"], ["list"], ["info"], ["page", "--html", "a.html"], ["judge", "a.json"]):
        done = command("history", *words, "--db", reader)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert len(json.loads(command("history", "list", "--json", "--db", reader).stdout)["runs"]) == 12
    for words in (["history", "add", "a.json"], ["baseline", "save", "new", "a.json"], ["baseline", "rm", "main"]):
        done = command(*words, "--db", reader)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert "permission denied for" in done.stderr
        assert REFUSED in done.stderr
    assert "nothing to do" in command("history", "migrate", "--db", reader).stdout
    counts = json.loads(command("history", "info", "--json", "--db", reader).stdout)["rows"]
    assert (counts["run"], counts["acceptance"]) == (12, 1)
