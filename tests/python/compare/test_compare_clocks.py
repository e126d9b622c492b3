# SPDX-License-Identifier: Apache-2.0
"""The device's clock beside times of device work in a comparison, and the change in cycles of it."""

import json
import os
import textwrap

import fakes
import numpy as np
import pytest
import warm
from kernel_programs import DEVICE
from runs import build_run

from regimeter import compare_profiling_runs, load
from regimeter.report.comparison_text import clock_words
from regimeter.run.device_clock import DeviceClock

MS = 1_000_000


def run_at(mhz, kernel_ms, *, device=0, series="clock_sm_mhz", counts=20):
    """Return a trace of a kernel that ran again and again, and a device whose clock was sampled every 10 ms."""
    spans = [
        {"name": "gemm", "kind": "kernel", "lane": 0, "start_ns": at * 20 * MS, "duration_ns": int(kernel_ms * MS)}
        for at in range(counts)
    ]
    samples = [
        {"time_ns": at * 10 * MS, "series": series, "value": float(mhz), "device": device, "span": -1}
        for at in range(2 * counts)
    ]
    return build_run(spans, [{"process": 0, "device": 0}], counters=samples)


def row_of(comparison, operation="gemm"):
    return next(row for row in comparison.comparisons if row.operation == operation)


def test_a_lower_clock_is_told_and_decides_nothing():
    before, after = run_at(2000, 8.0), run_at(1760, 8.0 / 0.88)
    row = row_of(compare_profiling_runs(before, after))
    assert (row.baseline_clock_mhz, row.current_clock_mhz) == (2000, 1760)
    assert row.clock_percent == pytest.approx(-12)
    assert row.change_percent == pytest.approx(100 * (1 / 0.88 - 1), abs=0.01)
    assert row.cycles_percent == pytest.approx(0, abs=0.01)
    assert clock_words(row) == "the clock was 12 % lower: -0.0 % in cycles"
    bare = row_of(compare_profiling_runs(run_at(2000, 8.0, series="other"), run_at(1760, 8.0 / 0.88, series="other")))
    assert (row.change_type, row.reason, row.gates) == (bare.change_type, bare.reason, bare.gates)
    assert bare.baseline_clock_mhz is bare.cycles_percent is None


def test_the_same_clock_is_no_news():
    row = row_of(compare_profiling_runs(run_at(2000, 8.0), run_at(1990, 9.0)))
    assert row.cycles_percent == pytest.approx(100 * (9 / 8 * 0.995 - 1), abs=0.01)
    assert clock_words(row) == ""


@pytest.mark.parametrize("other", [{"device": 1}, {"series": "clock_memory_mhz"}])
def test_a_clock_that_is_not_that_of_the_work_says_nothing(other):
    row = row_of(compare_profiling_runs(run_at(2000, 8.0), run_at(1760, 9.0, **other)))
    assert row.baseline_clock_mhz is row.current_clock_mhz is row.cycles_percent is None


def test_counters_come_before_telemetry():
    run = run_at(1.5e9, 8.0, series="gpc__cycles_elapsed.avg.per_second")
    row = row_of(compare_profiling_runs(run, run))
    assert row.baseline_clock_mhz == pytest.approx(1500)


def test_the_mean_is_over_the_time_of_the_work():
    """Half of the work at each clock, and none of it counts what lies between."""
    clock = DeviceClock(np.array([0, 100, 200, 300]) * MS, np.array([1000.0, 500.0, 2000.0, 900.0]), 400 * MS)
    starts, lengths = np.array([10, 210]) * MS, np.array([50, 50]) * MS
    assert clock.mean_mhz(starts, lengths) == pytest.approx(1500)
    assert clock.mean_mhz(np.array([90]) * MS, np.array([20]) * MS) == pytest.approx(750)
    assert clock.mean_mhz(np.array([390]) * MS, np.array([100]) * MS) is None  # most of it lies behind the samples


PROGRAM = """
from regimeter import GPUProfiler
profiler = GPUProfiler(path="run.rgm", telemetry=5)
for _ in range(40):
    with profiler.profile("step"):
        launch(b"gemm")
        call("cuStreamSynchronize", None)
profiler.close()
"""


def test_a_recorded_program(tmp_path, command):
    """Scopes with device times, and the clock that NVML tells meanwhile."""
    files = []
    for mhz, kernel_ms in ((1980, 22), (1782, 24)):
        folder = tmp_path / str(mhz)
        folder.mkdir()
        doubles = fakes.environment(cuda=f"ready=1,kernel_ns={kernel_ms}000000", nvml=f"follow=1,sm_mhz={mhz}")
        environment = {**os.environ, **doubles, "REGIMETER_LIBHIP": "off"}
        done = warm.program(folder, textwrap.dedent(DEVICE) + PROGRAM, environment)
        assert done.returncode == 0, done.stderr
        files.append(folder / "run.rgm")
    assert len(load(files[0]).tables.intervals) == 40
    comparison = compare_profiling_runs(*map(str, files), metrics=("device_time",))
    row = row_of(comparison, "step")
    assert (row.baseline_clock_mhz, row.current_clock_mhz) == pytest.approx((1980, 1782))
    assert row.cycles_percent == pytest.approx(100 * ((1 + row.change_percent / 100) * 0.9 - 1))
    assert "the clock was 10 % lower" in comparison.to_text()
    # Every door tells the same of it, and none lets it decide.
    words = ("compare", *files, "--metric", "device_time", "--format")
    for form in ("text", "markdown", "junit", "html"):
        done = command(*words, form, env={"COLUMNS": "300"})  # a narrow terminal has no room for notes
        assert "the clock was 10 % lower" in done.stdout, form
        assert done.returncode == comparison.exit_code, form
    document = json.loads(command(*words, "json").stdout)
    told = next(line for line in document["comparisons"] if line["operation"] == "step")
    assert told["cycles_percent"] == pytest.approx(row.cycles_percent)
    assert told["change_type"] == row.change_type.value
