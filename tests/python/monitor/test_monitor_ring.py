# SPDX-License-Identifier: Apache-2.0
"""The last minutes of a recording that is being written: what stays, what is taken out, what is copied."""

import contextlib
import json
import os
import signal
import time
import tracemalloc
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from watching import Watched

from regimeter import FormatError, GPUProfiler, Run, _core, load
from regimeter.monitor import carried
from regimeter.monitor.look import Look
from regimeter.monitor.ring import Ring, can_punch
from regimeter.monitor.rings import Rings
from regimeter.monitor.tail import Tail
from regimeter.monitor.triggers import Trigger
from regimeter.run import blocks as of

# The drainer wakes up by itself never, so what a file holds depends on the calls of flush alone.
ON_FLUSH = {"enable_detailed_metrics": False, "drain_interval_ns": 3_600_000_000_000}
PLENTY = 1 << 40
KEEP_S = 50.0


@pytest.fixture(autouse=True)
def punching(tmp_path: Path) -> None:
    if not can_punch(str(tmp_path)):
        pytest.skip("the file system gives no room of a part of a file back")


def fill(profiler: GPUProfiler, first: int, count: int) -> None:
    for number in range(first, first + count):
        with profiler.profile(f"op {number % 7}", device="cpu", number=number), profiler.profile("inner"):
            pass
    profiler.flush()


def numbers(run: Run) -> list[int]:
    texts = [run.string(number) for number in run.spans.metadata.tolist()]
    return [json.loads(text)["number"] for text in texts if text]


def names(run: Run) -> set[str]:
    return {run.string(number) for number in run.spans.name.tolist()}


def taken(folder: Path) -> int:
    """Return the bytes of the disk that a recording takes with all its files."""
    found = 0
    for path in folder.glob("run.rgm*"):
        with contextlib.suppress(FileNotFoundError):  # it may be renamed meanwhile
            found += path.stat().st_blocks * 512
    return found


def ring_of(path: Path, keep_s: float = KEEP_S) -> Ring:
    ring = Ring(str(path), keep_s)
    ring.least_bytes, ring.least_gain = 0, 0.0
    return ring


def test_what_is_older_leaves_the_file_and_the_rest_stays_sound(tmp_path: Path) -> None:
    path = tmp_path / "run.rgm"
    ring = ring_of(path)
    ring.look(0.0, PLENTY)  # nothing is there yet
    with GPUProfiler(path=path, **ON_FLUSH) as profiler:
        with profiler.profile("whole program", device="cpu"):
            for part in range(10):
                fill(profiler, 1000 * part, 1000)
                ring.look(10.0 * part, PLENTY)
        assert not profiler.run().anomaly_list()  # the program may ask too
        assert numbers(profiler.run())[0] == 5000
        assert ring.shortened
        assert numbers(load(path))[0] == 5000  # as a program that is killed leaves it
        fill(profiler, 10_000, 5)
    run = load(path)
    assert not run.anomaly_list()
    assert run.complete
    assert numbers(run) == list(range(5000, 10_005))  # the look at 40 s is the last one of 50 s before 90 s
    assert names(run) == {*(f"op {n}" for n in range(7)), "inner", "whole program"}
    outer = run.spans.name.tolist().index(run.strings.index("whole program"))
    assert run.lanes.thread.tolist() == [os.getpid()]
    assert run.spans.start_ns[outer] < run.start_ns  # it began before what was kept
    assert not load(path, recover=True).anomaly_list()
    about = path.stat()
    assert about.st_blocks * 512 < about.st_size  # there is a hole


