# SPDX-License-Identifier: Apache-2.0
"""What NCCL's kernels do, told by the flight recorder of a real torch.distributed; the kernels are of the double.

Processors have gloo and no NCCL: the recorder's entries are gloo's, which have the same form, and each call is followed
by a kernel with the name of NCCL's on the thread that made it.
"""

import json
import os
import subprocess
import sys
import textwrap

import fakes
import numpy as np
import pytest
from kernel_programs import DEVICE
from shared import once

from regimeter import load

pytest.importorskip("torch.distributed")

# torch is imported once; each part runs in a child, which is the first to use the device, and there in a new thread:
# torch keeps the number of the one that imported it.
PROGRAM = """
import json, os, threading
os.environ["TORCH_FR_BUFFER_SIZE"] = "4"
import torch, torch.distributed
for name, text in json.load(open("parts.json")).items():
    child = os.fork()
    if child == 0:
        os.mkdir(name)
        os.chdir(name)
        part = threading.Thread(target=exec, args=(text, {}))
        part.start()
        part.join()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, name
"""
BEGIN = """
import torch
import torch.distributed as dist
from regimeter import GPUProfiler
dist.init_process_group("gloo", init_method="file://" + os.path.abspath("store"), rank=0, world_size=1)
values = torch.ones(3, 1000)
dist.all_reduce(values)
profiler = GPUProfiler(path="run.rgm", profile_kernels=True)
def nccl(what):
    launch(f"ncclDevKernel_{what}_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)".encode())
"""
END = """
profiler.close()
"""
PARTS = {
    "each": """
        with profiler.profile("step"):
            dist.all_reduce(values)
            nccl("AllReduce")
            launch()
            dist.broadcast(values[0], 0)
            nccl("Broadcast")
    """,
    "sizes": """
        dist.all_reduce(values)
        nccl("AllReduce")
    """,
    "unfit": """
        dist.all_reduce(values)
        nccl("AllGather")
        nccl("AllReduce")
        dist.all_reduce(values)
        dist.all_reduce(values)
        nccl("AllReduce")
    """,
    "threads": """
        import threading
        queued, launched, read = threading.Barrier(2), threading.Barrier(3), threading.Event()
        def work(group, size):
            call("cuCtxSetCurrent", made("cuDevicePrimaryCtxRetain", 0))
            dist.all_reduce(torch.ones(size), group=group)
            queued.wait()
            nccl("AllReduce")
            launched.wait()
            read.wait()  # a thread has its number while it lives
        groups = (None, 10), (dist.new_group([0]), 20)
        threads = [threading.Thread(target=work, args=pair) for pair in groups]
        for thread in threads:
            thread.start()
        launched.wait()
        profiler.run()
        read.set()
    """,
    "overwritten": """
        for _ in range(10):
            dist.all_reduce(values)
            nccl("AllReduce")
    """,
}


def record(folder):
    """Record every part in a folder of its own."""
    parts = {name: DEVICE + BEGIN + textwrap.dedent(body) + END for name, body in PARTS.items()}
    (folder / "parts.json").write_text(json.dumps(parts))
    environment = {**os.environ, **fakes.environment(cuda="kernel_ns=40000", cupti=""), "REGIMETER_LIBHIP": "off"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The run of each part."""
    folder = once(tmp_path_factory, "collectives", record)
    return {name: load(folder / name / "run.rgm") for name in PARTS}


def told(run):
    """Return name, elements, sequence and type of each row of `collectives`, in order of the kernels."""
    rows = run.tables.collectives
    assert (np.diff(rows.span.astype(np.int64)) > 0).all()
    return [
        (
            run.strings[run.spans.name[rows.span[i]]].split("_")[1],
            run.strings[rows.collective[i]],
            int(rows.in_elements[i]),
            int(rows.sequence[i]),
            run.strings[rows.element_type[i]],
        )
        for i in range(len(rows))
    ]


def test_each_kernel_has_its_collective(runs):
    """The one of before the recording is no kernel's; a copy in between does no harm."""
    run = runs["each"]
    assert told(run) == [("AllReduce", "all_reduce", 3000, 2, "Float"), ("Broadcast", "broadcast", 1000, 3, "Float")]
    rows = run.tables.collectives
    assert rows.group_size.tolist() == [1, 1]
    assert {run.strings[name] for name in rows.group_ranks} == {"[0]"}
    assert {run.strings[name] for name in rows.group_description} == {"default_pg"}
    assert run.environment["device"]["collectives"] == {"told": 2, "lost": 0, "reason": ""}


def test_communication_has_sizes(runs):
    run = runs["sizes"]
    (row,) = run.result("collectives", by="message").rows()
    assert (row["collective"], row["count"], row["bytes"]) == ("all_reduce", 1, 12000)


def test_what_does_not_fit_is_told_of_none(runs):
    """A kernel of another collective, one that nobody queued, and one that does several at once."""
    run = runs["unfit"]
    assert told(run) == []
    assert run.environment["device"]["collectives"]["told"] == 3


def test_threads_are_told_apart(runs):
    """Both have queued before either kernel is launched; each kernel is of its own thread's."""
    run = runs["threads"]
    assert sorted(row[2] for row in told(run)) == [10, 20]


def test_what_the_recorder_has_overwritten_is_counted(runs):
    run = runs["overwritten"]
    assert [row[3] for row in told(run)] == [8, 9, 10, 11]
    assert run.environment["device"]["collectives"] == {"told": 4, "lost": 6, "reason": ""}


def test_without_torch_distributed(run_program, tmp_path):
    run_program(
        """
        from regimeter import GPUProfiler
        with GPUProfiler(path="run.rgm", profile_kernels=True):
            launch(b"ncclDevKernel_AllReduce_Sum_f32_RING_LL()")
        """
    )
    run = load(tmp_path / "run.rgm")
    assert told(run) == []
    assert run.environment["device"]["collectives"]["reason"] == "torch.distributed is not used"
