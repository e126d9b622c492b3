# SPDX-License-Identifier: Apache-2.0
"""Scopes in asyncio: each task nests for itself, whatever runs in between."""

import asyncio
import contextlib
import contextvars

import pytest


def parents(profiler):
    entries = profiler.get_entries()
    return [(e.operation, None if e.parent is None else entries[e.parent].operation) for e in entries]


def test_interleaved_tasks_nest_each_for_itself(profiler):
    async def task(name):
        with profiler.profile(f"outer {name}"):
            for number in range(5):
                with profiler.profile(f"inner {name}", number=number):
                    await asyncio.sleep(0)

    async def main():
        await asyncio.gather(*(task(name) for name in "abcdefgh"))

    asyncio.run(main())
    found = parents(profiler)
    assert len(found) == 8 * 6
    for operation, parent in found:
        assert parent == (operation.replace("inner", "outer") if operation.startswith("inner") else None)
    assert profiler.run().anomaly_list() == []
    assert all(entry.exclusive_time_ms >= 0 for entry in profiler.get_entries())


def test_tasks_overlap_in_lanes_of_their_own(profiler):
    async def task(barrier):
        with profiler.profile("a"):
            await barrier.wait()

    async def main():
        barrier = asyncio.Barrier(4)
        await asyncio.gather(*(task(barrier) for _ in range(4)))

    asyncio.run(main())
    spans = profiler.run().spans
    assert len(set(spans.lane.tolist())) == 4
    assert all("MainThread" in entry.thread for entry in profiler.get_entries())


def test_a_thousand_tasks_one_after_another_share_lanes(profiler):
    async def task():
        with profiler.profile("a"):
            await asyncio.sleep(0)

    async def main():
        for _ in range(250):
            await asyncio.gather(*(task() for _ in range(4)))

    asyncio.run(main())
    run = profiler.run()
    assert len(run.spans) == 1000
    assert len(run.lanes) <= 16


def test_context_variables_changed_inside_do_not_matter(profiler):
    variable = contextvars.ContextVar("variable")

    async def main():
        with profiler.profile("a"):
            variable.set(1)
            with profiler.profile("b"):
                token = variable.set(2)
                await asyncio.sleep(0)
                with profiler.profile("c"):
                    variable.reset(token)

    asyncio.run(main())
    assert parents(profiler) == [("a", None), ("b", "a"), ("c", "b")]


def test_await_of_a_coroutine_nests(profiler):
    async def inner():
        with profiler.profile("inner"):
            await asyncio.sleep(0)

    async def main():
        with profiler.profile("outer"):
            await inner()

    asyncio.run(main())
    assert parents(profiler) == [("outer", None), ("inner", "outer")]


def test_to_thread_records_on_the_thread(profiler):
    def work():
        with profiler.profile("in thread"):
            with profiler.profile("nested"):
                pass

    async def main():
        with profiler.profile("outer"):
            await asyncio.gather(*(asyncio.to_thread(work) for _ in range(4)))

    asyncio.run(main())
    found = parents(profiler)
    assert found.count(("in thread", None)) == 4
    assert found.count(("nested", "in thread")) == 4
    assert profiler.run().anomaly_list() == []


def test_async_exit_stack(profiler):
    async def main():
        async with contextlib.AsyncExitStack() as stack:
            stack.enter_context(profiler.profile("a"))
            await asyncio.sleep(0)
            stack.enter_context(profiler.profile("b"))

    asyncio.run(main())
    assert parents(profiler) == [("a", None), ("b", "a")]


def test_async_context_manager(profiler):
    @contextlib.asynccontextmanager
    async def block(name):
        with profiler.profile(name):
            yield

    async def main():
        async with block("a"), block("b"):
            await asyncio.sleep(0)

    asyncio.run(main())
    assert parents(profiler) == [("a", None), ("b", "a")]


def test_cancelled_tasks_have_failed(profiler):
    async def task():
        with profiler.profile("a"):
            await asyncio.sleep(60)

    async def main():
        waiting = asyncio.create_task(task())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(main())
    assert [entry.failed for entry in profiler.get_entries()] == [True]


