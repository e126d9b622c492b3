# SPDX-License-Identifier: Apache-2.0
"""Samples of host stacks in pictures: folded, by line, in every format of a flame graph."""

import json
import subprocess
from collections import Counter

import pytest
from sampled_stacks import frames_of
from test_stacks import RECORD

import regimeter
from regimeter import Run
from regimeter.cli import main


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """A recorded program that sleeps twice as long in one function as in the other."""
    folder = tmp_path_factory.mktemp("recording")
    (folder / "prog.py").write_text(
        "import time\ndef longer():\n    time.sleep(0.6)\ndef shorter():\n    time.sleep(0.3)\nlonger(); shorter()\n"
    )
    subprocess.run([*RECORD, "--stacks", "500", "prog.py"], cwd=folder, check=True, timeout=120)
    return folder


@pytest.fixture
def cli(recording, monkeypatch, capsys):
    """Run the command where the recording is; return what it prints."""

    def run(*words: str) -> str:
        with monkeypatch.context() as here:
            here.chdir(recording)
            assert main(list(words)) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    return run


def test_a_folded_flame_graph(recording, cli):
    cli("flame", "run.rgm", "-o", "x.folded")
    times = Counter[str]()
    for line in (recording / "x.folded").read_text().splitlines():
        stack, _, ns = line.rpartition(" ")
        times[stack.rpartition(";")[2]] += int(ns)
    file = recording / "prog.py"
    longer, shorter = times[f"longer ({file}:3)"], times[f"shorter ({file}:5)"]
    assert 1.5 < longer / shorter < 2.7
    run = regimeter.load(recording / "run.rgm")
    assert sum(times.values()) <= 1.05 * (run.end_ns - run.start_ns)


def spent(node, function):
    """Return the time of a function in a flame graph."""
    if node["name"].startswith(f"{function} ("):
        return node["value"]
    return sum(spent(child, function) for child in node["children"])


def test_pictures_of_samples(recording, cli):
    whole = json.loads(cli("flame", "run.rgm", "--json"))
    running = json.loads(cli("flame", "run.rgm", "--json", "--state", "running"))
    assert spent(running, "longer") < 0.2 * spent(whole, "longer")  # it may be found on its way to sleep
    assert "longer" not in cli("flame", "run.rgm", "--json", "--of", "spans")
    for name in ("x.speedscope.json", "x.trace.json", "x.pftrace"):
        cli("export", "run.rgm", "--of", "samples", "-o", name)
        assert b"longer" in (recording / name).read_bytes()
    cli("export", "run.rgm", "-o", "plain.trace.json")
    assert b"longer" not in (recording / "plain.trace.json").read_bytes()


COLLECTED = """import gc, time
def busy():
    end = time.process_time() + 0.3
    while time.process_time() < end:
        gc.collect()
busy()
"""


def test_a_collection_of_garbage_hides_no_stacks(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text(COLLECTED)
    subprocess.run([*RECORD, "--stacks", "500", "prog.py"], check=True, timeout=120)
    run = regimeter.load("run.rgm")
    assert {run.string(name) for name in run.spans.category.tolist()} == {"", "gc"}
    assert main(["flame", "run.rgm"]) == 0
    assert "busy" in capsys.readouterr().out
    assert main(["export", "run.rgm", "-o", "x.folded"]) == 0
    assert "busy" in (tmp_path / "x.folded").read_text()
    assert main(["flame", "run.rgm", "--of", "spans"]) == 0
    assert "busy" not in capsys.readouterr().out


def test_lines(recording, cli):
    run = regimeter.load(recording / "run.rgm")
    rows = {
        (run.string(row[0]), row[1]): i
        for i, row in enumerate(
            zip(*(run.lines().table.function.tolist(), run.lines().table.line.tolist()), strict=True)
        )
    }
    table = run.lines().table
    at = rows["longer", 3]
    assert abs(table.self_share[at] - 2 / 3) < 0.12
    assert table.waiting_share[at] > 0.8
    assert int(table.self.sum()) == len(run.samples)
    module = rows["<module>", 6]
    assert table.total[module] >= table.self[at]
    assert "longer" in cli("lines", "run.rgm")
    assert "longer" in cli("lines", "run.rgm", "--by", "function")


def test_merged_runs_keep_their_samples(recording):
    run = regimeter.load(recording / "run.rgm")
    merged = Run._merge([run, run], [0, 1000])
    assert len(merged.samples) == 2 * len(run.samples)
    assert frames_of(merged, int(merged.samples.stack[-1])) == frames_of(run, int(run.samples.stack[-1]))
