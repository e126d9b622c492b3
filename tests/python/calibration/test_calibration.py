# SPDX-License-Identifier: Apache-2.0
"""Calibrations: what is measured, what is kept and for how long, damaged files, the command."""

import copy
import json
import math
import os
import signal
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from leaks import leak_of
from published import check
from small_calibration import SMALL

from regimeter import Calibration, FormatError, GPUProfiler, _core, calibrate
from regimeter.calibration import Ceiling, calibration_for, device, identity, measure, sampling, store
from regimeter.calibration import text as shown
from regimeter.calibration.notice import Notice
from regimeter.cli import main
from regimeter.system import memory, processors
from regimeter.system.processors import usable_processors


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """A cache of the test's own, and a process that knows nothing yet."""
    monkeypatch.setenv("REGIMETER_CACHE", str(tmp_path / "cache"))
    measure.forget()
    yield tmp_path / "cache" / "calibration"
    measure.forget()


def ceilings_of(**values):
    units = _core.ceilings()
    return {
        token: Ceiling(values[token], 0.02, units[token]["unit"], 9, "test")
        if token in values
        else Ceiling(None, None, units[token]["unit"], reason="not in this test")
        for token in _core.CEILINGS
    }


@pytest.fixture
def counted(monkeypatch):
    """Measurements that cost nothing and are counted."""
    calls = []

    def measured(effort):
        calls.append(effort.quick)
        found = ceilings_of(memory_copy=1e10, compute_fp32=2e11)
        return found, ceilings_of(memory_copy=9e9, compute_fp32=1e11), [], {}

    monkeypatch.setattr(measure, "measure_host", measured)
    return calls


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


def test_a_whole_calibration_of_the_host():
    told = []
    found = calibrate("cpu", progress=lambda what, part: told.append((what, part)), policy=SMALL)
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


def test_a_calibration_with_numbers_of_ones_own_is_not_kept(own_cache):
    calibrate("cpu", policy=SMALL)
    assert not own_cache.exists()
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


# --- keeping --------------------------------------------------------------------------------------------------


def made(**changes):
    found = ceilings_of(memory_copy=1e10, compute_fp32=2e11)
    base = Calibration("cpu", "a processor", 2, found, found, {"device": "cpu", "cpu": "x"}, time.time(), True, 1.0)
    return replace(base, **changes)


def test_a_kept_calibration_is_taken_and_a_memo_costs_nothing(counted, own_cache):
    first = calibration_for()
    assert calibration_for() is first
    measure.forget()
    again = calibration_for()
    assert again == first
    assert counted == [True]
    assert len(list(own_cache.iterdir())) == 1
    assert calibration_for(force=True).measured_at >= first.measured_at
    assert counted == [True, True]


def test_a_full_calibration_serves_a_quick_question_and_not_the_other_way(counted):
    calibration_for(quick=True)
    assert not calibration_for(quick=False).quick
    assert counted == [True, False]
    measure.forget()
    assert not calibration_for(quick=True).quick
    assert counted == [True, False]


def test_a_ceiling_that_was_beaten_is_measured_again_and_the_higher_one_kept(counted, monkeypatch):
    found = iter([1.5e10, 1.2e10, 9e10])
    monkeypatch.setattr(
        "regimeter.calibration.measure.measure_rates",
        lambda effort, part: (ceilings_of(memory_copy=next(found)), ceilings_of(memory_copy=8e9)),
    )
    first = calibration_for()
    second = measure.measure_again(first, "memory")
    assert second.ceilings["memory_copy"].value == 1.5e10
    assert second.single["memory_copy"].value == 9e9  # the lower one is not taken
    assert second.ceilings["compute_fp32"] == first.ceilings["compute_fp32"]
    assert measure.measure_again(first, "memory") is None  # no longer what is in use
    third = measure.measure_again(second, "memory")
    assert third.ceilings["memory_copy"].value == 1.5e10
    assert measure.measure_again(third, "memory") is None  # often enough
    measure.forget()
    assert calibration_for() == third  # as it was kept
    assert counted == [True]


@pytest.mark.parametrize("name", sorted(identity.host_identity()))
def test_every_part_of_the_identity_invalidates(name, counted, monkeypatch):  # D12: more than the name of the device
    calibration_for()
    facts = identity.host_identity()
    monkeypatch.setattr(measure, "host_identity", lambda: facts | {name: "another"})
    measure.forget()
    calibration_for()
    assert counted == [True, True]
    monkeypatch.setattr(measure, "host_identity", lambda: facts)
    measure.forget()
    calibration_for()
    assert counted == [True, True]  # the first one is still there


def test_age_invalidates():
    policy = store.policy()
    for quick, days in ((True, policy["age_days_quick"]), (False, policy["age_days"])):
        found = made(quick=quick)
        store.keep(found)
        for age, valid in ((0, True), (days - 0.01, True), (days + 0.01, False), (-1, False)):
            now = found.measured_at + age * store.DAY_S
            kept, trouble = store.find(found.identity, quick=True, policy=policy, now=now)
            assert (kept is not None, trouble) == (valid, "")


