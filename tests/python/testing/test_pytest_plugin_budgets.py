# SPDX-License-Identifier: Apache-2.0
"""Budgets of the pytest plugin: each that fails is a failed test with one sentence."""

import types
import weakref
from typing import Any

import numpy as np
import pytest
from plugin_session import run

from regimeter import _core
from regimeter.compare.ab import device
from regimeter.compare.ab.measure import Effort, measure, measure_exactly
from regimeter.testing import gate
from regimeter.testing.budgets import Figures, check

pytest_plugins = ["pytester"]


# --- in a session -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("marker", "body", "sentence"),
    [
        (
            "limit_time('1 ns')",
            "gpu_benchmark(sum, [1])",
            "limit_time: a call (median of * rounds) took * and may take 1 ns",
        ),
        (
            "limit_memory('1 MiB')",
            "gpu_benchmark.pedantic(lambda: bytes(range(256)) * 65536 + b'x', rounds=2)",
            "limit_memory: the peak was * MiB (growth of the resident set) and may be 1 MiB",
        ),
        (
            "no_leak",
            "gpu_benchmark.pedantic(lambda: kept.append(bytes(999)), rounds=2)",
            "no_leak: memory of Python and NumPy grows by * bytes a call over 30 calls",
        ),
        ("gpu_perf(limit_time='1 ns')", "gpu_benchmark(sum, [1])", "limit_time: *may take 1 ns"),
    ],
)
def test_a_budget_that_is_exceeded_fails_the_test(
    pytester: pytest.Pytester, marker: str, body: str, sentence: str
) -> None:
    pytester.makepyfile(f"import pytest\nkept = []\n@pytest.mark.{marker}\ndef test_it(gpu_benchmark): {body}\n")
    # In a process of its own: this one holds memory of earlier tests, into which the block would fit.
    result = run(pytester, "-p", "no:memray", apart="memory" in marker)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*= FAILURES =*", "*_ test_it _*", sentence])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_budgets_that_hold(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest
        @pytest.mark.gpu_perf(limit_memory="1 GiB", no_leak=True)
        @pytest.mark.limit_time("1 min")
        def test_marked(gpu_benchmark):
            gpu_benchmark(sorted, [3, 1, 2])
        def test_called(gpu_benchmark):
            gpu_benchmark.limit_time("1 min")
            gpu_benchmark.limit_memory("1 GiB")
            gpu_benchmark.no_leak()
            gpu_benchmark(sorted, [3, 1, 2])
        @pytest.mark.limit_time("1 min")
        def test_plain(): pass
        """
    )
    run(pytester).assert_outcomes(passed=3)


def test_a_budget_of_a_test_without_a_fixture_holds_for_the_whole_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest
        @pytest.mark.limit_time("1 ns")
        def test_slow(): pass
        @pytest.mark.limit_time("1 ns")
        def test_wrong(): assert 1 == 2
        @pytest.mark.no_leak
        def test_once(): pass
        """
    )
    result = run(pytester)
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(
        ["limit_time: the test took * and may take 1 ns", "E *assert 1 == 2", "no_leak cannot*again*"]
    )


def test_what_cannot_be_measured_fails_with_the_reason_unless_told_otherwise(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        from regimeter.compare.ab import device
        import pytest
        @pytest.fixture(autouse=True)
        def no_device(monkeypatch):
            monkeypatch.setattr(device, "_tracing_reason", lambda: "no driver here")
        """
    )
    pytester.makepyfile(
        """
        import pytest
        @pytest.mark.limit_launches(42)
        def test_strict(gpu_benchmark): gpu_benchmark(int)
        @pytest.mark.no_host_sync(when="available")
        def test_lenient(gpu_benchmark): gpu_benchmark(int)
        """
    )
    result = run(pytester)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "limit_launches cannot be checked: no driver here*",
            "Note: *test_lenient: no_host_sync was not checked: no driver*",
        ]
    )


def test_launches_and_waits_of_a_traced_call(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        from regimeter.compare.ab import device
        import pytest
        @pytest.fixture(autouse=True)
        def traced(monkeypatch):
            seen = device.Trace(launches=43, syncs=2, waits=("cudaStreamSynchronize",))
            monkeypatch.setattr(device, "trace", lambda call: (seen, call()))
        """
    )
    pytester.makepyfile(
        """
        import pytest
        @pytest.mark.limit_launches(42)
        def test_many(gpu_benchmark): gpu_benchmark(int)
        @pytest.mark.limit_launches(43)
        def test_enough(gpu_benchmark): gpu_benchmark(int)
        @pytest.mark.no_host_sync
        def test_waits(gpu_benchmark): gpu_benchmark(int)
        """
    )
    result = run(pytester)
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            "limit_launches: one call launched 43 pieces of device work and may launch 42",
            "no_host_sync: the host waited for the device 2 times (cudaStreamSynchronize) in one call",
        ]
    )


