# SPDX-License-Identifier: Apache-2.0
"""What limits a program: recorded as it is, and through every door."""

import contextlib
import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from places import TESTS
from warm import record

import regimeter
from regimeter import _core
from regimeter.report.verdict import verdict_lines
from regimeter.suggest.causes import CALLS, CAUSES
from regimeter.suggest.verdict import Verdict

TRACES = TESTS / "data" / "traces"
# Each spends nearly all of its time in one way; what that is follows from what it calls.
PROGRAMS = {
    "sleep": "import time\nfor _ in range(30):\n    time.sleep(0.03)\n",
    "python": "total = 0\nfor value in range(6_000_000):\n    total += value % 7\n",
    "child": "import subprocess\nfor _ in range(3):\n    subprocess.run(['sleep', '0.3'], check=True)\n",
    "network": (
        "import os, threading, time\nread, write = os.pipe()\n"
        "def answer():\n    for _ in range(30):\n        time.sleep(0.03)\n        os.write(write, b'x')\n"
        "threading.Thread(target=answer).start()\nfor _ in range(30):\n    os.read(read, 1)\n"
    ),
    "lock": (
        "import threading, time\nlock = threading.Lock()\n"
        "def hold():\n    for _ in range(30):\n        with lock:\n            time.sleep(0.03)\n"
        "        time.sleep(0.0005)\n"
        "thread = threading.Thread(target=hold)\nthread.start()\n"
        "while thread.is_alive():\n    with lock:\n        pass\n    thread.join(0.0002)\n"
    ),
    "garbage_collection": (
        "import gc\nkept = [[index] for index in range(300_000)]\nfor _ in range(40):\n    gc.collect()\n"
    ),
    "native": (
        "import numpy\nleft = numpy.full((400, 400), 0.5)\n"
        "for _ in range(200):\n    left = left @ left\n    left /= 100\n"
    ),
    "small_work": (
        "import torch\nleft, right = torch.eye(4), torch.ones(4, 4) / 5\n"
        "with torch.inference_mode():\n    for _ in range(160_000):\n"
        + "".join(f"        {line}\n" for line in ("one = left @ right", "two = one @ left", "left = torch.relu(two)"))
        + "        right = torch.addmm(right, one, two)\n        left = torch.sub(left, right)\n"
    ),
}
# A step of training is short beside what makes its batch, in an iterator that is no DataLoader.
BATCHES = """
import torch

class Feed:
    def __iter__(self):
        return iter(Batch() for _ in range(12))

class Batch:
    def __getitem__(self, index):
        return torch.tensor([sum(range(index * 900, index * 900 + 9000)) % 7.0 for index in range(220)])

model = torch.nn.Linear(220, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
for batch in Feed():
    optimizer.zero_grad()
    model(batch[0]).sum().backward()
    optimizer.step()
"""
# The main thread waits for what others do: cause, where, whether that is in another thread of it, the program.
AWAITED = {
    "a pool of threads": (
        "native",
        "pack",
        True,
        (
            "import os, zlib\nfrom concurrent.futures import ThreadPoolExecutor\nblock = os.urandom(1 << 18) * 4\n"
            "def pack(_):\n    return len(zlib.compress(block, 6))\n"
            "with ThreadPoolExecutor(2) as pool:\n    print(sum(pool.map(pack, range(40))))\n"
        ),
    ),
    "a thread's end": (
        "sleep",
        "pause",
        True,
        (
            "import threading, time\ndef pause():\n    for _ in range(25):\n        time.sleep(0.04)\n"
            "thread = threading.Thread(target=pause)\nthread.start()\nthread.join()\n"
        ),
    ),
    "a thread of an event loop": (
        "native",
        "pack",
        True,
        (
            "import asyncio, os, zlib\nblock = os.urandom(1 << 18) * 4\n"
            "def pack():\n    for _ in range(20):\n        zlib.compress(block, 6)\n"
            "asyncio.run(asyncio.to_thread(pack))\n"
        ),
    ),
    "an event loop whose tasks wait": (
        "event_loop",
        "<module>",
        False,
        (
            "import asyncio\nasync def one():\n    for _ in range(40):\n        await asyncio.sleep(0.02)\n"
            "async def both():\n    await asyncio.gather(one(), one())\nasyncio.run(both())\n"
        ),
    ),
    "a task that does not let others run": (
        "network",
        "ask",
        False,
        (
            "import asyncio, socket, threading, time\nhere, there = socket.socketpair()\n"
            "def answer():\n    for _ in range(20):\n        time.sleep(0.04)\n        there.send(b'x')\n"
            "async def ask():\n    for _ in range(20):\n        here.recv(1)\n"
            "threading.Thread(target=answer, daemon=True).start()\nasyncio.run(ask())\n"
        ),
    ),
    "a pool of processes": (
        "child",
        "<module>",
        False,
        (
            "import multiprocessing\ndef work(count):\n    return sum(value % 7 for value in range(count))\n"
            "if __name__ == '__main__':\n    with multiprocessing.get_context('fork').Pool(2) as pool:\n"
            "        print(sum(pool.imap_unordered(work, [400_000] * 30)))\n"
        ),
    ),
    "processes of futures": (
        "child",
        "<module>",
        False,
        (
            "from concurrent.futures import ProcessPoolExecutor\n"
            "def work(count):\n    return sum(value % 7 for value in range(count))\n"
            "if __name__ == '__main__':\n    with ProcessPoolExecutor(2) as pool:\n"
            "        print(sum(pool.map(work, [400_000] * 30)))\n"
        ),
    ),
    "what a command prints": (
        "child",
        "<module>",
        False,
        (
            "import subprocess\nfor _ in range(3):\n"
            "    subprocess.run('echo a; sleep 0.3', shell=True, capture_output=True)\n"
        ),
    ),
}
# Steps of one length, by one thread, on one processor that others take for four tenths of the time.
STEPS = """
import os, torch
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
torch.set_num_threads(1)
model = torch.nn.Linear(300, 300)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
for _ in range(120):
    for _ in range(6):
        model(torch.ones(64, 300)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
# A thread holds the lock that one step in three waits for.
HELD_UP = """
import threading, time, torch
torch.set_num_threads(1)
asked, held, lock = threading.Event(), threading.Event(), threading.Lock()
def hold():
    while True:
        asked.wait()
        asked.clear()
        with lock:
            held.set()
            time.sleep(0.1)  # far more than what other programs take of a step
