# SPDX-License-Identifier: Apache-2.0
"""Scopes as context managers: nesting, exceptions, blocks that end in another order."""

import contextlib
import sys
import time
import traceback

import pytest
from entries import by_name, parents

# --- nesting --------------------------------------------------------------------------------------------------


def test_nested_scopes_know_parent_and_depth(profiler):
    with profiler.profile("a"):
        with profiler.profile("b"):
            with profiler.profile("c"):
                pass
        with profiler.profile("d"):
            pass
    with profiler.profile("e"):
        pass
    assert parents(profiler) == {"a": None, "b": "a", "c": "b", "d": "a", "e": None}
    assert [(e.operation, e.depth) for e in profiler.get_entries()] == [
        ("a", 0),
        ("b", 1),
        ("c", 2),
        ("d", 1),
        ("e", 0),
    ]


def test_inclusive_and_exclusive_time(profiler):
    with profiler.profile("a"):
        time.sleep(0.01)
        with profiler.profile("b"):
            time.sleep(0.01)
        with profiler.profile("c"):
            time.sleep(0.01)
    found = by_name(profiler)
    inner = found["b"].duration_ms + found["c"].duration_ms
    own = int(profiler.run().spans.own_ns[0]) / 1e6  # finding the names of b and c
    assert own > 0
    assert found["a"].exclusive_time_ms == pytest.approx(found["a"].duration_ms - inner - own, abs=1e-6)
    assert found["b"].exclusive_time_ms == found["b"].duration_ms
    summary = profiler.get_summary()
    assert sum(s.exclusive_time_ms for s in summary.values()) == pytest.approx(found["a"].duration_ms - own, abs=1e-6)
    assert sum(s.share for s in summary.values()) == pytest.approx(1.0)


def test_children_lie_inside_their_parents(profiler):
    for _ in range(1000):
        with profiler.profile("a"):
            with profiler.profile("b"):
                with profiler.profile("c"):
                    pass
    spans = profiler.run().spans
    inside = spans.parent >= 0
    outer = spans.parent[inside]
    ends = spans.start_ns + spans.duration_ns
    assert (spans.start_ns[inside] >= spans.start_ns[outer]).all()
    assert (ends[inside] <= ends[outer]).all()


def test_recursion_is_not_counted_twice(profiler):
    def walk(depth):
        with profiler.profile("walk"):
            if depth:
                walk(depth - 1)
            else:
                time.sleep(0.02)

    walk(9)
    summary = profiler.get_summary()["walk"]
    longest = max(entry.duration_ms for entry in profiler.get_entries())
    assert summary.call_count == 10
    assert summary.recursive_count == 9
    assert summary.total_time_ms == pytest.approx(longest)
    assert summary.exclusive_time_ms == pytest.approx(longest, abs=1e-5)


def test_mutual_recursion_is_not_counted_twice(profiler):
    def even(n):
        with profiler.profile("even"):
            return n == 0 or odd(n - 1)

    def odd(n):
        with profiler.profile("odd"):
            return n != 0 and even(n - 1)

    assert even(10)
    entries = profiler.get_entries()
    summary = profiler.get_summary()
    assert summary["even"].total_time_ms == pytest.approx(entries[0].duration_ms)
    assert summary["odd"].total_time_ms == pytest.approx(entries[1].duration_ms)


def test_deep_nesting(profiler):
    with contextlib.ExitStack() as stack:
        for _ in range(5000):
            stack.enter_context(profiler.profile("level"))
    entries = profiler.get_entries()
    assert [entry.depth for entry in entries] == list(range(5000))


def test_open_scopes_are_recorded_at_close(profiler):
    with profiler.profile("outer"):
        with profiler.profile("inner", x=1):
            profiler.close()
    found = by_name(profiler)
    assert found["outer"].open
    assert found["inner"].open
    assert found["inner"].metadata == {"x": 1}
    assert parents(profiler) == {"outer": None, "inner": "outer"}
    counts = {row["code"]: row["count"] for row in profiler.run().anomaly_list()}
    assert counts["open_scopes"] == 2


