# SPDX-License-Identifier: Apache-2.0
"""Runs that lie in a file for the most part: the same results, and what is refused. Each in a process of its own."""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from serving import serving
from traces import trace_path

SMALL, LARGE = "h100_bert_small.json.gz", "a100_nccl_2024.json.gz"
WITHIN = "1MB"  # so little that nearly every column lies in the file

# Prints everything that can be asked of traces and of their saved runs, a line each; last what lay in the file.
EVERYTHING = """
import json, sys, regimeter
from regimeter import _core
from regimeter.analysis.catalog import find_verbs
from regimeter.run.formats import COLUMNAR, FORMATS

folder, *paths = sys.argv[1:]

def tell(name, value):
    print(name, json.dumps(value, default=str, sort_keys=True))

def ask_tables(run):
    for table in sorted(_core.schema()["run"]):
        columns = _core.schema()["run"][table]["columns"]
        found = run.table(table)
        tell(table, [hash(getattr(found, column["name"]).tobytes()) for column in columns])

def ask(run):
    ask_tables(run)
    for verb in find_verbs().values():
        for by in verb.by or [None]:
            result = run.result(verb.name, by=by, other=run if verb.other else None)
            tell(f"{verb.name} {by}", result.to_document("file"))
    tell("suggestions", [str(one) for one in run.suggestions()])
    tell("verdict", str(run.verdict()))
    for name in sorted(set(FORMATS) - set(COLUMNAR) - {"otlp", "json", "pickle"}):
        run.export(f"{folder}/out", name, table="spans" if name == "csv" else None)
        tell(name, hash(open(f"{folder}/out", "rb").read()))

for path in paths:
    run = regimeter.load(path)
    run.save(f"{folder}/saved.rgm")
    ask(run)
    saved = regimeter.load(f"{folder}/saved.rgm")
    ask(saved) if path == paths[0] else ask_tables(saved)
print(json.dumps(_core.spill_use()))
"""

VERBS = ("show", "breakdown", "kernels", "idle", "critical-path", "flame", "suggest")
END = "\0"  # after what a command has printed
DOORS = f"""
import json, sys
from regimeter import _core
from regimeter.cli import main

for words in json.loads(sys.argv[1]):
    assert main(words) == 0, words
    print(end={END!a})
print(json.dumps(_core.spill_use()))
"""

Command = Callable[..., "subprocess.CompletedProcess[str]"]


def python(*words: object, expect: int = 0, folder: Path | None = None, **variables: object) -> tuple[str, str]:
    """Run a fresh interpreter with more variables of the environment; return what it printed, and its complaints."""
    environment = os.environ | {"PYTHONHASHSEED": "0"} | {name: str(value) for name, value in variables.items()}
    done = subprocess.run(
        [sys.executable, *map(str, words)], capture_output=True, text=True, timeout=500, env=environment, cwd=folder
    )
    assert done.returncode == expect, done.stderr
    return done.stdout, done.stderr


def ended(*words: object, expect: int = 0, **variables: object) -> tuple[str, str]:
    """Run `regimeter`."""
    return python("-m", "regimeter", *words, expect=expect, **variables)


def without_time(page: Path) -> str:
    """Return a page without the moment at which it was made."""
    return re.sub(r'"created": ?"[^"]*"', "", page.read_text())


@pytest.mark.slow
def test_everything_is_the_same_from_the_file(tmp_path: Path) -> None:
    plain = tmp_path / "plain.json"
    plain.write_bytes(gzip.decompress(trace_path(SMALL).read_bytes()))
    words = ("-c", EVERYTHING, tmp_path, plain, trace_path(LARGE))
    *expected, unlimited = python(*words)[0].splitlines()
    *found, used = python(*words, REGIMETER_MEMORY=WITHIN)[0].splitlines()
    assert len(expected) > 100
    assert found == expected
    assert json.loads(unlimited) == {"on": False, "budget": 0, "in_memory": 0, "in_file": 0, "most_in_file": 0}
    used = json.loads(used)
    assert used["budget"] == 500_000
    assert used["in_memory"] <= used["budget"]
    assert used["most_in_file"] > 2_000_000