def test_texts_that_stay_take_neither_memory_nor_the_disk_time_again(tmp_path: Path) -> None:
    path = tmp_path / "run.rgm"
    ring, written, most, before = Ring(str(path), 5.0), 0, 0, b""
    with GPUProfiler(path=path, witness=False, **ON_FLUSH) as profiler:
        for part in range(24):
            for number in range(1000 * part, 1000 * part + 1000):  # half a kilobyte of text each, none like another
                with profiler.profile("op", device="cpu", number=number, text=f"{number:>480}"):
                    pass
            profiler.flush()
            tracemalloc.start()
            ring.look(10.0 * part, PLENTY)
            most = max(most, tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
            front = path.read_bytes()[: of.FILE_HEAD + of.BLOCK_HEAD.size + of.HOLE_BYTES.size]
            written += (front != before) * ring._carried_bytes
            before = front
    texts = 24_000 * 500
    assert ring.shortened
    assert most < texts / 2, most
    assert written < 4 * texts, written  # each time all of them: 12 times
    with path.open("rb") as file:
        assert len(carried.before(file.fileno(), path.stat().st_size)) < 40
    run = load(path)
    assert not run.anomaly_list()
    found = numbers(run)
    assert found[-1] == 23_999
    assert found == list(range(found[0], 24_000))


def test_a_budget_of_the_disk_comes_before_the_time(tmp_path: Path) -> None:
    path, budget = tmp_path / "run.rgm", 4 << 20
    ring = Ring(str(path), 1e9)
    with GPUProfiler(path=path, disk_budget_bytes=budget, **ON_FLUSH) as profiler:
        for part in range(12):
            fill(profiler, 10_000 * part, 10_000)
            assert taken(tmp_path) <= budget
            ring.look(float(part), budget)
        for _ in range(9):  # what found no room is written when there is some
            ring.look(12.0, budget)
            written = profiler.flush()
            assert taken(tmp_path) <= budget
        assert written
    assert path.stat().st_size > 2 * budget
    run = load(path)
    found = numbers(run)
    assert found == list(range(found[0], 120_000))
    assert not run.anomaly_list()


# Two processes that record as fast as they can, each more than the budget of both.
WRITES = """
    import os
    import regimeter
    child = os.fork()
    profiler = regimeter.get_profiler()
    for i in range(150_000):
        with profiler.profile("work", device="cpu"):
            pass
    if not child:
        profiler.close()
        os._exit(0)
    os.waitpid(child, 0)
"""


def test_all_files_of_a_program_keep_to_the_budget(tmp_path: Path) -> None:
    watched = Watched(tmp_path, "--keep", "1h", "--disk", "5M", program=WRITES)
    largest = 0
    try:
        while watched.process.poll() is None:
            largest = max(largest, taken(tmp_path))
            time.sleep(0.002)
    finally:
        watched.end()
    assert 2_000_000 < largest <= 5_000_000
    runs = [load(path) for path in tmp_path.glob("run.rgm*")]
    assert len(runs) == 2
    for run in runs:
        assert not run.anomaly_list()
        assert 0 < len(run.spans) < 150_000


def test_without_anybody_who_makes_room_the_rest_waits_and_is_counted(tmp_path: Path) -> None:
    path, budget = tmp_path / "run.rgm", 2 << 20
    with GPUProfiler(path=path, disk_budget_bytes=budget, witness=False, **ON_FLUSH) as profiler:
        fill(profiler, 0, 60_000)
        assert not profiler.flush()
        assert len(profiler.run().spans) == 120_000  # they are in memory
        assert not profiler.run().anomaly_list()
    assert taken(tmp_path) <= budget
    run = load(path)
    (lost,) = [found for found in run.anomaly_list() if found["code"] == "unwritten_rows"]
    assert 0 < 120_000 - len(run.spans) <= lost["count"]  # rows of other tables too


def test_a_copy_is_a_recording_of_its_own(tmp_path: Path) -> None:
    path, copy = tmp_path / "run.rgm", tmp_path / "copy.rgm"
    ring = Ring(str(path), KEEP_S)  # which takes nothing out of so little
    with GPUProfiler(path=path, **ON_FLUSH) as profiler:
        with pytest.raises(OSError, match="No such file"):
            ring_of(tmp_path / "nothing.rgm").copy(str(copy), 0.0, {}, close=True)
        for part in range(10):
            fill(profiler, 100 * part, 100)
            ring.look(10.0 * part, PLENTY)
        ring.copy(str(copy), 90.0, {"reason": "test"}, close=True)
        assert not ring.shortened
        fill(profiler, 1000, 1)
    found = load(copy)
    assert numbers(found) == list(range(500, 1000))
    assert found.complete
    assert not found.anomaly_list()
    assert found.environment["ring"] == {"reason": "test"}
    assert set(found.environment["cost"]) == {"per_scope_ns"}  # the rest is of the whole program
    assert numbers(load(path)) == list(range(1001))
    ring.copy(str(path), 95.0, {"reason": "end"}, close=False)  # in its own place
    assert numbers(load(path)) == list(range(500, 1001))
    assert load(path).complete


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=st.lists(st.tuples(st.integers(0, 40), st.floats(0, 60), st.booleans()), min_size=1, max_size=12))
def test_any_sequence_of_looks(tmp_path: Path, parts: list[tuple[int, float, bool]]) -> None:
    """Strict reading finds every scope of the last KEEP_S seconds, in one piece, whatever else stays."""
    path = tmp_path / "any.rgm"
    path.unlink(missing_ok=True)
    ring, now, first, needed = ring_of(path), 0.0, 0, []
    with GPUProfiler(path=path, witness=False, **ON_FLUSH) as profiler:
        for count, pause, reset in parts:
            if reset:
                profiler.reset()
                needed = []
            fill(profiler, first, count)
            needed += [(now + pause, number) for number in range(first, first + count)]
            first, now = first + count, now + pause
            ring.look(now, PLENTY)
    run = load(path)
    found = numbers(run)
    assert found == list(range(first - len(found), first))
    assert set(found) >= {number for seen, number in needed if seen > now - KEEP_S}
    assert not run.anomaly_list()


