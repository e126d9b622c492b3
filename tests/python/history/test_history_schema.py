# SPDX-License-Identifier: Apache-2.0
"""The schema: migrations lead to what the tables say, an older database keeps its data, a newer one is left alone."""

import json
import struct

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from regimeter.cli import main
from regimeter.history import HistoryError, migrate, open_history, state_of
from regimeter.history.database import connect, transaction, url_of
from regimeter.history.schema import HEAD, metadata
from regimeter.run.identity import facts_of, key_of
from regimeter.system.description import describe_machine

OLD_ROWS = (
    "INSERT INTO environment VALUES (901, 'key', '{}', '2025-01-02 03:04:05')",
    f"INSERT INTO operation VALUES (1, '{1:064}', 'mm'), (2, '{2:064}', 'add')",
    """INSERT INTO run (id, uid, environment_id, label, branch, state, details, created_at) VALUES
       (7, 'u', 901, 'old', 'main', 'recorded', '{"environments": [{}], "warnings": [], "memory_mb": {}}',
        '2025-01-02 03:04:05')""",
    "INSERT INTO launch VALUES (3, 7, 0), (4, 7, 1)",
)
OLD_SAMPLES = {(3, 1): (1.0, 9.0, 2.0), (4, 1): (4.0, float("nan"), 8.0), (3, 2): (), (4, 2): (float("inf"),)}
MEDIANS = {(3, 1): 2.0, (4, 1): 6.0, (3, 2): None, (4, 2): None}


@pytest.fixture
def engine(history_place):
    return connect(url_of(history_place))


def older(engine, samples=OLD_SAMPLES):
    """Make a database of the first schema, with rows, by nothing but SQL."""
    migrate(engine, "0001")
    with transaction(engine, writing=True) as connection:
        for statement in OLD_ROWS:
            connection.exec_driver_sql(statement)
        table = sa.Table("sample", sa.MetaData(), autoload_with=connection)
        for (launch, operation), values in samples.items():
            row = {"launch_id": launch, "operation_id": operation, "metric": "time", "position": operation}
            blob = struct.pack(f"<{len(values)}d", *values)
            connection.execute(sa.insert(table).values(row | {"count": len(values), "values": blob}))


def test_migrations_lead_to_the_tables(engine):
    assert migrate(engine) == (None, HEAD)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []
    assert migrate(engine) == (HEAD, HEAD)


def test_an_older_database_keeps_its_data(history_place, engine):
    older(engine)
    assert state_of(engine).revision == "0001"
    with pytest.raises(HistoryError, match="regimeter history migrate"):
        open_history(history_place)
    assert migrate(engine) == ("0001", HEAD)
    with transaction(engine) as connection:
        rows = connection.execute(sa.text("SELECT launch_id, operation_id, median FROM sample")).all()
        assert {(launch, operation): median for launch, operation, median in rows} == MEDIANS
        # What was read by reflection before is there with its constraints: the batch has not lost them.
        keys = sa.inspect(connection).get_foreign_keys("sample")
        assert {key["name"] for key in keys} == {"fk_sample_launch_id_launch", "fk_sample_operation_id_operation"}
        assert connection.execute(sa.text("SELECT count(*) FROM launch")).scalar() == 2
    history = open_history(history_place)
    launches = history.side(history.run(7)).metrics["time"].launches
    assert launches["mm"][0].tolist() == [1.0, 9.0, 2.0]
    history.remove(history.run(7))
    assert history.counts()["sample"] == 0


def test_runs_of_an_older_database_get_the_key_of_what_they_were_measured_on(history_place, engine):
    """Recordings name their GPUs where the keys of before did not look."""
    migrate(engine, "0002")
    here = describe_machine()
    stored = [here | {"gpus": {"driver": "550.1", "devices": [{"name": name}]}} for name in ("A100", "H100", "A100")]
    with transaction(engine, writing=True) as connection:
        insert = "INSERT INTO environment VALUES (901, 'old', :facts, '2025-01-02 03:04:05')"
        connection.execute(sa.text(insert), {"facts": json.dumps({"cpu": ["x"], "runner": ["big"]})})
        for number, environment in enumerate(stored):
            connection.execute(
                sa.text(
                    "INSERT INTO run (id, uid, environment_id, label, state, details, created_at)"
                    " VALUES (:id, :uid, 901, 'r', 'recorded', :details, '2025-01-02 03:04:05')"
                ),
                {"id": number, "uid": str(number), "details": json.dumps({"environments": [environment]})},
            )
        accepted = "INSERT INTO acceptance (kind, name, run_id, environment_id, action, author, reason, created_at)"
        accepted += " VALUES (:kind, 'm', :run, 901, 'save', 'a', 'r', '2025-01-02 03:04:05')"
        connection.execute(sa.text(accepted), [{"kind": "baseline", "run": 1}, {"kind": "operation", "run": None}])
    assert migrate(engine) == ("0002", HEAD)
    with transaction(engine) as connection:
        rows = connection.execute(
            sa.text("SELECT run.id, key, facts FROM run JOIN environment ON environment_id = environment.id ORDER BY 1")
        ).all()
        kept = connection.execute(
            sa.text("SELECT key FROM acceptance JOIN environment ON environment_id = environment.id ORDER BY kind")
        ).scalars()
        assert list(kept) == [rows[1].key, rows[2].key]  # of its run; of the newest run of the old environment
        assert connection.execute(sa.text("SELECT count(*) FROM environment")).scalar() == 2
    assert rows[0].key == rows[2].key != rows[1].key
    assert rows[0].key == key_of(facts_of([stored[0]]) | {"runner": ["big"]})
    assert json.loads(rows[1].facts)["gpu"] == ["H100"]


