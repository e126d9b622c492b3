# SPDX-License-Identifier: Apache-2.0
"""Samples of host stacks: where they say that threads were, against what the threads know of themselves."""

import asyncio
import os
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import regimeter
from regimeter import GPUProfiler, Run, _core

RUNNING, FOR_LOCK, FOR_PROCESSOR, WAITING = _core.SAMPLE_STATES[:4]
NATIVE, SLEEPING, FOR_THREAD = _core.SAMPLE_STATES[5:8]
CALLING, INTERPRETING = _core.SAMPLE_STATES[11:13]
RECORD = [sys.executable, "-m", "regimeter", "record", "-q", "-o", "run.rgm"]


def frames_of(run: Run, stack: int) -> list[tuple[str, str, int]]:
    """Return a stack's function, file and line, innermost first."""
    stacks, found = run.tables.stacks, []
    while stack >= 0:
        found.append((run.string(stacks.function[stack]), run.string(stacks.file[stack]), int(stacks.line[stack])))
        stack = int(stacks.parent[stack])
    return found


OTHERS: set[int] = set()


@pytest.fixture(autouse=True)
def others() -> None:
    """Take note of threads that a test has not begun: of pytest-xdist, and of pools that other tests left."""
    OTHERS.clear()
    OTHERS.update({int(one) for one in os.listdir("/proc/self/task")} - {threading.get_native_id()})


def count(
    run: Run, what: Callable[[list[tuple[str, str, int]], str], object], *, inside: bool = False
) -> Counter[object]:
    """Count samples by what is made of their frames and their state. inside: those of scopes alone, for what the
    recorder does at begin and end may take long."""
    cache: dict[int, list[tuple[str, str, int]]] = {}
    counted: Counter[object] = Counter()
    samples = run.samples
    for thread, stack, state, span in zip(
        samples.thread.tolist(), samples.stack.tolist(), samples.state.tolist(), samples.span.tolist(), strict=True
    ):
        if thread not in OTHERS and (span >= 0 or not inside):
            frames = cache.setdefault(stack, frames_of(run, stack))
            counted[what(frames, _core.SAMPLE_STATES[state])] += 1
    return counted


@pytest.fixture
def program(tmp_path):
    """Record a program of this text, with words for `record`; return its run."""

    def record(text: str, *options: str, words: tuple[str, ...] = ("prog.py",), code: int = 0, **more: object) -> Run:
        (tmp_path / "prog.py").write_text(textwrap.dedent(text))
        done = subprocess.run(
            [*RECORD, *options, *words], cwd=tmp_path, capture_output=True, text=True, timeout=300, **more
        )
        assert done.returncode == code, done.stderr
        return regimeter.load(tmp_path / "run.rgm")

    return record


def test_a_stack_is_that_of_the_program(program, tmp_path):
    run = program(
        """
        import time

        def inner():
            time.sleep(0.4)

        def outer():
            inner()

        outer()
        """
    )
    file = str(tmp_path / "prog.py")
    sleeping = count(run, lambda frames, state: (tuple(frames), state))
    expected = (("inner", file, 5), ("outer", file, 8), ("<module>", file, 10))
    assert sleeping.most_common(1)[0][0] == (expected, SLEEPING)
    spans = run.samples.span.tolist()
    within = [number for number, span in enumerate(spans) if span == 0]
    assert set(spans) <= {-1, 0}
    assert within == list(range(within[0], within[-1] + 1))  # the first and the last may lie outside the scope
    assert len(within) > 0.5 * len(spans)
    assert set(run.samples.lane.tolist()) == {0}
    assert run.environment["stacks"] == {"hz": 100.0, "reason": ""}


def test_off_by_default_and_by_zero(program):
    assert GPUProfiler()._stats()["host_samples"] == 0
    assert len(program("import time; time.sleep(0.1)", "--stacks", "0").samples) == 0


@pytest.mark.parametrize("rate", [0.5, 1001, float("nan"), -1])
def test_a_rate_out_of_range(rate):
    with pytest.raises(ValueError, match="1 to 1000 times a second"):
        GPUProfiler(stacks=rate)


def test_samples_survive_files(program, tmp_path):
    run = program("import time; time.sleep(0.3)")
    again = tmp_path / "again.rgm"
    run.save(again)
    kept = regimeter.load(again)
    for table in ("samples", "stacks"):
        for column in _core.schema()["run"][table]["columns"]:
            name = column["name"]
            assert getattr(kept.table(table), name).tolist() == getattr(run.table(table), name).tolist(), name
    assert len(kept.samples) > 10


