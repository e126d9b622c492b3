# SPDX-License-Identifier: Apache-2.0
"""Metrics beside time: memory of the device, launches and bytes, which are compared exactly."""

import collections

import pytest
from traces import load_trace

from regimeter import ChangeType, compare_profiling_runs

MB = 1_000_000


@pytest.fixture
def memory_run(make_profiler, fake_cuda):
    """Record two calls of an operation that keeps and needs so many megabytes."""

    def record(kept, extra):
        fake_cuda.__init__()
        profiler = make_profiler(enable_detailed_metrics=False, track_memory=True, memory_interval_ms=0)
        for factor in (1, 2):
            with profiler.profile("step"):
                fake_cuda.use((kept + extra) * factor * MB)
                fake_cuda.use(-extra * factor * MB)
            fake_cuda.use(-kept * factor * MB)
        profiler.close()
        return profiler.run()

    return record


def rows(comparison):
    return {(row.operation, row.metric): row for row in comparison.comparisons}


def test_device_memory_is_compared_exactly(memory_run):
    comparison = compare_profiling_runs(
        memory_run(10, 30), memory_run(10, 31), metrics=("time", "memory_peak", "memory_allocated")
    )
    found = rows(comparison)
    peak = found["step", "memory_peak"]
    assert (peak.baseline, peak.current) == (80 * MB, 82 * MB)  # of the second, larger call
    assert peak.change_type is ChangeType.REGRESSION
    assert (peak.tier, peak.unit, peak.conclusive) == ("exact", "bytes", True)
    assert peak.change_percent == pytest.approx(2.5)
    kept = found["step", "memory_allocated"]
    assert (kept.baseline, kept.current, kept.change_type) == (20 * MB, 20 * MB, ChangeType.NO_CHANGE)
    assert found["step", "time"].memory_change_mb == pytest.approx(2.0)
    assert comparison.exit_code == 1


def test_several_processes_that_agree_are_still_exact(memory_run):
    before, after = [memory_run(10, 30) for _ in range(3)], [memory_run(10, 20) for _ in range(3)]
    peak = rows(compare_profiling_runs(before, after, metrics=("memory_peak",)))["step", "memory_peak"]
    assert peak.tier == "exact"
    assert (peak.baseline_launches, peak.current_launches) == (3, 3)
    assert peak.change_type is ChangeType.IMPROVEMENT


def test_processes_that_differ_are_compared_by_samples(memory_run):
    before = [memory_run(10, 30 + number) for number in range(4)]
    after = [memory_run(10, 31 + number) for number in range(4)]
    peak = rows(compare_profiling_runs(before, after, metrics=("memory_peak",)))["step", "memory_peak"]
    assert peak.tier == "launches"
    assert peak.change_type is ChangeType.NO_CHANGE


def test_launches_and_bytes_of_a_trace():
    run = load_trace("h100_bert_small.json.gz")
    kinds, names, moved = run.spans.kind.tolist(), run.spans.name.tolist(), run.spans.bytes.tolist()
    counted, bytes_moved = collections.Counter(), collections.Counter()
    for kind, name, size in zip(kinds, names, moved, strict=True):
        if kind in (4, 5, 6):  # kernel, memcpy, memset
            counted[run.strings[name]] += 1
            if size >= 0:
                bytes_moved[run.strings[name]] += size
    found = rows(compare_profiling_runs(run, run, metrics=("launches", "bytes")))
    assert {name: row.baseline for (name, metric), row in found.items() if metric == "launches"} == counted
    assert {name: row.current for (name, metric), row in found.items() if metric == "bytes"} == bytes_moved
    assert bytes_moved
    assert all(row.change_type is ChangeType.NO_CHANGE for row in found.values())
