# SPDX-License-Identifier: Apache-2.0

"""Sample rates: deterministic, whole trees, exact counts."""

import contextvars
import threading
from collections import Counter

import pytest


def chosen(profiler, count=2000, name="a"):
    """Return which of `count` scopes were recorded."""
    found = []
    for _ in range(count):
        with profiler.profile(name) as scope:
            found.append(scope.recording)
    return found


def test_the_same_seed_makes_the_same_choice(make_profiler):
    def choose(seed):
        return chosen(make_profiler(enable_detailed_metrics=False, sample_rate=0.3, seed=seed))

    first = choose(5)
    assert choose(5) == first
    assert choose(6) != first
    assert choose(-1) == choose(-1)


@pytest.mark.parametrize("rate", [0.01, 0.3, 0.9])
def test_the_rate_is_kept(make_profiler, rate):
    profiler = make_profiler(enable_detailed_metrics=False, sample_rate=rate, seed=1)
    total = 20_000
    recorded = sum(chosen(profiler, total))
    spread = (total * rate * (1 - rate)) ** 0.5
    assert abs(recorded - total * rate) < 6 * spread
    (row,) = profiler.get_summary().values()
    assert row.call_count == recorded
    assert row.skipped_count == total - recorded
    assert profiler.stats()["sampled_out"] == total - recorded
    counts = {entry["code"]: entry["count"] for entry in profiler.run().anomaly_list()}
    assert counts == {"sampled_out": total - recorded}


def test_rates_of_nothing_and_everything(make_profiler):
    assert not any(chosen(make_profiler(enable_detailed_metrics=False, sample_rate=0)))
    assert all(chosen(make_profiler(enable_detailed_metrics=False, sample_rate=1)))
    profiler = make_profiler(enable_detailed_metrics=False, sample_rate=0.0)
    profiler.set_sample_rate(1.0)
    assert all(chosen(profiler))
    profiler.set_sample_rate(0.0)
    assert not any(chosen(profiler))


def test_the_choice_has_no_period(make_profiler):
    found = chosen(make_profiler(enable_detailed_metrics=False, sample_rate=0.5, seed=2), 4096)
    for period in (2, 3, 4, 7, 8, 16):
        shares = [sum(found[start::period]) / len(found[start::period]) for start in range(period)]
        assert all(0.3 < share < 0.7 for share in shares)


def test_trees_are_recorded_whole(make_profiler):
    profiler = make_profiler(enable_detailed_metrics=False, sample_rate=0.5, seed=3)
    inner = profiler.profile_function("decorated")(lambda: None)
    for number in range(500):
        with profiler.profile("root", number=number) as root:
            with profiler.profile("child") as child:
                inner()
                with profiler.profile("grandchild") as grandchild:
                    pass
            with profiler.profile("second"):
                pass
        assert root.recording is child.recording is grandchild.recording is False
        assert (root.duration_ms is None) == (child.duration_ms is None) == (grandchild.duration_ms is None)
    summary = profiler.get_summary()
    calls = summary["root"].call_count
    assert 150 < calls < 350
    for name in ("child", "grandchild", "second", "decorated"):
        assert summary[name].call_count == calls
        assert summary[name].skipped_count == 500 - calls
    assert all(entry.parent is not None for entry in profiler.get_entries() if entry.operation != "root")
    assert profiler.run().anomaly_list()[0]["code"] == "sampled_out"


def test_the_rate_of_one_operation(make_profiler):
    profiler = make_profiler(enable_detailed_metrics=False, seed=4)
    profiler.set_sample_rate(0.2, "rare")
    for _ in range(1000):
        with profiler.profile("root"):
            with profiler.profile("rare"):
                with profiler.profile("below"):
                    pass
            with profiler.profile("always"):
                pass
        with profiler.profile("rare", device="cpu"):
            pass
    summary = profiler.get_summary()
    assert summary["root"].call_count == summary["always"].call_count == 1000
    rare = summary["rare [gpu]"]
    assert 100 < rare.call_count < 300
    assert rare.call_count + rare.skipped_count == 1000
    assert summary["below"].call_count == rare.call_count
    assert summary["rare [cpu]"].call_count == 1000
    assert all(entry.depth == 2 for entry in profiler.get_entries() if entry.operation == "below")


def test_an_operation_that_is_never_recorded(make_profiler):
    profiler = make_profiler(enable_detailed_metrics=False)
    profiler.set_sample_rate(0, "never")
    chosen(profiler, 100, "never")
    chosen(profiler, 1, "once")
    assert set(profiler.get_summary()) == {"once"}
    assert profiler.run().skipped == {"never\0gpu": 100}


