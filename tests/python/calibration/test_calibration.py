# SPDX-License-Identifier: Apache-2.0
"""Calibrations: the lists, what is measured, the command."""

import json
import math
import os
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from leaks import leak_of
from published import check
from small_calibration import SMALL, ceilings_of, made

from regimeter import Calibration, GPUProfiler, _core, calibrate
from regimeter.calibration import Ceiling, calibration_for, device, host, measure, sampling, store
from regimeter.calibration import text as shown
from regimeter.calibration.notice import Notice
from regimeter.cli import main
from regimeter.system import memory, processors
from regimeter.system.cgroup import text_of
from regimeter.system.processors import usable_processors

# --- the lists ------------------------------------------------------------------------------------------------


def test_lists_of_the_core():
    assert list(_core.ceilings()) == list(_core.CEILINGS)
    assert {row["unit"] for row in _core.ceilings().values()} == {"operations/s", "bytes/s", "ns"}
    assert {f"compute_{pipe}" for pipe in _core.PIPES} <= set(_core.CEILINGS)
    for row in _core.calibrate_policy().values():
        assert row["source"]


def test_datasheets_are_dense_and_consistent():
    """Ratios that hold for dense figures of every row; a figure with sparsity or of another type breaks one."""
    for name, row in _core.datasheets().items():
        peaks, bandwidth = row["peaks"], row["bytes_per_s"]
        assert set(peaks) <= set(_core.PIPES), name
        assert 300e9 <= bandwidth <= 8000e9, name
        if "bf16" in peaks:
            assert peaks["bf16"] == peaks["fp16"], name
        if "tf32" in peaks:
            assert peaks["fp16"] / peaks["tf32"] == pytest.approx(2, rel=0.02), name
        if "fp8" in peaks:
            assert peaks["fp8"] / peaks["fp16"] == pytest.approx(2, rel=0.03), name
        if "int8" in peaks and "bf16" in peaks:
            assert peaks["int8"] / peaks["fp16"] == pytest.approx(2, rel=0.03) or "GeForce" in name, name


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("Tesla T4", (320e9, {"fp64": 0.25e12, "fp32": 8.1e12, "fp16": 65e12, "int8": 130e12})),
        ("NVIDIA A100-SXM4-40GB", (1555e9, {"fp32": 19.5e12, "bf16": 312e12})),
        ("NVIDIA H200", (4800e9, {"fp32": 67e12, "bf16": 989e12, "fp8": 1979e12})),
        ("NVIDIA H100 PCIe", (2039e9, {"bf16": 756e12})),
    ],
)
def test_rows_that_others_have_wrong(name, row):
    found = _core.datasheets()[name]
    assert found["bytes_per_s"] == row[0]
    assert row[1].items() <= found["peaks"].items()


def test_a_similar_name_is_no_match():
    about = {"derived_bytes_per_s": 0.0, "derived_fp32": 0.0}
    for name in ("NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA H100", "NVIDIA H100 NVL", "nvidia h200"):
        assert device.peaks_of(about | {"name": name})["source"] == "none"
    derived = device.peaks_of({"name": "new", "derived_bytes_per_s": 1e12, "derived_fp32": 2e13})
    assert derived == {"source": "derived", "bytes_per_s": 1e12, "operations": {"fp32": 2e13}}


# --- measuring the host ---------------------------------------------------------------------------------------


def test_a_whole_calibration_of_the_host(own_cache):
    told = []
    found = calibrate("cpu", progress=lambda what, part: told.append((what, part)), policy=SMALL)
    assert not own_cache.exists(), "with numbers of one's own it is not kept"
    assert (found.device, found.quick) == ("cpu", True)
    assert found.threads == usable_processors() >= 1
    assert set(found.ceilings) == set(found.single) == set(_core.CEILINGS)
    for token in ("memory_copy", "memory_read", "cache_l1", "compute_fp64", "memory_latency", "dispatch_python"):
        for ceiling in (found.ceilings[token], found.single[token]):
            assert ceiling.value > 0
            assert ceiling.spread > 0
            assert ceiling.samples > 0
            assert ceiling.source
    for token, ceiling in found.ceilings.items():
        assert ceiling.measured != bool(ceiling.reason), token
        if ceiling.measured and ceiling.unit.endswith("/s") and found.single[token].measured:
            assert ceiling.value >= found.single[token].value, token
    assert found.ceilings["launch"].reason == "a host has none"
    parts = [part for _, part in told]
    assert parts == sorted(parts)
    assert parts[0] == 0
    assert parts[-1] < 1
    assert Calibration.from_dict(json.loads(json.dumps(found.to_dict()))) == found


def test_numbers_of_ones_own_are_checked():
    with pytest.raises(ValueError, match="no number of a calibration is called 'batchs'"):
        calibrate("cpu", policy={"batchs": 1})
    with pytest.raises(ValueError, match="at least 0"):
        _core.measure_host("compute", 1, 1 << 30, True, {"batch": -1.0})


