# SPDX-License-Identifier: Apache-2.0
"""What limits a call beside arithmetic and bandwidth: each limit by what was measured, and what is said of it."""

import hashlib
import json
import os
import re
import subprocess
import sys
import time

import numpy as np
import pytest
from made_up_machine import measurement

from regimeter import _core, suggest_optimization
from regimeter.regime import known_work, limits, plain_data, replay, stopwatch, unwrap

KNOWN = {"host": True, "time_ns": 1e7, "time_spread": 0.05}


def classified(**shares):
    return _core.classify(**KNOWN, limits={name: (share, 0.1) for name, share in shares.items()})


@pytest.mark.parametrize(
    ("limit", "regime", "detail"),
    [
        ("arithmetic", "COMPUTE_BOUND", "none"),
        ("dependent", "COMPUTE_BOUND", "dependent"),
        ("placement", "MEMORY_BOUND", "underused"),
        ("random_access", "MEMORY_BOUND", "random_access"),
        ("strided", "MEMORY_BOUND", "strided"),
        ("first_touch", "MEMORY_BOUND", "first_touch"),
        ("new_memory", "AMBIGUOUS", "first_touch"),
        ("interpreter", "OVERHEAD_BOUND", "interpreter"),
        ("file", "OVERHEAD_BOUND", "file"),
        ("system", "OVERHEAD_BOUND", "system"),
    ],
)
def test_what_takes_most_of_the_time_gives_the_label(limit, regime, detail):
    most = classified(**{limit: 0.8})
    assert (most["regime"], most["detail"]) == (regime, detail)
    assert most["limit_share"] == pytest.approx(0.8)
    assert classified(**{limit: 0.2})["regime"] == "UNKNOWN"  # too little to be the answer


def test_every_limit_of_the_core_is_covered():
    rows = test_what_takes_most_of_the_time_gives_the_label.pytestmark[0].args[1]
    assert {row[0] for row in rows} == set(_core.LIMITS)


def test_two_halves_are_no_answer():
    told = classified(arithmetic=0.5, placement=0.5)
    assert (told["regime"], told["reason"]) == ("AMBIGUOUS", "uncertain")


def roofed(bytes, **shares):
    """Judge 10 ms in which a call moved so many bytes of 100 MB that are possible, and computed next to nothing."""
    ceilings = np.full((len(_core.CEILINGS), 2), np.nan)
    for token in ("memory_copy", "compute_fp64"):
        ceilings[_core.CEILINGS.index(token)] = (1e10, 0.05)
    work = KNOWN | {"ceilings": ceilings, "operations": {"fp64": 1e3}, "bytes": bytes}
    return _core.classify(**work, limits={name: (share, 0.05) for name, share in shares.items()})


def test_a_roof_comes_before_the_parts():
    told = roofed(9e7, interpreter=0.9)
    assert (told["regime"], told["reason"]) == ("MEMORY_BOUND", "roof")


def test_a_part_beside_which_the_other_roof_explains_as_much_is_no_answer():
    assert roofed(5.6e7, arithmetic=0.58)["regime"] == "AMBIGUOUS"
    assert roofed(3e7, arithmetic=0.58)["regime"] == "COMPUTE_BOUND"
    assert roofed(5.6e7, strided=0.58)["regime"] == "MEMORY_BOUND"
    assert roofed(5.6e7, interpreter=0.58)["regime"] == "OVERHEAD_BOUND"


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"no such": (0.5, 0.1)}, ValueError),
        ({"file": 0.5}, TypeError),
        ({"file": (-0.5, 0.1)}, ValueError),
        ({"file": (float("nan"), 0.1)}, ValueError),
        ([1], TypeError),
    ],
)
def test_bad_limits_are_refused(given, error):
    with pytest.raises(error):
        _core.classify(**KNOWN, limits=given)


# --- how fast Python goes -----------------------------------------------------------------------------------------


def observed(function, enough_ns=300_000, seconds=20):
    """Call until enough was seen; a busy machine lets the other thread see less."""
    quick = seen = 0
    until = time.monotonic() + seconds
    while seen < enough_ns and time.monotonic() < until:
        pace = _core.pace_begin(2000.0)
        if pace is None:
            pytest.skip("one processor, or a system that does not show frames")
        try:
            function()
        finally:
            found = _core.pace_end(pace)
        quick, seen = quick + found[0], seen + found[1]
    assert seen, "nothing was seen in 20 s"
    return quick / seen