def test_running_results_leave_open_scopes_out(profiler):
    with profiler.profile("outer"):
        with profiler.profile("inner"):
            pass
        assert [(e.operation, e.parent) for e in profiler.get_entries()] == [("inner", None)]
        assert profiler.run().anomaly_list() == []
    assert parents(profiler) == {"outer": None, "inner": "outer"}


# --- exceptions -----------------------------------------------------------------------------------------------


class Odd(BaseException):
    pass


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, SystemExit, Odd, StopIteration])
def test_an_exception_passes_through_untouched(profiler, kind):
    error = kind("reason")
    with pytest.raises(kind) as caught:
        with profiler.profile("outer"):
            with profiler.profile("inner"):
                raise error
    assert caught.value is error
    assert error.__context__ is None
    assert error.__cause__ is None
    assert [frame.name for frame in traceback.extract_tb(error.__traceback__)] == [
        "test_an_exception_passes_through_untouched"
    ]
    assert all(entry.failed for entry in profiler.get_entries())
    assert profiler.get_summary()["inner"].failed_count == 1


def test_only_the_scopes_that_an_exception_left_have_failed(profiler):
    with profiler.profile("outer"):
        with contextlib.suppress(ValueError):
            with profiler.profile("bad"):
                raise ValueError
        with profiler.profile("good"):
            pass
    assert {name: entry.failed for name, entry in by_name(profiler).items()} == {
        "outer": False,
        "bad": True,
        "good": False,
    }


def test_leaving_by_return_break_and_continue(profiler):
    def leave():
        for number in range(3):
            with profiler.profile("continue"):
                if number < 1:
                    continue
            with profiler.profile("break"):
                break
        with profiler.profile("return"):
            return 5

    assert leave() == 5
    assert [(e.operation, e.failed, e.depth) for e in profiler.get_entries()] == [
        ("continue", False, 0),
        ("continue", False, 0),
        ("break", False, 0),
        ("return", False, 0),
    ]


def test_an_exception_being_handled_stays_the_current_one(profiler):
    try:
        raise ValueError("first")
    except ValueError as error:
        with profiler.profile("a"):
            assert sys.exc_info()[1] is error
        assert sys.exc_info()[1] is error


# --- blocks that do not end in their order ------------------------------------------------------------------------


def test_scopes_that_overlap_are_noted(profiler):
    first, second = profiler.profile("a"), profiler.profile("b")
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    second.__exit__(None, None, None)
    assert len(profiler.get_entries()) == 2
    (noted,) = profiler.run().anomaly_list()
    assert (noted["code"], noted["count"]) == ("overlapping_spans", 1)


def test_blocks_that_end_out_of_order(profiler):
    a, b = profiler.profile("a"), profiler.profile("b")
    a.__enter__()
    b.__enter__()
    a.__exit__(None, None, None)
    with profiler.profile("c"):
        pass
    b.__exit__(None, None, None)
    with profiler.profile("d"):
        pass
    found = parents(profiler)
    assert set(found) == {"a", "b", "c", "d"}
    assert found["c"] == "b"
    assert found["d"] is None


def test_a_generator_suspended_inside_a_scope(profiler):
    def produce(name):
        for number in range(2):
            with profiler.profile(f"{name}{number}"):
                yield number

    with profiler.profile("outer"):
        for pair in zip(produce("a"), produce("b"), strict=True):
            assert pair[0] == pair[1]
        with profiler.profile("after"):
            pass
    with profiler.profile("next"):
        pass
    found = parents(profiler)
    assert set(found) == {"outer", "a0", "b0", "a1", "b1", "after", "next"}
    assert found["after"] == "outer"
    assert found["next"] is None
    assert found["a0"] == "outer"


def test_a_generator_that_is_closed_early_has_not_failed(profiler):
    def produce():
        with profiler.profile("a"):
            yield 1
            yield 2

    generator = produce()
    next(generator)
    generator.close()
    assert [(e.operation, e.failed) for e in profiler.get_entries()] == [("a", False)]