def test_the_vector_has_the_order_of_the_list():
    found = replace(made(), single=ceilings_of(memory_copy=5.0))
    rows = found.vector()
    assert rows.shape == (len(_core.CEILINGS), 2)
    assert rows.dtype == np.float64
    place = _core.CEILINGS.index("memory_copy")
    assert list(rows[place]) == [1e10, 0.02]
    assert list(found.vector(1)[place]) == [5.0, 0.02]
    assert np.isnan(rows[_core.CEILINGS.index("launch")]).all()
    assert np.isfinite(rows).sum() == 4


def test_figures_of_batches():
    assert _core.calibrate_figure([80.0, 100.0, 90.0, 70.0, 95.0], False) == (100.0, pytest.approx(0.1))
    assert _core.calibrate_figure([12.0, 10.0, 14.0], True) == (10.0, pytest.approx(0.2))
    for bad in ([], [0.0], [math.nan], [math.inf], [-1.0]):
        with pytest.raises(ValueError, match="a figure is made of"):
            _core.calibrate_figure(bad, True)


def test_samples_in_python_are_counted_and_the_best_is_taken():
    effort = sampling.Effort(True, store.policy({"batches_quick": 2, "batch_quick": 3}))
    times = iter([9.0, 4.0, 2.0, 5.0, 8.0, 4.0, 6.0])  # the first is not timed
    found = sampling.timed(effort, "compute_fp32", "it", lambda: (next(times), 0.0), 16.0)
    assert (found.value, found.samples, found.source) == (8.0, 6, "it")
    assert found.spread == pytest.approx((8 - 6) / 8)  # bests 8 and 4, their median 6


def test_reading_what_a_cgroup_tells_takes_no_more_room_than_it(tmp_path):
    """It is memory of a program that is recorded."""
    short, long = tmp_path / "cpu.max", tmp_path / "long"
    short.write_text("max 100000\n")
    long.write_text("é\n" * 2_000_000)
    tracemalloc.start()
    text = text_of(str(short))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert text == "max 100000\n"
    assert most < 100_000
    assert text_of(str(long)) == "é\n" * (1 << 19)
    assert text_of(str(tmp_path / "none")) == ""


def test_a_processors_quota_and_memory_are_those_of_the_cgroup(tmp_path, monkeypatch):
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/cpu.max").write_text("150000 100000\n")
    (tmp_path / "a/b/cpu.max").write_text("max 100000\n")
    (tmp_path / "a/memory.max").write_text("2000000\n")
    (tmp_path / "a/memory.current").write_text("1500000\n")
    (tmp_path / "a/b/memory.max").write_text("1000000\n")
    (tmp_path / "a/b/memory.current").write_text("400000\n")
    folders = [str(tmp_path), str(tmp_path / "a"), str(tmp_path / "a/b")]
    monkeypatch.setattr(processors, "CGROUPS", str(tmp_path))
    monkeypatch.setattr(processors, "cgroup_folders", lambda: folders)
    monkeypatch.setattr(memory, "cgroup_folders", lambda: folders)
    assert processors.cpu_quota() == 1.5
    assert processors.usable_processors() == 1
    assert memory.memory_limits() == (1000000, 500000)
    (tmp_path / "a/cpu.max").write_text("broken\n")
    assert processors.cpu_quota() is None


def test_a_busy_machine_is_told(monkeypatch):
    monkeypatch.setattr(os, "getloadavg", lambda: (64.0, 0.0, 0.0))
    found = calibrate("cpu", policy=SMALL)
    assert any("the machine was busy (load 64.0" in text for text in found.warnings)
    assert found.state["load_before"] == 64.0


def test_the_lock_is_free_in_a_forked_child(counted):
    with measure._measuring:
        child = os.fork()
        if child == 0:
            os._exit(0 if calibration_for().threads else 1)
        _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_entries_of_the_core_leak_nothing():
    def refused(call, *arguments):
        with pytest.raises((ValueError, TypeError, _core.Error)):
            call(*arguments)

    calls = [
        _core.ceilings, _core.datasheets, _core.calibrate_policy, _core.host_caches,
        lambda: _core.calibrate_figure([1.0, 2.0], True), lambda: refused(_core.calibrate_figure, [1.0, "x"], True),
        lambda: refused(_core.measure_host, "nothing", 1, 1), lambda: refused(_core.measure_host, "compute", 0, 1),
        lambda: refused(_core.measure_host, "compute", 1, 1, True, {"x": 1}),
        lambda: _core.host_takes(2, 1 << 30, True, SMALL), lambda: refused(_core.host_takes, 1, 1, True, {"x": 1}),
        lambda: _core.measure_host("latency", 1, 1 << 30, True, SMALL),
        lambda: _core.measure_host("compute", 1, 1 << 30, True, SMALL),
    ]  # fmt: skip
    assert {number: leak for number, call in enumerate(calls) if (leak := leak_of(call))} == {}


# --- the command ----------------------------------------------------------------------------------------------


