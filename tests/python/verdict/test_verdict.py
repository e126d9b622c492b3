# SPDX-License-Identifier: Apache-2.0
"""What limits a program: recorded as it is, and through every door."""

import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from places import TESTS
from verdicts import POOL, leading, verdict
from warm import record

import regimeter
from regimeter import _core
from regimeter.report.verdict import verdict_lines
from regimeter.run.rebuild import build, tables_of
from regimeter.suggest.causes import CALLS, CAUSES, EARLY

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
        "import gc\nkept = [[index] for index in range(300_000)]\nfor _ in range(20):\n    gc.collect()\n"
    ),
    "native": (
        "import numpy\nleft = numpy.full((400, 400), 0.5)\n"
        "for _ in range(80):\n    left = left @ left\n    left /= 100\n"
    ),
    "small_work": (
        "import torch\nleft, right = torch.eye(4), torch.ones(4, 4) / 5\n"
        "with torch.inference_mode():\n    for _ in range(160_000):\n"
        + "".join(f"        {line}\n" for line in ("one = left @ right", "two = one @ left", "left = torch.relu(two)"))
        + "        right = torch.addmm(right, one, two)\n        left = torch.sub(left, right)\n"
    ),
}
# The main thread waits for what others do: cause, where, whether that is in another thread of it, the program.
AWAITED = {
    "a pool of threads": (
        "native",
        "pack",
        True,
        POOL,
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
    "a task that sleeps beside a thread that waits": (
        "sleep",
        "pause",
        False,
        (
            "import asyncio, subprocess, threading, time\ndef pause():\n    time.sleep(0.04)\n"
            "threading.Thread(target=lambda: subprocess.run(['sleep', '1.2'])).start()\n"
            "async def ask():\n    for _ in range(28):\n        pause()\n        await asyncio.sleep(0)\n"
            "asyncio.run(ask())\n"
        ),
    ),
    "an event loop beside a thread that waits": (
        "event_loop",
        "<module>",
        False,
        (
            "import asyncio, subprocess, threading\n"
            "threading.Thread(target=lambda: subprocess.run(['sleep', '1.2'])).start()\n"
            "asyncio.run(asyncio.sleep(1.1))\n"
        ),
    ),
    "threads that have the interpreter's lock": (
        "interpreter_lock",
        "spin",
        True,
        (
            "import threading, time\ndef spin(seconds):\n    end = time.monotonic() + seconds\n"
            "    while time.monotonic() < end:\n        sum(range(1000))\n"
            "for _ in range(3):\n    threading.Thread(target=spin, args=(1.6,)).start()\n"
            "end = time.monotonic() + 1.5\nwhile time.monotonic() < end:\n    sum(range(1000))\n"
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
    "what a program writes while it runs": (
        "child",
        "<module>",
        False,
        (
            "import subprocess\nword = 'for i in 1 2 3 4; do sleep 0.15; echo $i; done'\n"
            "one = subprocess.Popen(word, shell=True, stdout=subprocess.PIPE)\nfor line in one.stdout:\n    pass\n"
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


@functools.cache
def recorded(code: str) -> regimeter.Run:
    """Return the recording of a program that several tests ask about."""
    with tempfile.TemporaryDirectory() as folder:
        return regimeter.load(record(Path(folder), code))


@pytest.mark.parametrize("cause", PROGRAMS)
def test_a_program_that_does_one_thing_is_limited_by_it(cause: str) -> None:
    found = verdict(recorded(PROGRAMS[cause]))
    if found.cause != cause and found.displaced > found.samples:  # others had the machine for most of the time
        assert "record again on a quiet machine" in found.why
        return
    leading(found, cause)
    assert found.samples + found.displaced > 10
    line = next(one for one in found.causes if one.cause == cause)
    assert "program.py" in line.place, line
    assert sum(found.shares.values()) == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("awaited", AWAITED)
def test_work_that_the_main_thread_waits_for_is_what_limits_it(tmp_path: Path, awaited: str) -> None:
    cause, function, elsewhere, code = AWAITED[awaited]
    found = verdict(regimeter.load(record(tmp_path, code)))
    first = leading(found, cause)
    assert first.place.startswith(f"{function} (program.py:"), first
    assert first.elsewhere == elsewhere
    assert ("in other threads that the main one waits for" in found.why) == elsewhere


def test_starting_a_program_is_part_of_waiting_for_it(tmp_path: Path) -> None:
    """Until it runs, the one that starts it stands still."""
    code = (
        "import subprocess\ndef ask():\n    for _ in range(600):\n        subprocess.run(['true'], check=True)\nask()\n"
    )
    found = verdict(regimeter.load(record(tmp_path, code)))
    first = leading(found, "child")
    assert found.shares.get("waiting", 0.0) < 0.1, found.why
    assert first.place == "ask (program.py:4)"


@pytest.mark.parametrize("where", ["by itself", "in another thread"])
def test_a_call_that_keeps_the_lock_is_no_loop_of_python(where: str, tmp_path: Path) -> None:
    call = "import time; values = [index * 7919 % 1000003 / 7 for index in range(100_000)]\n"
    call += "def order():\n    while time.thread_time() < 1.3:\n        sorted(values)\n"
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


@pytest.mark.parametrize(
    "module",
    [
        "import time\nfor _ in range(20):\n    time.sleep(0.04)\n",
        "import gc\nmade = [[index] for index in range(300_000)]\nfor _ in range(20):\n    gc.collect()\n",
    ],
    ids=["waits", "collects"],
)
def test_what_an_import_does_meanwhile_is_the_import(module: str, tmp_path: Path) -> None:
    package = tmp_path / "site-packages"
    package.mkdir()
    (package / "slow.py").write_text(module)
    code = f"import sys\nsys.path.insert(0, {str(package)!r})\nimport slow\n"
    found = verdict(regimeter.load(record(tmp_path, code)))
    leading(found, "imports")


def test_large_products_on_several_lines_are_no_small_work(tmp_path: Path) -> None:
    lines = "".join(f"    {name} = left @ right\n" for name in ("one", "two", "three", "four"))
    code = "import torch\ntorch.set_num_threads(1)\nleft = right = torch.rand(500, 500)\n"
    code += f"for _ in range(30):\n{lines}"
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
    assert found.cause == "sleep", "who goes through its work once may want what it keeps"
    assert ("Memory grows all the time, by " in found.why) == kept


@pytest.mark.parametrize("kept", [True, False])
def test_what_comes_and_goes_in_each_round_is_no_growth_however_large_it_becomes(kept: bool, tmp_path: Path) -> None:
    code = (
        "import time\nheld = []\nfor i in range(100):\n    part = b'x' * (600_000 * i)\n    time.sleep(0.014)\n"
        f"    held += [b'x' * (2_000_000 + i)] if {kept} else []\n    del part\n    time.sleep(0.006)\n"
    )
    found = verdict(regimeter.load(record(tmp_path, code)))
    assert ("memory_growth" in [one.cause for one in found.causes]) == kept, found.why


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
    assert "went is not recorded: the largest scope" in found.sentence


def test_samples_of_the_first_part_alone_are_said_to_tell_of_no_more(tmp_path: Path) -> None:
    """And not that the run is too short."""
    run = regimeter.load(record(tmp_path, "import time\nfor _ in range(16):\n    time.sleep(0.1)\n"))
    tables = tables_of(run)
    early = run.samples.time_ns < run.start_ns + 600_000_000
    tables["samples"] = {name: column[early] for name, column in tables["samples"].items()}
    found = verdict(build(run, run.strings, tables))
    assert early.any()
    assert (found.cause, found.samples) == ("scope", 0), (found.sentence, found.why)
    assert found.next == EARLY


def test_a_run_too_short_for_samples_says_so(tmp_path: Path) -> None:
    found = verdict(regimeter.load(record(tmp_path, "print(1)\n")))
    if found.samples + found.displaced == 0:  # a busy machine may take as long for this as others for a program
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
    known = {"share": "", "of": "", "place": "", "at": "", "by_line": "", "figure": "", "theirs": ""}
    for words in (*CAUSES.values(), CALLS):
        assert words.sentence.format_map(known)
        assert words.next.format_map(known)


def test_lines_fit_their_width() -> None:
    found = verdict(recorded(PROGRAMS["python"]))
    assert all(len(line) <= 80 for line in verdict_lines(found, 80))


# Ranks of one job that were recorded one after another.
RANK = """import sys, time, regimeter
with regimeter.GPUProfiler(path=sys.argv[1], stacks=True) as profiler, profiler.profile("works"):
    end = time.thread_time() + 0.5
    while time.thread_time() < end:
        sum(range(1000))
"""


def test_the_time_between_processes_that_ran_in_turn_is_nobodys(tmp_path: Path) -> None:
    for rank in "01":
        command = [sys.executable, "-c", RANK, str(tmp_path / f"{rank}.rgm")]
        subprocess.run(command, env={**os.environ, "RANK": rank, "WORLD_SIZE": "2"}, check=True, timeout=120)
        time.sleep(0.5)
    run = regimeter.load(tmp_path)
    spans = run.spans.duration_ns
    assert len(spans) == 2
    assert run.duration_ns > sum(spans.tolist()) + 4e8
    found = verdict(run)
    # From its process's first sample to its last, which the other's scope and half a second between are not in.
    most = (run.duration_ns - min(spans.tolist())) / 1e6 - 500
    assert max(spans.tolist()) / 1e6 <= found.window_ms + 0.001 <= most + 0.002
    assert found.cause == "python", found
