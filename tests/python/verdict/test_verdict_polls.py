# SPDX-License-Identifier: Apache-2.0
"""A main thread that sleeps and looks now and then whether others have done their work, or waits for their signal."""

from pathlib import Path

import pytest
from needed import package
from verdicts import leading, of_program, verdict
from warm import record

import regimeter
from regimeter import _core

BUSY = """import subprocess, sys, threading, time
def work(seconds=2):
    end = time.monotonic() + seconds
    total = 0
    while time.monotonic() < end:
        for value in range(1000):
            total += value % 7
"""
THREAD = """thread = threading.Thread(target=work)
thread.start()
while thread.is_alive():
    time.sleep(0.05)
"""
# Each time it writes, others take the interpreter's lock, and it has to wait for that again.
WRITES = THREAD.replace("time.sleep(0.05)", "print(end='.', flush=True)\n    time.sleep(0.01)")
PROGRAM = """programs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(3)]
for _ in range(60):
    if any(one.poll() is None for one in programs):
        time.sleep(0.02)
for one in programs:
    one.kill()
"""
PROCESSES = """from concurrent.futures import ProcessPoolExecutor
import time
def pause(seconds):
    time.sleep(seconds)
if __name__ == "__main__":
    with ProcessPoolExecutor(2) as pool:
        left = [pool.submit(pause, 0.5) for _ in range(6)]
        while not all(one.done() for one in left):
            time.sleep(0.02)
"""
SIGNAL = """import os, signal
def run():
    work()
    os.kill(os.getpid(), signal.SIGUSR1)
signal.signal(signal.SIGUSR1, lambda *_: None)
threading.Thread(target=run).start()
signal.pause()
"""
# What a server does that has its workers forked. They hold no scope.
FORKED = """import os, queue
if not os.fork():
    work()
    os._exit(0)
signals = queue.SimpleQueue()
while os.waitpid(-1, os.WNOHANG) == (0, 0):
    try:
        signals.get(timeout=0.3)
    except queue.Empty:
        pass
"""
LOOP_OF_THREADS = """import asyncio
async def main():
    done, loop = asyncio.Event(), asyncio.get_running_loop()
    def run():
        work()
        loop.call_soon_threadsafe(done.set)
    threading.Thread(target=run).start()
    await done.wait()
asyncio.run(main())
"""
LOOP = """import asyncio, time
from concurrent.futures import ProcessPoolExecutor
def work():
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        pass
async def main():
    loop = asyncio.get_running_loop()
    with ProcessPoolExecutor(2) as pool:
        await asyncio.gather(*(loop.run_in_executor(pool, work) for _ in range(6)))
if __name__ == "__main__":
    asyncio.run(main())
"""
# The thread that works has nothing to do with the pauses between the main one's own steps.
PAUSES = """threading.Thread(target=work, daemon=True).start()
for _ in range(15):
    time.sleep(0.06)
    work(0.04)
"""

STEPS = """import torch
threading.Thread(target=work, args=(60,), daemon=True).start()
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(4):
    model(torch.ones(2, 8)).sum().backward()
    optimizer.step()
    time.sleep(0.6)
"""


@pytest.mark.parametrize(
    ("code", "cause", "place", "elsewhere"),
    [
        (BUSY + THREAD, "python", "work", True),
        (BUSY + WRITES, "python", "work", True),
        (BUSY + PROGRAM, "child", "<module>", False),
        (PROCESSES, "child", "pause", True),
        (BUSY + SIGNAL, "python", "work", True),
        (BUSY + FORKED, "child", "work", True),
        (BUSY + LOOP_OF_THREADS, "python", "work", True),
        (LOOP, "child", "work", True),
    ],
    ids=[
        "a thread",
        "a thread, with words",
        "programs",
        "processes that sleep themselves",
        "a thread's signal",
        "a fork",
        "a loop's thread",
        "a loop's processes",
    ],
)
def test_what_is_polled_for_is_what_limits_it(
    code: str, cause: str, place: str, elsewhere: bool, tmp_path: Path
) -> None:
    found = of_program(tmp_path, code)
    first = leading(found, cause, besides=("processor",))
    assert first.place.startswith(f"{place} (program.py:"), first
    assert first.elsewhere == elsewhere
    assert not found.next.startswith("Remove the pause"), found.next


def test_without_their_recordings_a_loop_waits_for_the_processes_of_its_executor_all_the_same(tmp_path: Path) -> None:
    found = verdict(regimeter.load(record(tmp_path, LOOP)))
    leading(found, "child")


def test_what_limits_a_fork_without_scopes_is_told_from_its_samples(tmp_path: Path) -> None:
    record(tmp_path, BUSY + FORKED.replace("os._exit(0)", "sys.exit()"))
    (file,) = tmp_path.glob("run.rgm.*")
    run = regimeter.load(file)
    found = verdict(run)
    assert (found.cause, len(run.spans), len(run.lanes)) == ("python", 0, 0), (found.sentence, found.why)
    assert found.causes[0].place.startswith("work (program.py:"), found.causes[0]
    lost = _core.ANOMALY_CODES.index("lost_scopes")
    assert lost not in run.tables.anomalies.code.tolist(), "the scope of the program is its parent's"


@pytest.mark.parametrize("code", [PAUSES, STEPS], ids=["short", "between steps"])
def test_a_pause_is_one_whatever_another_thread_does_meanwhile(code: str, tmp_path: Path) -> None:
    found = of_program(tmp_path, BUSY + code)
    assert found.shares["sleep"] > 0.2, (found.sentence, found.why, found.shares)


def test_a_library_that_looks_for_its_processes_makes_no_pauses(tmp_path: Path) -> None:
    """However short they are."""
    package("joblib")
    code = """import time
from joblib import Parallel, delayed
def ask(parallel):
    for _ in range(6):
        parallel(delayed(time.sleep)(0.2) for _ in range(2))
        sum(value % 7 for value in range(400_000))
with Parallel(n_jobs=2) as parallel:
    ask(parallel)
"""
    found = of_program(tmp_path, code)
    first = leading(found, "child")
    assert first.place.startswith("ask (program.py:"), first
    assert "sleep" not in found.shares, found.why


@pytest.mark.parametrize("key", ["verdict_polls_ns", "verdict_polls_share"])
def test_thresholds_decide_what_polls(key: str, tmp_path: Path) -> None:
    run = regimeter.load(record(tmp_path, BUSY + THREAD))
    found = run.verdict({key: 1e12})
    assert found is not None
    leading(found, "sleep")


@pytest.mark.parametrize(("folder", "file"), [("gevent", "hub"), ("twisted/internet", "epollreactor")])
def test_loops_of_other_libraries_are_loops(folder: str, file: str, tmp_path: Path) -> None:
    place = tmp_path / folder
    place.mkdir(parents=True)
    (place / f"{file}.py").write_text("import select\ndef run(seconds):\n    select.poll().poll(seconds * 1000)\n")
    found = of_program(tmp_path, f"from {folder.replace('/', '.')} import {file}\n{file}.run(0.6)\n")
    leading(found, "event_loop")