def spin():
    total = 0
    for i in range(100_000):
        total += i * i
    return total


def test_a_loop_of_python_moves_on_all_the_time():
    assert observed(spin) > 0.6


def test_a_long_call_of_native_code_does_not():
    data = bytes(8_000_000)
    assert observed(lambda: hashlib.sha256(data).digest()) < 0.2


def test_an_end_can_be_asked_for_twice_and_a_pace_be_dropped():
    pace = _core.pace_begin(2000.0)
    if pace is not None:
        assert _core.pace_end(pace) == _core.pace_end(pace)
    _core.pace_begin(2000.0)
    with pytest.raises((ValueError, TypeError)):
        _core.pace_end(object())


def test_a_forked_child_does_not_wait_for_the_parents_thread():
    pace = _core.pace_begin(2000.0)
    child = os.fork()
    if child == 0:
        if pace is not None:
            _core.pace_end(pace)
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    if pace is not None:
        _core.pace_end(pace)


# --- what the system did -------------------------------------------------------------------------------------------


def test_the_systems_time_is_named_by_what_moved():
    busy = {"system_share": 0.8, "system_cpu_ns": 5e8}
    assert set(limits.of_measurement(measurement(**busy), 1e10)) == {"system"}
    assert set(limits.of_measurement(measurement(**busy, file_bytes=5e7), 1e10)) == {"file"}
    assert set(limits.of_measurement(measurement(**busy, faults=40_000), 1e10)) == {"first_touch"}
    huge = measurement(**busy, faults=500)  # large pages: few faults, much memory
    assert set(limits.of_measurement(huge, 1e10)) == {"first_touch"}
    less = measurement(system_share=0.6, system_cpu_ns=5e8, faults=40_000)
    assert set(limits.of_measurement(less, 1e10)) == {"new_memory"}
    assert limits.of_measurement(measurement(), 1e10) == {}


def test_large_pages_cost_what_they_were_measured_to(monkeypatch):
    busy = measurement(system_share=0.8, system_cpu_ns=5e8, faults=500)
    for large, name in ((200_000.0, "first_touch"), (1000.0, "system")):
        monkeypatch.setattr(limits, "page_ns", lambda size=0, large=large: large if size > limits.HUGE_BYTES else 500.0)
        assert set(limits.of_measurement(busy, None)) == {name}


def test_few_ticks_tell_less():
    few, many = (limits.system_part(measurement(system_share=0.5, system_cpu_ns=ns))[1] for ns in (5e7, 5e9))
    assert few > 2 * many


def test_bytes_of_files_are_seen(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(4_000_000))
    measured = stopwatch.measure(path.read_bytes, 3)[1]
    assert measured.file_bytes == pytest.approx(4_000_000, rel=0.05)
    assert stopwatch.measure(lambda: None, 3)[1].file_bytes == 0


# --- in a cache ----------------------------------------------------------------------------------------------------


def random(*shape):
    return np.random.default_rng(1).random(shape)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (np.sort, (random(1_000_000),)),
        (np.fft.fft, (random(2**17),)),
        (np.cumsum, (random(500_000),)),
        (np.take, (random(1_000_000), np.random.default_rng(1).integers(0, 1_000_000, 100_000))),
        (np.ascontiguousarray, (random(700, 700).T,)),
        (np.linalg.svd, (random(200, 200),)),
        (np.median, (random(500, 500), 0)),
        (hashlib.sha256, (bytes(1_000_000),)),
        (sorted, (list(map(float, random(100_000))),)),
    ],
)
def test_functions_of_libraries_are_called_on_a_part(function, args):
    found = replay.of_call(function, args, {}, function(*args))
    assert found is not None
    assert found.ns > 0
    assert found.chain == (function is np.cumsum)


class Own:
    def __array__(self, *_, **__):
        raise AssertionError("code of the program ran")


def refuse(*_):
    raise AssertionError("code of the program ran")


