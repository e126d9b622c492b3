# SPDX-License-Identifier: Apache-2.0
"""Directories and patterns of rank files: which belong together, and what is said of the others."""

import json
import os
import subprocess
import sys

import pytest
from traces import trace_path
from warm import command

from regimeter import FormatError, Run, load
from regimeter.cli import main
from regimeter.report.memory_run import memory_document


def write(path, rank=None, world=None, trace_id=None, events=3):
    head = {"trace_id": trace_id} if trace_id else {}
    if rank is not None:
        head["distributedInfo"] = {"rank": rank, "world_size": world}
    rows = [
        {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": i * 10, "dur": 5} for i in range(events)
    ]
    path.write_text(json.dumps({"schemaVersion": 1, **head, "traceEvents": rows}))


def ranks(run: Run) -> list[int]:
    return sorted(set(run.lanes.rank.tolist()))


def left_out(run: Run) -> str:
    return "".join(row["detail"] for row in run.anomaly_list() if row["code"] == "skipped_files")


def test_of_as_many_files_those_that_state_a_job_are_read(tmp_path):
    write(tmp_path / "a.json", events=1)
    write(tmp_path / "b.json", 0, 1, events=2)
    run = load(tmp_path)
    assert (len(run.spans), ranks(run)) == (2, [0])
    assert "a.json: of another job (no world size)" in left_out(run)


def test_a_directory_of_ranks(tmp_path):
    for rank in range(11):
        write(tmp_path / f"trace-{10 - rank}.json", rank, 11, events=rank + 1)
    run = load(tmp_path)
    assert ranks(run) == list(range(11))
    assert len(run.spans) == 66
    assert left_out(run) == ""
    table = run.analyse("breakdown")
    assert dict(zip(table.rank.tolist(), table.n_kernel.tolist(), strict=True)) == {r: r + 1 for r in range(11)}


def test_recordings_are_of_the_ranks_that_their_launcher_stated(tmp_path):
    """Their names do not tell, or tell something else."""
    code = "import sys, regimeter\nwith regimeter.GPUProfiler(path=sys.argv[1]) as p, p.profile(sys.argv[2]): pass"
    for name, rank in (("first.rgm", "1"), ("of_rank3.rgm", "0")):
        command = [sys.executable, "-c", code, str(tmp_path / name), f"as rank {rank}"]
        subprocess.run(command, env={**os.environ, "RANK": rank, "WORLD_SIZE": "2"}, check=True, timeout=120)
    run = load(tmp_path)
    ranks_of = run.lanes.rank[run.spans.lane].tolist()
    assert dict(zip(map(run.string, run.spans.name), ranks_of, strict=True)) == {"as rank 0": 0, "as rank 1": 1}
    assert left_out(run) == ""


def recorded_ranks(folder, code):
    """Record a program as rank 0 and 1 of a job; return the files."""
    files = []
    for rank in "01":
        (place := folder / rank).mkdir()
        (place / "program.py").write_text(code)
        files.append(str(folder / f"{rank}.rgm"))
        told = {**os.environ, "RANK": rank, "WORLD_SIZE": "2"}
        assert command(place, "record", "-q", "-o", files[-1], "program.py", variables=told).returncode == 0
    return files


def test_what_was_read_of_a_process_is_of_its_rank(tmp_path):
    """Readings of memory and of what kept a process from its processors name no lane: they were everybody's."""
    code = "import time\nend = time.monotonic() + 0.3\nwhile time.monotonic() < end: sum(range(1000))\n"
    run = load(recorded_ranks(tmp_path, code))
    for table in (run.memory, run.tables.pressure):
        assert len(table)
        assert set(run.lanes.rank[table.lane].tolist()) == {0, 1}
    assert [row["rank"] for row in memory_document(run, "")["readings"]] == [0, 1]


CRUNCHED = """import threading, time
def crunch():
    end = time.thread_time() + 0.5
    while time.thread_time() < end: sum(range(1000))
worker = threading.Thread(target=crunch)
worker.start()
worker.join()
"""


def test_what_threads_of_a_rank_do_is_known_beside_another_rank(tmp_path):
    """Threads without a scope had no lane, so were nobody's: who waited for one was "held by a lock" beside a rank."""
    files = recorded_ranks(tmp_path, CRUNCHED)
    run = load(files)
    assert (run.samples.lane >= 0).all()
    assert set(run.lanes.rank.tolist()) == {0, 1}
    alone, both = load(files[0]).verdict(), run.verdict()
    assert alone is not None
    assert both is not None
    assert (alone.causes[0].cause, both.causes[0].cause) == ("python", "python"), (alone.why, both.why)
    assert both.causes[0].place.startswith("crunch (program.py:")


def test_a_list_and_several_arguments(tmp_path, capsys):
    paths = [tmp_path / f"{name}.json" for name in "ba"]
    for rank, path in enumerate(paths):
        write(path, rank, 2, events=rank + 1)
    run = load([str(path) for path in paths])
    assert ranks(run) == [0, 1]
    assert len(run.spans) == 3
    assert main(["breakdown", *map(str, paths), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["file"] == [str(path) for path in paths]
    assert [row["n_kernel"] for row in found["devices"].values()] == [1, 2]


def test_a_pattern(tmp_path):
    for rank in range(3):
        write(tmp_path / f"rank-{rank}.json", rank, 3)
    write(tmp_path / "other.json", 0, 3)
    assert ranks(load(str(tmp_path / "rank-*.json"))) == [0, 1, 2]
    assert ranks(load(str(tmp_path / "rank-[02].json"))) == [0, 2]
    assert left_out(load(str(tmp_path / "rank-*.json"))) == ""


def test_a_name_with_brackets_is_a_file(tmp_path):
    write(tmp_path / "rank[0].json", 0, 2)
    write(tmp_path / "rank0.json", 1, 2, events=5)
    assert len(load(tmp_path / "rank[0].json").spans) == 3


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["rank-4.json", "rank-7.json"], [4, 7]),
        (["rank_1.pt.trace.json", "rank_0.pt.trace.json"], [0, 1]),
        (["worker3.json", "worker12.json"], [3, 12]),
        (["a.json", "b.json"], [0, 1]),
        (["a.json", "rank-0.json"], [0, 1]),
    ],
)
def test_ranks_by_name_or_place(tmp_path, names, expected):
    for name in names:
        write(tmp_path / name)
    assert ranks(load(tmp_path)) == expected


