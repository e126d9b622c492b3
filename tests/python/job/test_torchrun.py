# SPDX-License-Identifier: Apache-2.0
"""Ranks of torchrun: a recording each, merged on one clock, with those of their loaders' workers."""

import json
import shutil
import subprocess
import sys

import pytest
from shared import once

torch = pytest.importorskip("torch")

import regimeter  # noqa: E402
from regimeter import TimelineGenerator  # noqa: E402

PROGRAM = """\
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, TensorDataset

def main():
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(6, 3))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    dist.barrier()
    start = ("fork", "forkserver")[dist.get_rank()]
    rows = TensorDataset(torch.ones(6, 6))
    for (batch,) in DataLoader(rows, batch_size=2, num_workers=1, multiprocessing_context=start):
        optimizer.zero_grad()
        net(batch).sum().backward()
        optimizer.step()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
"""
RANKS = (0, 1)


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """The folder of a job of two ranks, with what its recording printed in `told`."""

    def make(folder):
        (folder / "train.py").write_text(PROGRAM)
        words = ["record", "-o", "job.rgm", "--", "torchrun", "--standalone", "--nproc-per-node", "2", "train.py"]
        command = [sys.executable, "-m", "regimeter", *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False, cwd=folder)
        assert done.returncode == 0, done.stderr
        (folder / "told").write_text(done.stderr)

    return once(tmp_path_factory, "torchrun", make)


def files_of(job):
    """Return the recordings of the ranks, and those of their loaders' workers."""
    return [job / f"job.rgm.rank{rank}" for rank in RANKS], list(job.glob("job.rgm.rank?.*"))


@pytest.mark.slow
def test_each_rank_is_recorded_and_all_are_one_run(job, tmp_path):
    files, workers = files_of(job)
    told = (job / "told").read_text()
    assert all(f"also {file.name}: " in told for file in files)
    assert "_invoke_run" not in told.split("Operations by")[0], "that the launcher waits for its ranks limits nothing"
    following = told.rpartition("Next: ")[2]
    assert all(path.name in following for path in (*files, *workers))
    assert "job.rgm " not in following
    alone = [regimeter.load(file) for file in files]
    for run in alone:
        names = [run.string(name) for name in run.spans.name]
        assert names.count("SGD.step") == 3
        assert run.environment["distributedInfo"]["world_size"] == len(RANKS)
    merged = regimeter.load(files)
    assert len(merged.spans) == sum(len(run.spans) for run in alone)
    assert sorted(set(merged.lanes.rank.tolist())) == [*RANKS]
    first, second = ((run.start_unix_ns - run.start_ns) for run in alone)
    apart = int(alone[1].spans.start_ns[0]) + second - int(alone[0].spans.start_ns[0]) - first
    starts = [int(merged.spans.start_ns[merged.lanes.rank[merged.spans.lane] == rank].min()) for rank in RANKS]
    assert starts[1] - starts[0] == apart  # on the wall clock
    # The rank is in the file too, whatever its name, and what is no rank of the job is left out.
    for file, name in zip((*files, job / "job.rgm"), ("b.rgm", "a.rgm", "launcher.rgm"), strict=True):
        shutil.copy(file, tmp_path / name)
    again = regimeter.load(tmp_path)
    assert len(again.spans) == len(merged.spans)
    assert sorted(set(again.lanes.rank.tolist())) == [*RANKS]
    assert any("launcher.rgm" in row["detail"] for row in again.anomaly_list())


@pytest.mark.slow
def test_workers_of_loaders_belong_to_their_ranks_and_the_launcher_to_none(job, command):
    files, workers = files_of(job)
    assert {worker.name.partition(".rank")[2].partition(".")[0] for worker in workers} == {"0", "1"}
    merged = regimeter.load([*files, *workers])
    assert sorted(set(merged.lanes.rank.tolist())) == [*RANKS]
    assert [merged.string(name) for name in merged.spans.name].count("SGD.step") == len(RANKS) * 3
    for worker in workers:
        rank = int(worker.name.partition("rank")[2].partition(".")[0])
        process = regimeter.load(worker).environment["pid"]
        of_it = merged.lanes.rank[merged.lanes.process == process]
        assert set(of_it.tolist()) <= {rank}, "a worker is of the rank that started it"

    def told(*words):
        done = command(*words)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    assert told("ranks", "--json", *files)["ranks"] == len(RANKS)
    whole = told("ranks", "--json", job)  # the loaders' workers belong to their ranks
    assert {row["file"].rpartition("/")[2] for row in whole["left_out"]} == {"train.py", "job.rgm", "told"}
    assert whole["rows"] == list(regimeter.load(job).ranks())
    assert [row["rank"] for row in whole["files"]] == [*RANKS]
    assert told("ranks", "--json", "--workers", "2", job) == whole
    # No collective of processors is a span, barriers neither: nothing tells how well the wall clocks agree.
    assert "clocks aligned by wall clock, not checked" in command("ranks", job).stdout
    timeline = told("timeline", "--json", *files)
    of_all = TimelineGenerator().from_run(regimeter.load(files))
    assert timeline["summary"]["total_time_us"] == of_all.total_time_us
    assert timeline["summary"]["event_count"] == len(of_all.events) >= len(RANKS) * 3