def test_every_door_says_the_same(tmp_path: Path, command: Command) -> None:
    """One process is told by the variable, one by the option, which may stand before the file and after it."""
    path = trace_path(LARGE)
    lines = [[verb, path, "--json"] for verb in VERBS] + [
        ["memory", trace_path(SMALL), "--json"],
        ["report", path, "-q", "-o", "page.html"],
    ]
    expected = [command(*words).stdout for words in lines]
    page = without_time(tmp_path / "page.html")
    for limit in ("variable", "option"):
        (tmp_path / limit).mkdir()
        by_option = limit == "option"
        asked = [[*words, "--memory", WITHIN] if by_option else words for words in lines]
        if by_option:  # the second one would start a program that it takes for its file
            asked[0] = ["show", "--memory", WITHIN, path, "--json"]
            asked[-2] = ["memory", "--memory", WITHIN, *lines[-2][1:]]
        variables = {} if by_option else {"REGIMETER_MEMORY": WITHIN}
        words = json.dumps(asked, default=str)
        *told, used = python("-c", DOORS, words, folder=tmp_path / limit, **variables)[0].split(END)
        assert told == expected
        assert without_time(tmp_path / limit / "page.html") == page
        assert json.loads(used)["most_in_file"] > 2_000_000


def test_a_server_answers_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = []
    for limit in ("", WITHIN):
        monkeypatch.setenv("REGIMETER_MEMORY", limit)
        with serving(str(trace_path(LARGE))) as server:
            one = server.ask("/api/runs").json()["runs"][0]["id"]
            answers.append(
                [server.ask(f"/api/runs/{one}/analyses/{verb}").json() for verb in ("kernels", "idle", "breakdown")]
            )
    assert answers[0] == answers[1]
    assert answers[0][0]["rows"]


def test_load_takes_a_limit() -> None:
    program = (
        "import sys, regimeter; from regimeter import _core; before = _core.spill_use()['on'];"
        "run = regimeter.load(sys.argv[1], memory=sys.argv[2]); print(before, _core.spill_use()['in_file'] > 0);"
        "regimeter.load(sys.argv[1], memory=64_000_000); print(_core.spill_use()['budget']); del run;"
        "print(_core.spill_use()['in_file'])"
    )
    assert python("-c", program, trace_path(LARGE), WITHIN)[0].split() == ["False", "True", "32000000", "0"]


def test_what_is_no_size_is_refused(command: Command) -> None:
    refused = command("show", "x", "--memory", "much")
    assert refused.returncode == 2
    assert "expected a size above 0 such as 500MB, 8G or 2GiB, got 'much'" in refused.stderr
    told = ended("show", trace_path(SMALL), expect=2, REGIMETER_MEMORY="-5")[1]
    assert told == "regimeter: REGIMETER_MEMORY: expected a size above 0 such as 500MB, 8G or 2GiB, got '-5'\n"


def test_folders_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    absent = tmp_path / "absent"
    told = ended("show", trace_path(SMALL), "--memory", WITHIN, expect=2, REGIMETER_SPILL=absent)[1]
    assert told == f"regimeter: spill folder {absent}: No such file or directory; check the path\n"
    if not Path("/dev/shm").is_dir():
        pytest.skip("no folder that lies in memory")
    told = ended("show", trace_path(SMALL), "--memory", WITHIN, expect=1, REGIMETER_SPILL="/dev/shm")[1]
    assert "/dev/shm: its files lie in memory themselves; name a folder on a disk by REGIMETER_SPILL" in told


def test_nothing_is_left_in_the_folder() -> None:
    folder = Path(tempfile.mkdtemp(dir="/var/tmp"))
    program = (
        "import os, sys, regimeter; run = regimeter.load(sys.argv[1], memory='1MB');"
        f"print(os.listdir({str(folder)!r}), regimeter._core.spill_use()['in_file'] > 0, flush=True);"
        "os.kill(os.getpid(), 9)"
    )
    try:
        assert python("-c", program, trace_path(LARGE), expect=-9, REGIMETER_SPILL=folder)[0] == "[] True\n"
        assert not list(folder.iterdir())
    finally:
        shutil.rmtree(folder)
