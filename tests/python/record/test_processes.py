# SPDX-License-Identifier: Apache-2.0
"""A program and the processes that it forks or spawns: a recording each, one run, one verdict."""

import json
from pathlib import Path
from typing import Any

import pytest
from needed import package
from warm import record

import regimeter
from regimeter.run.processes import process_of, program_of

POOL = """
import multiprocessing, time

def work(number):
    time.sleep(0.05)
    return number

if __name__ == "__main__":
    with multiprocessing.get_context(METHOD).Pool(2) as pool:
        for _ in range(12):
            pool.map(work, range(4), 1)
"""
LOADER = """
import time
import torch
from torch.utils.data import DataLoader, Dataset

class Slow(Dataset):
    def __len__(self):
        return 64
    def __getitem__(self, index):
        time.sleep(0.03)
        return torch.zeros(8), index % 2

if __name__ == "__main__":
    torch.set_num_threads(1)
    model = torch.nn.Linear(8, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for rows, labels in DataLoader(Slow(), batch_size=8, num_workers=1, multiprocessing_context=METHOD):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(rows), labels).backward()
        optimizer.step()
"""
# joblib's processes are started by loky, which shows them what os.environ holds.
JOBLIB = """
import os, statistics
from joblib import Parallel, delayed
from tasks import total

def look(number):
    return {name: os.environ.get(name) for name in ("PYTHONPATH", "REGIMETER_RECORD_PYTHONPATH", "SEEN")}

if __name__ == "__main__":
    os.environ["SEEN"] = "once"
    with Parallel(n_jobs=2) as parallel:
        print(parallel(delayed(look)(number) for number in range(2)))
        print("REGIMETER_RECORD_PYTHONPATH" in os.environ)
        parallel(delayed(WORK) for number in range(24))
"""
TASKS = """
def total(number):
    found = 0
    for value in range(3_000_000):
        found += value * number
    return found
"""
# Each process imports a package by itself, which compiles texts as data classes do, and then hardly works.
IMPORTING = """
import multiprocessing, sys
sys.path.append(PACKAGES)

def work(number):
    import large
    return large.total + number

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        pool.map(work, range(2), 1)
"""
LARGE = """
total = 0
for value in range(300):
    exec("for number in range(10_000): total += number")
"""
# A process of its own hands the items on, and waits for them in its threads.
MANAGED = """
import multiprocessing, time

def work(items):
    for number in range(10):
        time.sleep(0.1)
        items.put(number)

if __name__ == "__main__":
    with multiprocessing.Manager() as manager:
        items = manager.Queue()
        process = multiprocessing.Process(target=work, args=(items,))
        process.start()
        for _ in range(10):
            items.get()
        process.join()
"""


def recorded(folder: Path, code: str, method: str) -> tuple[list[Path], dict[str, object]]:
    """Record a program; return its file and those of its processes, and what `record` said."""
    folder.mkdir(exist_ok=True)
    code = code.replace("METHOD", repr(method))
    record(folder, code, "--json", "--html", str(folder / "page.html"), quiet=False)
    said = (folder / "err").read_text()
    return sorted(folder.glob("run.rgm*")), json.loads(said[said.index("{") :])


@pytest.fixture(scope="module")
def forked(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Path], dict[str, object]]:
    """A pool of forked processes."""
    return recorded(tmp_path_factory.mktemp("forked"), POOL, "fork")


def check_is_whole(files: list[Path], run: regimeter.Run) -> None:
    """Hold a merged run against the recordings that it is made of."""
    alone = [regimeter.load(file) for file in files]
    assert len(run.samples) == sum(len(one.samples) for one in alone)
    assert len(run.spans) == sum(len(one.spans) for one in alone)
    assert set(run.lanes.process.tolist()) == {process_of(one) for one in alone}
    assert {str(process_of(one)) for one in alone[1:]} == {file.suffix[1:] for file in files[1:]}
    assert run.environment["pid"] == alone[0].environment["pid"]
    assert set(run.lanes.rank.tolist()) == {-1}
    # Each sampled thread is on a lane of its process, at the times of its own recording: they have one clock.
    times: dict[int, set[int]] = {}
    for time, lane in zip(run.samples.time_ns.tolist(), run.samples.lane.tolist(), strict=True):
        times.setdefault(int(run.lanes.process[lane]), set()).add(time)
    assert times == {process_of(one): set(one.samples.time_ns.tolist()) for one in alone if len(one.samples)}
    assert all(run.start_ns <= one.start_ns and one.end_ns <= run.end_ns for one in alone)
    bases = [one.start_unix_ns - one.start_ns for one in alone]
    assert max(bases) - min(bases) < 1_000_000
    assert run.complete == alone[0].complete
    # Each process has its own intervals; what is of the machine is told by the program, whose tree has all.
    pressure = run.tables.pressure
    told: dict[int, list[int]] = {}
    for lane, of in zip(pressure.lane.tolist(), pressure.processors.tolist(), strict=True):
        told.setdefault(int(run.lanes.process[lane]), []).append(of)
    assert {process: len(of) for process, of in told.items()} == {
        process_of(one): len(one.tables.pressure) for one in alone if len(one.tables.pressure)
    }
    assert all((of > 0) == (process == process_of(alone[0])) for process in told for of in told[process])


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_pool_is_one_run_with_its_program_through_every_door(
    method: str, tmp_path: Path, forked: tuple[list[Path], dict[str, object]], command: Any
) -> None:
    files, said = forked if method == "fork" else recorded(tmp_path, POOL, method)
    folder = files[0].parent
    assert len(files) >= 3
    run = regimeter.load([str(file) for file in files])
    check_is_whole(files, run)
    job = regimeter.analyze_ranks(folder, workers=1)
    assert [len(job.parts), job.ranks] == [1, []]
    assert {Path(path).name for path, _ in job.left_out} == {"program.py", "page.html", "out", "err"}
    found = run.verdict()
    assert found is not None
    assert found.cause == "child", found.why
    assert found.causes[0].place == "work (program.py:5)", found.why
    assert found.causes[0].process in run.lanes.process
    assert "work (program.py:5)" in found.next
    assert run.complete, "a pool ends its processes by a signal"
    assert said["verdict"] == found.to_dict()
    assert json.dumps(found.why).strip('"') in (folder / "page.html").read_text()
    for names in (files, [folder / "run.rgm*"]):
        assert json.loads(command("show", *names, "--json").stdout)["verdict"] == found.to_dict()
    alone = regimeter.load(files[0]).verdict()
    assert alone is not None
    assert alone.causes[0].process is None