def test_more_rows_than_are_filled_at_once(engine):
    samples = {(launch, operation): (float(operation),) for launch in (3, 4) for operation in (1, 2)}
    older(engine, samples)
    with transaction(engine, writing=True) as connection:
        copy = "INSERT INTO sample SELECT launch_id, operation_id, '{}', position, count, {}, total, calls FROM sample"
        values = '"values"'
        for number in range(800):
            connection.exec_driver_sql(copy.format(f"m{number:03}", values) + " WHERE metric = 'time'")
    migrate(engine)
    with transaction(engine) as connection:
        wrong = "SELECT count(*) FROM sample WHERE median IS NULL OR median <> operation_id"
        assert connection.execute(sa.text(wrong)).scalar() == 0
        assert connection.execute(sa.text("SELECT count(*) FROM sample")).scalar() == 4 * 801


def test_a_migration_that_fails_changes_nothing(engine, monkeypatch):
    older(engine, {(3, 1): (1.0,)})
    with transaction(engine, writing=True) as connection:
        connection.execute(sa.text("CREATE TABLE noise_floor (id INTEGER)"))  # in the way
    with pytest.raises(HistoryError, match="noise_floor"):
        migrate(engine)
    assert state_of(engine).revision == "0001"
    with transaction(engine) as connection:
        assert "median" not in {column["name"] for column in sa.inspect(connection).get_columns("sample")}
        assert not sa.inspect(connection).has_table("change_point")
        assert connection.execute(sa.text("SELECT count(*) FROM sample")).scalar() == 1


def test_a_newer_database_is_left_alone(history_place, engine):
    migrate(engine)
    with transaction(engine, writing=True) as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    for call in (lambda: open_history(history_place), lambda: migrate(engine)):
        with pytest.raises(HistoryError, match="newer release"):
            call()
    assert state_of(engine).revision == "9999"


@pytest.mark.parametrize(("revision", "words"), [("0000", "none of regimeter's"), ("9999", "newer release")])
def test_what_no_migration_can_read_is_said_and_no_migration_advised(revision, words, history_place, engine, capsys):
    migrate(engine)
    with transaction(engine, writing=True) as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = :revision"), {"revision": revision})
    for call in (lambda: open_history(history_place), lambda: migrate(engine)):
        with pytest.raises(HistoryError, match=words):
            call()
    assert main(["history", "info", "--db", history_place]) == 0
    said = capsys.readouterr().out
    assert words in said
    assert "Next: " not in said


def test_a_database_of_something_else_is_refused(history_place, engine):
    with transaction(engine, writing=True) as connection:
        connection.execute(sa.text("CREATE TABLE run (id INTEGER)"))
    for call in (lambda: open_history(history_place), lambda: migrate(engine)):
        with pytest.raises(HistoryError, match="a database of something else: its table 'run' is not ours"):
            call()


def test_options_may_stand_before_the_words(history_place, tmp_path, capsys):
    profile = tmp_path / "p.json"
    entries = [{"operation": "a", "duration_ms": 1.0, "device": "cpu"} for _ in range(3)]
    profile.write_text(json.dumps({"entries": entries}))
    assert main(["baseline", "save", "--db", history_place, "main", str(profile)]) == 0
    assert main(["history", "--db", history_place, "add", str(profile)]) == 0
    assert main(["baseline", "save", "other", "--db", history_place, str(profile)]) == 0
    assert main(["baseline", "--db", history_place, "list"]) == 0
    assert "main" in capsys.readouterr().out


# Three children that begin when all of them are there, with connections of their own.
AT_ONCE = """
    import os, sys
    from regimeter.history import migrate
    from regimeter.history.database import connect, url_of

    wait, begin = os.pipe()
    children = []
    for _ in range(3):
        child = os.fork()
        if child == 0:
            os.close(begin)
            os.read(wait, 1)  # until its parent has closed the other end
            sys.stdout.write(f"{migrate(connect(url_of(sys.argv[1])))}\\n")
            sys.stdout.flush()
            os._exit(0)
        children.append(child)
    os.close(begin)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
"""


def test_processes_migrate_at_once(history_place, engine, run_python):
    older(engine)
    said = sorted(run_python(AT_ONCE, history_place).stdout.splitlines())
    assert said == [str(("0001", HEAD)), str((HEAD, HEAD)), str((HEAD, HEAD))]
