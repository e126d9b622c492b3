# SPDX-License-Identifier: Apache-2.0
"""What others take of a program's time, they take of what is measured by scopes and of what samples tell alike."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from runs import build_run, span
from verdicts import POOL, leading, verdict
from warm import record

import regimeter
from regimeter import _core

MS = 1_000_000
# One collection of everything, then five times as long of Python's own steps; all of it where others want to be, too.
COLLECTS = """import gc, json, os, sys, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
gc.disable()
kept = [[index] for index in range(400_000)]
collecting, began = 0.0, time.thread_time()
while time.thread_time() - began < 0.8:
    before = time.thread_time()
    gc.collect()
    took = time.thread_time() - before
    collecting += took
    until = time.thread_time() + 5 * took
    while time.thread_time() < until:
        sum(range(100))
with open("spent.json", "w") as file:
    json.dump(collecting / (time.thread_time() - began), file)
"""


# Other programs that want the first processor: all the time, and for four tenths of it.
ALWAYS = """import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
while os.getppid() == PARENT:
    sum(range(10_000))
"""
NOW_AND_THEN = """import os, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
while os.getppid() == PARENT:
    if time.time() % 0.5 < 0.3:
        time.sleep(0.01)
"""


@contextmanager
def others(count: int, code: str) -> Iterator[None]:
    """Let so many of them run."""
    code = code.replace("PARENT", str(os.getpid()))
    started = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(count)]
    try:
        yield
    finally:
        for one in started:
            one.kill()
            one.wait()


def test_collections_that_others_hold_up_are_no_larger_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with others(3, ALWAYS):
        found = verdict(regimeter.load(record(tmp_path, COLLECTS)))
    truth = json.loads(Path("spent.json").read_text())
    assert found.displaced > found.samples, "nobody else had the processor"
    assert "record again on a quiet machine" in found.why
    collects = next(one for one in found.causes if one.cause == "garbage_collection")
    assert abs((collects.share or 0) - truth) < max(0.15, 3 * collects.error), (found.shares, truth)


# Bursts after pauses; who takes the samples has no other processor, so it finds this thread ready each time.
BURSTS = """import json, os, time
for task in os.listdir("/proc/self/task"):
    os.sched_setaffinity(int(task), {min(os.sched_getaffinity(0))})
slept, began, used = 0.0, time.perf_counter(), time.thread_time()
for _ in range(60):
    before = time.perf_counter()
    time.sleep(0.02)
    slept += time.perf_counter() - before
    until = time.thread_time() + 0.006
    while time.thread_time() < until:
        sum(range(100))
used = time.thread_time() - used
with open("spent.json", "w") as file:
    json.dump(used / (used + slept), file)
