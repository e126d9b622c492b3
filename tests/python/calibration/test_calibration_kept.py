# SPDX-License-Identifier: Apache-2.0
"""Calibrations that are kept: for how long, what makes one invalid, damaged files and documents that nobody wrote."""

import copy
import json
import signal

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_calibration import SMALL, ceilings_of, made

from regimeter import Calibration, FormatError, _core
from regimeter.calibration import calibration_for, identity, measure, store
from regimeter.system import files


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

    monkeypatch.setattr(files, "_to_disk", stop)
    with pytest.raises(KeyboardInterrupt):
        calibration_for()
    assert not list(own_cache.iterdir())


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


PEAKS = {"source": "datasheet", "bytes_per_s": 1e12, "operations": {"fp32": 1.0}}
PLACES = list(places(made(peaks=PEAKS).to_dict()))


@given(st.lists(st.tuples(st.sampled_from(PLACES), VALUES), min_size=1, max_size=3))
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_document_is_read_or_refused(changes):
    document = copy.deepcopy(made(peaks=PEAKS).to_dict())
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
