# SPDX-License-Identifier: Apache-2.0
"""Time that the kernel spends for a program: on pages that are touched, what it sends, and any calls of the system."""

from pathlib import Path

import pytest
from verdicts import leading, verdict
from warm import record

import regimeter
from regimeter.run.rebuild import build, tables_of
from regimeter.suggest.causes import SYSTEM_CALLS

TOUCH = """import mmap, time
def touch(seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pages = mmap.mmap(-1, 200 * 4096, mmap.MAP_PRIVATE)
        for at in range(0, 200 * 4096, 4096):
            pages[at] = 1
        pages.close()
"""
SENDERS = """import socket, time
def socket_of():
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one, there = socket_of(), socket_of()
there.bind(("127.0.0.1", 0))
place, text = there.getsockname(), b"x" * 100
"""
ONE_LINE = """def send():
    for _ in range(120_000):
        one.sendto(text, place)
send()
"""
THREE_LINES = """def send():
    for _ in range(40_000):
        one.sendto(text, place)
        one.sendto(text, place)
        one.sendto(text, place)
send()
"""
# The other one takes its time, or the answer is there before anybody can be seen to wait for it.
ASKS = """import os, socket
here, there = socket.socketpair()
if not os.fork():
    while text := there.recv(10):
        sum(range(400))
        there.send(text)
    os._exit(0)
def ask():
    for _ in range(100_000):
        here.send(b"question"), here.recv(10)
ask()
here.shutdown(socket.SHUT_RDWR)
"""


def test_calls_of_the_system_are_not_put_down_to_pages(tmp_path: Path) -> None:
    """However few faults are enough by their rate: these take no time that is worth a word."""
    asks = "import time\ndef ask():\n    while time.thread_time() < 2:\n        pass\nask()\n"
    run = regimeter.load(record(tmp_path, asks))
    found = run.verdict({"verdict_faults": 0.0, "verdict_system_share": 0.0})
    assert found is not None
    leading(found, "python")


def test_calls_of_the_system_beside_a_few_new_pages_are_not_put_down_to_those(tmp_path: Path) -> None:
    """2,000 small pages a second take some milliseconds of it, and the calls most of the rest."""
    asks = """import mmap, time
def ask():
    until = time.thread_time() + 2
    while (now := time.thread_time()) < until:
        pages = mmap.mmap(-1, 20 * 4096, mmap.MAP_PRIVATE)
        for at in range(0, 20 * 4096, 4096):
            pages[at] = 1
        pages.close()
        while time.thread_time() < now + 0.01:
            pass
ask()
"""
    run = regimeter.load(record(tmp_path, asks))
    huge, faults = run.tables.pressure.huge_pages, run.tables.pressure.faults
    if huge.max() < 0 or huge.sum() > 0.1 * faults.sum():  # this program touches none
        pytest.skip("the system does not tell how many pages are huge, or other programs were given as many")
    as_huge, found = run.verdict({"verdict_small_fault_ns": 1e6, "verdict_system_share": 0.0}), verdict(run)
    assert as_huge is not None
    assert (as_huge.cause, found.cause) == ("page_faults", "python"), (found.sentence, found.why)


def test_pages_are_counted_by_the_time_that_the_program_had_a_processor(tmp_path: Path) -> None:
    """4,000 a second of that are less than 700 of all, whether it sleeps the rest or others have the processors."""
    asks = """import mmap, time
def ask():
    for _ in range(60):
        now = time.thread_time()
        pages = mmap.mmap(-1, 20 * 4096, mmap.MAP_PRIVATE)
        for at in range(0, 20 * 4096, 4096):
            pages[at] = 1
        pages.close()
        while time.thread_time() < now + 0.005:
            pass
        time.sleep(0.03)
ask()
"""
    run = regimeter.load(record(tmp_path, asks))
    policy = {"verdict_faults": 1500.0, "verdict_small_fault_ns": 1e6, "verdict_system_share": 0.0}
    found = run.verdict(policy)
    assert found is not None
    assert "page_faults" in found.shares, (found.sentence, found.why)


def test_pages_that_an_import_touches_are_not_what_is_computed_afterwards(tmp_path: Path) -> None:
    package = tmp_path / "site-packages"
    package.mkdir()
    (package / "slow.py").write_text(f"{TOUCH}\ntouch(1)\n")
    code = f"import sys\nsys.path.insert(0, {str(package)!r})\nimport slow\n"
    code += "import os, time\nend = time.thread_time() + 1\nwhile time.thread_time() < end:\n"
    code += "    for _ in range(1000):\n        os.getppid()\n"  # time in the kernel, and no page
    run = regimeter.load(record(tmp_path, code))
    found = run.verdict({"verdict_faults": 0.0, "verdict_small_fault_ns": 1e5, "verdict_system_share": 0.0})
    assert found is not None
    assert found.shares.get("page_faults", 0.0) < 0.1, found.why
    assert {"python", "imports"} <= found.shares.keys(), found.why