def sampled(profiler: GPUProfiler, least: int) -> Run:
    """Sleep until there are samples of it."""
    with profiler.profile("block", device="cpu"):
        while profiler._stats()["host_samples"] < least:
            time.sleep(0.02)
    return profiler.run()


def test_a_snapshot_has_the_samples_of_memory():
    profiler = GPUProfiler(stacks=1000.0)
    run = sampled(profiler, 50)
    assert count(run, lambda frames, state: frames[0][0]).most_common(1)[0][0] == "sampled"
    profiler.reset()
    after = sampled(profiler, 5)
    assert frames_of(after, int(after.samples.stack[-1]))
    assert min(after.samples.time_ns.tolist()) > max(run.samples.time_ns.tolist())
    profiler.close()


def test_a_forked_child_has_samples_of_its_own(program, tmp_path):
    program(
        """
        import os, time
        def child():
            time.sleep(0.4)
        pid = os.fork()
        if pid == 0:
            child()
            os._exit(0)
        os.waitpid(pid, 0)
        """
    )
    (path,) = Path(tmp_path).glob("run.rgm.*")
    run = regimeter.load(path, recover=True)
    assert count(run, lambda frames, state: frames[0][0]).most_common(1)[0][0] == "child"


def test_a_spawned_child_has_samples_of_its_own(program, tmp_path):
    program(
        """
        import multiprocessing, time
        def child():
            time.sleep(0.4)
        if __name__ == "__main__":
            process = multiprocessing.get_context("spawn").Process(target=child)
            process.start()
            process.join()
        """
    )
    (path,) = Path(tmp_path).glob("run.rgm.*")
    run = regimeter.load(path)
    assert run.complete
    assert count(run, lambda frames, state: frames[0][0]).most_common(1)[0][0] == "child"


def test_other_children_see_nothing_of_it(program):
    program(
        """
        import os, subprocess, sys
        code = "import os, sys; sys.exit('regimeter' in sys.modules or 'PYTHONPATH' in os.environ)"
        subprocess.run([sys.executable, "-c", code], check=True)
        """,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
    )


def test_a_library_is_at_the_line_that_calls_it(program):
    run = program(
        "import textwrap\ntext = 'some words ' * 400\ndef wraps():\n"
        "    for _ in range(120):\n        textwrap.wrap(text)\nwraps()\n"
    )
    own, lines = run.lines(by="own").table, run.lines().table
    assert int(own.self.sum()) == int(lines.self.sum()) == len(run.samples)
    first = int(np.argmax(own.self))
    assert (run.string(own.function[first]), int(own.line[first])) == ("wraps", 5)
    assert own.self[first] > 0.8 * len(run.samples)
    assert "textwrap.py" in {Path(run.string(name)).name for name in lines.file[lines.self > 0]}
    assert "textwrap.py" not in {Path(run.string(name)).name for name in own.file[own.self > 0]}


# --- against what the threads know of themselves ------------------------------------------------------------------


