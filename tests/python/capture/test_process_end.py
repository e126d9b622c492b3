# SPDX-License-Identifier: Apache-2.0
"""Ends of processes: killed, interrupted, shut down, with scopes open."""

import os
import random
import signal
import threading
import time

import pytest
from entries import codes

from regimeter import GPUProfiler, load

KILLS = 24
AT_ONCE = 2


# --- SIGKILL --------------------------------------------------------------------------------------------------

# One process forks the victims, so that a kill costs a fork and not the start of an interpreter. A victim writes
# one scope after another, each with its number, and tells by a file how far it was after every flush.
VICTIMS = """
    import os, random, signal, sys, time
    import regimeter
    folder, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    regimeter.GPUProfiler().close()  # the calibration of the cost, once

    def victim(number):
        profiler = regimeter.GPUProfiler(path=f"{folder}/{number}.rgm", enable_detailed_metrics=False)
        told = os.open(f"{folder}/{number}.told", os.O_CREAT | os.O_WRONLY)
        at = 0
        while True:
            for _ in range(random.randrange(1, 100)):
                with profiler.profile("outer", number=at):
                    at += 1
                    with profiler.profile(f"name {at % 50}"):
                        pass
            if random.random() < 0.2:
                profiler.flush()
                os.pwrite(told, f"{at:012d} {time.monotonic_ns():020d}".encode(), 0)
            time.sleep(random.random() * 0.002)

    for number in range(first, first + count):
        child = os.fork()
        if not child:
            random.seed(number)
            try:
                victim(number)
            finally:
                os._exit(1)
        told = f"{folder}/{number}.told"
        while number % 2 and not (os.path.exists(told) and os.path.getsize(told)):  # half of them have told something
            time.sleep(0.001)
        time.sleep(random.Random(number).uniform(0.01, 0.12))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), status
"""


def check_recovered(path):
    run = load(path, recover=True)
    # The one that was open may be told of before its metadata has been written.
    outer = [entry for entry in run.get_entries() if entry.operation == "outer" and not entry.open]
    numbers = [entry.metadata["number"] for entry in outer]
    assert numbers == list(range(len(numbers))), "a gap: what was recovered is not a prefix"
    assert not run.complete
    # A scope that ended just before the kill can be missing while one inside it is there.
    assert codes(run).keys() <= {"unfinished", "open_scopes", "corrupt_bytes", "orphan_parents"}
    entries = run.get_entries()
    inner = [entry for entry in entries if entry.operation != "outer"]
    orphans = [entry for entry in inner if entry.parent is None]
    assert len(orphans) <= 1
    assert codes(run).get("orphan_parents", 0) <= 1
    assert all(entries[entry.parent].operation == "outer" for entry in inner if entry.parent is not None)
    told = path.with_suffix(".told").read_text() if path.with_suffix(".told").exists() else ""
    if told:
        assert len(numbers) >= int(told.split()[0]), "what had been flushed is missing"
    return len(numbers)


@pytest.mark.slow
def test_many_kills(tmp_path, start_python):
    part = KILLS // AT_ONCE

    processes = [start_python(VICTIMS, tmp_path, number * part, part) for number in range(AT_ONCE)]
    for process in processes:
        _, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
    recovered = []
    for number in range(KILLS):
        path = tmp_path / f"{number}.rgm"
        if path.exists() and path.stat().st_size >= 24:
            recovered.append(check_recovered(path))
    assert sum(count > 0 for count in recovered) >= KILLS // 2  # those that told; of the others the machine decides


