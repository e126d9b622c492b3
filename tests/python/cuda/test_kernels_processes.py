# SPDX-License-Identifier: Apache-2.0
"""Kernels of processes that a recorded program starts: a file each, one run; and of forks, which a driver forbids."""

import os
import subprocess
import sys
import textwrap

import fakes
import pytest
from kernel_programs import DEVICE, kind_rows, scopes_of

import regimeter

SPAWN = """
import multiprocessing, sys
import regimeter

def device():
    scope = {}
    exec(DEVICE, scope)
    return scope

def work(number):
    with regimeter.profile("child"):
        device()["launch"](b"child_kernel")
    regimeter.get_profiler().flush()
    return number

if __name__ == "__main__":
    with regimeter.profile("parent"):
        if sys.argv[1] == "used":
            device()["launch"](b"parent_kernel")
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            assert pool.map(work, range(4), 1) == [0, 1, 2, 3]
            pool.close()
            pool.join()
"""
FORK = """
import os
import regimeter
with regimeter.profile("parent"):
    pass
child = os.fork()
if child == 0:
    with regimeter.profile("in the child"):
        pass
    regimeter.get_profiler().close()
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


def record(folder, code, *arguments):
    """Record a program with its kernels on the doubles; return its files, the program's own first."""
    (folder / "program.py").write_text(f"DEVICE = {textwrap.dedent(DEVICE)!r}\n{code}", encoding="utf-8")
    command = [sys.executable, "-m", "regimeter", "record", "--kernels", "--stalls", "--stacks", "0", "-o", "run.rgm"]
    doubles = fakes.environment(cuda="kernel_ns=40000", cupti="")
    done = subprocess.run(
        [*command, "program.py", *arguments],
        cwd=folder, env={**os.environ, **doubles, "REGIMETER_LIBHIP": "off"},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return sorted(map(str, folder.glob("run.rgm*"))), done.stderr


@pytest.mark.parametrize("parent", ["used", "unused"])
def test_spawned_processes_have_their_kernels_under_their_scopes(parent, tmp_path):
    """Also where the program itself used no device: then its recording has no launches, and the others keep theirs."""
    files, _ = record(tmp_path, SPAWN, parent)
    assert len(files) >= 2
    run = regimeter.load(files)
    launched = [(run.strings[run.spans.name[row]], scopes_of(run, row)) for row in kind_rows(run, "kernel")]
    expected = [("child_kernel", ["child"])] * 4 + [("parent_kernel", ["parent"])] * (parent == "used")
    assert sorted(launched) == expected
    # A device's lane is of one process: work of two is never on one.
    lanes = {run.spans.lane[row] for row in kind_rows(run, "kernel")}
    assert len(lanes) == len(files) - (parent == "unused")
    rows = {row["operation"]: row for row in run.result("scopes")}
    assert rows["child"]["kernels"] == 4


def test_a_fork_after_the_start_is_refused_with_a_sentence(tmp_path):
    """The driver does not work in such a child, so nothing of it is called; its file says why it has no kernels."""
    files, printed = record(tmp_path, FORK)
    parent, child = (regimeter.load(file) for file in files)
    assert [entry.operation for entry in child.get_entries()] == ["in the child"]
    told = child.environment["device"]
    assert "forked from one that traced kernels" in told["kernels_reason"]
    assert "forked from one whose kernels were sampled" in told["stalls_reason"]
    assert parent.environment["device"]["kernels_reason"] == ""
    assert "not sampled" not in printed  # one worker more is no warning more
