# SPDX-License-Identifier: Apache-2.0
"""profile_function: coroutines and generators, timed over what is theirs."""

import asyncio
import gc
import inspect
import time

import pytest
from entries import names

# --- coroutines -----------------------------------------------------------------------------------------------


def test_a_coroutine_is_timed_over_what_it_awaits(profiler):
    @profiler.profile_function("work", device="cpu")
    async def work(x):
        await asyncio.sleep(0.02)
        return x

    assert inspect.iscoroutinefunction(work)
    waiting = work(5)
    assert names(profiler) == []
    assert asyncio.run(waiting) == 5
    (entry,) = profiler.get_entries()
    assert entry.duration_ms >= 19
    assert (entry.operation, entry.device) == ("work", "cpu")


def test_coroutines_that_overlap(profiler):
    @profiler.profile_function("work")
    async def work(x):
        await asyncio.sleep(0.001 * (x % 3))
        return x

    async def main():
        return await asyncio.gather(*(work(number) for number in range(10)))

    assert asyncio.run(main()) == list(range(10))
    assert all(entry.parent is None for entry in profiler.get_entries())
    assert profiler.get_summary()["work"].call_count == 10


def test_a_failed_coroutine(profiler):
    @profiler.profile_function("work")
    async def work():
        await asyncio.sleep(0)
        raise ValueError("reason")

    with pytest.raises(ValueError, match="reason"):
        asyncio.run(work())
    assert profiler.get_entries()[0].failed


def test_an_object_with_a_coroutine_call(profiler):
    class Layer:
        async def __call__(self):
            await asyncio.sleep(0.02)
            return 5

    layer = profiler.profile_function("layer")(Layer())
    assert asyncio.run(layer()) == 5
    assert profiler.get_entries()[0].duration_ms >= 19


# --- generators ---------------------------------------------------------------------------------------------------


def test_a_generator_is_timed_without_its_consumer(profiler):
    @profiler.profile_function("produce")
    def produce():
        for number in range(3):
            time.sleep(0.005)
            yield number

    assert inspect.isgeneratorfunction(produce)
    generator = produce()
    assert names(profiler) == []
    consumed, begin = 0.0, time.perf_counter()
    for _ in generator:
        received = time.perf_counter()
        time.sleep(0.05)
        consumed += time.perf_counter() - received
    whole = time.perf_counter() - begin
    summary = profiler.get_summary()["produce"]
    assert summary.call_count == 4  # three items and the end
    assert 14 <= summary.total_time_ms < 1e3 * (whole - consumed) + 0.1  # less than all, whatever else runs here
    assert summary.failed_count == 0


def test_the_consumer_is_not_inside_the_generator(profiler):
    @profiler.profile_function("produce")
    def produce():
        yield 1
        with profiler.profile("inside"):
            yield 2

    for _ in produce():
        with profiler.profile("consume"):
            pass
    found = [(e.operation, e.depth) for e in profiler.get_entries()]
    assert found.count(("produce", 0)) + found.count(("produce", 1)) == 3
    assert ("consume", 0) in found


def test_a_generator_keeps_its_protocol(profiler):
    seen = []

    @profiler.profile_function("echo")
    def echo(start):
        value = start
        while True:
            try:
                value = yield value
            except KeyError as error:
                seen.append(error)
                value = "caught"
            except GeneratorExit:
                seen.append("closed")
                raise
            if value == "stop":
                return "result"

    generator = echo(1)
    assert next(generator) == 1
    assert generator.send(2) == 2
    error = KeyError("x")
    assert generator.throw(error) == "caught"
    assert seen == [error]
    with pytest.raises(StopIteration) as stop:
        generator.send("stop")
    assert stop.value.value == "result"
    generator = echo(1)
    next(generator)
    generator.close()
    assert seen[-1] == "closed"
    generator = echo(1)
    next(generator)
    with pytest.raises(ValueError, match="not caught"):
        generator.throw(ValueError("not caught"))
    assert profiler.get_entries()[-1].failed
    assert sum(entry.failed for entry in profiler.get_entries()) == 1


def test_yield_from_a_profiled_generator(profiler):
    @profiler.profile_function("inner")
    def inner():
        received = yield 1
        return received

    def outer():
        return (yield from inner())

    generator = outer()
    assert next(generator) == 1
    with pytest.raises(StopIteration) as stop:
        generator.send("value")
    assert stop.value.value == "value"


def test_a_generator_left_halfway(profiler):
    ended = []

    @profiler.profile_function("produce")
    def produce():
        try:
            yield 1
            yield 2
        finally:
            ended.append(True)

    generator = produce()
    next(generator)
    del generator
    gc.collect()
    assert ended == [True]
    with profiler.profile("after"):
        pass
    assert [(e.operation, e.depth, e.failed) for e in profiler.get_entries()] == [
        ("produce", 0, False),
        ("after", 0, False),
    ]


# --- asynchronous generators --------------------------------------------------------------------------------------


def test_an_async_generator_is_timed_without_its_consumer(profiler):
    @profiler.profile_function("produce")
    async def produce():
        for number in range(3):
            await asyncio.sleep(0.005)
            yield number

    async def main():
        found, consumed = [], 0.0
        begin = time.perf_counter()
        async for item in produce():
            found.append(item)
            received = time.perf_counter()
            await asyncio.sleep(0.05)
            consumed += time.perf_counter() - received
        return found, consumed, time.perf_counter() - begin

    assert inspect.isasyncgenfunction(produce)
    found, consumed, whole = asyncio.run(main())
    assert found == [0, 1, 2]
    summary = profiler.get_summary()["produce"]
    assert summary.call_count == 4
    assert 12 <= summary.total_time_ms < 1e3 * (whole - consumed) + 0.1  # less than all, whatever else runs here
    assert summary.failed_count == 0


def test_an_async_generator_keeps_its_protocol(profiler):
    seen = []

    @profiler.profile_function("echo")
    async def echo(start):
        value = start
        try:
            while value != "stop":
                try:
                    value = yield value
                except KeyError:
                    value = "caught"
        finally:
            seen.append("ended")

    async def main():
        generator = echo(1)
        assert await anext(generator) == 1
        assert await generator.asend(2) == 2
        assert await generator.athrow(KeyError("x")) == "caught"
        with pytest.raises(StopAsyncIteration):
            await generator.asend("stop")
        generator = echo(1)
        await anext(generator)
        await generator.aclose()
        assert seen == ["ended", "ended"]
        generator = echo(1)
        await anext(generator)
        with pytest.raises(ValueError, match="not caught"):
            await generator.athrow(ValueError("not caught"))

    asyncio.run(main())
    assert sum(entry.failed for entry in profiler.get_entries()) == 1


@pytest.mark.parametrize("kind", ["generator", "coroutine"])
def test_wrong_arguments_are_noticed_when_the_function_first_runs(profiler, kind):
    def generator(a):
        yield a

    async def coroutine(a):
        return a

    work = profiler.profile_function("work")(generator if kind == "generator" else coroutine)
    started = work()
    with pytest.raises(TypeError, match="missing 1 required"):
        started.send(None)