def test_the_stated_rank_goes_before_the_name(tmp_path):
    write(tmp_path / "rank-8.json", 0, 2)
    write(tmp_path / "rank-9.json", 1, 2)
    assert ranks(load(tmp_path)) == [0, 1]


def test_other_jobs_and_other_files_are_left_out_and_named(tmp_path, capsys):
    for rank in range(3):
        write(tmp_path / f"rank-{rank}.json", rank, 3)
    write(tmp_path / "foreign.json", 3, 8)
    (tmp_path / "README.txt").write_text("hello")
    (tmp_path / ".hidden").write_text("hello")
    (tmp_path / "folder").mkdir()
    run = load(tmp_path)
    assert ranks(run) == [0, 1, 2]
    assert "foreign.json: of another job (world size 8)" in left_out(run)
    assert "README.txt: " in left_out(run)
    assert "hidden" not in left_out(run)
    assert main(["breakdown", str(tmp_path)]) == 0
    assert "foreign.json" in capsys.readouterr().err
    assert main(["breakdown", "-q", str(tmp_path)]) == 0
    assert "foreign.json" in capsys.readouterr().err  # what is missing from the figures is no hint


def test_trace_ids_tell_jobs_apart(tmp_path):
    for rank in range(2):
        write(tmp_path / f"rank-{rank}.json", rank, 2, "first")
    write(tmp_path / "rank-x.json", 1, 2, "second")
    run = load(tmp_path)
    assert ranks(run) == [0, 1]
    assert "rank-x.json: of another job" in left_out(run)


def test_a_second_trace_of_a_rank_is_left_out(tmp_path):
    write(tmp_path / "rank-0.step10.json", 0, 2, events=3)
    write(tmp_path / "rank-0.step20.json", 0, 2, events=9)
    write(tmp_path / "rank-1.json", 1, 2)
    run = load(tmp_path)
    assert len(run.spans) == 6
    assert "rank-0.step20.json: another trace of rank 0" in left_out(run)


def test_one_trace_in_a_directory(tmp_path):
    write(tmp_path / "only.json")
    assert len(load(tmp_path).spans) == 3


def test_no_trace_in_a_directory(tmp_path):
    with pytest.raises(FormatError, match="an empty directory"):
        load(tmp_path)
    (tmp_path / "a.txt").write_text("hello")
    with pytest.raises(FormatError, match=r"none of 1 files is a trace: a\.txt: not valid JSON"):
        load(tmp_path)
    assert main(["breakdown", str(tmp_path)]) == 2


def test_real_ranks(capsys):
    folder = trace_path("dlrm8")
    run = load(folder)
    assert ranks(run) == list(range(8))
    expected = json.loads(trace_path("exact_gpu_time.json").read_text())
    assert main(["breakdown", str(folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["devices"]
    for rank in range(8):
        for device, values in expected[f"dlrm8/rank-{rank}.json.gz"].items():
            key = device if device in found else f"{rank}/{device}"
            assert {name: found[key][name] for name in values} == values
