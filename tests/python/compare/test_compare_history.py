# SPDX-License-Identifier: Apache-2.0
"""`regimeter compare` against the history: the first run, the second, what was accepted, what is kept."""

import functools
import json
import random
import re

import pytest
from needed import package

package("sqlalchemy")
package("alembic")


def profile(path, factor=1.0, seed=0):
    draw = random.Random(seed)
    entries = [
        {"operation": name, "duration_ms": 10.0 * draw.lognormvariate(0, 0.01) * (factor if name == "slow" else 1.0)}
        for name in ("steady", "slow")
        for _ in range(40)
    ]
    path.write_text(json.dumps({"entries": entries, "summary": {}}))
    return str(path)


@pytest.fixture
def command(command, tmp_path):
    """Run the command with a history of its own."""
    return functools.partial(command, env={"REGIMETER_HISTORY": str(tmp_path / "history.db")})


def test_the_first_run_is_saved_and_the_next_is_compared_with_it(tmp_path, command):
    first, second = profile(tmp_path / "a.json"), profile(tmp_path / "b.json", 2.0, seed=1)
    done = command("compare", "db:main", first)
    assert done.returncode == 0, done.stderr
    assert "saved as run 1" in done.stderr
    done = command("compare", "db:main", second)
    assert done.returncode == 1, done.stderr
    assert "1 regression" in done.stdout
    done = command("compare", "main", second, "--json")  # the bare name stands for the same
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["summary"]["regressions"] == 1


def test_a_required_baseline_that_is_not_there(tmp_path, command):
    done = command("compare", "db:main", profile(tmp_path / "a.json"), "--require-baseline")
    assert done.returncode == 5
    assert not (tmp_path / "history.db").exists()


def test_what_was_accepted_passes_and_says_so(tmp_path, command):
    first, second = profile(tmp_path / "a.json"), profile(tmp_path / "b.json", 2.0, seed=1)
    assert command("compare", "db:main", first).returncode == 0
    done = command("baseline", "accept", "--op", "slow", "--reason", "more digits are computed")
    assert done.returncode == 0, done.stderr
    done = command("compare", "db:main", second)
    assert done.returncode == 1  # the whole is a test of its own, and the report names the command for it
    assert "regimeter baseline accept --op 'total time of a round' --reason TEXT" in done.stdout
    done = command("baseline", "accept", "--op", "total time of a round", "--reason", "because of the digits")
    assert done.returncode == 0, done.stderr
    done = command("compare", "db:main", second)
    assert done.returncode == 0, done.stderr
    assert "more digits are computed" in done.stdout


def test_the_run_and_its_verdicts_are_kept(tmp_path, command):
    first, second = profile(tmp_path / "a.json"), profile(tmp_path / "b.json", seed=1)
    assert command("compare", "db:main", first).returncode == 0
    assert command("compare", "db:main", second, "--save").returncode == 0
    done = command("history", "list", "--json")
    assert done.returncode == 0, done.stderr
    states = sorted(row["state"] for row in json.loads(done.stdout)["runs"])
    assert states == ["clean", "recorded"]


def test_the_page_draws_what_the_history_has(tmp_path, command):
    from regimeter.compare.sources import side_of
    from regimeter.history import Baselines, open_history

    store = open_history(tmp_path / "history.db")
    for number in range(30):
        file = profile(tmp_path / "run.json", 1.0 if number < 15 else 1.5, seed=number)
        run = store.add(side_of(file, "run"))
        if not number:
            Baselines(store).save("main", run)
    done = command("compare", "db:main", file, "--force", "--format", "html", "-o", "page.html")
    assert done.returncode == 1, done.stderr
    text = (tmp_path / "page.html").read_text()
    blocks = re.findall(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', text, re.DOTALL)
    (data,) = (found for found in map(json.loads, filter(None, blocks)) if found and "history" in found)
    trend = data["history"]["slow"]
    assert len(trend["points"]) == 30
    assert [change["at"] for change in trend["changes"]] == [15]
    assert data["history"]["steady"]["changes"] == []


def test_a_file_that_is_not_there_stays_one(tmp_path, command):
    done = command("compare", "absent.json", profile(tmp_path / "a.json"))
    assert done.returncode == 2
    assert "absent.json" in done.stderr
