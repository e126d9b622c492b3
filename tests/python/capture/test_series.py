# SPDX-License-Identifier: Apache-2.0
"""Telemetry and hardware counters in a recording: values where there is a device, reasons where there is none."""

import json
import os
import subprocess
import sys

import fakes
import numpy as np
import pytest

from regimeter import GPUProfiler, load

RECORDS = """
    import json, sys, time
    from regimeter import GPUProfiler
    with GPUProfiler(path=sys.argv[1], telemetry=10, counters={counters!r}) as profiler:
        with profiler.profile("work", device="cpu"):
            until = time.monotonic() + 300
            while profiler.stats()["values"] < 40 and time.monotonic() < until:
                time.sleep(0.01)
"""


def series_of(run):
    names = [run.string(int(number)) for number in run.tables.counters.series]
    return {name: run.tables.counters.value[np.array(names) == name] for name in dict.fromkeys(names)}


def test_telemetry_is_recorded_beside_the_scopes(tmp_path, run_python):
    path = tmp_path / "run.rgm"
    done = run_python(RECORDS.format(counters=False), str(path), env=fakes.environment(nvml="devices=2"))
    assert done.returncode == 0, done.stderr
    run = load(path)
    found = series_of(run)
    assert len(run.tables.counters) >= 40
    assert any("power" in name for name in found), sorted(found)
    assert set(run.tables.counters.device.tolist()) == {0, 1}
    assert (run.tables.counters.time_ns >= run.start_ns).all()  # on the clock of the scopes
    assert (run.tables.counters.time_ns <= run.end_ns + 10**9).all()
    device = run.environment["device"]
    assert device["telemetry_reason"] == ""
    assert device["telemetry"]["devices"] == 2
    assert device["telemetry"]["values"] >= 40
    assert device["counters_reason"] == "counters is off"


COUNTS = """
    import gc, sys, time
    from regimeter import GPUProfiler
    def overwrite(depth):  # what lay on the stack of the call that started the feed
        return overwrite(depth - 1) if depth else sorted(range(1000), key=lambda n: -n)
    with GPUProfiler(path=sys.argv[1], counters=True) as profiler:
        with profiler.profile("work", device="cpu"):
            until = time.monotonic() + 300
            while profiler.stats()["values"] < 14 and time.monotonic() < until:
                overwrite(100)
                time.sleep(0.01)
"""


@pytest.mark.parametrize("source", ["pm", "gpm"])
def test_counters_are_recorded_from_either_source(source, tmp_path, run_python):
    path = tmp_path / "run.rgm"
    found = fakes.environment(cupti_profiler="", gpm="")
    found["REGIMETER_LIBCUDA"] = found["REGIMETER_LIBCUPTI"]
    if source == "gpm":
        found["REGIMETER_LIBCUPTI"] = "off"
    done = run_python(COUNTS, str(path), env=found)
    assert done.returncode == 0, done.stderr
    run = load(path)
    assert len(run.tables.counters) >= 14
    names = set(series_of(run))
    assert ("gpu__time_duration.sum" if source == "pm" else "gpm__sm_active.pct") in names
    device = run.environment["device"]
    assert device["counters_reason"] == ""
    assert device["counters"]["source"] == source
    assert ("REGIMETER_LIBCUPTI=off" in device["counters"]["reason"]) == (source == "gpm")


def test_without_a_library_the_reason_is_told_and_recording_goes_on(tmp_path, run_python):
    path = tmp_path / "run.rgm"
    program = """
        import sys, warnings
        from regimeter import GPUProfiler
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with GPUProfiler(path=sys.argv[1], telemetry=True, counters=True) as profiler:
                with profiler.profile("work", device="cpu"):
                    pass
        print([str(w.message) for w in caught])
    """
    off = {"REGIMETER_LIBNVML": "off", "REGIMETER_LIBCUPTI": "off", "REGIMETER_LIBCUDA": "off"}
    done = run_python(program, str(path), env=off)
    assert done.returncode == 0, done.stderr
    assert "no telemetry: " in done.stdout
    assert "no hardware counters: " in done.stdout
    run = load(path)
    assert len(run.entries) == 1
    assert len(run.tables.counters) == 0
    device = run.environment["device"]
    assert "REGIMETER_LIBNVML=off" in device["telemetry_reason"]
    assert device["counters_reason"]


def test_off_costs_nothing_and_says_so(make_profiler):
    profiler = make_profiler()
    with profiler.profile("work", device="cpu"):
        pass
    device = profiler.run().environment["device"]
    assert (device["telemetry_reason"], device["counters_reason"]) == ("telemetry is off", "counters is off")
    assert "telemetry" not in device


@pytest.mark.parametrize("asked", [0, -1, float("nan"), float("inf")])
def test_an_interval_is_a_positive_number(asked):
    with pytest.raises(ValueError, match="above 0"):
        GPUProfiler(telemetry=asked)


def test_record_hands_the_wish_on(tmp_path, run_python):
    program = tmp_path / "program.py"
    program.write_text(
        "import os\nprint(os.environ['REGIMETER_RECORD_OPTIONS'])\n"
        "from regimeter import GPUProfiler\nGPUProfiler().close()\n"
    )
    command = [sys.executable, "-W", "ignore", "-m", "regimeter", "record", "--telemetry", "--counters"]
    done = subprocess.run(
        [*command, "-o", str(tmp_path / "run.rgm"), str(program)],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"REGIMETER_LIBNVML": "off", "REGIMETER_LIBCUPTI": "off", "REGIMETER_LIBCUDA": "off"},
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[0])
    assert told.items() >= {"telemetry": True, "counters": True}.items()
    assert "REGIMETER_LIBNVML=off" in load(tmp_path / "run.rgm").environment["device"]["telemetry_reason"]