@pytest.mark.parametrize(
    ("function", "args", "kwargs"),
    [
        (refuse, (random(10),), {}),
        (lambda x: refuse(), (random(10),), {}),
        (np.sort, (Own(),), {}),
        (np.sort, (np.array([object()] * 100_000),), {}),
        (np.apply_along_axis, (refuse, 0, random(100, 100)), {}),
        (sorted, ([3, 1, 2],), {"key": refuse}),
        (np.random.default_rng(0).random, (1_000_000,), {}),
        (np.random.shuffle, (random(100_000),), {}),
        (np.save, ("a file", random(100_000)), {}),
        (np.fromfile, ("a file",), {}),
    ],
)
def test_nothing_of_the_program_is_called(function, args, kwargs):
    assert replay.of_call(function, args, kwargs, None) is None


def test_arguments_stay_as_they_are():
    values = random(500_000)
    before = values.copy()
    assert replay.of_call(values.sort, (), {}, None) is None or (values == before).all()
    assert (values == before).all()


@pytest.mark.parametrize(
    ("inside", "moves", "name"),
    [(0.4, False, "new_memory"), (0.02, False, "placement"), (0.4, True, "first_touch"), (0.9, False, "arithmetic")],
)
def test_new_memory_is_told_from_what_the_rest_is(inside, moves, name, monkeypatch):
    """Of a tenth of a second, some went into new pages; arithmetic beside them leaves the label open."""
    monkeypatch.setattr(replay, "of_call", lambda *_: replay.Replay(inside * 1e8, 0.1, False, False))
    monkeypatch.setattr(limits, "cache_sizes", lambda: (2**15, 2**19, 2**25))
    values = random(1_000_000)
    rest = {"new_memory": (0.05 if inside == 0.9 else 0.4, 0.1)}
    found = limits.of_function(np.exp, (values,), {}, values, measurement(), rest, moves)
    assert max(found, key=lambda limit: found[limit][0]) == name


def test_what_moves_only_data_and_cannot_be_replayed_is_first_touch_where_pages_are_new():
    values, rest = random(1000), {"new_memory": (0.4, 0.1), "interpreter": (0.1, 0.1)}
    args = (np.full, (1000, 1.5), {}, values, measurement())
    assert limits.of_function(*args, rest, True) == {"first_touch": (0.9, 0.0)}
    assert limits.of_function(*args, rest, False) == {}
    assert limits.of_function(*args, {"interpreter": (0.1, 0.1)}, True) == {}


# --- data of Python ------------------------------------------------------------------------------------------------


def test_what_data_occupies_is_all_that_is_in_it():
    text, blob = "x" * 1000, b"y" * 500
    values = [text, text, blob]
    assert plain_data.occupied(values) == sum(map(sys.getsizeof, (values, text, blob)))
    assert plain_data.occupied({"a": [1.5, None], (2, 3): {"b"}}) > 500
    assert plain_data.occupied([Own()]) is None
    assert plain_data.occupied(list(range(1000)), most=100) is None


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (json.loads, ("[1, 2]",)),
        (re.compile("a+").findall, ("aab",)),
        (pow, (3, 10**50, 10**40 + 1)),
        ("a b".split, ()),
    ],
)
def test_the_interpreters_library_computes_where_its_data_lies_in_a_cache(function, args, monkeypatch):
    result, rest = function(*args), {"interpreter": (0.02, 0.1), "system": (0.05, 0.1)}
    found = limits.of_plain_data(function, args, {}, result, measurement(), rest)
    assert found["arithmetic"][0] == pytest.approx(0.93)
    monkeypatch.setattr(limits, "cache_sizes", lambda: (64, 64, 64))
    assert limits.of_plain_data(function, args, {}, result, measurement(), rest) == {}, "it lies in memory"


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (spin, (1,)),
        (lambda: json.loads("[1]"), ()),
        (json.loads, (Own(),)),
        (subprocess.run, (["true"],)),
        (time.sleep, (1,)),
        (exec, ("1",)),
        (os.listdir, (".",)),
    ],
)
def test_of_what_may_wait_or_runs_other_code_nothing_is_said(function, args):
    assert limits.of_plain_data(function, args, {}, None, measurement(), {"interpreter": (0.0, 0.1)}) == {}


def test_python_whose_pace_is_not_known_may_be_steps_of_python():
    assert limits.of_plain_data(json.loads, ("[1]",), {}, [1], measurement(), {}) == {}


def test_searches_and_copies_of_bytes_have_work():
    blob = bytes(1_000_000)
    searched = known_work.of_call(blob.find, (b"x",), {}, -1, None)
    assert (searched.flops, searched.bytes) == (None, pytest.approx(1e6, rel=0.01))
    copied = known_work.of_call(bytearray, (blob,), {}, bytearray(blob), None)
    assert (copied.flops, copied.bytes) == (0.0, 2e6)
    assert known_work.of_call(bytearray, (5,), {}, bytearray(5), None).bytes is None
    assert replay.of_call(blob.find, (b"x",), {}, -1).ns > 0