@pytest.mark.parametrize("code", [ONE_LINE, THREE_LINES], ids=["one line", "several lines"])
def test_calls_of_the_system_are_told_as_such(code: str, tmp_path: Path) -> None:
    """Most of what they take is the kernel's, and no operator of an array library is too small."""
    found = regimeter.load(record(tmp_path, SENDERS + code)).verdict({"verdict_small_calling": 0.0})
    assert found is not None
    if found.cause != "native" and found.displaced > found.samples:  # others had the machine for most of the time
        assert found.confidence == "low", found.why
        return
    assert found.cause == "native", (found.sentence, found.why)
    assert found.causes[0].figure is not None
    assert found.causes[0].figure > 0.5
    assert "small_work" not in found.shares, found.why
    assert found.sentence.startswith(SYSTEM_CALLS.sentence.split("{")[0]), found.sentence


def test_what_is_sent_and_received_for_an_answer_is_waiting_for_it(tmp_path: Path) -> None:
    run = regimeter.load(record(tmp_path, ASKS))
    always, never = (run.verdict({"verdict_system_share": least}) for least in (0.0, 2.0))
    assert always is not None
    assert never is not None
    computes = [sum(one.shares.get(cause, 0.0) for cause in ("native", "python")) for one in (always, never)]
    assert computes[0] < 0.9 * computes[1], (always.why, never.why)
    assert always.shares["network"] > never.shares["network"], (always.why, never.why)
    assert always.causes[0].place.startswith("ask (program.py:"), always.causes[0]


def test_what_python_calls_the_system_for_is_no_wait_for_an_answer(tmp_path: Path) -> None:
    """A line that asks, and computes a little in compiled code, has not made the calls of another one."""
    asks = """import hashlib, os, socket, time
here, there = socket.socketpair()
if not os.fork():
    while text := there.recv(10):
        time.sleep(0.001)
        there.send(text)
    os._exit(0)
block = bytes(400_000)
def ask():
    for _ in range(500):
        here.send(b"question"), here.recv(10), hashlib.sha256(block).digest()
def work():
    until = time.thread_time() + 2.5
    while time.thread_time() < until:
        pass
ask()
work()
here.shutdown(socket.SHUT_RDWR)
"""
    found = verdict(regimeter.load(record(tmp_path, asks)))
    first = leading(found, "python")
    assert first.place.startswith("work (program.py:"), first


@pytest.mark.parametrize("known", ["throughout", "for a moment"])
def test_what_the_kernel_did_for_a_moment_says_nothing_of_the_rest(known: str, tmp_path: Path) -> None:
    run = regimeter.load(record(tmp_path, TOUCH + "touch(1.2)\n"))
    tables = tables_of(run)
    if known == "for a moment":  # by one look, which others may have held up
        tables["pressure"] = {name: column[-1:].copy() for name, column in tables["pressure"].items()}
        tables["pressure"]["interval_ns"][:] = 100_000_000
    policy = {"verdict_faults": 0.0, "verdict_small_fault_ns": 1e6, "verdict_system_share": 0.0}
    found = build(run, run.strings, tables).verdict(policy)
    assert found is not None
    assert ("page_faults" in found.shares) == (known == "throughout"), found.why


COMPUTES = """import ctypes, hashlib, mmap, os, resource, time
def spent():
    return time.process_time()
def touch():
    begin = spent()
    while spent() - begin < 1.2:
        ctypes.create_string_buffer(32 << 20)
def touch_each():
    begin = spent()
    while spent() - begin < 1.2:
        pages = mmap.mmap(-1, 2000 * 4096, mmap.MAP_PRIVATE)
        for at in range(0, 2000 * 4096, 4096):
            pages[at] = 1
        pages.close()
def store():
    begin = spent()
    while spent() - begin < 1.2:
        with open("big.bin", "wb") as file:
            file.write(block)
def compute():
    begin = spent()
    while spent() - begin < 1.5:
        hashlib.sha256(block).digest()
block = b"x" * (8 << 20)
"""


@pytest.mark.parametrize(
    ("does", "cause", "least"),
    [("touch", "page_faults", 0.8), ("touch_each", "page_faults", 0.5), ("store", "file", 0.8)],
)
def test_time_in_the_kernel_is_put_down_to_who_was_seen_while_it_worked(
    does: str, cause: str, least: float, tmp_path: Path
) -> None:
    """And not to what computes most, which touches nothing and opens no file."""
    code = f"{COMPUTES}os.chdir({str(tmp_path)!r})\n{does}()\nused = resource.getrusage(0).ru_stime\ncompute()\n"
    code += 'print(used, resource.getrusage(0).ru_stime - used, file=open("system", "w"))\n'
    run = regimeter.load(record(tmp_path, code))
    own, other = map(float, (tmp_path / "system").read_text().split())
    if own < least or other > 0.2:
        pytest.skip(f"the kernel took {own} s of the one and {other} s of the other")
    found = verdict(run)
    by_cause = {one.cause: one for one in found.causes}
    assert by_cause[cause].place.startswith(f"{does} (program.py:"), (found.sentence, found.why)
    assert by_cause["native"].place.startswith("compute (program.py:"), (found.sentence, found.why)
    assert by_cause["native"].time_ms > 1200, found.shares
