# SPDX-License-Identifier: Apache-2.0
"""Which memory a call touches: the processor's marks, and what follows where nothing else is known."""

import functools
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest

import regimeter
from regimeter import _core
from regimeter.regime import limits, stopwatch
from regimeter.regime.suggestion import suggest_optimization
from regimeter.regime.touched import Touched

MIB = 1 << 20
REPEAT = 9


@pytest.fixture(autouse=True)
def marked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second cache of four mebibytes, whatever this machine has."""
    if _core.touched_begin() is None:
        pytest.skip("the system does not mark pages")
    monkeypatch.setattr(limits, "cache_sizes", lambda: (48 * 1024, 4 * MIB, 64 * MIB))


def look(function: Callable[[], Any]) -> Touched:
    _, measured = stopwatch.measure(function, REPEAT, touched=True)
    assert measured.touched is not None
    return measured.touched


@pytest.mark.parametrize("size", [MIB, 24 * MIB])
def test_pages_that_a_call_reads_are_counted(size: int) -> None:
    found = look(functools.partial(b"x".__add__(bytes(size)).count, b"x"))
    assert found.bytes is not None
    assert found.bytes == found.inside
    assert found.share == 1
    assert size <= found.bytes < size + 2 * MIB


SMALL = np.random.default_rng(1).random(60_000)


def wide() -> Any:
    for place in range(0, len(WIDE), 4096):
        WIDE[place] += 1
    return SMALL.argsort()  # the longest call, of half a mebibyte


WIDE = bytearray(16 * MIB)


def test_the_longest_call_of_native_code_is_looked_at_alone() -> None:
    found = look(wide)
    assert found.bytes is not None
    assert found.bytes > 15 * MIB
    assert found.place == f"{__file__}:{wide.__code__.co_firstlineno + 3}"
    assert found.inside is not None
    assert found.inside < 3 * MIB
    assert 0 < found.share <= 1
    assert sys.gettrace() is None


def test_nobody_is_disturbed_who_traces() -> None:
    seen = []

    def trace(frame: FrameType, event: str, argument: object) -> None:
        seen.append(event)

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        found = look(wide)
        assert sys.gettrace() is trace
    finally:
        sys.settrace(before)
    assert found.inside is None
    assert seen


def test_what_the_function_traces_itself_goes_on() -> None:
    calls = []

    def trace(frame: FrameType, event: str, argument: object) -> None:
        pass

    def begins() -> None:
        calls.append(1)
        if len(calls) == 2:
            sys.settrace(trace)

    before = sys.gettrace()
    try:
        look(begins)
        assert sys.gettrace() is trace
    finally:
        sys.settrace(before)


def test_what_raises_leaves_nothing_behind() -> None:
    calls = []

    def fails() -> None:
        calls.append(1)
        wide()
        if len(calls) == 2:
            raise KeyError("second")

    with pytest.raises(KeyError, match="second"):
        look(fails)
    assert sys.gettrace() is None
    assert len(calls) == 2


def test_a_call_that_goes_another_way_is_not_looked_at() -> None:
    calls = []

    def changes() -> Any:
        calls.append(1)
        return wide() if len(calls) < 3 else sum(WIDE[:10])

    assert look(changes).inside is None
    assert len(calls) == REPEAT


def test_what_a_cache_holds_is_arithmetic_and_what_it_does_not_is_told() -> None:
    scipy = pytest.importorskip("scipy.spatial")
    points = np.random.default_rng(2).random((3000, 3))
    query = scipy.cKDTree(points).query
    with regimeter.GPUProfiler(device_timing=False) as profiler:
        _, near = profiler.profile_with_result(query, points, 5, repeat=REPEAT)
        far_points = np.random.default_rng(3).random((120_000, 3))
        far_query = scipy.cKDTree(far_points).query
        _, far = profiler.profile_with_result(far_query, far_points[:4000], 5, repeat=REPEAT)
    assert near["evidence"]["limits"]["arithmetic"] > 0.3, near
    assert near["evidence"]["touched"]["bytes"] < 4 * MIB
    assert far["evidence"]["touched"]["bytes"] > 4 * MIB
    assert "arithmetic" not in far["evidence"]["limits"]


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ({"bytes": 6e6, "inside": None, "share": 0.0, "place": ""}, "repeat=9 looks at its longest call"),
        ({"bytes": 6e6, "inside": 5e6, "share": 0.7, "place": "a.py:3"}, "70 % of the time, is at a.py:3: profile it"),
        ({"bytes": 6e6, "inside": 5e6, "share": 0.7, "place": "a.py:3"}, "it touches 5"),
    ],
)
def test_the_advice_says_how_much_and_where(told: dict[str, Any], says: str) -> None:
    evidence = {"reason": "no_work", "touched": told, "judged_ms": 50.0, "limits": {"interpreter": 0.02}}
    profile = {"regime": "UNKNOWN", "calls": 7, "flops": None, "bytes": None, "evidence": evidence}
    assert says in suggest_optimization(profile)


def test_where_the_system_marks_nothing_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_core, "touched_begin", lambda: None)
    assert look(wide).to_dict() == {"bytes": None, "inside": None, "huge": 0, "share": 0.0, "place": ""}
