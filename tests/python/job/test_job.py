# SPDX-License-Identifier: Apache-2.0
"""Many ranks read one by one: the same as all of them at once, whoever reads them, and with known trouble."""

import gzip
import json
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from job_traces import Job, write_job
from published import check
from traces import trace_path

import regimeter
from regimeter import FormatError, UnavailableError, analyze_ranks, load
from regimeter.cli import main
from regimeter.job import workers as job_workers

TROUBLE = {1: (5, "compute"), 2: (9, "host"), 3: (0, "network")}


@pytest.fixture(scope="module")
def flat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return 16 replicas without a pipeline, with planned trouble."""
    folder = tmp_path_factory.mktemp("flat")
    list(write_job(folder, Job(replicas=16, stages=1, steps=5, micro_batches=2, kernels=10, trouble=TROUBLE), True))
    return folder


@pytest.fixture(scope="module")
def piped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return 16 ranks: 4 replicas of 4 stages."""
    folder = tmp_path_factory.mktemp("piped")
    job = Job(replicas=4, stages=4, steps=4, micro_batches=3, kernels=6, trouble=TROUBLE, slow_stage=2)
    list(write_job(folder, job))
    return folder


@pytest.fixture(scope="module")
def expected(flat: Path) -> dict[str, Any]:
    """Return what one process finds in the replicas."""
    return analyze_ranks(flat, workers=1).document()


def source_of(name: str, request: pytest.FixtureRequest) -> Path:
    """Return a folder of ranks: a real job, or a simulated one."""
    return request.getfixturevalue(name) if name in ("flat", "piped") else trace_path(name)


@pytest.mark.parametrize("name", ["dlrm8", "ranks128", "flat", "piped"])
def test_the_tables_are_those_of_the_merged_run(name: str, request: pytest.FixtureRequest) -> None:
    folder = source_of(name, request)
    merged, analysis = load(folder), analyze_ranks(folder, workers=1)
    found, arrivals = analysis.document(), analysis.arrivals
    assert np.allclose(arrivals.parts.sum(1), arrivals.late_ns, atol=1.0)
    assert (arrivals.caused_ns[~arrivals.doubtful] >= 0).all()
    assert found["rows"] == list(merged.ranks())
    assert analyze_ranks(folder, workers=1, by="step").document()["rows"] == list(merged.result("ranks", by="step"))
    added = {"by_cause_ns", "cause"}
    stragglers = [{k: v for k, v in row.items() if k not in added} for row in found["stragglers"]]
    assert stragglers == list(merged.stragglers())
    offsets = list(merged.clock_offsets())
    assert found["clocks"]["remaining_ns"] == max(abs(row["offset_ns"]) for row in offsets if row["shared"])
    instances = merged.analyse("collective_instances")
    sure = instances.doubtful == 0
    assert found["losses"]["wait_ns"] == int(instances.wait_ns[sure].sum())
    # Nobody waits but for the last to arrive, so that all sums of waits are what was caused.
    waits = [sum(row["wait_ns"] for row in found[part]) for part in ("steps", "collectives")]
    waits += [sum(row[of] for row in found["stragglers"]) for of in ("caused_ns", "waited_ns")]
    assert {found["losses"]["wait_ns"], sum(found["losses"]["caused_ns"].values()), *waits} == {
        arrivals.caused_ns.sum()
    }
    assert sum(row["matched"] for row in found["collectives"]) == len(instances)
    exposed = merged.analyse("communication").exposed_ns
    assert sum(row["exposed_ns"] for row in found["collectives"]) >= int(exposed.sum())  # kernels that overlap: twice


def test_planned_trouble_is_found_step_by_step(expected: dict[str, Any]) -> None:
    found = expected
    steps = {row["step"]: row for row in found["steps"]}
    assert (steps[1]["waited_for"], steps[1]["cause"]) == (5, "compute")
    assert (steps[2]["waited_for"], steps[2]["cause"]) == (9, "host")
    assert [step for step, row in steps.items() if row["slow_transfer_ns"]] == [3]
    assert [step for step, row in steps.items() if row["waited_for"] is not None] == [1, 2]
    extra = 10 * 20_000 * 4  # what the late ranks did, and 15 others waited
    assert steps[1]["caused_ns"] == steps[2]["caused_ns"] == 15 * extra
    assert {row["rank"]: row["by_cause_ns"] for row in found["stragglers"] if row["caused_ns"]} == {
        5: {"compute": 15 * extra},
        9: {"host": 15 * extra},
    }
    assert found["losses"]["slow_transfer_ns"] == 16 * 3 * 50_000
    assert found["clocks"]["rule"] == "collectives"
    assert found["clocks"]["remaining_ns"] == 0
    assert found["pipeline"]["reason"] == "no process group only passes on from rank to rank"


