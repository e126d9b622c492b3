# SPDX-License-Identifier: Apache-2.0
"""What limits a program whose library computes in threads of its own, which no sampler of Python sees."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from needed import package
from verdicts import leading, of_program, verdict
from warm import record

import regimeter
from regimeter import Run, _core
from regimeter.run.rebuild import build, tables_of
from regimeter.suggest.verdict import Cause


def limit(run: regimeter.Run, cause: str) -> Cause:
    """Return the cause that a program's own time goes to. That others have the processors meanwhile is another test's,
    and so is how much of them threads of libraries must have."""
    found = run.verdict({"verdict_helpers": 0.02})
    assert found is not None
    return leading(found, cause, besides=("processor", "imports"))


# A few hundred thousand rows, grouped again and again; the thread that calls does nothing meanwhile.
GROUPS = """import numpy as np, polars as pl, sys, threading, time
rng = np.random.default_rng(0)
rows = pl.DataFrame({"key": rng.integers(0, 1000, 400_000), "value": rng.random(400_000)})
lock, held, enough = threading.Lock(), threading.Event(), threading.Event()
def group():
    rows.group_by("key").agg(pl.col("value").quantile(0.9)).sort("key")
def hold():
    while not enough.is_set():
        with lock:
            held.set()
            time.sleep(0.05)
        time.sleep(0.0001)
"""
ALONE = "for _ in range(30):\n    group()\n"
# The calls of another thread keep the processors busy while this one waits for a lock that a third one holds.
LOCKED = """def compute():
    while not enough.is_set():
        group()
for target in (hold, compute):
    threading.Thread(target=target).start()
held.wait()
began = time.perf_counter()
while time.perf_counter() - began < 1:
    with lock:
        pass
    time.sleep(0.0002)
enough.set()
"""


@pytest.mark.slow
@pytest.mark.parametrize(("rest", "cause"), [(ALONE, "native"), (LOCKED, "lock")])
def test_a_call_whose_threads_work_computes_and_a_lock_that_is_held_is_waited_for(
    rest: str, cause: str, tmp_path: Path
) -> None:
    package("polars")
    run = regimeter.load(record(tmp_path, GROUPS + rest))
    limit(run, cause)


def test_without_what_the_kernel_counted_nobody_tells_what_is_waited_for(tmp_path: Path) -> None:
    package("polars")
    run = regimeter.load(record(tmp_path, GROUPS + ALONE, "--no-witness"))
    found = run.verdict()
    assert found is not None
    shares = found.shares
    assert shares.get("waiting", 0) > shares.get("native", 0), shares
    assert "lock" not in shares


# Three threads want the lock that a fourth holds while it computes; the main one waits for them.
CROWD = """import hashlib, threading, time
lock, enough, block = threading.Lock(), threading.Event(), bytes(3_000_000)
def rebuild():
    for _ in range(50):
        with lock:
            for _ in range(8):
                hashlib.sha256(block).digest()
        time.sleep(0.0005)
    enough.set()
def ask():
    while not enough.is_set():
        with lock:
            pass
        time.sleep(0.0005)
threads = [threading.Thread(target=target) for target in (rebuild, ask, ask, ask)]
for one in threads:
    one.start()
for one in threads:
    one.join()
"""


@pytest.mark.slow
@pytest.mark.parametrize("held", ["hashlib.sha256(block).digest()", "time.sleep(0.003)"])
def test_threads_that_want_what_one_of_them_holds_wait_for_its_lock(held: str, tmp_path: Path) -> None:
    run = regimeter.load(record(tmp_path, CROWD.replace("hashlib.sha256(block).digest()", held)))
    found = limit(run, "lock")
    assert found.place.startswith("ask (program.py:")


# Threads of a pool that have nothing but a library in their stacks; joblib looks for them every 10 ms.
POOLS = {
    "multiprocessing": "from multiprocessing.pool import ThreadPool\nThreadPool(2).map(svd, arrays, 1)\n",
    "joblib": "from joblib import Parallel, delayed\nParallel(n_jobs=2, prefer='threads')(map(delayed(svd), arrays))\n",
    "concurrent": "from concurrent.futures import ThreadPoolExecutor\nlist(ThreadPoolExecutor(2).map(svd, arrays))\n",
}


@pytest.mark.parametrize("pool", POOLS)
def test_what_the_threads_of_a_pool_do_is_within_the_line_that_waits_for_it(pool: str, tmp_path: Path) -> None:
    package(pool)
    arrays = "import numpy\nfrom numpy.linalg import svd\narrays = [numpy.ones((300, 300)) for _ in range(40)]\n"
    run = regimeter.load(record(tmp_path, arrays + POOLS[pool]))
    found = limit(run, "native")
    assert found.place == "<module> (program.py:5)", run.verdict()
    assert found.inner.startswith("svd ("), run.verdict()


# An installed library that hands what it is asked for to threads of Python of its own, as pandas does.
POOLED = """from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
pool = ThreadPoolExecutor(2)
data = b"x" * (1 << 20)
def digest():
    return [one.digest() for one in pool.map(sha256, [data] * 200)]