def spin(seconds: float) -> None:
    """Use that much processor time of this thread."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def of_a(seconds: float) -> None:
    spin(seconds)


def of_b(seconds: float) -> None:
    spin(seconds)


def of_c(seconds: float) -> None:
    spin(seconds)


def recorded(work: Callable[[], object], hz: float = 1000.0) -> Run:
    """Return the run of a profiler that samples this work."""
    profiler = GPUProfiler(enable_detailed_metrics=False, stacks=hz)
    assert profiler._stacks_reason() == ""
    with profiler.profile("work", device="cpu"):
        work()
    profiler.close()
    return profiler.run()


def ours(run: Run) -> Counter[object]:
    """Count samples by the function below `spin`, those of this thread that ran."""
    here = threading.get_native_id()
    assert here in set(run.samples.thread.tolist())
    found = count(run, lambda frames, state: next((f for f, _, _ in frames if f.startswith("of_")), ""))
    del found[""]
    return found


def test_shares_are_those_of_the_threads_clock():
    # Shares of wall time that each function took by the same clock as the samples; its processor time is fixed.
    took = Counter[str]()

    def work() -> None:
        for i in range(30):
            for function, seconds in ((of_a, 0.02), (of_b, 0.012), (of_c, 0.004 if i % 2 else 0.008)):
                begin = time.perf_counter()
                function(seconds)
                took[function.__name__] += time.perf_counter() - begin

    run = recorded(work)
    found, wall = ours(run), sum(took.values())
    total = sum(found.values())
    assert total >= 500
    for name in ("of_a", "of_b", "of_c"):
        assert abs(found[name] / total - took[name] / wall) < 0.05, (name, found, took)


def test_recursion_and_a_deep_stack():
    def down(depth: int) -> None:
        if depth:
            down(depth - 1)
        else:
            spin(0.1)

    depths = count(recorded(lambda: down(99)), lambda frames, state: sum("down" in f for f, _, _ in frames))
    assert depths.most_common(1)[0][0] == 100


def test_a_stack_deeper_than_what_is_kept():
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(6000)
    try:

        def down(depth: int) -> None:
            if depth:
                down(depth - 1)
            else:
                spin(0.2)

        run = recorded(lambda: down(3000))
    finally:
        sys.setrecursionlimit(before)
    deepest = max((frames_of(run, stack) for stack in set(run.samples.stack.tolist())), key=len)
    assert len(deepest) == 1025
    assert deepest[-1] == ("<functions left out>", "", -1)


def test_generators():
    def numbers():
        while True:
            spin(0.005)
            yield

    def consume() -> None:
        source = numbers()
        for _ in range(40):
            next(source)

    found = count(recorded(consume), lambda frames, state: tuple(f.rpartition(".")[2] for f, _, _ in frames[1:3]))
    assert found_most(found) == ("numbers", "consume")


def found_most(found: Counter[object]) -> object:
    return found.most_common(1)[0][0]


def test_coroutines_are_under_the_loop():
    async def inner() -> None:
        spin(0.15)

    async def outer() -> None:
        await inner()

    found = count(
        recorded(lambda: asyncio.run(outer())), lambda frames, state: tuple(f.rpartition(".")[2] for f, _, _ in frames)
    )
    names = found_most(found)
    assert names[:3] == ("spin", "inner", "outer")
    assert "run_until_complete" in names


def test_calls_of_native_code_run_or_wait():
    data = bytes(range(256)) * 40_000

    def hashes() -> None:
        import hashlib

        end = time.thread_time() + 0.3  # without the lock
        while time.thread_time() < end:
            hashlib.sha256(data).digest()

    found = count(recorded(hashes), lambda frames, state: (frames[0][0].rpartition(".")[2], state), inside=True)
    assert found["hashes", NATIVE] + found["hashes", FOR_PROCESSOR] > 0.8 * sum(found.values()), found
    found = count(recorded(lambda: time.sleep(0.3)), lambda frames, state: state, inside=True)
    # Where others have the processors, one who has slept enough waits for one.
    assert found[SLEEPING] + found[FOR_PROCESSOR] >= 0.9 * sum(found.values())
    assert found[SLEEPING] > found[FOR_PROCESSOR]


def test_a_call_that_keeps_the_lock_is_told_from_a_loop_of_python():
    values = [((index * 7919) % 1000003) / 7 for index in range(200_000)]

    def sorts() -> None:
        end = time.thread_time() + 0.3
        while time.thread_time() < end:
            sorted(values)

    found = count(recorded(sorts), lambda frames, state: state)
    assert found[CALLING] > 5, found
    assert found[CALLING] > 8 * found[INTERPRETING], found

    def loops() -> None:
        end, total = time.thread_time() + 0.3, 0.0
        while time.thread_time() < end:
            for value in values[:10_000]:
                total += abs(value)  # of what it calls nothing is long

    found = count(recorded(loops), lambda frames, state: state)
    assert found[INTERPRETING] > 5, found
    assert found[INTERPRETING] > found[CALLING], found


def test_eight_threads_and_who_has_the_lock():
    start = threading.Barrier(8)

    def work() -> None:
        start.wait()
        spin(0.1)

    def together() -> None:
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    run = recorded(together)
    found = count(run, lambda frames, state: (frames[0][0].rpartition(".")[2], state))
    assert len(set(run.samples.thread.tolist()) - OTHERS) == 9
    spinning = {state: found["spin", state] for state in _core.SAMPLE_STATES}
    assert spinning[FOR_LOCK] > sum(spinning.values()) / 2, found  # one of eight has it
    assert spinning[WAITING] + spinning[FOR_THREAD] < sum(spinning.values()) / 4, found


def test_stacks_of_many_threads_are_not_mixed_up():
    # Read together, of unlike depths (more than one block of frames among them), by threads that come and go.
    depths = {f"thread_{i}": depth for i, depth in enumerate((3, 40, 40, 40, 250, 250, 40, 9))}
    spaces: dict[str, dict[str, object]] = {}
    for name in depths:
        spaces[name] = {"time": time}
        body = f"def {name}(depth):\n    if depth: return {name}(depth - 1)\n"
        exec(body + "    for _ in range(40):\n        sum(range(1000))\n        time.sleep(0.002)", spaces[name])

    def together() -> None:
        for _ in range(3):
            threads = [threading.Thread(target=spaces[n][n], args=(depth,)) for n, depth in depths.items()]  # type: ignore[arg-type]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    def kind(frames: list[tuple[str, str, int]], state: str) -> object:
        own = [f for f, _, _ in frames if f.startswith("thread_")]
        return (own[0] if len(set(own)) == 1 and len(own) <= depths[own[0]] + 1 else "mixed", len(own)) if own else ""

    found = count(recorded(together), kind)
    assert not [one for one in found if one and one[0] == "mixed"], found  # type: ignore[index]
    for name, depth in depths.items():
        whole, all_of_it = found[name, depth + 1], sum(n for one, n in found.items() if one and one[0] == name)  # type: ignore[index]
        assert whole > 20, found
        assert whole > 0.7 * all_of_it, found


def test_a_changed_switch_interval(program):
    run = program(
        """
        import sys, time
        sys.setswitchinterval(5.0)
        def busy():
            end = time.thread_time() + 0.4
            while time.thread_time() < end:
                pass
        busy()
        """,
        "--stacks",
        "500",
    )
    assert count(run, lambda frames, state: frames[0][0])["busy"] > 0.8 * len(run.samples)


def test_functions_that_come_and_go_are_not_mistaken():
    # Code objects of the same size come to lie where others were.
    names = []

    def work() -> None:
        for i in range(100):
            space: dict[str, Callable[[], None]] = {}
            exec(f"def made_{i:03}(spin):\n    spin(0.002)", space)
            names.append(f"made_{i:03}")
            space[names[-1]](spin)  # type: ignore[call-arg]

    begin = time.monotonic_ns()
    run = recorded(work)
    length = (time.monotonic_ns() - begin) / 100
    wrong = 0
    for at, stack in zip(run.samples.time_ns.tolist(), run.samples.stack.tolist(), strict=True):
        made = [int(f[-3:]) for f, _, _ in frames_of(run, stack) if f.startswith("made_")]
        wrong += sum(abs(number - (at - begin) / length) > 30 for number in made)
    assert wrong < 0.1 * len(run.samples)


# --- how programs begin and end -----------------------------------------------------------------------------------

BUSY = """
import os, sys, time
def busy():
    end = time.monotonic() + 0.4
    while time.monotonic() < end:
        pass
