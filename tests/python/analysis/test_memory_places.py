# SPDX-License-Identifier: Apache-2.0
"""Memory of several ranks or processes: each has addresses and levels of its own, also on devices of one number."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from traces import trace_path

import regimeter
from regimeter.analysis.memory_place import PLACE
from regimeter.cli import main
from regimeter.report.memory_run import memory_document
from regimeter.report.memory_run_page import DRAWN, memory_run_data

MB = 1_000_000
WITH_MEMORY = "h100_owlv2_with_stack.json.gz"


def levels_of(run: regimeter.Run, **place: int) -> list[tuple[int, ...]]:
    """Return (time, live, reserved) of each event of an allocator at a place."""
    levels = run.analyse("memory_levels")
    columns = [getattr(levels, name).tolist() for name in (*PLACE, "time_ns", "live", "reserved")]
    wanted = tuple(place.get(name, -1) for name in PLACE)
    return [tuple(row[3:]) for row in zip(*columns, strict=True) if row[:3] == wanted]


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> tuple[regimeter.Run, regimeter.Run, list[str]]:
    """A trace, and the run of two ranks that both recorded it."""
    folder = tmp_path_factory.mktemp("ranks")
    files = [str(shutil.copy(trace_path(WITH_MEMORY), folder / name)) for name in ("a.json.gz", "b.json.gz")]
    return regimeter.load(files[0]), regimeter.load(files), files


def test_each_rank_has_the_levels_that_it_has_alone(ranks) -> None:
    """A block that one gave back was taken for one of the other that lived before: 250 GB on a device of 80."""
    alone, both, _ = ranks
    for device in (-1, 0):
        expected = levels_of(alone, device=device)
        assert expected
        for rank in (0, 1):
            assert levels_of(both, device=device, rank=rank) == expected
    assert len(both.analyse("memory_levels")) == 2 * len(alone.analyse("memory_levels"))


def test_who_asked_is_told_of_each_rank(ranks) -> None:
    alone, both, _ = ranks
    for by in ("stack", "scope", "category"):
        rows = [row | {"stack": None} for row in alone.result("allocations", by=by)]
        for rank in (0, 1):
            found = [row | {"stack": None, "rank": None} for row in both.result("allocations", by=by)]
            of_rank = [
                one for one, row in zip(found, both.result("allocations", by=by), strict=True) if row["rank"] == rank
            ]
            assert of_rank == [row | {"rank": None} for row in rows]


def test_doors_say_whose_memory_it_is(ranks, capsys) -> None:
    alone, _, files = ranks
    peak = next(one for one in memory_document(alone, "")["devices"] if one["device"] == 0)["peak_bytes"]
    assert main(["memory", *files, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    places = [[one[name] for name in PLACE] for one in document["devices"]]
    assert places == [[-1, 0, -1], [-1, 1, -1], [0, 0, -1], [0, 1, -1]]
    assert {one["peak_bytes"] for one in document["devices"] if one["device"] == 0} == {peak}
    assert main(["memory", *files]) == 0
    text = capsys.readouterr().out
    assert "device 0 of rank 0: peak 2.71 GB" in text
    assert "device 0 of rank 1: peak 2.71 GB" in text
    page = memory_run_data(regimeter.load(files), "both")
    titles = [section["title"] for section in page["sections"]]
    assert "Device 0 of rank 1: allocated over time" in titles
    assert len({section["id"] for section in page["sections"]}) == len(page["sections"])


def test_of_many_ranks_those_with_the_largest_peaks_are_drawn(tmp_path: Path) -> None:
    files = [
        str(shutil.copy(trace_path("h100_bert_small.json.gz"), tmp_path / f"{rank}.json.gz")) for rank in range(12)
    ]
    run = regimeter.load(files)
    page = memory_run_data(run, "all")
    drawn = [section for section in page["sections"] if section["id"].startswith("levels-")]
    assert len(drawn) == DRAWN
    assert all(section["title"].startswith("Device 0 of rank ") for section in drawn)
    assert drawn[0]["note"] == f"Drawn are the {DRAWN} of 24 with the largest peaks; all are in the tables."
    figures = next(section for section in page["sections"] if section["id"] == "figures")
    assert {len(column["values"]) for column in figures["columns"]} == {24}


PROCESSES = """import json, multiprocessing
def work(blocks):
    kept = [bytearray(8_000_000) for _ in range(blocks)]
    return len(kept)
if __name__ == "__main__":
    kept = [bytearray(8_000_000) for _ in range(5)]
    children = [multiprocessing.get_context("fork").Process(target=work, args=(blocks,)) for blocks in (10, 20)]
    for one in children:
        one.start()
        one.join()
    print(json.dumps([one.pid for one in children]))
"""


def test_each_process_has_memory_of_its_own(tmp_path: Path) -> None:
    """A child has its parent's addresses."""
    (tmp_path / "program.py").write_text(PROCESSES)
    tool = [sys.executable, "-m", "regimeter", "record", "-q", "--memory", "-o", "run.rgm", "program.py"]
    done = subprocess.run(tool, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    run = regimeter.load([str(file) for file in sorted(tmp_path.glob("run.rgm*"))])
    first, second = json.loads(done.stdout.splitlines()[-1])
    peaks = {one["process"]: one["peak_bytes"] for one in memory_document(run, "")["devices"]}
    assert set(peaks) == {run.environment["pid"], first, second}
    assert peaks[run.environment["pid"]] == pytest.approx(40 * MB, rel=0.2)
    assert peaks[first] == pytest.approx(80 * MB, rel=0.2)
    assert peaks[second] == pytest.approx(160 * MB, rel=0.2)
    readings = {one["process"]: one["peak_bytes"] for one in memory_document(run, "")["readings"]}
    assert readings.keys() <= set(peaks)


def test_one_process_is_nobody_else() -> None:
    """What is said of one names no rank and no process."""
    alone = regimeter.load(trace_path(WITH_MEMORY))
    levels = alone.analyse("memory_levels")
    assert set(levels.rank.tolist()) == set(levels.process.tolist()) == {-1}
    assert "rank" not in str(memory_run_data(alone, "alone")["sections"][0]["title"])
