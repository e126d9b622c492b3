# SPDX-License-Identifier: Apache-2.0
"""Time in which nobody saw what the program did, as where it was suspended, is left out of the shares and said."""

from pathlib import Path

import pytest
from runs import build_run, span
from verdicts import leading, verdict
from warm import record

import regimeter
from regimeter import _core

MS = 1_000_000

# It sleeps for 0.8 s, then stands still for a second and more, then sleeps for as long again.
SUSPENDED = """import os, signal, subprocess, time
def pause():
    for _ in range(40):
        time.sleep(0.02)
pause()
waker = subprocess.Popen(["sh", "-c", f"sleep 1.5; kill -CONT {os.getpid()}"])
os.kill(os.getpid(), signal.SIGSTOP)
pause()
waker.wait()
"""


def test_a_program_that_was_suspended_is_judged_by_what_it_did_else(tmp_path: Path) -> None:
    run = regimeter.load(record(tmp_path, SUSPENDED))
    found = verdict(run)
    first = leading(found, "sleep")
    assert 1000 < found.unseen_ms < found.window_ms - 1600
    assert "of the run that were seen." in found.sentence
    assert "no sample was taken, as where a process is suspended: left out here" in found.why
    # What sleeping took of the time that it ran, and not of all of it. (All of it, at most: to the nanosecond.)
    assert round(first.time_ms, 6) <= round(found.window_ms - found.unseen_ms, 6)
    assert run.verdict({"verdict_unseen_ns": 1e12}).unseen_ms == 0


def sampled(times_ms: "list[float]", scopes: "list[tuple[str, str, int, int]]") -> regimeter.Run:
    """Build a run of one thread that computes whenever it is looked at."""
    native = _core.SAMPLE_STATES.index("native")
    end = max(end for *_, end in scopes)
    return build_run(
        [span("scope", name, 0, start * MS, (end - start) * MS, category=category)
         for name, category, start, end in scopes],
        ({"process": 1, "thread": 7},),
        stacks=[{"function": "work", "file": "/a/p.py", "line": 3, "parent": -1}],
        samples=[{"time_ns": int(at * MS), "state": native, "thread": 7, "stack": 0, "lane": 0, "span": 0}
                 for at in times_ms],
        pressure=[{"time_ns": end * MS, "interval_ns": end * MS, "running_ns": end * MS, "waiting_ns": 0,
                   "throttled_ns": -1, "tree_ns": end * MS, "processors": 4}],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("times", "unseen_ms"),
    [
        ([*range(0, 1000, 10), *range(3000, 4000, 10)], 2010),
        ([*range(0, 1000, 10), *range(1400, 4000, 10)], 0),  # a moment: the machine was busy
        ([*range(0, 4000, 100)], 0),
        ([*range(0, 1000, 100), *range(1800, 4000, 100)], 0),  # rarely sampled: less than ten times as long as usual
        ([*range(0, 1000, 10), 1600, *range(2200, 4000, 10)], 610 + 600),
    ],
    ids=["one", "short", "rare", "rare and short", "two"],
)
def test_only_what_is_long_and_much_longer_than_usual_was_unseen(times: "list[float]", unseen_ms: float) -> None:
    found = verdict(sampled(times, [("program", "", 0, 4000)]))
    assert found.unseen_ms == pytest.approx(unseen_ms)
    assert found.window_ms == pytest.approx(4000)
    assert sum(one.time_ms for one in found.causes) == pytest.approx(4000 - unseen_ms)
    assert found.shares == {"native": pytest.approx(1)}


@pytest.mark.parametrize("suspended", [True, False])
def test_a_step_in_which_the_program_was_suspended_is_as_long_as_the_others(suspended: bool) -> None:
    """And one that computed for as long is not."""
    lengths = [100] * 20
    lengths[9] += 2000
    scopes, at = [], 0
    for length in lengths:
        scopes.append(("train step", "step", at, at + length))
        at += length
    looked = [time for time in range(5, at, 10) if not (suspended and 950 < time < 2950)]
    found = verdict(sampled(looked, scopes))
    assert found.steps == 20
    assert any(one.cause == "uneven_steps" for one in found.causes) != suspended
    assert found.unseen_ms == pytest.approx(2010 if suspended else 0, abs=11)