busy()
"""


@pytest.mark.parametrize(
    ("words", "stdin", "file"),
    [(("-c", BUSY), None, "<string>"), (("-",), BUSY, "<stdin>"), (("-m", "prog"), None, "")],
)
def test_programs_without_a_file(words, stdin, file, program, tmp_path):
    run = program(BUSY, words=words, input=stdin)
    found = count(run, lambda frames, state: frames[0][:2])
    assert found_most(found) == ("busy", file or str(tmp_path / "prog.py"))


@pytest.mark.parametrize(
    ("end", "code"), [("os._exit(3)", 3), ("os.kill(os.getpid(), 9)", 137), ("sys.exit(2)", 2), ("1/0", 1)]
)
def test_however_it_ends(end, code, program):
    run = program(BUSY + end, code=-9 if code == 137 else code)
    assert count(run, lambda frames, state: frames[0][0])["busy"] >= 3


def test_exec_leaves_both_recordings(program, tmp_path):
    run = program(
        BUSY + "if len(sys.argv) < 2: os.execv(sys.executable, [sys.executable, 'prog.py', 'again'])",
        words=("prog.py",),
    )
    assert count(run, lambda frames, state: frames[0][0])["busy"] >= 3
    before = regimeter.load(tmp_path / "run.rgm.unfinished-1", recover=True)
    assert count(before, lambda frames, state: frames[0][0])["busy"] > 10


def test_a_program_with_a_profiler_has_samples_in_its_scopes(program):
    run = program(
        """
        import regimeter, time
        profiler = regimeter.GPUProfiler()
        with profiler.profile("outer", device="cpu"):
            with profiler.profile("inner", device="cpu"):
                time.sleep(0.3)
        """
    )
    spans = run.samples.span.tolist()
    inside = [run.string(run.spans.name[span]) for span in spans if span >= 0]
    assert inside.count("inner") > 0.5 * len(spans)
    tree = run.sampled()
    kinds = [_core.SPAN_KINDS[kind] for kind in tree.spans.kind.tolist()]
    assert "scope" in kinds
    assert "python" in kinds


def test_threads_in_more_than_one_interpreter_are_refused():
    code = """
import _xxsubinterpreters as other, regimeter, warnings
kept = other.create()
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    profiler = regimeter.GPUProfiler(stacks=100)
    with profiler.profile("x", device="cpu"):
        pass
assert "more than one interpreter" in str(told[0].message), told
assert "more than one interpreter" in profiler.run().environment["stacks"]["reason"]
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