threading.Thread(target=hold, daemon=True).start()
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
for step in range(45):
    optimizer.zero_grad()
    if step % 3 == 2:
        held.clear()
        asked.set()
        held.wait()
        with lock:
            pass
    model(torch.ones(8, 64)).sum().backward()
    optimizer.step()
"""
SMALL = """
import os, torch
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
torch.set_num_threads(1)
model = torch.nn.Sequential(*(layer for _ in range(20) for layer in (torch.nn.Linear(16, 16), torch.nn.GELU())))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for row in torch.randn(600, 1, 16):
    optimizer.zero_grad()
    model(row).mean().backward()
    optimizer.step()
"""
BURSTS = """
import os, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
while os.getppid() == PARENT:
    if time.time() % 0.5 < 0.3:
        time.sleep(0.01)
"""


@functools.cache
def recorded(code: str) -> regimeter.Run:
    """Return the recording of a program that several tests ask about."""
    with tempfile.TemporaryDirectory() as folder:
        return regimeter.load(record(Path(folder), code))


def verdict(run: "regimeter.Run") -> Verdict:
    """Return the verdict of a run that has one."""
    found = run.verdict()
    assert found is not None
    return found


@pytest.mark.parametrize("cause", PROGRAMS)
def test_a_program_that_does_one_thing_is_limited_by_it(cause: str) -> None:
    found = verdict(recorded(PROGRAMS[cause]))
    assert found.cause == cause, (found.sentence, found.why)
    assert found.samples + found.displaced > 10
    line = next(one for one in found.causes if one.cause == cause)
    assert "program.py" in line.place or cause == "garbage_collection", line
    assert sum(found.shares.values()) == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("awaited", AWAITED)
def test_work_that_the_main_thread_waits_for_is_what_limits_it(tmp_path: Path, awaited: str) -> None:
    cause, function, elsewhere, code = AWAITED[awaited]
    found = verdict(regimeter.load(record(tmp_path, code)))
    assert found.cause == cause, (found.sentence, found.why)
    assert found.causes[0].place.startswith(f"{function} (program.py:"), found.causes[0]
    assert found.causes[0].elsewhere == elsewhere
    assert ("in other threads that the main one waits for" in found.why) == elsewhere


@pytest.mark.parametrize("where", ["by itself", "in another thread"])
def test_a_call_that_keeps_the_lock_is_no_loop_of_python(where: str, tmp_path: Path) -> None:
    call = "values = [index * 7919 % 1000003 / 7 for index in range(100_000)]\n"
    call += "def order():\n    for _ in range(60):\n        sorted(values)\n"
    by_itself = where == "by itself"
    start = (
        "order()\n"
        if by_itself
        else "import threading\none = threading.Thread(target=order)\none.start()\none.join()\n"
    )
    found = verdict(regimeter.load(record(tmp_path, call + start)))
    assert found.cause == "python"
    assert found.causes[0].calling
    assert found.causes[0].elsewhere != by_itself
    assert found.sentence.startswith("Compiled code that keeps the interpreter's lock")
    assert "order (program.py:4)" in found.next
    found = verdict(recorded(PROGRAMS["python"]))
    assert not found.causes[0].calling
    assert found.sentence.startswith("Python code is the limit")


def test_what_an_import_waits_for_is_the_import(tmp_path: Path) -> None:
    package = tmp_path / "site-packages"
    package.mkdir()
    (package / "waits.py").write_text("import time\nfor _ in range(20):\n    time.sleep(0.04)\n")
    code = f"import sys\nsys.path.insert(0, {str(package)!r})\nimport waits\n"
    found = verdict(regimeter.load(record(tmp_path, code)))
    assert found.cause == "imports", (found.sentence, found.why)


@contextlib.contextmanager
def crowd(count: int) -> Iterator[None]:
    """Let other programs want the first processor, for four tenths of the time."""
    burst = BURSTS.replace("PARENT", str(os.getpid()))
    others = [subprocess.Popen([sys.executable, "-c", burst]) for _ in range(count)]
    try:
        yield
    finally:
        for one in others:
            one.kill()
            one.wait()


def test_what_some_steps_wait_for_comes_before_that_they_differ(tmp_path: Path) -> None:
    found = verdict(regimeter.load(record(tmp_path, HELD_UP)))
    assert found.cause == "lock", (found.sentence, found.why)
    assert "uneven_steps" in [one.cause for one in found.causes]


def test_calls_that_others_interrupt_stay_small(tmp_path: Path) -> None:
    with crowd(6):
        run = regimeter.load(record(tmp_path, SMALL))
    found = verdict(run)
    assert found.displaced > 0
    assert found.cause == "small_work", (found.sentence, found.why)
    sure, unsure = (run.verdict({"verdict_others_most": most}) for most in (1.0, 1e-6))
    assert sure is not None
    assert unsure is not None
    assert (sure.confidence, unsure.confidence) == ("high", "low")


def test_calls_of_the_system_are_not_put_down_to_pages(tmp_path: Path) -> None:
    """However few faults are enough by their rate: these take no time that is worth a word."""
    asks = "import time\ndef ask():\n    while time.thread_time() < 2:\n        pass\nask()\n"
    run = regimeter.load(record(tmp_path, asks))
    found = run.verdict({"verdict_faults": 0.0, "verdict_system_share": 0.0})
    assert found is not None
    assert found.cause == "python", (found.sentence, found.why)


def test_a_thread_that_only_waits_does_not_tell_how_much_the_others_want(tmp_path: Path) -> None:
    """The program wants one processor, and its main thread waits long to be told of each result."""
    pool = AWAITED["a pool of threads"][3].replace("ThreadPoolExecutor(2)", "ThreadPoolExecutor(1)")
    with crowd(6):
        run = regimeter.load(
            record(tmp_path, "import os\nos.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n" + pool)
        )
    found = verdict(run)
    assert found.displaced > 0
    assert found.cause == "native", (found.sentence, found.why)


def test_steps_that_others_hold_up_are_not_uneven(tmp_path: Path) -> None:
    with crowd(6):
        run = regimeter.load(record(tmp_path, STEPS))
    found = verdict(run)
    assert found.steps == 120
    # Only what the program's threads waited for a processor makes them uneven: up to 14 times the usual one.
    uneven = sum(one.share or 0 for one in found.causes if one.cause == "uneven_steps")
    assert uneven < 0.05, (found.sentence, found.why)


def test_a_batch_that_the_loop_makes_by_itself_is_its_input(tmp_path: Path) -> None:
    found = verdict(regimeter.load(record(tmp_path, BATCHES)))
    assert found.cause == "input", (found.sentence, found.why)
    assert found.steps > 3
    assert "Batch.__getitem__" in found.causes[0].place


def test_a_step_within_an_iterator_is_not_its_input(tmp_path: Path) -> None:
    """What hands out items does the whole step here, so that its own work between the parts of it is no batch."""
    code = BATCHES.partition("class Batch")[0].replace("return iter(Batch() for _ in range(12))", "pass") + (
        "class Trainer:\n    def __iter__(self):\n        for _ in range(8):\n"
        "            total = sum(value % 7 for value in range(400_000))\n            optimizer.zero_grad()\n"
        "            model(torch.ones(500, 500) * (total % 3)).sum().backward()\n            optimizer.step()\n"
        "            yield total\n"
        "model = torch.nn.Sequential(*(torch.nn.Linear(500, 500) for _ in range(8)))\n"
        "optimizer = torch.optim.Adam(model.parameters(), lr=0.001)\nfor total in Trainer():\n    pass\n"
    )
    found = verdict(regimeter.load(record(tmp_path, code)))
    assert "input" not in found.shares, found.why


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_that_is_late_is_told_where_its_batches_are_made(workers: int, tmp_path: Path) -> None:
    code = (
        "import time, torch\nfrom torch.utils.data import DataLoader, Dataset\ntorch.set_num_threads(1)\n"
        "class Slow(Dataset):\n    def __len__(self):\n        return 160\n"
        "    def __getitem__(self, index):\n        time.sleep(0.01)\n        return torch.zeros(8), index % 2\n"
        "model = torch.nn.Linear(8, 2)\noptimizer = torch.optim.SGD(model.parameters(), lr=0.01)\n"
        f"for rows, labels in DataLoader(Slow(), batch_size=8, num_workers={workers}):\n"
        "    optimizer.zero_grad()\n    torch.nn.functional.cross_entropy(model(rows), labels).backward()\n"
        "    optimizer.step()\n"
    )
    found = verdict(regimeter.load(record(tmp_path, code)))
    assert found.cause == "input", (found.sentence, found.why)
    assert found.causes[0].elsewhere == bool(workers)
    assert ("worker processes of its loader" in found.sentence) == bool(workers)
    assert ("Load ahead in worker processes" in found.next) == (not workers)
    assert found.causes[0].place.startswith("DataLoader.__next__" if workers else "Slow.__getitem__ (program.py:8)")


def test_large_products_on_several_lines_are_no_small_work(tmp_path: Path) -> None:
    lines = "".join(f"    {name} = left @ right\n" for name in ("one", "two", "three", "four"))
    code = "import torch\nleft = right = torch.rand(500, 500)\n" + f"for _ in range(30):\n{lines}"
    found = verdict(regimeter.load(record(tmp_path, code)))
    assert "small_work" not in found.shares, found.why


@pytest.mark.parametrize("kept", [True, False])
def test_memory_that_is_kept_in_each_round_grows_and_what_an_import_makes_does_not(kept: bool, tmp_path: Path) -> None:
    """An import of a third of the time, in a function, so that nothing but the levels tells where it ended."""
    code = (
        "import time\nkept = []\ndef imported(ms, size):\n    for _ in range(50):\n"
        "        kept.append(bytearray(size))\n        time.sleep(ms / 1000)\n"
        f"imported(16, 2_000_000)\nfor _ in range(80):\n    imported(0, {50_000 if kept else 0})\n"
        "    time.sleep(0.02)\n"
    )
    found = verdict(regimeter.load(record(tmp_path, code)))
    assert ("memory_growth" in [one.cause for one in found.causes]) == kept, found.why
    assert found.cause != "memory_growth" or "regimeter record --memory" in found.next


@pytest.mark.parametrize("kept", [True, False])
def test_what_comes_and_goes_in_each_round_is_no_growth_however_large_it_becomes(kept: bool, tmp_path: Path) -> None:
    code = (
        "import time\nheld = []\nfor i in range(100):\n    part = b'x' * (600_000 * i)\n    time.sleep(0.014)\n"
        f"    held += [b'x' * (2_000_000 + i)] if {kept} else []\n    del part\n    time.sleep(0.006)\n"
    )
    found = verdict(regimeter.load(record(tmp_path, code)))
    assert ("memory_growth" in [one.cause for one in found.causes]) == kept, found.why


def test_a_program_that_keeps_to_one_processor_is_crowded_by_its_own_children(tmp_path: Path) -> None:
    """It says so after it has begun, and its other threads, ours among them, may go on elsewhere. The last processor,
    since the first is where the tests above have a crowd, maybe now, in another worker."""
    code = (
        "import os, subprocess\nos.sched_setaffinity(0, {max(os.sched_getaffinity(0))})\n"
        "begin, told = os.pipe()\ncode = 'read told; while :; do :; done'\n"
        "others = [subprocess.Popen(['sh', '-c', code], stdin=begin) for _ in range(16)]\nos.close(told)\n"
        "total = 0\nfor value in range(600_000):\n    total += value % 7\n"
        "for one in others:\n    one.kill()\n"
    )
    run = regimeter.load(record(tmp_path, code))
    assert run.tables.pressure.processors[-1] == 1
    found = run.verdict({"verdict_own_busy": 2.0})  # more than there can be: others may want the processor, too
    assert found is not None
    assert found.cause == "processor", found.why
    found = run.verdict({"verdict_own_busy": 2.0, "verdict_own_wanted": 100.0})  # it wants 17 of its one
    assert found is not None
    assert found.cause != "processor", found.why


def test_every_door_says_the_same(tmp_path: Path, command: Any) -> None:
    file = record(tmp_path, PROGRAMS["sleep"], "--html", str(tmp_path / "page.html"), quiet=False)
    found = verdict(regimeter.load(file))
    assert (tmp_path / "err").read_text().lstrip().startswith("Limit: The program sleeps in"), "told at once"
    assert json.loads(command("show", file, "--json").stdout)["verdict"] == found.to_dict()
    words = " ".join(command("show", file).stdout.split())
    assert all(part in words for part in (found.sentence, found.why, found.next))
    assert json.dumps(found.sentence).strip('"') in (tmp_path / "page.html").read_text()


def test_scopes_alone_name_the_largest() -> None:
    profiler = regimeter.GPUProfiler()
    for name, count in (("small", 1), ("large", 40)):
        with profiler.profile(name, device="cpu"):
            sum(range(count * 20_000))
    found = verdict(profiler.run())
    assert (found.cause, found.causes[0].place, found.samples) == ("scope", "large", 0)
    profiler.close()


def test_scopes_with_more_between_them_do_not_limit_the_program() -> None:
    with regimeter.GPUProfiler() as profiler:
        for _ in range(2):
            with profiler.profile("seen", device="cpu"):
                time.sleep(0.01)
            time.sleep(0.1)
        with profiler.profile("end", device="cpu"):
            pass
        found = verdict(profiler.run())
    assert (found.cause, found.confidence) == ("scope", "low")
    assert "where most of it went is not recorded" in found.sentence


def test_a_run_too_short_for_samples_says_so(tmp_path: Path) -> None:
    found = verdict(regimeter.load(record(tmp_path, "print(1)\n")))
    if found.samples == 0:  # a machine that is busy may take as long for this as others for a program
        assert found.next.startswith("The run is too short for samples of its stack")
    profiler = regimeter.GPUProfiler(stacks=0)
    with profiler.profile("scope", device="cpu"):
        time.sleep(0.5)
    assert verdict(profiler.run()).next.startswith(
        "Mark the parts of it with scopes of their own, or record with stacks"
    )
    profiler.close()


def test_nothing_recorded_has_no_verdict() -> None:
    profiler = regimeter.GPUProfiler()
    assert profiler.run().verdict() is None
    profiler.close()


def test_an_unknown_threshold_is_refused() -> None:
    profiler = regimeter.GPUProfiler()
    with pytest.raises(ValueError, match="verdict_nothing"):
        profiler.run().verdict({"verdict_nothing": 1})
    profiler.close()


@pytest.mark.parametrize("file", sorted(path.name for path in TRACES.glob("*.json.gz")))
def test_a_device_that_works_most_of_the_time_is_the_limit(file: str) -> None:
    """The breakdown says how much of its time the busiest device works; the verdict agrees with it."""
    run = regimeter.load(TRACES / file)
    shares = run.result("breakdown")
    found = run.verdict()
    if not len(shares):
        assert found is None or found.cause not in ("device", "launches", "device_idle")
        return
    assert found is not None
    busiest = int(shares.table.busy_ns.argmax())
    device = next((one.share for one in found.causes if one.cause == "device"), 0.0)
    assert device == pytest.approx(float(shares.table.compute_share[busiest]), abs=1e-6)
    limit = float(_core.policy()["verdict_device_share"]["default"])
    if device >= limit:
        assert found.cause == "device"
    assert sum(found.shares.values()) == pytest.approx(1, abs=0.02)


def test_every_cause_has_words() -> None:
    assert set(CAUSES) == set(_core.LIMIT_CAUSES)
    known = {"share": "", "of": "", "place": "", "at": "", "by_line": "", "figure": ""}
    for words in (*CAUSES.values(), CALLS):
        assert words.sentence.format_map(known)
        assert words.next.format_map(known)


def test_lines_fit_their_width() -> None:
    found = verdict(recorded(PROGRAMS["python"]))
    assert all(len(line) <= 80 for line in verdict_lines(found, 80))
