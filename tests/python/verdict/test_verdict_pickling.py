# SPDX-License-Identifier: Apache-2.0
"""Processes that pass data on to each other, and those that work for who waits for them."""

from pathlib import Path

import pytest
from verdicts import leading, of_program, verdict
from warm import record

import regimeter

ARRAYS = """import multiprocessing
import numpy
def same(array):
    return array
def ask():
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for _ in range(6):
            pool.map(same, [numpy.ones(800_000) for _ in range(6)])
if __name__ == "__main__":
    ask()
"""
ROWS = """from concurrent.futures import ProcessPoolExecutor
def same(rows):
    return rows
def ask():
    rows = [[{"id": i, "name": str(i), "all": [i] * 5} for i in range(15_000)] for _ in range(6)]
    with ProcessPoolExecutor(2) as pool:
        for _ in range(4):
            list(pool.map(same, rows))
if __name__ == "__main__":
    ask()
"""
MADE = '[{"id": i, "name": str(i), "all": [i] * 5} for i in range(15_000)]'
QUEUE = f"""import multiprocessing
def give(queue):
    rows = {MADE}
    for _ in range(100):
        queue.put(rows)
    queue.put(None)
def ask():
    queue = multiprocessing.Queue(2)
    multiprocessing.Process(target=give, args=(queue,)).start()
    while queue.get() is not None:
        pass
if __name__ == "__main__":
    ask()
"""
# Written into the pipe by a thread of the queue, while the main thread of that process waits for room.
QUEUE_OF_ARRAYS = QUEUE.replace(MADE, "numpy.ones(2_000_000)")
QUEUE_OF_ARRAYS = f"import numpy\n{QUEUE_OF_ARRAYS.replace('range(100)', 'range(60)')}"
POOL = """import multiprocessing
def work(count):
    return sum(value % 7 for value in range(count))
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(sum(pool.imap_unordered(work, [400_000] * 30)))
"""
# The innermost function of Python is the pool's own.
COMPILED = """import math, multiprocessing
with multiprocessing.get_context("fork").Pool(2) as pool:
    pool.map(math.factorial, [40_000] * 60, chunksize=1)
"""
# What its queue's thread pickles meanwhile costs nobody any time.
BESIDE = """import multiprocessing
def give(queue):
    rows = list(range(200_000))
    for _ in range(15):
        sum(value % 7 for value in range(1_000_000))
        queue.put(rows)
    queue.put(None)
def ask():
    queue = multiprocessing.Queue()
    multiprocessing.Process(target=give, args=(queue,)).start()
    while queue.get() is not None:
        pass
if __name__ == "__main__":
    ask()
"""
# Two wait to be asked, in code of multiprocessing that calls selectors.
IDLE = """import multiprocessing, time
def idle(end):
    end.poll(1.5)
def work():
    until = time.monotonic() + 0.8
    while time.monotonic() < until:
        sum(range(1000))
if __name__ == "__main__":
    here, there = multiprocessing.Pipe()
    others = [multiprocessing.Process(target=idle, args=(there,)) for _ in range(2)]
    for other in others:
        other.start()
    for _ in range(2):
        process = multiprocessing.Process(target=work)
        process.start()
        process.join()
"""


@pytest.mark.parametrize(
    "code", [ARRAYS, ROWS, QUEUE, QUEUE_OF_ARRAYS], ids=["arrays", "rows", "a queue", "a queue of arrays"]
)
def test_processes_that_mostly_pass_data_on_are_limited_by_that(code: str, tmp_path: Path) -> None:
    found = of_program(tmp_path, code)
    first = leading(found, "pickling")
    assert first.place.startswith("ask (program.py:"), first
    assert first.saved_ms is not None


@pytest.mark.parametrize("code", [POOL, COMPILED, BESIDE], ids=["a pool", "compiled code", "a queue beside the work"])
def test_processes_that_work_are_waited_for(code: str, tmp_path: Path) -> None:
    found = of_program(tmp_path, code)
    leading(found, "child")
    assert found.shares.get("pickling", 0.0) < 0.3, found.why


def test_who_waits_to_be_asked_is_no_work(tmp_path: Path) -> None:
    found = of_program(tmp_path, IDLE)
    first = leading(found, "child")
    assert first.place.startswith("work (program.py:"), found.why


def test_without_the_recordings_of_its_processes_nobody_knows_what_they_do(tmp_path: Path) -> None:
    """Its own threads pickle: whether anybody waits for that they do not tell."""
    found = verdict(regimeter.load(record(tmp_path, ARRAYS)))
    leading(found, "child")