"""


def test_who_takes_the_samples_is_no_other_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = regimeter.load(record(tmp_path, BURSTS))
    found, pressure = verdict(run), run.tables.pressure
    seen = found.samples + found.displaced
    waited = float(pressure.waiting_ns.sum() / pressure.interval_ns.sum())
    assert found.displaced <= waited * seen + 1, "more than the kernel has counted"
    truth = json.loads(Path("spent.json").read_text())
    python = next(one for one in found.causes if one.cause == "python")
    far = max(0.1, 3 * python.error, waited)  # what is left out while others have the processor is of the bursts
    assert abs((python.share or 0) - truth) < far, (found.shares, truth, found.why)


# Steps of one length, by one thread, on the processor that others want, too.
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


def test_calls_that_others_interrupt_stay_small(tmp_path: Path) -> None:
    with others(6, NOW_AND_THEN):
        run = regimeter.load(record(tmp_path, SMALL))
    found = verdict(run)
    assert found.displaced > 0
    leading(found, "small_work")
    sure, unsure = (run.verdict({"verdict_others_most": most}) for most in (1.0, 1e-6))
    assert sure is not None
    assert unsure is not None
    assert (sure.confidence, unsure.confidence) == ("high", "low")


def test_a_thread_that_only_waits_does_not_tell_how_much_the_others_want(tmp_path: Path) -> None:
    """The program wants one processor, and its main thread waits long to be told of each result."""
    pool = POOL.replace("ThreadPoolExecutor(2)", "ThreadPoolExecutor(1)")
    with others(6, NOW_AND_THEN):
        run = regimeter.load(
            record(tmp_path, "import os\nos.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n" + pool)
        )
    found = verdict(run)
    assert found.displaced > 0
    leading(found, "native")


def test_steps_that_others_hold_up_are_not_uneven(tmp_path: Path) -> None:
    with others(6, NOW_AND_THEN):
        run = regimeter.load(record(tmp_path, STEPS))
    found = verdict(run)
    assert found.steps == 120
    # Only what the program's threads waited for a processor makes them uneven: up to 14 times the usual one.
    uneven = sum(one.share or 0 for one in found.causes if one.cause == "uneven_steps")
    assert uneven < 0.05, (found.sentence, found.why)


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


@pytest.mark.parametrize(("waited_ms", "displaced", "doubt"), [(10, 1, True), (1, 0, False), (-1, 1, True)])
def test_few_samples_are_called_that_and_the_kernel_says_how_many_are_of_others(
    waited_ms: int, displaced: int, doubt: bool
) -> None:
    """-1: a system that does not count; then all that were ready stay put down to others."""
    states = [_core.SAMPLE_STATES.index(name) for name in ("native", "waiting_for_processor", "native")]
    of_thread = {"thread": 7, "stack": 0, "lane": 0, "span": 0}
    waiting = waited_ms * MS if waited_ms >= 0 else -1
    run = build_run(
        [span("scope", "program", 0, 0, 30 * MS)], ({"process": 1, "thread": 7},),
        stacks=[{"function": "work", "file": "/a/p.py", "line": 3, "parent": -1}],
        samples=[{"time_ns": (5 + 10 * at) * MS, "state": state, **of_thread} for at, state in enumerate(states)],
        pressure=[{"time_ns": 30 * MS, "interval_ns": 30 * MS, "running_ns": 9 * MS, "waiting_ns": waiting,
                   "throttled_ns": -1, "tree_ns": 9 * MS, "processors": 4}],
    )  # fmt: skip
    found = verdict(run)
    assert (found.cause, found.displaced, found.samples) == ("native", displaced, 3 - displaced)
    assert ("too few to tell its share" in found.why, found.confidence == "low") == (doubt, doubt), found


@pytest.mark.parametrize("last", ["running", "interpreting", "native"])
def test_what_the_sampler_held_up_ran_as_its_line_did_most_often(last: str) -> None:
    """Not as it was found to last: a look that comes late cannot tell, and the next one may find another call."""
    states = ["native"] * 3 + ["waiting_for_processor"] * 15 + [last]
    of_thread = {"thread": 7, "stack": 0, "lane": 0, "span": 0}
    long = 10 * len(states) * MS
    run = build_run(
        [span("scope", "program", 0, 0, long)], ({"process": 1, "thread": 7},),
        stacks=[{"function": "work", "file": "/a/p.py", "line": 3, "parent": -1}],
        samples=[{"time_ns": (5 + 10 * at) * MS, "state": _core.SAMPLE_STATES.index(state), **of_thread}
                 for at, state in enumerate(states)],
        pressure=[{"time_ns": long, "interval_ns": long, "running_ns": long, "waiting_ns": 0, "throttled_ns": -1,
                   "tree_ns": long, "processors": 4}],
    )  # fmt: skip
    found = verdict(run)
    assert (found.cause, found.displaced, found.samples) == ("native", 0, len(states)), found.why
    assert found.shares["native"] >= 18 / 19, found.shares


def test_where_others_interrupt_it_is_not_where_a_program_runs() -> None:
    """They do so at calls of the system; the sampler holds a thread up where that runs."""
    work, asks, runs, ready = 0, 1, "interpreting", "waiting_for_processor"
    found_at = [(work, runs)] * 10 + [(asks, runs)] + [(work, ready)] * 20 + [(asks, ready)] * 180
    of_thread = {"thread": 7, "lane": 0, "span": 0}
    long = 10 * len(found_at) * MS
    run = build_run(
        [span("scope", "program", 0, 0, long)], ({"process": 1, "thread": 7},),
        stacks=[{"function": name, "file": "/a/p.py", "line": line, "parent": -1}
                for name, line in (("work", 3), ("asks", 9))],
        samples=[{"time_ns": (5 + 10 * at) * MS, "state": _core.SAMPLE_STATES.index(state), "stack": stack, **of_thread}
                 for at, (stack, state) in enumerate(found_at)],
        pressure=[{"time_ns": long, "interval_ns": long, "running_ns": 0.15 * long, "waiting_ns": 0.85 * long,
                   "throttled_ns": -1, "tree_ns": 0.15 * long, "processors": 2}],
    )  # fmt: skip
    found = verdict(run)
    assert (found.cause, found.causes[0].place) == ("python", "work (p.py:3)"), found.why
    assert found.samples == 211 - found.displaced == pytest.approx(211 * 0.15, abs=1)


@pytest.mark.parametrize("samples", [1, 2, 20])
def test_a_program_that_never_had_a_processor_when_it_was_looked_at_has_a_verdict_that_is_not_sure(
    samples: int,
) -> None:
    ready = _core.SAMPLE_STATES.index("waiting_for_processor")
    long = 10 * samples * MS
    run = build_run(
        [span("scope", "program", 0, 0, long)], ({"process": 1, "thread": 7},),
        stacks=[{"function": "work", "file": "/a/p.py", "line": 3, "parent": -1}],
        samples=[{"time_ns": (5 + 10 * at) * MS, "state": ready, "thread": 7, "stack": 0, "lane": 0, "span": 0}
                 for at in range(samples)],
        pressure=[{"time_ns": long, "interval_ns": long, "running_ns": MS, "waiting_ns": long - MS,
                   "throttled_ns": -1, "tree_ns": MS, "processors": 4}],
    )  # fmt: skip
    found = verdict(run)
    assert (found.samples, found.displaced, found.confidence) == (0, samples, "low")
    assert (found.cause, found.causes[0].place) == ("scope", "program")
    assert found.next.startswith("Record again on a quiet machine: whenever its stack was looked at"), found.next


@pytest.mark.parametrize(("used_ms", "crowded"), [(30, False), (120, True)])
def test_a_program_that_got_next_to_nothing_is_not_told_to_use_fewer_threads(used_ms: int, crowded: bool) -> None:
    """Its main thread, which hardly runs, was ready nearly all the time: of the others' wishes that tells nothing."""
    ready, sleeps = (_core.SAMPLE_STATES.index(name) for name in ("waiting_for_processor", "waiting_for_thread"))
    states = [ready, ready, ready, sleeps] * 10
    run = build_run(
        [span("scope", "program", 0, 0, 400 * MS)], ({"process": 1, "thread": 7},),
        stacks=[{"function": "work", "file": "/a/p.py", "line": 3, "parent": -1}],
        samples=[{"time_ns": (5 + 10 * at) * MS, "state": state, "thread": 7, "stack": 0, "lane": 0, "span": 0}
                 for at, state in enumerate(states)],
        pressure=[{"time_ns": 400 * MS, "interval_ns": 400 * MS, "running_ns": used_ms * MS // 15,
                   "waiting_ns": 300 * MS, "throttled_ns": -1, "steal_ns": 0, "tree_ns": used_ms * MS, "processors": 2,
                   "busy_ns": 400 * MS}],
    )  # fmt: skip
    found = verdict(run)
    assert (found.cause == "processor") == crowded, (found.sentence, found.why)
    assert (found.displaced > found.samples) != crowded


