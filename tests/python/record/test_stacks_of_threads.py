# SPDX-License-Identifier: Apache-2.0
"""Samples of stacks of this process: where they say that threads were, against what the threads know of themselves."""

import asyncio
import math
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from sampled_stacks import OTHERS, count, found_most, frames_of

from regimeter import GPUProfiler, Run, _core

FOR_LOCK, FOR_PROCESSOR, WAITING = _core.SAMPLE_STATES[1:4]
NATIVE, SLEEPING, FOR_THREAD = _core.SAMPLE_STATES[5:8]
CALLING, INTERPRETING = _core.SAMPLE_STATES[11:13]


@pytest.fixture(autouse=True)
def others() -> Iterator[None]:
    """Leave out threads that a test has not begun: of pytest-xdist, and of pools that other tests left."""
    OTHERS.update({int(one) for one in os.listdir("/proc/self/task")} - {threading.get_native_id()})
    yield
    OTHERS.clear()


def sampled(profiler: GPUProfiler, least: int) -> Run:
    """Sleep until there are samples of it: those of a scope's begin, which describes the machine, are not."""
    with profiler.profile("block", device="cpu"):
        until = profiler._stats()["host_samples"] + least
        while profiler._stats()["host_samples"] < until:
            time.sleep(0.02)
    return profiler.run()


def test_a_snapshot_has_the_samples_of_memory():
    profiler = GPUProfiler(stacks=1000.0)
    run = sampled(profiler, 50)
    assert found_most(count(run, lambda frames, state: frames[0][0], inside=True)) == "sampled"
    profiler.reset()
    after = sampled(profiler, 5)
    assert frames_of(after, int(after.samples.stack[-1]))
    assert min(after.samples.time_ns.tolist()) > max(run.samples.time_ns.tolist())
    profiler.close()


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
        share = took[name] / wall
        # Four standard errors of a share of as many samples as were had.
        most = max(0.05, 4 * math.sqrt(share * (1 - share) / total))
        assert abs(found[name] / total - share) < most, (name, found, took)


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
