# SPDX-License-Identifier: Apache-2.0
"""Memory of several ranks or processes: each has addresses and levels of its own, also on devices of one number."""

import json
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from snapshots import Allocator, frame, snapshot
from traces import trace_path

import regimeter
from regimeter.analysis.memory_place import PLACE
from regimeter.cli import main
from regimeter.report.memory_run import memory_document
from regimeter.report.memory_run_page import DRAWN, memory_run_data
from regimeter.run.alignment import merge_ranks
from regimeter.run.rebuild import with_rank

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


@pytest.fixture(scope="module")
def snapshots(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Snapshots of two ranks, whose allocators give out the same addresses of a device of the same number."""
    files = []
    for rank, blocks in ((0, 3), (1, 8)):
        allocator = Allocator()
        for number in range(2):
            allocator.reserve(20 * MB, [frame(number)])
        addresses = [allocator.alloc(2 * MB, [frame(number)]) for number in range(blocks)]
        for address in addresses[rank::2]:
            allocator.free(address, [frame(9)])
        files.append(str(tmp_path_factory.mktemp("snapshots") / f"rank{rank}.pickle"))
        Path(files[-1]).write_bytes(pickle.dumps(snapshot(allocator)))
    return files


@pytest.mark.parametrize("saved", [False, True])
def test_snapshots_of_ranks_are_told_apart(snapshots: list[str], saved: bool, tmp_path: Path) -> None:
    """Segments and blocks of two did not say whose they are: two of 13.9 GB each were "64.8 GB"."""
    both = regimeter.load(snapshots)
    if saved:
        both.save(tmp_path / "both.rgm")
        both = regimeter.load(tmp_path / "both.rgm")
    for rank, file in enumerate(snapshots):
        alone = regimeter.load(file)
        assert levels_of(alone, device=0)
        assert levels_of(both, device=0, rank=rank) == levels_of(alone, device=0)
        for verb, by in (("pools", "device"), ("pools", "pool"), ("allocations", "line")):
            rows = [row | {"rank": None, "stack": None} for row in both.result(verb, by=by) if row["rank"] == rank]
            assert rows == [row | {"rank": None, "stack": None} for row in alone.result(verb, by=by)], (verb, by)
        told, of = (memory_document(run, "")["devices"] for run in (both, alone))
        assert told[rank] == of[0] | {
            "rank": rank,
            "peak_ns": told[rank]["peak_ns"],
            "timeline": told[rank]["timeline"],
        }
    assert len(both.result("pools")) == 2


def test_doors_say_whose_snapshot_it_is(snapshots: list[str], tmp_path: Path, capsys) -> None:
    assert main(["memory", *snapshots]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines[:4:2]] == ["device 0 of rank 0", "device 0 of rank 1"]
    assert all(" reserved at the end " in line for line in lines[1:4:2])
    page = memory_run_data(regimeter.load(snapshots), "both")
    maps = {section["title"]: section["segments"] for section in page["sections"] if section.get("form") == "segments"}
    assert [(title, sum(len(one["sizes"]) for one in drawn)) for title, drawn in maps.items()] == [
        ("Device 0 of rank 0: segments and the blocks in use", 1),
        ("Device 0 of rank 1: segments and the blocks in use", 4),
    ]
    assert main(["memory", *snapshots, "-o", str(tmp_path / "both.pickle")]) == 2
    assert "the memory of several ranks" in capsys.readouterr().err
    assert not (tmp_path / "both.pickle").exists()
    assert main(["memory", *snapshots, "-o", str(tmp_path / "both.html")]) == 0
    assert "rank0.pickle and 1 more: memory" in (tmp_path / "both.html").read_text()


def test_what_several_ranks_asked_for_is_no_snapshot_of_one(ranks, tmp_path: Path) -> None:
    """A trace has no segments that would tell."""
    with pytest.raises(ValueError, match="the memory of several ranks"):
        ranks[1].export(str(tmp_path / "both.pickle"), "pickle")


def test_two_snapshots_of_one_rank_are_not_merged(snapshots: list[str]) -> None:
    runs = [with_rank(regimeter.load(file), 3) for file in snapshots]
    with pytest.raises(ValueError, match="are both of rank 3"):
        merge_ranks(runs)


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
