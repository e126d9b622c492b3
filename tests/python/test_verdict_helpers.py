# SPDX-License-Identifier: Apache-2.0
"""What limits a program whose library computes in threads of its own, which no sampler of Python sees."""

from pathlib import Path

import pytest
from needed import package
from test_verdict import record, verdict

import regimeter

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
ALONE = "for _ in range(60):\n    group()\n"
# The calls of another thread keep the processors busy while this one waits for a lock that a third one holds.
LOCKED = """def compute():
    while not enough.is_set():
        group()
for target in (hold, compute):
    threading.Thread(target=target).start()
held.wait()
began = time.perf_counter()
while time.perf_counter() - began < 2:
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
    shares = verdict(run).shares
    shares.pop("imports", None)
    assert max(shares, key=lambda one: shares[one]) == cause, verdict(run).why


def test_without_what_the_kernel_counted_the_thread_waits_for_another(tmp_path: Path) -> None:
    package("polars")
    run = regimeter.load(record(tmp_path, GROUPS + ALONE, "--no-witness"))
    shares = verdict(run).shares
    assert shares.get("lock", 0) > shares.get("native", 0), shares


# Three threads want the lock that a fourth holds while it computes; the main one waits for them.
CROWD = """import hashlib, threading, time
lock, enough, block = threading.Lock(), time.perf_counter() + 1.5, bytes(3_000_000)
def rebuild():
    while time.perf_counter() < enough:
        with lock:
            for _ in range(8):
                hashlib.sha256(block).digest()
        time.sleep(0.0005)
def ask():
    while time.perf_counter() < enough:
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
def test_threads_that_want_what_one_of_them_holds_wait_for_its_lock(tmp_path: Path) -> None:
    found = verdict(regimeter.load(record(tmp_path, CROWD)))
    assert found.cause == "lock", (found.sentence, found.why)
    assert found.causes[0].place.startswith("ask (program.py:")