def test_a_hole_that_cannot_be_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "run.rgm"
    with GPUProfiler(path=path, **ON_FLUSH) as profiler:
        fill(profiler, 0, 10)
    whole = path.read_bytes()
    (file,) = of.FILE_ID.unpack_from(whole)
    for taken, left_out in ((0, 1 << 40), (1 << 33, 0)):
        hole = _core.frame(of.HOLE, of.HOLE_BYTES.pack(taken, left_out), file, 0)
        path.write_bytes(whole[: of.FILE_HEAD] + hole + whole[of.FILE_HEAD :])
        with pytest.raises(FormatError, match="at byte 32"):
            load(path)
        assert numbers(load(path, recover=True)) == list(range(10))


def test_a_tail_and_a_ring_of_one_file(tmp_path: Path) -> None:
    path = tmp_path / "run.rgm"
    ring, tail, seen = ring_of(path, 0.5), Tail(str(path)), 0
    with GPUProfiler(path=path, **ON_FLUSH) as profiler:
        for part in range(8):
            fill(profiler, 50 * part, 50)
            found = tail.read()
            seen += len(found.spans) if found is not None else 0
            ring.look(float(part), PLENTY)
    found = tail.read()
    assert seen + (len(found.spans) if found is not None else 0) == 800


def test_conditions() -> None:
    look = Look({}, slowest_step_s=0.6, failed=2, resident_bytes=9_000_000_000)
    fired = [{"alert": "own-cost", "state": "firing"}]
    for text, reason in (
        ("slow-step>500ms", "a step took 0.6 s, above 0.5 s"),
        ("memory>8G", "9,000,000,000 bytes are resident, above 8,000,000,000"),
        ("failed-scope", "2 scopes were ended by an exception"),
        ("alert", "alert own-cost"),
    ):
        assert Trigger.of(text).reason(look, fired) == reason
        assert not Trigger.of(text).reason(Look({}, 0.4, 0, 1), [])
    assert not Trigger.of("SIGUSR2").reason(look, fired)
    for wrong in ("slow-step", "slow-step>", "slow-step>1", "slow-step>0s", "memory>x", "alert>1", "SIGKILL", "", ">"):
        with pytest.raises(ValueError, match="expected"):
            Trigger.of(wrong)


def test_conditions_rest_and_end(tmp_path: Path) -> None:
    path = tmp_path / "run.rgm"
    rings = Rings(str(path), KEEP_S, PLENTY, [Trigger.of("failed-scope")])
    bad = Look({}, 0.0, 1, 0)
    with GPUProfiler(path=path, **ON_FLUSH) as profiler:
        fill(profiler, 0, 3)
        for now in range(0, 1200, 30):
            rings.look(float(now))
            rings.judge(float(now), bad, [])
    assert len(rings.copies) == 10
    assert rings.left_out == 10
    assert [os.path.basename(name) for name in rings.copies[:2]] == ["run.trigger-1.rgm", "run.trigger-2.rgm"]