def test_patterns_come_from_the_arguments():
    table = random(2_000_000)
    chance = np.random.default_rng(1).integers(0, len(table), 50_000)
    assert limits.pattern((table, chance), {}, None) == "random_access"
    assert limits.pattern((table, np.arange(50_000)), {}, None) == "placement"
    matrix = random(2000, 2000)
    assert limits.pattern((matrix.T,), {}, matrix) == "strided"
    assert limits.pattern((matrix,), {}, matrix) == "placement"


# --- functions that are one call -----------------------------------------------------------------------------------


def test_a_function_of_one_call_is_that_call():
    values, matrix = random(10), random(3, 3)
    assert unwrap.single_call(lambda: np.sort(values), (), {}) == (np.sort, (values,), {})
    assert unwrap.single_call(lambda x: np.sum(x, axis=0), (matrix,), {}) == (np.sum, (matrix,), {"axis": 0})
    assert unwrap.single_call(lambda: matrix @ matrix, (), {})[0] is np.matmul
    assert unwrap.single_call(lambda: hashlib.sha256(b"a").hexdigest(), (), {})[0] is hashlib.sha256


def test_views_are_made_and_indices_are_the_function_that_takes_them():
    values, matrix, chance = random(10), random(4, 3), np.array([2, 0, 1])
    taken = unwrap.single_call(lambda x, at: x[at], (values, chance), {})
    assert taken == (np.take, (values, chance), {"axis": 0})
    for function, view in (
        (lambda x: x[:, 1].copy(), matrix[:, 1]),
        (lambda x: x[1:].copy(), matrix[1:]),
        (lambda x: x[..., None, 2].copy(), matrix[..., None, 2]),
        (lambda x: x.T.copy(), matrix.T),
        (lambda x: x.transpose().copy(), matrix.T),
    ):
        copy, args, _ = unwrap.single_call(function, (matrix,), {})
        assert args == ()
        assert copy.__self__.strides == view.strides
        assert np.shares_memory(copy.__self__, matrix)
    found, args, _ = unwrap.single_call(lambda blob: blob.find(b"x"), (b"abc",), {})
    assert found(b"c") == 2
    assert args == (b"x",)


def test_more_than_one_call_is_not():
    values = random(10)
    for function in (
        lambda: np.sort(values).sum(),
        lambda: np.sort(values) + 1,
        lambda: [np.sort(values) for _ in range(3)],
        lambda: np.sort(values) if len(values) else None,
        lambda: Own().attribute(values),
        lambda: values[values > 0.5],
        lambda: values[np.array([1, 2])],
        lambda: {"a": 1}["a"],
        lambda: values[99],
        np.sort,
        spin,
    ):
        assert unwrap.single_call(function, (), {}) is None


@pytest.mark.parametrize(("views", "is_read"), [(2, True), (30, False)])
def test_a_function_of_many_instructions_is_not_read(views, is_read):
    function = eval(f"lambda x: np.sort(x{'[:]' * views})")
    assert (unwrap.single_call(function, (random(10),), {}) is not None) == is_read


# --- what is said --------------------------------------------------------------------------------------------------


def test_what_is_undecided_has_cause_and_remedy():
    evidence = {"reason": "pages", "page_faults": 29_320.0, "limits": {"new_memory": 0.62}}
    told = {"regime": "AMBIGUOUS", "detail": "first_touch", "evidence": evidence}
    text = suggest_optimization(told | {"calls": 1})
    assert "29,320 page faults: 62 % of the time" in text
    assert "call it once before" in text
    assert "call it once before" not in suggest_optimization(told | {"calls": 5}), "it was called before"
    stolen = {"reason": "uncertain", "wall_ms": 10.0, "stolen_ms": 4.0}
    assert "40 %" in suggest_optimization({"regime": "AMBIGUOUS", "detail": "none", "evidence": stolen})
    parts = {"reason": "uncertain", "limits": {"arithmetic": 0.5, "strided": 0.45}}
    assert "50 %" in suggest_optimization({"regime": "AMBIGUOUS", "detail": "none", "evidence": parts})