def test_tasks_with_sampling_keep_whole_trees(make_profiler):
    profiler = make_profiler(enable_detailed_metrics=False, sample_rate=0.5, seed=3)

    async def task():
        with profiler.profile("outer"):
            await asyncio.sleep(0)
            with profiler.profile("inner"):
                await asyncio.sleep(0)

    async def main():
        for _ in range(50):
            await asyncio.gather(*(task() for _ in range(8)))

    asyncio.run(main())
    summary = profiler.get_summary()
    assert 100 < summary["outer"].call_count < 300
    assert summary["inner"].call_count == summary["outer"].call_count
    assert summary["outer"].skipped_count == 400 - summary["outer"].call_count
    assert summary["inner"].skipped_count == summary["outer"].skipped_count
    assert all(parent == "outer" for operation, parent in parents(profiler) if operation == "inner")


def test_two_loops_in_two_threads(profiler):
    import threading

    async def task(name):
        with profiler.profile(f"outer {name}"):
            await asyncio.sleep(0)
            with profiler.profile(f"inner {name}"):
                await asyncio.sleep(0)

    async def main(prefix):
        for _ in range(20):
            await asyncio.gather(*(task(f"{prefix}{n}") for n in range(4)))

    threads = [threading.Thread(target=lambda p=p: asyncio.run(main(p))) for p in "xy"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = parents(profiler)
    assert len(found) == 2 * 20 * 4 * 2
    for operation, parent in found:
        assert parent == (operation.replace("inner", "outer") if operation.startswith("inner") else None)


@pytest.mark.parametrize("way", ["asyncio.run", "Context.run"])
def test_what_runs_inside_a_scope_in_another_context_is_nested(profiler, way):
    def work():
        with profiler.profile("inner"):
            pass

    async def main():
        work()

    with profiler.profile("outer"):
        asyncio.run(main()) if way == "asyncio.run" else contextvars.copy_context().run(work)
    assert parents(profiler) == [("outer", None), ("inner", "outer")]


def test_tasks_that_wait_together_are_taken_from_the_outer_scope_once(profiler):
    async def task():
        with profiler.profile("task"):
            await asyncio.sleep(0.01)

    async def main():
        await asyncio.gather(*(task() for _ in range(20)))

    with profiler.profile("outer"):
        asyncio.run(main())
    entries = {entry.operation: entry for entry in profiler.get_entries() if entry.operation == "outer"}
    tasks = [entry for entry in profiler.get_entries() if entry.operation == "task"]
    assert {parent for name, parent in parents(profiler) if name == "task"} == {"outer"}
    outer = entries["outer"]
    covered = max(e.end_time for e in tasks) - min(e.start_time for e in tasks)
    assert outer.exclusive_time_ms == pytest.approx(outer.duration_ms - covered * 1e3, abs=1e-3)
    assert len({entry.thread for entry in tasks}) == 20  # each has a lane of its own
    assert {entry.depth for entry in tasks} == {0}


def test_a_task_that_outlives_the_scope_it_began_in_has_no_parent(profiler):
    loop = asyncio.new_event_loop()

    async def task():
        with profiler.profile("task"):
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    async def turn():
        await asyncio.sleep(0)

    try:
        with profiler.profile("first"):
            running = loop.create_task(task())
            loop.run_until_complete(turn())
        with profiler.profile("second"):
            loop.run_until_complete(running)
    finally:
        loop.close()
    assert sorted(parents(profiler)) == [("first", None), ("second", None), ("task", None)]


def test_sampling_leaves_out_the_tasks_of_a_left_out_scope(make_profiler):
    profiler = make_profiler(sample_rate=0.0)

    async def main():
        with profiler.profile("task"):
            await asyncio.sleep(0)

    with profiler.profile("outer"):
        asyncio.run(main())
    assert profiler.get_entries() == []
    assert profiler.stats()["sampled_out"] == 2


def test_sampling_keeps_the_tasks_of_a_recorded_scope(make_profiler):
    profiler = make_profiler(sample_rate=0.5, seed=3)

    async def main():
        with profiler.profile("task"):
            await asyncio.sleep(0)

    for _ in range(200):
        with profiler.profile("outer"):
            asyncio.run(main())
    found = parents(profiler)
    assert 0 < found.count(("outer", None)) < 200
    assert found.count(("task", "outer")) == found.count(("outer", None))
    assert ("task", None) not in found