def test_what_is_older_than_a_tenth_of_a_second_survives(tmp_path, start_python):
    """Nothing is flushed by hand here: the drainer alone has to do it."""
    process = start_python(
        """
        import sys, time
        import regimeter
        profiler = regimeter.GPUProfiler(path=sys.argv[1], enable_detailed_metrics=False)
        for number in range(1000):
            with profiler.profile("a", number=number):
                pass
        print("recorded", flush=True)
        time.sleep(600)
        """,
        tmp_path / "run.rgm",
    )
    assert process.stdout.readline() == "recorded\n"
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        time.sleep(0.1)
        if (tmp_path / "run.rgm").exists() and len(load(tmp_path / "run.rgm", recover=True).spans) == 1000:
            break
    process.send_signal(signal.SIGKILL)
    process.wait()
    run = load(tmp_path / "run.rgm", recover=True)
    assert [entry.metadata["number"] for entry in run.get_entries()] == list(range(1000))
    assert codes(run) == {"unfinished": 1}


def test_a_scope_open_at_the_kill_is_told_of(tmp_path, start_python):
    process = start_python(
        """
        import sys, time
        import regimeter
        profiler = regimeter.GPUProfiler(path=sys.argv[1], enable_detailed_metrics=False)
        with profiler.profile("training"):
            with profiler.profile("step", number=1):
                with profiler.profile("done"):
                    pass
                profiler.flush()
                print("open", flush=True)
                time.sleep(60)
        """,
        tmp_path / "run.rgm",
    )
    assert process.stdout.readline() == "open\n"
    process.kill()
    process.wait()
    run = load(tmp_path / "run.rgm", recover=True)
    assert [(e.operation, e.open, e.depth) for e in run.get_entries()] == [
        ("training", True, 0),
        ("step", True, 1),
        ("done", False, 2),
    ]
    assert run.get_entries()[1].metadata == {"number": 1}
    assert run.get_entries()[0].duration_ms >= run.get_entries()[2].duration_ms > 0


# --- ordinary ends --------------------------------------------------------------------------------------------

ENDS = {
    "falling off the end": ("", 0),
    "sys.exit": ("sys.exit(3)", 3),
    "an exception": ("raise ValueError('text')", 1),
    "an interrupt": ("os.kill(os.getpid(), signal.SIGINT); time.sleep(10)", -signal.SIGINT),
}


@pytest.mark.parametrize("end", ENDS)
def test_ends_inside_a_block_keep_the_data(tmp_path, run_python, end):
    statement, status = ENDS[end]
    done = run_python(
        f"""
        import os, signal, sys, time
        import regimeter
        profiler = regimeter.GPUProfiler(path=sys.argv[1])
        with profiler.profile("outer"):
            with profiler.profile("inner", x=1):
                {statement or "pass"}
        """,
        tmp_path / "run.rgm",
        check=False,
    )
    assert done.returncode == status, done.stderr
    run = load(tmp_path / "run.rgm")
    assert run.complete
    assert [(e.operation, e.failed, e.open) for e in run.get_entries()] == [
        ("outer", status != 0, False),
        ("inner", status != 0, False),
    ]


def test_scopes_open_at_shutdown_are_recorded_as_open(tmp_path, run_python):
    done = run_python(
        """
        import sys
        import regimeter
        profiler = regimeter.GPUProfiler(path=sys.argv[1])
        outer = profiler.profile("outer", x=1)
        outer.__enter__()
        scope = profiler.profile("inner")
        scope.__enter__()
        def generator():
            with profiler.profile("in generator"):
                yield
        suspended = generator()
        next(suspended)
        """,
        tmp_path / "run.rgm",
    )
    assert done.stderr == ""
    run = load(tmp_path / "run.rgm")
    assert run.complete
    assert [(e.operation, e.open, e.depth) for e in run.get_entries()] == [
        ("outer", True, 0),
        ("inner", True, 1),
        ("in generator", True, 2),
    ]
    assert run.get_entries()[0].metadata == {"x": 1}


def test_os_exit_loses_no_complete_block(tmp_path, run_python):
    run_python(
        """
        import os, sys
        import regimeter
        profiler = regimeter.GPUProfiler(path=sys.argv[1], enable_detailed_metrics=False)
        for number in range(20_000):
            with profiler.profile("a"):
                pass
        profiler.flush()
        with profiler.profile("open"):
            os._exit(0)
        """,
        tmp_path / "run.rgm",
    )
    run = load(tmp_path / "run.rgm", recover=True)
    assert run.get_summary()["a"].call_count == 20_000
    assert not run.complete