def test_the_command_measures_shows_and_tells_json(counted, capsys):
    assert main(["calibrate", "--show"]) == 1
    assert "no valid calibration of cpu is kept" in capsys.readouterr().err
    assert main(["calibrate", "--quick"]) == 0
    text = capsys.readouterr().out
    assert "memory_copy" in text
    assert "10.0 GB/s" in text
    assert "200.0 Gop/s" in text
    assert "not in this test" in text
    assert main(["calibrate", "--show"]) == 0
    assert capsys.readouterr().out == text
    assert main(["calibrate", "--show", "--json"]) == 0
    assert Calibration.from_dict(check(json.loads(capsys.readouterr().out))).quick
    assert counted == [True]
    assert main(["calibrate"]) == 0  # a full one
    assert counted == [True, False]
    assert main(["calibrate", "--device", "tpu"]) == 2


def test_amounts():
    for value, unit, text in [
        (1.5e12, "operations/s", "1.5 Top/s"),
        (999.0, "bytes/s", "999.0 B/s"),
        (12.34, "ns", "12.3 ns"),
        (123456.0, "ns", "123.5 us"),
    ]:
        assert shown.amount(Ceiling(value, 0.1, unit)) == text
    assert shown.amount(Ceiling(None, None, "ns")) == "-"


def test_a_calibration_that_nobody_watches_says_what_goes_on(capsys):
    """Only where it takes long, once, with what it does and for how long; and how long it took."""
    now = [0.0]
    notice = Notice("cpu", True, 0, lambda: now[0])
    notice("memory, 2 threads", 0.0)
    notice.end()
    assert capsys.readouterr().err == ""
    notice = Notice("cpu", True, 1_073_741_824, lambda: now[0])
    for seconds, what in ((0.5, "memory"), (1.5, "caches"), (3.0, "compute")):
        now[0] = seconds
        notice(what, seconds / 4)
    notice.end()
    first, last = capsys.readouterr().err.splitlines()
    assert first.startswith(
        "regimeter: calibrating cpu: what its memory and arithmetic reach at most; about ten seconds "
        "and up to 1.1 GB of memory, once"
    )
    assert "caches, 38 % done" in first
    assert last.startswith("regimeter: calibrated cpu in 3.0 s; `regimeter calibrate --show")


def test_who_watches_a_calibration_is_told_instead(monkeypatch, capsys):
    told = []

    def slow(place, effort, identity, strict):
        effort.tell("memory", 0.0)
        return made()

    monkeypatch.setattr(measure, "_measure", slow)
    monkeypatch.setattr("regimeter.calibration.notice.DELAY_S", 0.0)
    calibrate("cpu", policy=SMALL)
    assert "calibrating cpu" in capsys.readouterr().err
    calibrate("cpu", policy=SMALL, progress=lambda what, part: told.append(what))
    assert (told, capsys.readouterr().err) == (["memory"], "")


def test_a_verbose_profiler_calibrates_at_once_and_prints_the_table(counted, capsys, monkeypatch):
    real = measure._measure

    def of_the_host(place, *others, **options):
        # Another test of this process may have loaded the double of a device.
        if place != "cpu":
            raise _core.UnavailableError("there is no device")
        return real(place, *others, **options)

    monkeypatch.setattr(measure, "_measure", of_the_host)
    with GPUProfiler(verbose=True):
        said = capsys.readouterr().out
        assert counted
        assert "memory_copy" in said
        assert "10.0 GB/s" in said
    with GPUProfiler():
        assert capsys.readouterr().out == ""


# --- what disturbs --------------------------------------------------------------------------------------------


def test_batches_that_nobody_disturbed_make_the_figure_by_themselves():
    """Two of four; the disturbed ones would be the faster."""
    policy = store.policy({"batches": 4, "batch": 1, "tries": 1, "stolen": 0.1})
    samples = iter([(1.0, 0.0), (2.0, 0.0), (0.5, 0.9), (2.5, 0.0), (0.4, 0.9)])  # the first one warms up
    found = sampling.timed(sampling.Effort(False, policy), "memory_latency", "test", lambda: next(samples), None)
    value, spread = _core.calibrate_figure([2.0e9, 2.5e9], True)
    assert (found.value, found.spread, found.samples) == (value, spread, 4)


@pytest.mark.parametrize(("taken", "said"), [(0.0, False), (0.9, False), (1.1, True)])
def test_what_disturbed_is_said_above_its_threshold(taken, said):
    policy = store.policy({})
    before = {"time_s": 0.0, "load": 2 * taken * policy["busy_load"], "switches": 0.0, "steal": 0.0, "all_time": 0.0}
    after = {
        "time_s": 10.0, "load": 0.0, "switches": 10 * taken * policy["busy_switches"],
        "steal": 1e6 * taken * policy["steal"], "all_time": 1e6,
    }  # fmt: skip
    doubts = " / ".join(host._doubts(before, after, 2, policy))
    words = ("the machine was busy", "involuntary context switches", "the hypervisor took")
    assert [word in doubts for word in words] == [said] * 3, doubts