def test_exceptions_and_odd_exits_leave_the_choice_in_order(make_profiler):
    profiler = make_profiler(enable_detailed_metrics=False, sample_rate=0.5, seed=5)
    for _ in range(200):
        with pytest.raises(KeyError):
            with profiler.profile("a"):
                with profiler.profile("b"):
                    raise KeyError
        scope = profiler.profile("left")  # dropped without being left
        scope.__enter__()
        del scope
        profiler.profile("never entered")
    summary = profiler.get_summary()
    assert summary["a"].call_count == summary["b"].call_count
    assert summary["a"].call_count + summary["a"].skipped_count == 200


def test_a_scope_left_out_can_be_entered_again_while_open(make_profiler):
    profiler = make_profiler(enable_detailed_metrics=False, sample_rate=0)
    scope = profiler.profile("a")
    with scope, scope, profiler.profile("b"):
        pass
    profiler.set_sample_rate(1)
    with profiler.profile("c"):
        pass
    assert [entry.operation for entry in profiler.get_entries()] == ["c"]


def test_a_task_keeps_its_count_of_scopes_left_out(make_profiler):
    """A scope ended from outside its task must not let the task's stack go while others there are being left out."""
    profiler = make_profiler(enable_detailed_metrics=False)
    profiler.set_sample_rate(0, operation="left out")
    first, second = contextvars.copy_context(), contextvars.copy_context()
    kept, left_out = profiler.profile("kept"), profiler.profile("left out")
    first.run(kept.__enter__)
    first.run(left_out.__enter__)
    second.run(lambda: None)
    with profiler.profile("outside"):
        kept.__exit__(None, None, None)
    left_out.__exit__(None, None, None)
    for context in (first, second, contextvars.copy_context()):
        scope = profiler.profile("after")
        context.run(scope.__enter__)
        context.run(scope.__exit__, None, None, None)
    assert Counter(entry.operation for entry in profiler.get_entries()) == {"kept": 1, "outside": 1, "after": 3}


def test_threads_choose_each_for_itself(make_profiler):
    profiler = make_profiler(enable_detailed_metrics=False, sample_rate=0.25, seed=6)
    found = {}
    together = threading.Barrier(4)

    def work(number):
        together.wait()
        found[number] = chosen(profiler, 1000, f"thread {number}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    summary = profiler.get_summary()
    for number, choice in found.items():
        row = summary[f"thread {number}"]
        assert row.call_count == sum(choice)
        assert row.skipped_count == 1000 - sum(choice)
        assert 150 < row.call_count < 350
    assert len({tuple(choice) for choice in found.values()}) == 4


def test_reset_forgets_what_was_left_out(make_profiler):
    profiler = make_profiler(enable_detailed_metrics=False, sample_rate=0.5, seed=7)
    chosen(profiler, 100)
    profiler.reset()
    chosen(profiler, 10)
    (row,) = profiler.get_summary().values()
    assert row.call_count + row.skipped_count == 10


def test_decorated_functions_run_whether_chosen_or_not(make_profiler):
    profiler = make_profiler(enable_detailed_metrics=False, sample_rate=0.1, seed=8)
    calls = []
    work = profiler.profile_function("work")(calls.append)
    for number in range(1000):
        work(number)
    assert calls == list(range(1000))
    assert profiler.get_summary()["work"].skipped_count == 1000 - profiler.get_summary()["work"].call_count


def test_a_scope_left_out_that_outlives_its_thread_takes_no_others_with_it(make_profiler):
    profiler = make_profiler(enable_detailed_metrics=False, sample_rate=0.0)
    ready, go, held = threading.Event(), threading.Event(), []

    def rows():
        with profiler.profile("read", device="cpu"):
            yield

    def first():
        held.append(rows())
        next(held[0])

    def second():
        with profiler.profile("before", device="cpu"):
            pass
        ready.set()
        go.wait()
        chosen(profiler, 1000, "work")

    thread = threading.Thread(target=first)
    thread.start()
    thread.join()
    profiler.set_sample_rate(1.0)
    thread = threading.Thread(target=second)
    thread.start()
    ready.wait()
    held.pop().close()
    go.set()
    thread.join()
    summary = profiler.get_summary()
    assert summary["before"].call_count == 1
    assert summary["work"].call_count == 1000
    assert profiler.stats()["sampled_out"] == 1
