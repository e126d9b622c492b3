# SPDX-License-Identifier: Apache-2.0
"""How long scopes, profilers and runs live, and what they leave behind."""

import gc
import sys
import tracemalloc
import weakref

from regimeter import GPUProfiler, _core


def test_a_profiler_is_freed_with_its_last_reference():
    profiler = GPUProfiler()
    with profiler.profile("a") as scope:
        with profiler.profile(f"made at run time {id(profiler)}", x=[1, 2]):
            pass
    profiler.get_summary()
    decorated = profiler.profile_function("f")(lambda: None)
    decorated()
    gone = weakref.ref(profiler)
    profiler.close()
    del profiler, scope, decorated
    gc.collect()
    assert gone() is None


def test_a_run_is_freed_with_its_last_reference(profiler):
    with profiler.profile("a"):
        pass
    run = profiler.run()
    run.get_summary()
    run.get_entries()
    assert run.cost
    gone = weakref.ref(run)
    profiler.reset()
    gc.disable()
    try:
        del run
        assert gone() is None
    finally:
        gc.enable()


def test_a_scope_keeps_its_profiler_alive():
    with GPUProfiler().profile("a") as scope:
        gc.collect()
    assert scope.operation == "a"
    assert scope.duration_ms > 0


def test_scopes_leave_no_python_memory(profiler):
    def burst(count):
        for number in range(count):
            with profiler.profile("a", device="cpu", number=number % 7) as scope:
                scope.annotate(more=number % 5)

    burst(2000)
    references = sys.getrefcount(profiler)
    tracemalloc.start()
    try:
        burst(10)
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        burst(100_000)
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 20_000
    assert sys.getrefcount(profiler) - references <= 1


def test_operations_and_metadata_leave_no_references(profiler):
    name = "an operation made here: " + str(id(profiler))
    values = [object(), ["nested", object()], {"key": object()}]
    with profiler.profile(name, value=values[0]):
        pass
    counts = [sys.getrefcount(value) for value in values]
    of_name = sys.getrefcount(name)
    for _ in range(1000):
        with profiler.profile(name, a=values[0], b=values[1], c=values[2]) as scope:
            scope.annotate(d=values[1])
    assert [sys.getrefcount(value) for value in values] == counts
    assert sys.getrefcount(name) <= of_name + 1


def test_the_hot_path_allocates_nothing_after_warm_up(make_profiler):
    profiler = make_profiler(enable_detailed_metrics=False, drain_interval_ns=3_600_000_000_000)
    profiler._warm(100_000)

    def burst():
        for _ in range(1000):
            with profiler.profile("a", device="cpu"):
                with profiler.profile("b"):
                    pass

    burst()
    before = _core.allocations()
    burst()
    assert _core.allocations() == before


def test_a_block_that_nobody_can_leave_any_more_is_open_and_no_parent(profiler):
    profiler.profile("abandoned").__enter__()
    with profiler.profile("after"):
        pass
    entries = {entry.operation: entry for entry in profiler.get_entries()}
    assert entries["abandoned"].open
    assert not entries["after"].open
    assert entries["after"].parent is None