def test_the_slowest_stage(piped: Path) -> None:
    found = analyze_ranks(piped, workers=1).document()["pipeline"]
    assert found["slowest"] == 2
    assert [row["ranks"] for row in found["stages"]] == [list(range(s * 4, s * 4 + 4)) for s in range(4)]
    compute = [row["compute_ns"] for row in found["stages"]]
    assert compute[2] == 2 * compute[3]


# --- who reads ----------------------------------------------------------------------------------------------------


def text_of(found: regimeter.RankAnalysis) -> str:
    return json.dumps(found.document())


def test_processes_and_executors_change_nothing(piped: Path) -> None:
    expected = text_of(analyze_ranks(piped, workers=1))
    assert text_of(analyze_ranks(piped, workers=2)) == expected
    with ThreadPoolExecutor(3) as pool:
        assert text_of(analyze_ranks(piped, pool)) == expected


@pytest.fixture(scope="module")
def cluster() -> Any:
    distributed = pytest.importorskip("distributed")
    made = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
    )
    yield made
    made.close()


def test_a_cluster_changes_nothing(piped: Path, cluster: Any, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(piped)
    assert main(["ranks", folder, "--json"]) == 0
    expected = capsys.readouterr().out
    assert main(["ranks", folder, "--json", "--scheduler", cluster.scheduler_address]) == 0
    assert capsys.readouterr().out == expected


class Gate:
    """A rank's file as a pipe: whoever reads it waits, and can be ended while it does."""

    def __init__(self, folder: Path, source: Path, kills: int) -> None:
        self.paths = []
        for path in sorted(source.iterdir()):
            target = folder / path.name
            if path.name.startswith("rank-3."):
                os.mkfifo(target)
                self.content, self.gate = path.read_bytes(), target
            else:
                shutil.copy(path, target)
            self.paths.append(target)
        assert len(self.content) < 60_000  # fits into a pipe
        self.kills, self.ended, self.error = kills, 0, None
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _holds(self, process: int) -> bool:
        try:
            # A child of ours that is between fork and exec holds everything that we hold, and reads nothing.
            if Path(f"/proc/{process}/cmdline").read_bytes() == Path("/proc/self/cmdline").read_bytes():
                return False
            names = os.listdir(f"/proc/{process}/fd")
            return any(os.readlink(f"/proc/{process}/fd/{name}") == str(self.gate) for name in names)
        except OSError:
            return False

    def _reader(self) -> int:
        """Return the process that has opened the pipe."""
        for _ in range(5000):
            found = [int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit()]
            for process in found:
                if process != os.getpid() and self._holds(process):
                    return process
            time.sleep(0.01)
        raise AssertionError("nobody opened the pipe")

    def _serve(self) -> None:
        try:
            pipe = os.open(self.gate, os.O_RDWR)  # so that a reader never waits for a writer, nor sees an end before
            for _ in range(self.kills):
                reader = self._reader()
                os.kill(reader, signal.SIGKILL)
                while self._holds(reader):
                    time.sleep(0.001)
                self.ended += 1
            if self.kills < job_workers.TRIES:
                self._reader()
                os.write(pipe, self.content)
            os.close(pipe)
        except BaseException as error:
            self.error = error


def test_a_process_that_is_ended_is_replaced(flat: Path, expected: dict[str, Any], tmp_path: Path) -> None:
    kills = job_workers.TRIES - 1
    gate = Gate(tmp_path, flat, kills)
    found = analyze_ranks([str(path) for path in gate.paths], workers=2).document()
    gate.thread.join(20)
    assert (gate.error, gate.ended) == (None, kills)
    assert found["rows"] == expected["rows"]
    assert {k: v for k, v in found.items() if k not in ("file", "files")} == {
        k: v for k, v in expected.items() if k not in ("file", "files")
    }


def test_a_file_that_ends_every_process_is_left_out(flat: Path, tmp_path: Path) -> None:
    gate = Gate(tmp_path, flat, job_workers.TRIES)
    found = analyze_ranks([str(path) for path in gate.paths], workers=2).document()
    gate.thread.join(20)
    assert (gate.error, gate.ended) == (None, job_workers.TRIES)
    assert found["left_out"] == [{"file": "rank-3.json.gz", "reason": job_workers.KILLED}]
    assert found["missing"] == {"count": 1, "ranks": [3]}
    assert found["ranks"] == 15


def test_a_worker_of_a_cluster_that_is_ended_is_replaced(
    flat: Path, expected: dict[str, Any], tmp_path: Path, cluster: Any
) -> None:
    gate = Gate(tmp_path, flat, 1)
    found = analyze_ranks([str(path) for path in gate.paths], scheduler=cluster.scheduler_address).document()
    gate.thread.join(20)
    assert (gate.error, gate.ended) == (None, 1)
    assert found["rows"] == expected["rows"]
    assert found["stragglers"] == expected["stragglers"]
    assert found["steps"] == expected["steps"]


# --- what cannot be read ------------------------------------------------------------------------------------------


def test_missing_empty_and_damaged_files_are_named_and_counted(
    flat: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in flat.iterdir():
        shutil.copy(path, tmp_path)
    (tmp_path / "rank-1.json.gz").write_bytes(b"")
    (tmp_path / "rank-2.json.gz").unlink()
    (tmp_path / "rank-4.json.gz").write_bytes(b"PK\x03\x04 not a trace")
    whole = gzip.decompress((tmp_path / "rank-6.json.gz").read_bytes())
    (tmp_path / "rank-6.json.gz").write_bytes(gzip.compress(whole[: len(whole) // 2]))
    paths = [*sorted(str(path) for path in tmp_path.iterdir()), str(tmp_path / "rank-2.json.gz")]
    assert main(["ranks", *paths, "--json", "--workers", "2"]) == 0
    found = check(json.loads(capsys.readouterr().out))
    assert [row["file"] for row in found["left_out"]] == ["rank-1.json.gz", "rank-2.json.gz", "rank-4.json.gz"]
    assert found["left_out"][1]["reason"] == "No such file or directory"
    assert "zip archive" in found["left_out"][2]["reason"]
    assert found["missing"] == {"count": 3, "ranks": [1, 2, 4]}
    assert (found["ranks"], found["world_size"]) == (13, 16)
    cut = next(row for row in found["files"] if row["rank"] == 6)
    assert cut["anomalies"]["truncated"] >= 1
    assert "3 of 16 ranks are missing; 3 files were left out" in found["headline"][-1]
    assert "damaged and read in part: 1 file (rank-6.json.gz)." in found["headline"][-1]


def test_nothing_that_can_be_read_is_one_error(tmp_path: Path, refused: Callable[..., str]) -> None:
    (tmp_path / "rank-0.json").write_text("")
    with pytest.raises(FormatError, match="none of 1 files is a trace"):
        analyze_ranks(tmp_path, workers=1)
    refused(["ranks", str(tmp_path / "absent")])
    with pytest.raises(FileNotFoundError):
        analyze_ranks(str(tmp_path / "*.gz"))
    with pytest.raises(ValueError, match="no threshold is called 'nonsense'"):
        analyze_ranks(tmp_path, thresholds={"nonsense": 1})


def test_a_scheduler_that_does_not_answer_is_one_error(
    flat: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(job_workers, "CONNECT_SECONDS", 0.5)
    assert main(["ranks", str(flat), "--scheduler", "tcp://127.0.0.1:9"]) == 1
    said = capsys.readouterr().err
    assert "no Dask scheduler answers at tcp://127.0.0.1:9" in said
    assert said.count("\n") == 1


def test_files_elsewhere(flat: Path, expected: dict[str, Any]) -> None:
    fsspec = pytest.importorskip("fsspec")
    store = fsspec.filesystem("memory")
    for path in flat.iterdir():
        store.pipe(f"/job/{path.name}", path.read_bytes())
    for source in ("memory://job", "memory://job/rank-*.gz"):
        found = analyze_ranks(source, workers=1).document()
        assert found | {"file": ""} == expected | {"file": ""}
    assert analyze_ranks(f"file://{flat}", workers=2).document() | {"file": ""} == expected | {"file": ""}
    assert len(load("memory://job/rank-3.json.gz").spans) == len(load(flat / "rank-3.json.gz").spans)
    with pytest.raises(UnavailableError, match="nosuch://"):
        analyze_ranks("nosuch://bucket/*.gz")


def test_text_and_file(flat: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ranks", str(flat), "--workers", "1"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("The ranks waited ")
    assert "for rank 5 " in said
    assert main(["ranks", str(flat), "--workers", "1", "-o", str(tmp_path / "job.json")]) == 0
    assert capsys.readouterr().out == ""
    assert json.loads((tmp_path / "job.json").read_text())["format"] == "regimeter.ranks"
    assert main(["ranks", str(flat), "-o", str(tmp_path / "no" / "job.json")]) == 2
