# SPDX-License-Identifier: Apache-2.0
"""Many processes that write one history at once, and some that die of it: nothing is lost, doubled or half there."""

import random
import signal
import subprocess
import textwrap

import pytest

from regimeter.compare.sources import side_of
from regimeter.history import open_history

WRITERS = 8
KILLS = 4

# One process imports and forks the writers, each with an engine of its own. One of them is killed again and again,
# while the others write on: by itself after any statement, or by its parent whenever that is.
WRITING = """
    import os, random, signal, sys
    import sqlalchemy as sa
    from regimeter import _core
    from regimeter.compare.sources import side_of
    from regimeter.history import Commit, open_history
    from regimeter.history import schema
    _core.die_with_parent(signal.SIGKILL)
    place, count, kills = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    chance, (told, tell) = random.Random(18), os.pipe()
    NAMES = [f"operation {i}" for i in range(20)]

    def write(number, turns=3, statements=0):
        names = random.Random(number).sample(NAMES, len(NAMES))
        seen = 0
        _core.die_with_parent(signal.SIGKILL)
        os.close(told)  # so that writing to it fails where the parent was gone before

        def look(*rest):
            nonlocal seen
            seen += 1
            if seen == statements:
                os.kill(os.getpid(), signal.SIGKILL)

        sa.event.listen(sa.engine.Engine, "after_cursor_execute", look)
        history = open_history(place)
        for turn in range(turns):
            side = side_of({name: [[float(number), turn], [1.0]] for name in [*names, f"of {number} {turn}"]}, "run")
            row = history.add(side, Commit(branch=str(number)), label=str(turn))
            os.write(tell, b"%d %d %d\\n" % (number, turn, row.id))

    def fork(number, **options):
        if child := os.fork():
            return child
        try:
            write(number, **options)
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
        os._exit(0)

    def halves():
        count = sa.func.count(schema.sample.c.launch_id)
        query = sa.select(count).select_from(schema.run.outerjoin(schema.launch).outerjoin(schema.sample))
        with open_history(place).engine.connect() as connection:
            return [n for n in connection.execute(query.group_by(schema.run.c.id)).scalars() if n != 42]

    children = [fork(number) for number in range(count - 1)]
    lines = os.fdopen(told)
    for kill in range(kills):
        print(lines.readline(), end="")
        if kill % 2:
            victim = fork(100 + kill, turns=1000)
            for _ in range(chance.randrange(1, 6)):
                print(lines.readline(), end="")
            os.kill(victim, signal.SIGKILL)
        else:
            victim = fork(100 + kill, turns=1000, statements=chance.randrange(8, 30))
        print("killed", os.waitpid(victim, 0)[1], *halves())
    os.close(tell)
    print(lines.read(), end="")
    print("ended", *(os.waitpid(child, 0)[1] for child in children))
"""


def test_the_writers_end_with_whoever_started_them(start_python, tmp_path):
    """Also where that is killed and can end nobody: all of them hold its output, which is over when they are."""
    starter = start_python(
        """
        import subprocess, sys
        subprocess.run([sys.executable, "-c", *sys.argv[1:]])
        """,
        textwrap.dedent(WRITING),
        f"sqlite:///{tmp_path / 'history.db'}",
        3,
        10**9,
        stderr=subprocess.DEVNULL,
    )
    assert starter.stdout.readline()
    starter.kill()
    starter.communicate(timeout=300)


@pytest.mark.slow
def test_many_processes_write_a_new_database_while_some_are_killed(history_place, run_python):
    done = run_python(WRITING, history_place, WRITERS, KILLS)
    *lines, ended = done.stdout.splitlines()
    assert ended == "ended" + " 0" * (WRITERS - 1), done.stderr
    deaths = [line for line in lines if line.startswith("killed")]
    assert deaths == [f"killed {int(signal.SIGKILL)}"] * KILLS, "a reader saw a part of a run"
    acknowledged = {tuple(map(int, line.split())) for line in lines if not line.startswith("killed")}
    history = open_history(history_place)
    found = [(int(row.branch), int(row.label), row.id) for row in history.runs()]
    # Nothing that was acknowledged is lost; what was not is at most the last run of a writer that died, once and whole.
    assert acknowledged <= set(found)
    assert all(number >= 100 for number, _, _ in set(found) - acknowledged)
    assert len({(number, turn) for number, turn, _ in found}) == len(found)
    turns = {number: sorted(turn for one, turn, _ in found if one == number) for number, _, _ in found}
    assert all(turned == list(range(len(turned))) for turned in turns.values())
    assert all(len(turns[number]) == 3 for number in range(WRITERS - 1))
    counts = history.counts()
    assert (counts["run"], counts["sample"]) == (len(found), len(found) * 21 * 2)
    assert counts["operation"] == 20 + len(found)
    assert counts["environment"] == 1
    for row in random.Random(1).sample(history.runs(), 8):
        launches = history.side(row).metrics["time"].launches
        assert len(launches) == 21
        assert all(values[0].tolist() == [int(row.branch), int(row.label)] for values in launches.values())


# One writer after the other, each killed within a transaction, after one of so many INSERTs.
KILLED = """
    import os, signal, sys
    import sqlalchemy as sa
    from regimeter import _core
    from regimeter.compare.sources import side_of
    from regimeter.history import open_history
    _core.die_with_parent(signal.SIGKILL)
    place, *afters = sys.argv[1:]

    def write(after):
        _core.die_with_parent(signal.SIGKILL)
        history, seen = open_history(place), 0

        @sa.event.listens_for(history.engine, "after_cursor_execute")
        def count(connection, cursor, statement, *rest):
            nonlocal seen
            seen += statement.lstrip().startswith("INSERT")
            if seen == after:
                os.kill(os.getpid(), signal.SIGKILL)

        for number in range(100):
            row = history.add(side_of({f"operation {i}": [[float(number)]] for i in range(700)}, str(number)))
            print(row.id, flush=True)

    for after in map(int, afters):
        child = os.fork()
        if child == 0:
            try:
                write(after)
            finally:
                os._exit(1)
        print("ended", os.waitpid(child, 0)[1], flush=True)
"""


def test_a_killed_writer_loses_nothing_and_leaves_nothing_half(history_place, run_python):
    afters = (1, 4, 5, 7, 12)
    open_history(history_place)
    lines = run_python(KILLED, history_place, *afters).stdout.splitlines()
    assert lines.count(f"ended {int(signal.SIGKILL)}") == len(afters)
    written = [int(line) for line in lines if not line.startswith("ended")]
    assert written  # not all were killed within their first run
    history = open_history(history_place)
    assert sorted(row.id for row in history.runs()) == written
    for row in history.runs():
        assert len(history.side(row).metrics["time"].launches) == 700
    counts = history.counts()
    assert counts["sample"] == 700 * len(written)
    assert counts["launch"] == len(written)
    # Nothing is locked either.
    history.add(side_of({"next": [[1.0]]}, "next"))
    assert history.counts()["run"] == len(written) + 1