def test_a_condition_that_is_met_before_the_first_look_has_its_copy(tmp_path: Path) -> None:
    path = tmp_path / "run.rgm"
    rings = Rings(str(path), KEEP_S, PLENTY, [Trigger.of("memory>1k")])
    with GPUProfiler(path=path, **ON_FLUSH) as profiler:
        fill(profiler, 0, 3)
        rings.judge(0.0, Look({}, 0.0, 0, 2_000), [])
    (copy,) = rings.copies
    assert numbers(load(copy)) == [0, 1, 2]


def test_nothing_is_copied_of_a_file_without_a_head(tmp_path: Path) -> None:
    path = tmp_path / "run.rgm"
    path.write_bytes(b"")
    rings = Rings(str(path), KEEP_S, PLENTY, [])
    rings.try_copy(0.0, "HTTP")
    assert "nothing is recorded yet" in rings.failure
    assert os.listdir(tmp_path) == ["run.rgm"]


def test_a_copy_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    path = tmp_path / "run.rgm"
    rings = Rings(str(path), KEEP_S, PLENTY, [Trigger.of("failed-scope")])
    rings.look(0.0)
    rings.judge(0.0, Look({}, 0.0, 1, 0), [])  # there is no recording
    assert not rings.copies
    assert str(path) in rings.failure


PROGRAM = """
    import gc, multiprocessing, sys
    gc.disable()  # a collection that takes long has a scope
    import regimeter
    def other():
        with regimeter.profile("elsewhere", device="cpu"):
            pass
    if __name__ == "__main__":
        for i in range(20):
            with regimeter.profile(f"work {i}", device="cpu"):
                pass
        child = multiprocessing.get_context("fork").Process(target=other)
        child.start()
        child.join()
        print("recorded", flush=True)
        sys.stdin.readline()
"""


def test_a_signal_and_a_request_write_it_out(tmp_path: Path) -> None:
    pytest.importorskip("prometheus_client")
    watched = Watched(tmp_path, "--keep", "1h", "--on", "SIGUSR2", program=PROGRAM)
    try:
        url = watched.url.replace("/metrics", "/trigger")
        watched.until(20)
        with pytest.raises(urllib.error.HTTPError, match="405"):
            urllib.request.urlopen(url, timeout=60)
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(urllib.request.Request(url, b"", {"Origin": "http://elsewhere"}), timeout=60)
        with urllib.request.urlopen(urllib.request.Request(url, b""), timeout=60) as answer:
            written = answer.read().decode().split()
        assert written[0] == str(tmp_path / "run.trigger-1.rgm")
        found = [load(name) for name in written]
        assert names(found[0]) == {f"work {i}" for i in range(20)}
        assert {name for run in found[1:] for name in names(run)} <= {"elsewhere"}
        watched.process.send_signal(signal.SIGUSR2)  # whose default action would end the program
        for _ in range(600):
            if (tmp_path / "run.trigger-2.rgm").exists():
                break
            time.sleep(0.05)
        assert load(tmp_path / "run.trigger-2.rgm").environment["ring"]["reason"] == "SIGUSR2"
    finally:
        code, said = watched.end()
    assert code == 0
    assert "run.trigger-2.rgm" in said
    assert names(load(tmp_path / "run.rgm")) == {f"work {i}" for i in range(20)}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--on", "alert"], "--on is for the last minutes"),
        (["--keep", "1m", "--on", "alert"], "--on alert is for alerts"),
        (["--disk", "1G"], "--disk is for the last minutes"),
        (["--keep", "soon"], "--keep: expected a time above 0 such as 500ms, 2s, 10m or 1h, got 'soon'"),
        (["--keep", "1m", "--on", "slow"], "--on: expected one of slow-step>500ms"),
        (["--keep", "1m", "--disk", "much"], "--disk: expected a size"),
        (["--keep", "1m", "--disk", "1M"], "--disk: expected at least 4M"),
        (["--webhook", "http://here"], "--webhook is for alerts"),
        (["--alert", "all", "--webhook", "ftp://here"], "--webhook: expected http://HOST"),
        (["--alert", "heat"], "--alert: expected all or one of step-time"),
        (["--alert", "own-cost>-1"], "--alert: expected a number above 0"),
        (["--fail-on-alert"], "--fail-on-alert is for alerts"),
    ],
)
def test_what_is_wrong_is_one_line(words: list[str], said: str, refused: Callable[..., str]) -> None:
    refused(["monitor", *words, "-c", "pass"], said)
