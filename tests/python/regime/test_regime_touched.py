# SPDX-License-Identifier: Apache-2.0
"""Which memory a call touches: the processor's marks, and what follows where nothing else is known."""

import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
import touched_program
from places import HELPERS
from touched_program import REPEAT, WIDE, wide

from regimeter import _core
from regimeter.regime import stopwatch
from regimeter.regime.suggestion import suggest_optimization
from regimeter.regime.touched import Touched

MIB = 1 << 20
PROGRAM = touched_program.__file__


@pytest.fixture(autouse=True)
def marked() -> None:
    marks = _core.touched_begin()
    if marks is None:
        pytest.skip("the system does not mark pages")
    _core.touched_end(marks)
    if sys.gettrace() is not None:
        pytest.skip("what traces the tests is left alone")


@functools.cache
def looked() -> Any:
    """Return what a process of its own saw."""
    path = os.pathsep.join(filter(None, (str(HELPERS), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, PROGRAM], env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


def look(function: Callable[[], Any]) -> Touched:
    _, measured = stopwatch.measure(function, REPEAT, touched=True)
    assert measured.touched is not None
    return measured.touched


@pytest.mark.parametrize("size", [MIB, 24 * MIB])
def test_pages_that_a_call_reads_are_counted(size: int) -> None:
    found = looked()["reads"][str(size)]
    assert found["bytes"] == found["inside"]
    assert found["share"] == 1
    assert size <= found["bytes"] < size + 4 * MIB


def test_the_longest_call_of_native_code_is_looked_at_alone() -> None:
    found = looked()["wide"]
    assert found["bytes"] > 15 * MIB
    assert found["place"] == f"{PROGRAM}:{looked()['line']}"
    assert found["inside"] < 4 * MIB
    assert 0 < found["share"] <= 1


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
    pytest.importorskip("scipy.spatial")
    near, far = looked()["near"], looked()["far"]
    assert near["touched"]["inside"] < 4 * MIB
    assert (
        near["limits"].get("arithmetic", 0.0) > 0.3 or "interpreter" not in near["limits"]
    )  # no processor to look from
    assert far["touched"]["inside"] > 4 * MIB
    assert "arithmetic" not in far["limits"]


SAW = {"bytes": 90_000_000, "inside": 80_000_000, "huge": 0, "share": 0.7, "place": "a.py:3"}


@pytest.mark.parametrize(
    ("told", "says"),
    [
        (SAW | {"inside": None}, "repeat=9 looks at what its longest call of native code touches"),
        (SAW, "70 % of the time, is at a.py:3: profile it on less data"),
        (SAW, "it touches 80 MB, more than the second cache holds"),
        (SAW | {"huge": 79_900_000}, "NUMPY_MADVISE_HUGEPAGE=0"),
        (SAW | {"inside": 1000}, "give flops= and bytes=. The time goes into few long calls"),
        (
            SAW | {"inside": None, "share": 0.0, "place": ""},
            "give flops= and bytes=. The time goes into few long calls",
        ),
    ],
)
def test_the_advice_says_how_much_and_where(told: dict[str, Any], says: str) -> None:
    evidence = {"reason": "no_work", "touched": told, "judged_ms": 50.0, "limits": {"interpreter": 0.02}}
    profile = {"regime": "UNKNOWN", "calls": 7, "flops": None, "bytes": None, "evidence": evidence}
    assert says in suggest_optimization(profile)


def test_where_the_system_marks_nothing_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_core, "touched_begin", lambda: None)
    assert look(wide).to_dict() == {"bytes": None, "inside": None, "huge": 0, "share": 0.0, "place": ""}
