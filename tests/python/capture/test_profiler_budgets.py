# SPDX-License-Identifier: Apache-2.0
"""Budgets: what is bounded is dropped and counted, and the profiler states its own cost."""

import threading

from regimeter import GPUProfiler


def test_names_made_at_run_time_are_bounded_and_counted(make_profiler):
    profiler = make_profiler(enable_detailed_metrics=False, max_sites=1000)
    for number in range(5_000):
        with profiler.profile(f"request {number}"):
            pass
    run = profiler.run()
    assert len(run.spans) == 5_000
    assert len(run.get_summary()) <= 1001
    counts = {row["code"]: row["count"] for row in run.anomaly_list()}
    assert counts["dropped_names"] >= 4_000 - 1
    assert run.get_summary()["<other operations>"].call_count >= 4_000 - 1
    assert profiler.stats()["sites"] <= 1001  # and the common one


def test_scopes_beyond_the_budget_are_dropped_and_counted(make_profiler):
    profiler = make_profiler(enable_detailed_metrics=False, memory_budget_bytes=4 * 65536)
    total = 50_000
    for _ in range(total):
        with profiler.profile("a"):
            pass
    run = profiler.run()
    counts = {row["code"]: row["count"] for row in run.anomaly_list()}
    assert 0 < len(run.spans) < total
    assert len(run.spans) + counts["dropped_scopes"] == total
    assert profiler.stats()["dropped"] == counts["dropped_scopes"]


def test_drops_after_the_last_look_are_counted_too(make_profiler):
    profiler = make_profiler(enable_detailed_metrics=False, memory_budget_bytes=65536)
    seen = []
    for _ in range(2):
        for _ in range(5000):
            with profiler.profile("a"):
                pass
        run = profiler.run()
        counts = {row["code"]: row["count"] for row in run.anomaly_list()}
        seen.append(len(run.spans) + counts["dropped_scopes"])
    assert seen == [5000, 10_000]


def test_annotating_without_room_keeps_what_is_there(make_profiler):
    profiler = make_profiler(enable_detailed_metrics=False, metadata_budget_bytes=20_000)
    with profiler.profile("a", kept="yes") as scope:
        for number in range(1000):
            scope.annotate(**{f"key {number}": "x" * 100})
    (entry,) = profiler.get_entries()
    assert entry.metadata["kept"] == "yes"
    assert len(entry.metadata) > 1


def test_metadata_beyond_the_budget_is_dropped_and_counted(make_profiler):
    profiler = make_profiler(enable_detailed_metrics=False, metadata_budget_bytes=100_000)
    for number in range(20_000):
        with profiler.profile("a", number=number, text="x" * 50):
            pass
    run = profiler.run()
    counts = {row["code"]: row["count"] for row in run.anomaly_list()}
    assert len(run.spans) == 20_000
    without = sum(not entry.metadata for entry in run.get_entries())
    assert without == counts["dropped_metadata"]
    assert 0 < without < 20_000


def test_forty_bytes_a_scope_in_memory(make_profiler):
    profiler = make_profiler(enable_detailed_metrics=False)
    before = profiler.stats()["blocks"]
    with profiler.profile("first"):
        pass
    for _ in range(300_000):
        with profiler.profile("a"):
            pass
    grown = (profiler.stats()["blocks"] - before) * 65536
    assert grown / 300_000 < 40 + 64 * 65536 * 2 / 300_000  # the pool of spare blocks is not the scopes'


def test_options_are_described():
    options = GPUProfiler.options()
    assert options["memory_budget_bytes"]["unit"] == "bytes"
    assert all(row["doc"] for row in options.values())


def test_the_cost_of_profiling_is_stated(profiler):
    for _ in range(100):
        with profiler.profile("a"):
            pass
    cost = profiler.run().cost
    assert cost["scopes"] == 100
    assert cost["per_scope_ns"] > 0
    assert cost["total_ns"] >= cost["per_scope_ns"] * 100
    assert cost["share"] > 0
    assert "calibrated" in cost["basis"]


def test_metadata_without_end_takes_no_room_from_names_and_threads(make_profiler):
    profiler = make_profiler(enable_detailed_metrics=False, metadata_budget_bytes=50_000, text_budget_bytes=10_000)
    for number in range(5000):
        with profiler.profile("a", step=number):
            pass

    def work():
        with profiler.profile("in a thread of its own"):
            pass

    for number in range(300):
        thread = threading.Thread(target=work, name=f"a thread with a name of its own, number {number}")
        thread.start()
        thread.join()
    run = profiler.run()
    summary = run.get_summary()
    assert (summary["a"].call_count, summary["in a thread of its own"].call_count) == (5000, 300)
    noted = {row["code"]: row["count"] for row in run.anomaly_list()}
    assert set(noted) == {"dropped_metadata", "dropped_names"}
    assert profiler.stats()["text_bytes"] <= 60_000