"""


def test_threads_of_a_library_work_for_the_line_that_waits(tmp_path: Path) -> None:
    packages = tmp_path / "lib/python3/site-packages"
    packages.mkdir(parents=True)
    (packages / "pooled.py").write_text(POOLED)
    found_there = f"import sys\nsys.path.insert(0, {str(packages)!r})\n"
    code = found_there + "import pooled\nfor _ in range(8):\n    pooled.digest()\n"
    run = regimeter.load(record(tmp_path, code))
    assert limit(run, "native").place == "<module> (program.py:5)", run.verdict()


# Two ranks of a job; the second one is late for every gradient.
RANKS = """import os, torch, torch.distributed as dist, torch.multiprocessing
def augment():
    value = 1
    for index in range(250_000):
        value = (value * 31 + index) % 65537
def work(rank, rendezvous):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=2)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(128, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(25):
        if rank == 1:
            augment()
        optimizer.zero_grad()
        model(torch.ones(64, 128)).square().mean().backward()
        optimizer.step()
    dist.destroy_process_group()
if __name__ == "__main__":
    torch.multiprocessing.spawn(work, (os.path.abspath("rendezvous"),), nprocs=2)
"""


@pytest.mark.slow
def test_a_rank_that_waits_for_another_computes_no_gradients(tmp_path: Path) -> None:
    """It was told to compile its model: what waits in a backward pass was taken for one that its helpers compute."""
    both = of_program(tmp_path, RANKS)
    assert both.steps == 25
    assert leading(both, "python").place.startswith("augment (program.py:")
    alone = [verdict(regimeter.load(file)) for file in tmp_path.glob("run.rgm.*")]
    waiting = [one for one in alone if one.steps and "augment" not in one.causes[0].place]
    assert waiting
    for one in waiting:
        leading(one, "child")
    # Who works for the others does so without a processor, too.
    merged = regimeter.load(sorted(str(file) for file in tmp_path.glob("run.rgm*")))
    for change in (without_processor, with_shorter_steps):
        changed = verdict(change(merged))
        assert changed.steps == 25
        assert leading(changed, "python").place.startswith("augment (program.py:")


def augmenting(run: Run) -> Any:
    """Return which samples are of the thread that computes `augment`."""
    augments = np.flatnonzero(run.tables.stacks.function == run.strings.index("augment"))
    return np.isin(run.samples.thread, run.samples.thread[np.isin(run.samples.stack, augments)])


def with_shorter_steps(run: Run) -> Run:
    """Return a copy in which the steps of the thread that computes `augment` are a quarter shorter than the other's."""
    tables = tables_of(run)
    spans = tables["spans"]
    steps = np.isin(run.spans.lane, np.unique(run.samples.lane[augmenting(run)]))
    steps &= np.asarray([run.string(name) == "step" for name in run.spans.category])
    assert steps.sum() == 25
    late = np.where(steps, run.spans.duration_ns // 4, 0)
    spans["start_ns"] = run.spans.start_ns + late
    spans["duration_ns"] = run.spans.duration_ns - late
    return build(run, run.strings, tables)


def without_processor(run: Run) -> Run:
    """Return a copy in which the thread that computes `augment` was always found waiting for a processor."""
    tables = tables_of(run)
    at_work = augmenting(run)
    state = np.where(at_work, _core.SAMPLE_STATES.index("waiting_for_processor"), run.samples.state)
    tables["samples"]["state"] = state.astype(run.samples.state.dtype)
    tables["pressure"]["waiting_ns"] = np.zeros_like(run.tables.pressure.waiting_ns)
    return build(run, run.strings, tables)
