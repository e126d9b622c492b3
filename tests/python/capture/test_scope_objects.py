# SPDX-License-Identifier: Apache-2.0
"""Scopes as objects: how else they are used, one for many blocks, as decorators, with annotations."""

import asyncio
import contextlib
import os
import threading
import time
from collections import Counter

import pytest
from entries import by_name, parents

from regimeter import load


@pytest.mark.parametrize("enabled", [True, False])
def test_exit_stack(make_profiler, enabled):
    profiler = make_profiler(enabled)
    with contextlib.ExitStack() as stack:
        for name in "abc":
            stack.enter_context(profiler.profile(name, device="cpu", n=1))
        stack.push(profiler.profile("pushed only"))
    assert parents(profiler) == ({"a": None, "b": "a", "c": "b"} if enabled else {})


def test_exit_stack_sees_the_exception(profiler):
    with pytest.raises(ValueError, match="text"):
        with contextlib.ExitStack() as stack:
            stack.enter_context(profiler.profile("a"))
            raise ValueError("text")
    assert profiler.get_entries()[0].failed


def test_inside_a_generator_context_manager(profiler):
    @contextlib.contextmanager
    def block(name):
        with profiler.profile(name) as scope:
            yield scope

    with block("a"):
        with block("b"):
            pass
    with pytest.raises(KeyError), block("c"):
        raise KeyError
    assert parents(profiler) == {"a": None, "b": "a", "c": None}
    assert [entry.failed for entry in profiler.get_entries()] == [False, False, True]


def test_closing_and_nullcontext_style_choice(profiler):
    for wanted in (True, False):
        with profiler.profile("a") if wanted else contextlib.nullcontext():
            pass
    assert len(profiler.get_entries()) == 1


def test_with_returns_the_scope(profiler):
    manager = profiler.profile("a")
    with manager as scope:
        assert scope is manager
        assert scope.recording
        assert scope.duration_ms is None
        assert (scope.operation, scope.device) == ("a", "gpu")
    assert not scope.recording
    assert scope.duration_ms > 0
    assert scope.duration_ms == pytest.approx(profiler.get_entries()[0].duration_ms, rel=0.2, abs=1e-3)


def test_one_scope_object_used_many_times(profiler):
    scope = profiler.profile("a", x=1)
    for _ in range(3):
        with scope:
            pass
    assert [entry.metadata for entry in profiler.get_entries()] == [{"x": 1}] * 3


def test_a_scope_entered_again_while_open_is_two_blocks(profiler):
    scope = profiler.profile("a", x=1)
    with scope:
        with scope as same:
            assert same is scope
            assert scope.recording
            with profiler.profile("inner"):
                pass
            scope.annotate(deep=True)
        between = scope.duration_ms
        with profiler.profile("late"):
            time.sleep(0.01)
    assert not scope.recording
    outer, again, inner, late = sorted(profiler.get_entries(), key=lambda entry: entry.start_time)
    assert [entry.operation for entry in (outer, again, inner, late)] == ["a", "a", "inner", "late"]
    entries = profiler.get_entries()
    above = [None if entry.parent is None else entries[entry.parent] for entry in (outer, again, inner, late)]
    assert above == [None, outer, again, outer]
    assert (outer.metadata, again.metadata) == ({"x": 1}, {"x": 1, "deep": True})
    assert again.duration_ms == pytest.approx(between, rel=0.01)  # by an older estimate of the clock
    assert outer.duration_ms >= 9.9
    summary = profiler.get_summary()["a"]
    assert (summary.call_count, summary.recursive_count) == (2, 1)
    assert summary.total_time_ms == pytest.approx(outer.duration_ms)
    assert profiler.run().anomaly_list() == []


def test_one_scope_in_several_threads_at_a_time(profiler):
    scope = profiler.profile("a")
    inside, rounds = threading.Barrier(4), 50

    def work(milliseconds):
        for _ in range(rounds):
            with scope:
                inside.wait()
                time.sleep(milliseconds / 1e3)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    entries = profiler.get_entries()
    assert len(entries) == 4 * rounds
    assert profiler.run().anomaly_list() == []  # each ended where it began
    per_lane = Counter(profiler.run().spans.lane.tolist())
    assert list(per_lane.values()) == [rounds] * 4