def test_who_opens_one_recording_is_told_of_those_beside_it(
    tmp_path: Path, forked: tuple[list[Path], dict[str, object]], command: Any
) -> None:
    files, _ = forked
    others = f"{len(files) - 1} recordings of its other processes beside it"
    told = f"regimeter: {files[0]}: {others}; {files[0]}* reads all as one run\n"
    assert command("show", files[0]).stderr == command("show", files[0], "--json").stderr == told
    assert command("report", files[0], "-o", tmp_path / "one.html").stderr == told
    for words in (["show", *files], ["show", files[1]], ["show", "--quiet", files[0]]):
        assert command(*words).stderr == "", words


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_of_a_loader_have_the_line_of_the_wait(method: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    files, said = recorded(tmp_path, LOADER, method)
    assert len(files) == 2
    run = regimeter.load([str(file) for file in files])
    check_is_whole(files, run)
    found = run.verdict()
    assert found is not None
    assert found.cause == "input", (found.sentence, found.why)
    assert "worker processes of its loader" in found.sentence
    # Those that are not forked of it import first what the program imports, and are waited for as well.
    assert "(program.py:" in found.causes[0].place
    assert method != "fork" or found.causes[0].place == "Slow.__getitem__ (program.py:10)"
    assert found.causes[0].process in run.lanes.process.tolist()
    assert said["verdict"] == found.to_dict()


@pytest.mark.parametrize(
    ("work", "place"),
    [
        ("total)(number", "total (tasks.py:5)"),
        # Nothing of the program is in the stacks of those that do this.
        ("statistics.pstdev)(range(300_000)", "(statistics.py:"),
    ],
)
def test_the_processes_of_joblib_are_recorded_with_their_program(
    work: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package("joblib")
    (tmp_path / "tasks.py").write_text(TASKS)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    files, said = recorded(tmp_path, JOBLIB.replace("WORK", work), "")
    shown, kept = (tmp_path / "out").read_text().splitlines()
    seen = {"PYTHONPATH": str(tmp_path), "REGIMETER_RECORD_PYTHONPATH": None, "SEEN": "once"}
    assert [shown, kept] == [repr([seen, seen]), "False"]
    assert len(files) == 3, "the process that watches over loky's files is no worker"
    run = regimeter.load([str(file) for file in files])
    check_is_whole(files, run)
    found = run.verdict()
    assert found is not None
    assert said["verdict"] == found.to_dict()
    assert found.cause == "child", (found.sentence, found.why)
    assert place in found.causes[0].place, found.why
    assert "of what the processes that it waits for do" in found.why


def test_what_the_processes_import_is_no_work_of_theirs(tmp_path: Path) -> None:
    (tmp_path / "site-packages").mkdir()
    (tmp_path / "site-packages" / "large.py").write_text(LARGE)
    files, _ = recorded(tmp_path, IMPORTING.replace("PACKAGES", repr(str(tmp_path / "site-packages"))), "")
    found = regimeter.load([str(file) for file in files]).verdict()
    assert found is not None
    shares = {cause.cause: cause.share for cause in found.causes}
    assert shares["imports"] > 0.3, found.why
    assert "<string>" not in found.why


def test_a_process_that_waits_for_another_one_is_not_where_the_time_goes(tmp_path: Path) -> None:
    files, _ = recorded(tmp_path, MANAGED, "fork")
    assert len(files) == 3
    found = regimeter.load([str(file) for file in files]).verdict()
    assert found is not None
    assert found.cause == "child", (found.sentence, found.why)
    assert found.causes[0].place == "work (program.py:6)", found.why


def test_what_an_earlier_program_has_left_is_no_part_of_it(
    tmp_path: Path, forked: tuple[list[Path], dict[str, object]]
) -> None:
    earlier, _ = forked
    files, _ = recorded(tmp_path, POOL, "fork")
    run = regimeter.load([str(file) for file in (*files, earlier[1])])
    assert set(run.lanes.process.tolist()) == {process_of(regimeter.load(file)) for file in files}
    assert any("of another program" in row["detail"] for row in run.anomaly_list())
    # Without the program's own recording those of its processes are one run still.
    assert len(regimeter.load([str(file) for file in earlier[1:]]).samples)
    assert program_of(run) is not None