READY_AWAITS_WORKS = ("waiting_for_processor", "waiting_for_thread", "interpreting")


def of_two_threads(busy_ms: int) -> regimeter.Run:
    """Build a run of a thread that waits for another's work; each is found ready once in a while.

    The program used one of four processors, and anybody so long of each, on the mean.
    """
    ready, awaits, works = (_core.SAMPLE_STATES.index(name) for name in READY_AWAITS_WORKS)
    looks = [(ready if at % 8 == 0 else awaits, ready if at % 4 == 2 else works) for at in range(40)]
    files = ("/a/program.py", "/usr/lib/python3.11/threading.py", "/a/program.py")
    names = ("ask", "wait", "work")
    return build_run(
        [span("scope", "program", 0, 0, 400 * MS)], ({"process": 1, "thread": 7},),
        stacks=[{"function": name, "file": file, "line": line, "parent": parent}
                for name, file, line, parent in zip(names, files, (3, 300, 9), (-1, 0, -1), strict=True)],
        samples=[{"time_ns": (5 + 10 * at) * MS + who, "state": state, "thread": 7 + who, "stack": 1 + who}
                 for at, states in enumerate(looks) for who, state in enumerate(states)],
        pressure=[{"time_ns": 400 * MS, "interval_ns": 400 * MS, "running_ns": 20 * MS, "waiting_ns": 10 * MS,
                   "throttled_ns": -1, "steal_ns": 0, "tree_ns": 400 * MS, "processors": 4,
                   "busy_ns": busy_ms * MS if busy_ms >= 0 else -1}],
    )  # fmt: skip


@pytest.mark.parametrize("busy_ms", [101, 110, 300, -1])
def test_others_that_used_nothing_held_nothing_up(busy_ms: int) -> None:
    """-1: a recording of before the system was asked what all programs used."""
    found = verdict(of_two_threads(busy_ms))
    assert (found.cause, found.causes[0].place) == ("python", "work (program.py:9)"), found.why
    assert ("other programs had the processors" in found.why) == (busy_ms not in {101, 110}), found.why
    # The kernel has counted 1 of 40 samples' time; the sampler held up the rest.
    assert found.shares.get("processor", 0) <= 1.5 / 40, found.shares


@pytest.mark.parametrize(("samples", "sure"), [(1, False), (3, True), (100, True)])
def test_samples_that_all_tell_the_same_are_sure_of_it_where_they_are_many(samples: int, sure: bool) -> None:
    native = {"state": _core.SAMPLE_STATES.index("native"), "thread": 7, "stack": 0, "lane": 0, "span": 0}
    run = build_run(
        [span("scope", "program", 0, 0, samples * 10 * MS)], ({"process": 1, "thread": 7},),
        stacks=[{"function": "work", "file": "/a/p.py", "line": 3, "parent": -1}],
        samples=[{"time_ns": (5 + 10 * at) * MS, **native} for at in range(samples)],
    )  # fmt: skip
    found = verdict(run)
    assert (found.cause, found.samples, found.shares["native"]) == ("native", samples, 1)
    assert ("too few to tell its share" not in found.why, found.confidence == "high") == (sure, sure), found
    error = found.causes[0].error  # of (n + 1) / (n + 2), by Laplace's rule, two samples counting as one
    assert error == pytest.approx(((samples + 1) / (samples + 2) ** 2 / (samples / 2)) ** 0.5)
