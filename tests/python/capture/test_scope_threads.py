# SPDX-License-Identifier: Apache-2.0
"""Scopes in many threads, and profilers that are read, reset and closed meanwhile."""

import sys
import threading
import time

import pytest
from entries import by_name, parents

from regimeter import GPUProfiler
from regimeter.capture.device_memory import TorchMemoryProbe


def run_threads(count, target):
    failures = []

    def guarded(number):
        try:
            target(number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(n,), name=f"worker {n}") for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_eight_threads(profiler):
    rounds = 2000
    together = threading.Barrier(8)

    def work(number):
        together.wait()
        for turn in range(rounds):
            with profiler.profile(f"outer {number}", turn=turn % 3):
                with profiler.profile("inner"):
                    pass

    run_threads(8, work)
    run = profiler.run()
    entries = profiler.get_entries()
    assert len(entries) == 8 * rounds * 2
    assert run.anomaly_list() == []
    for entry in entries:
        if entry.operation == "inner":
            above = entries[entry.parent]
            assert above.thread == entry.thread
            assert above.operation == "outer " + entry.thread.removeprefix("worker ")
        else:
            assert entry.parent is None
    summary = profiler.get_summary()
    assert summary["inner"].call_count == 8 * rounds
    assert all(summary[f"outer {n}"].call_count == rounds for n in range(8))


def test_threads_that_come_and_go(profiler):
    def work(number):
        with profiler.profile("a", number=number):
            pass

    for base in range(0, 200, 4):
        run_threads(4, lambda number, base=base: work(base + number))
    entries = profiler.get_entries()
    assert sorted(entry.metadata["number"] for entry in entries) == list(range(200))
    assert {entry.thread for entry in entries} == {f"worker {n}" for n in range(4)}
    assert profiler.stats()["blocks"] < 100


def test_a_scope_begun_in_one_thread_and_ended_in_another(profiler):
    scope = profiler.profile("moved", x=1)
    scope.__enter__()

    def end(_):
        with profiler.profile("around"):
            scope.__exit__(None, None, None)

    run_threads(1, end)
    with profiler.profile("after"):
        pass
    found = parents(profiler)
    assert found == {"moved": None, "around": None, "after": None}
    assert by_name(profiler)["moved"].metadata == {"x": 1}
    counts = {row["code"]: row["count"] for row in profiler.run().anomaly_list()}
    assert counts == {"migrated_scopes": 1}


def test_reading_results_while_threads_record(make_profiler):
    profiler = make_profiler(enable_detailed_metrics=False, memory_budget_bytes=8_000_000)
    stop = threading.Event()

    def work(number):
        while not stop.is_set():
            with profiler.profile("a", n=number):
                with profiler.profile("b"):
                    pass

    def read(_):
        seen = 0
        for _ in range(10):
            run = profiler.run()
            assert len(run.spans) >= seen
            seen = len(run.spans)
            profiler.get_summary()
            assert (run.spans.parent < len(run.spans)).all()
        stop.set()

    run_threads(4, lambda number: read(number) if number == 0 else work(number))
    counts = {row["code"] for row in profiler.run().anomaly_list()}
    assert counts <= {"dropped_scopes"}


def test_reset_and_flush_while_threads_record(make_profiler, tmp_path):
    profiler = make_profiler(enable_detailed_metrics=False, path=tmp_path / "run.rgm")

    def work(_):
        for turn in range(50_000):
            with profiler.profile("a"):
                with profiler.profile("b"):
                    pass
            if turn % 1000 == 0:
                time.sleep(0.001)

    def disturb(_):
        for turn in range(15):
            profiler.flush()
            if turn % 3 == 0:
                profiler.reset()
            profiler.get_summary()

    run_threads(3, lambda number: disturb(number) if number == 0 else work(number))
    summary = profiler.get_summary()
    assert set(summary) <= {"a", "b"}
    profiler.close()


def test_closing_while_threads_record(make_profiler):
    for _ in range(5):
        profiler = make_profiler(enable_detailed_metrics=False)
        stop = threading.Event()

        def work(_, profiler=profiler, stop=stop):
            while not stop.is_set():
                with profiler.profile("a"):
                    pass

        def close(_, profiler=profiler, stop=stop):
            while not profiler.stats()["records"]:
                time.sleep(0.001)
            profiler.close()
            stop.set()

        run_threads(4, lambda number: close(number) if number == 0 else work(number))
        assert profiler.run().complete


def test_a_scope_that_new_threads_enter_at_once_is_one_for_each():
    """The first scope of a thread asks for its name, and others ran meanwhile: what they had open was overwritten."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(5):
            with GPUProfiler() as profiler:
                outer, gate = profiler.profile("outer", device="cpu"), threading.Barrier(24)

                def work(profiler=profiler, outer=outer, gate=gate):
                    gate.wait()
                    with outer, profiler.profile("inner", device="cpu"):
                        sum(range(2000))

                threads = [threading.Thread(target=work) for _ in range(24)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
            run = profiler.run()
            names = [run.string(name) for name in run.spans.name.tolist()]
            inside = [
                names[parent] for name, parent in zip(names, run.spans.parent.tolist(), strict=True) if name == "inner"
            ]
            assert inside == ["outer"] * 24
            assert names.count("outer") == 24
    finally:
        sys.setswitchinterval(interval)


@pytest.mark.parametrize("when", ["begin", "end"])
def test_a_scope_is_each_threads_while_its_memory_is_asked_for(when, make_profiler, fake_cuda, monkeypatch):
    """Python answers how much a device has given out: who entered the same object meanwhile took it away."""
    asked = getattr(TorchMemoryProbe, when)

    def slowly(probe, argument):
        time.sleep(0.002)
        return asked(probe, argument)

    monkeypatch.setattr(TorchMemoryProbe, when, slowly)
    profiler = make_profiler(track_memory=True, memory_interval_ms=0, enable_detailed_metrics=False)
    outer, gate = profiler.profile("outer"), threading.Barrier(8)

    def work(number):
        gate.wait()
        for _ in range(5):
            with outer, profiler.profile("inner", device="cpu"):
                time.sleep(0.002)

    run_threads(8, work)
    entries = profiler.get_entries()
    assert [one.memory_source for one in entries if one.operation == "outer"] == ["device"] * 40
    run = profiler.run()
    names = [run.string(name) for name in run.spans.name.tolist()]
    inside = [names[up] for name, up in zip(names, run.spans.parent.tolist(), strict=True) if name == "inner"]
    assert inside == ["outer"] * 40