def test_daemon_threads_that_record_at_shutdown(tmp_path, run_python):
    done = run_python(
        """
        import sys, threading, time
        import regimeter
        profiler = regimeter.GPUProfiler(path=sys.argv[1])
        decorated = profiler.profile_function("decorated")(lambda: None)
        def work():
            while True:
                with profiler.profile("a"):
                    with profiler.profile(f"b {time.monotonic_ns() % 100}"):
                        decorated()
        for _ in range(4):
            threading.Thread(target=work, daemon=True).start()
        while profiler.stats()["records"] < 1000:
            time.sleep(0.01)
        """,
        tmp_path / "run.rgm",
    )
    assert done.stderr == ""
    run = load(tmp_path / "run.rgm")
    assert run.complete
    assert len(run.spans) >= 1000


def test_a_profiler_in_a_module_global_and_in_a_cycle_at_shutdown(run_python):
    done = run_python(
        """
        import regimeter
        class Holder: pass
        holder = Holder()
        holder.profiler = regimeter.GPUProfiler(track_memory=True)
        holder.self = holder
        holder.profiler.scope = holder.profiler.profile("kept")
        holder.run = holder.profiler.run()
        with holder.profiler.profile("a"):
            pass
        run = holder.profiler.run()
        column = run.spans.duration_ns
        stream = run.spans.__arrow_c_stream__()
        import atexit
        @atexit.register
        def late():
            with holder.profiler.profile("late"):
                pass
        class Last:
            def __del__(self):
                with holder.profiler.profile("later still"):
                    pass
        last = Last()
        """
    )
    assert done.stderr == ""


def test_a_signal_handler_that_records(profiler):
    seen = []

    def handler(number, frame):
        with profiler.profile("handler"):
            seen.append(number)

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        deadline = time.monotonic() + 300
        while len(seen) < 50 and time.monotonic() < deadline:
            with profiler.profile("outer"):
                with profiler.profile("inner"):
                    pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    summary = profiler.get_summary()
    assert summary["handler"].call_count == len(seen) >= 50
    assert summary["inner"].call_count == summary["outer"].call_count
    assert codes(profiler.run()) == {}


def test_a_thread_that_ends_with_a_scope_open(profiler):
    def work():
        profiler.profile("left open").__enter__()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    with profiler.profile("after"):
        pass
    profiler.close()
    assert {e.operation: (e.open, e.parent) for e in profiler.get_entries()} == {
        "left open": (True, None),
        "after": (False, None),
    }


def test_no_thread_is_left_when_a_profiler_is_closed():
    before = len(os.listdir("/proc/self/task"))
    for _ in range(5):
        profiler = GPUProfiler(track_memory=True)
        with profiler.profile("a"):
            pass
        profiler.close()
    assert len(os.listdir("/proc/self/task")) <= before


def test_no_descriptor_is_left_when_a_profiler_is_closed(tmp_path):
    with GPUProfiler(path=tmp_path / "first.rgm", track_memory=True) as profiler:
        with profiler.profile("a"):
            pass
    before = len(os.listdir("/proc/self/fd"))
    for number in range(5):
        with GPUProfiler(path=tmp_path / f"{number}.rgm", track_memory=True) as profiler:
            with profiler.profile("a"):
                pass
            profiler.run()
        load(tmp_path / f"{number}.rgm")
    assert len(os.listdir("/proc/self/fd")) == before


def test_random_seeds_of_the_program_are_left_alone(make_profiler):
    random.seed(5)
    expected = random.random()
    random.seed(5)
    profiler = make_profiler(sample_rate=0.5)
    with profiler.profile("a"):
        pass
    assert random.random() == expected