def test_one_scope_in_several_tasks_at_a_time(profiler):
    scope = profiler.profile("a")

    async def work(number):
        with profiler.profile(f"task {number}"):
            for _ in range(20):
                async with scope:
                    await asyncio.sleep(0)

    async def main():
        await asyncio.gather(*(work(number) for number in range(3)))

    asyncio.run(main())
    entries = profiler.get_entries()
    above = Counter(entries[entry.parent].operation for entry in entries if entry.operation == "a")
    assert above == {f"task {number}": 20 for number in range(3)}
    assert profiler.run().anomaly_list() == []


def test_a_name_that_is_not_unicode(make_profiler, tmp_path):
    profiler = make_profiler(enable_detailed_metrics=False, path=tmp_path / "run.rgm")
    name = os.fsdecode(b"caf\xe9.bin")
    with profiler.profile(name, device="cpu"):
        pass
    with profiler.profile(name, device="cpu"):
        pass
    profiler.profile_function(name)(lambda: None)()
    thread = threading.Thread(target=profiler.profile_function(name)(lambda: None), name="\ud800")
    thread.start()
    thread.join()
    assert [entry.operation for entry in profiler.get_entries()] == ["caf\\udce9.bin"] * 4
    profiler.close()
    assert {entry.operation for entry in load(tmp_path / "run.rgm").get_entries()} >= {"caf\\udce9.bin"}


def test_async_with(profiler):
    async def main():
        async with profiler.profile("a") as scope:
            assert scope.recording
            with profiler.profile("b"):
                await asyncio.sleep(0.002)
        with pytest.raises(KeyError):
            async with profiler.profile("c"):
                raise KeyError("c")
        profiler.disable()
        async with profiler.profile("off") as scope:
            assert not scope.recording

    asyncio.run(main())
    assert parents(profiler) == {"a": None, "b": "a", "c": None}
    assert by_name(profiler)["c"].failed
    assert by_name(profiler)["a"].duration_ms >= 2


def test_reset_after_close_forgets_too(make_profiler, tmp_path):
    for path in (None, tmp_path / "run.rgm"):
        profiler = make_profiler(path=path)
        with profiler.profile("a", device="cpu"):
            pass
        profiler.close()
        assert len(profiler.get_entries()) == 1
        profiler.reset()
        assert (profiler.get_entries(), profiler.get_summary(), len(profiler.run().spans)) == ([], {}, 0)


def test_exit_without_enter_does_nothing(profiler):
    scope = profiler.profile("a")
    scope.__exit__(None, None, None)
    with scope:
        pass
    scope.__exit__(None, None, None)
    assert len(profiler.get_entries()) == 1


@pytest.mark.parametrize("call", [lambda s: s(1), lambda s: s(1, 2), lambda s: s(1, 2, 3, 4)])
@pytest.mark.parametrize("enabled", [True, False])
def test_calling_a_scope_wrongly(make_profiler, call, enabled):
    scope = make_profiler(enabled).profile("a")
    with pytest.raises(TypeError, match=r"`with profiler\.profile\(name\):` or as a decorator"):
        call(scope)


def test_a_scope_used_as_a_decorator(profiler):
    @profiler.profile("named", device="cpu")
    def function(x, *, y=2):
        """Doc."""
        return x + y

    assert function(1, y=4) == 5
    assert function.__name__ == "function"
    assert function.__doc__ == "Doc."
    (entry,) = profiler.get_entries()
    assert (entry.operation, entry.device) == ("named", "cpu")


def test_annotate_adds_and_replaces(profiler):
    with profiler.profile("a", x=1, y=1) as scope:
        scope.annotate(y=2, z="three")
        scope.annotate()
        scope.annotate(w=None)
    with profiler.profile("b") as scope:
        scope.annotate(only=1)
    scope.annotate(late=1)
    found = by_name(profiler)
    assert found["a"].metadata == {"x": 1, "y": 2, "z": "three", "w": None}
    assert found["b"].metadata == {"only": 1}
    with pytest.raises(TypeError, match="keyword"):
        scope.annotate(5)


def test_annotating_one_of_two_open_scopes(profiler):
    with profiler.profile("a") as outer:
        with profiler.profile("b") as inner:
            outer.annotate(which="outer")
            inner.annotate(which="inner")
    found = by_name(profiler)
    assert (found["a"].metadata, found["b"].metadata) == ({"which": "outer"}, {"which": "inner"})


def test_metadata_of_one_use_does_not_reach_another(profiler):
    for number in range(200):
        with profiler.profile("a", number=number) if number % 2 else profiler.profile("a"):
            pass
    assert [entry.metadata for entry in profiler.get_entries()] == [
        {"number": number} if number % 2 else {} for number in range(200)
    ]
