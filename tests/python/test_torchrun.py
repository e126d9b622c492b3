# SPDX-License-Identifier: Apache-2.0
"""Ranks of torchrun: a recording each, merged on one clock."""

import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

import regimeter  # noqa: E402

PROGRAM = """\
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(6, 3))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    net(torch.ones(2, 6)).sum().backward()
    optimizer.step()
dist.destroy_process_group()
"""


@pytest.mark.slow
def test_each_rank_is_recorded_and_all_are_one_run(tmp_path):
    program = tmp_path / "train.py"
    program.write_text(PROGRAM)
    launcher = ["torchrun", "--standalone", "--nproc-per-node", "2", str(program)]
    (tmp_path / "elsewhere").mkdir()
    command = [sys.executable, "-m", "regimeter", "record", "-o", str(tmp_path / "job.rgm"), "--", *launcher]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    files = [tmp_path / f"job.rgm.rank{rank}" for rank in (0, 1)]
    assert all(f"also {file}: " in done.stderr for file in files)
    alone = [regimeter.load(file) for file in files]
    for run in alone:
        names = [run.string(name) for name in run.spans.name]
        assert names.count("SGD.step") == 3
    merged = regimeter.load(files)
    assert len(merged.spans) == sum(len(run.spans) for run in alone)
    assert sorted(set(merged.lanes.rank.tolist())) == [0, 1]
    first, second = ((run.start_unix_ns - run.start_ns) for run in alone)
    apart = int(alone[1].spans.start_ns[0]) + second - int(alone[0].spans.start_ns[0]) - first
    starts = [int(merged.spans.start_ns[merged.lanes.rank[merged.spans.lane] == rank].min()) for rank in (0, 1)]
    assert starts[1] - starts[0] == apart  # on the wall clock
    # The rank is in the file too, whatever its name, and what is no rank of the job is left out.
    renamed = [file.rename(tmp_path / "elsewhere" / name) for file, name in zip(files, ("b.rgm", "a.rgm"), strict=True)]
    (tmp_path / "job.rgm").rename(tmp_path / "elsewhere" / "launcher.rgm")
    again = regimeter.load(renamed[0].parent)
    assert len(again.spans) == len(merged.spans)
    assert sorted(set(again.lanes.rank.tolist())) == [0, 1]
    assert any("launcher.rgm" in row["detail"] for row in again.anomaly_list())