# --- the parts --------------------------------------------------------------------------------------------------


def test_counting_leaves_out_what_the_fixture_itself_waits_for() -> None:
    kinds = ["scope", "kernel", "kernel", "memcpy", "memset", "sync", "sync", "cpu_op"]
    known = [_core.SPAN_KINDS.index(kind) if kind in _core.SPAN_KINDS else 0 for kind in kinds[:7]]
    spans = types.SimpleNamespace(
        kind=np.array(known),
        start_ns=np.array([0, 5, 20, 30, 40, 50, 101]),
        duration_ns=np.array([100, 1, 1, 1, 1, 1, 1]),
        name=np.array([0, 1, 1, 2, 2, 3, 4]),
    )
    run_ = types.SimpleNamespace(spans=spans, strings=["scope", "kernel", "copy", "wait", "own wait"])
    assert device.count(run_) == device.Trace(launches=4, syncs=1, waits=("wait",))


def test_a_limit_is_not_exceeded_by_its_own_value() -> None:
    figures = Figures(values={"time": 3e-3, "memory": 100.0, "launches": 42.0, "syncs": 0.0}, leak=lambda: "")
    budgets = [
        gate.budget("limit_time", "3 ms"),
        gate.budget("limit_memory", 100),
        gate.budget("limit_launches", 42),
        gate.budget("no_host_sync"),
        gate.budget("no_leak"),
    ]
    assert check(budgets, figures) == ([], [])


def test_a_leak_of_one_block_is_none(run_python: Any) -> None:
    """In a process of its own: threads that other tests have left take and give back memory as well."""
    done = run_python(
        """
        from regimeter.compare.ab import memory
        kept = []
        def fills_a_cache():
            if len(kept) < 8:
                kept.append(bytes(5000))
        assert memory.find_leak(fills_a_cache) == ""
        assert "memory of Python and NumPy" in memory.find_leak(lambda: kept.append(bytes(5000)))
        """
    )
    assert done.returncode == 0, done.stderr


def test_no_result_lives_beside_the_next_one() -> None:
    class Block:
        pass

    held: weakref.WeakSet[Block] = weakref.WeakSet()
    beside = []

    def call() -> Block:
        beside.append(len(held))
        held.add(block := Block())
        return block

    found = [
        measure(call, Effort(max_seconds=0.001, min_rounds=3, warmup=2)),
        measure_exactly(lambda: (call, lambda: None), rounds=3, iterations=2, warmup=2),
    ]
    assert all(isinstance(one.result, Block) for one in found)
    assert max(beside[:-10]) == 0
    assert max(beside[-10:]) == 1, "that of the measurement before"


def test_the_peak_is_that_of_the_watched_code(run_python: Any) -> None:
    done = run_python(
        """
        import mmap
        from regimeter.compare.ab import memory
        watched = memory.PeakMemory()
        block = mmap.mmap(-1, 32 << 20)  # pages of its own, and touched
        for at in range(0, len(block), 4096):
            block[at] = 1
        block.close()
        peak, reason = watched.read()
        assert reason == ""
        print(int(peak))
        """
    )
    assert 30 << 20 <= int(done.stdout) <= 40 << 20