def test_damage_is_said_and_the_file_made_anew(counted, own_cache):
    calibration_for()
    (path,) = own_cache.iterdir()
    sound = path.read_text()
    other = json.loads(sound)
    other["identity"]["cpu"] = ["another"]
    for text, why in [
        ("", "cannot be used"),
        ("{}", "format is not"),
        (sound[: len(sound) // 2], "cannot be used"),
        (sound.replace("1e10", "NaN").replace("10000000000.0", "NaN"), "memory_copy.value"),
        (json.dumps(other), "belongs to another machine"),
        ("[" * 100_000, "cannot be used"),
        (" " * (store.MOST_BYTES + 1), "bytes"),
    ]:
        path.write_text(text)
        measure.forget()
        found = calibration_for()
        assert why in " ".join(found.warnings)
        assert json.loads(path.read_text())["identity"] == json.loads(sound)["identity"]
        measure.forget()
        assert Calibration.from_dict(json.loads(path.read_text())) == found or found.warnings
    assert len(counted) == 8


def test_a_folder_of_others_is_not_used(counted, own_cache):
    calibration_for()
    (path,) = own_cache.iterdir()
    path.chmod(0o666)
    measure.forget()
    assert "not a file of this user alone" in calibration_for().warnings[0]
    own_cache.chmod(0o777)
    measure.forget()
    assert "another user may write" in calibration_for(force=True).warnings[0]


@pytest.mark.parametrize("place", ["off", "/dev/null", ""])
def test_without_a_folder_it_is_measured_and_said(place, counted, monkeypatch):
    monkeypatch.setenv("REGIMETER_CACHE", place)
    monkeypatch.delenv("HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    found = calibration_for()
    assert found.warnings[0].startswith("not kept: ")
    assert calibration_for() is found
    assert counted == [True]


def test_an_interrupt_leaves_nothing_and_goes_on(own_cache):
    """A signal that arrives while the core measures ends it between two samples."""

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    long = SMALL | {"batches_quick": 1000, "batch_quick": 1000, "sample_seconds_quick": 0.01}
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(KeyboardInterrupt):
            _core.measure_host("compute", 1, 1 << 30, True, long)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(KeyboardInterrupt):
            calibration_for(quick=False)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert not own_cache.exists() or not list(own_cache.iterdir())
    assert measure._known == {}


def test_an_interrupt_while_the_file_is_written_leaves_none(counted, own_cache, monkeypatch):
    def stop(*_arguments, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(json, "dump", stop)
    with pytest.raises(KeyboardInterrupt):
        calibration_for()
    assert not list(own_cache.iterdir())


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
        lambda: _core.measure_host("latency", 1, 1 << 30, True, SMALL),
        lambda: _core.measure_host("compute", 1, 1 << 30, True, SMALL),
    ]  # fmt: skip
    assert {number: leak for number, call in enumerate(calls) if (leak := leak_of(call))} == {}


# --- documents that nobody wrote ------------------------------------------------------------------------------

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from([10**400, -1, 0])
)
VALUES = SCALARS | st.lists(SCALARS, max_size=3) | st.dictionaries(st.text(max_size=5), SCALARS, max_size=3)


def places(document, path=()):
    yield path
    if isinstance(document, dict):
        for key, value in document.items():
            yield from places(value, (*path, key))


PLACES = list(places(made(peaks={"source": "datasheet", "bytes_per_s": 1e12, "operations": {"fp32": 1.0}}).to_dict()))


@given(st.lists(st.tuples(st.sampled_from(PLACES), VALUES), min_size=1, max_size=3))
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_document_is_read_or_refused(changes):
    document = copy.deepcopy(
        made(peaks={"source": "datasheet", "bytes_per_s": 1e12, "operations": {"fp32": 1.0}}).to_dict()
    )
    for path, value in changes:
        inner = document
        for key in path[:-1]:
            inner = inner.get(key) if isinstance(inner, dict) else None
        if not path:
            document = value
        elif isinstance(inner, dict):
            inner[path[-1]] = value
    try:
        found = Calibration.from_dict(document)
    except FormatError as error:
        assert str(error)
        return
    rows = found.vector()
    assert (np.isnan(rows) | (rows > 0)).all()
    assert not np.isinf(rows).any()
    assert Calibration.from_dict(found.to_dict()) == found


@given(st.binary(max_size=300), st.integers(0, 10_000), st.integers(0, 300))
@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_file_is_read_or_made_anew(noise, at, cut):
    found = made()
    path = store.keep(found)
    with open(path, "rb") as file:
        text = file.read()
    at %= len(text)
    with open(path, "wb") as file:
        file.write(text[:at] + noise + text[at + cut :])
    kept, trouble = store.find(found.identity, quick=True, policy=store.policy())
    assert kept is None or isinstance(kept, Calibration)
    assert isinstance(trouble, str)


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
    notice = Notice("cpu", True, lambda: now[0])
    notice("memory, 2 threads", 0.0)
    notice.end()
    assert capsys.readouterr().err == ""
    notice = Notice("cpu", True, lambda: now[0])
    for seconds, what in ((0.5, "memory"), (1.5, "caches"), (3.0, "compute")):
        now[0] = seconds
        notice(what, seconds / 4)
    notice.end()
    first, last = capsys.readouterr().err.splitlines()
    assert first.startswith(
        "regimeter: calibrating cpu: what its memory and arithmetic reach at most; about ten seconds"
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
