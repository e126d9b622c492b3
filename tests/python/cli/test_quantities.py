# SPDX-License-Identifier: Apache-2.0
"""Times, sizes and percentages as people write them, and every door that reads one."""

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regimeter.monitor.triggers import Trigger
from regimeter.system import quantities


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("3 ms", 3e-3), ("250us", 250e-6), ("250 µs", 250e-6), ("1.5 s", 1.5), ("2 min", 120), ("10m", 600),
        ("1.5h", 5400), ("5 ns", 5e-9), ("1e-3 s", 1e-3), (".5s", 0.5),
    ],
)  # fmt: skip
def test_times(text: str, seconds: float) -> None:
    assert quantities.seconds(text) == pytest.approx(seconds, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("2 GiB", 2**31), ("300 MB", 3e8), ("1kb", 1000), ("1.5 KiB", 1536), ("12 B", 12), ("12 bytes", 12),
        ("8G", 8e9), ("1.5GB", 1.5e9), ("64k", 64e3), ("2T", 2e12), ("1 TiB", 2**40),
    ],
)  # fmt: skip
def test_sizes(text: str, size: float) -> None:
    assert quantities.size(text) == size


def test_a_number_without_a_unit_is_the_caller_s() -> None:
    assert quantities.seconds(0.25, bare="s") == quantities.seconds("250", bare="ms") == 0.25
    assert quantities.size(7, bare="B") == quantities.size("7", bare="b") == 7
    for read in (quantities.seconds, quantities.size):
        with pytest.raises(ValueError, match=r"expected a .* such as .*, got '7'"):
            read("7")


@pytest.mark.parametrize("bare", ["", "s"])
@pytest.mark.parametrize(
    "text", ["", "ms", "-3 ms", "3 parsecs", "0 s", "nan", "inf", "3 ms 4", "3 MS", True, None, "1e999 s", b"3 ms"]
)
def test_what_is_no_time(text: Any, bare: str) -> None:
    with pytest.raises(ValueError, match="expected a time above 0 such as 500ms, 2s, 10m or 1h, got "):
        quantities.seconds(text, bare)


@pytest.mark.parametrize("text", ["", "G", "-1G", "0", "8 Gb/s", "nan", "1e999", True, None])
def test_what_is_no_size(text: Any) -> None:
    with pytest.raises(ValueError, match="expected a size above 0 such as 500MB, 8G or 2GiB, got "):
        quantities.size(text, "B")


def test_a_time_outside_the_bounds_names_them() -> None:
    assert quantities.seconds("10ms", least=0.01, most=60) == 0.01
    for text in ("9ms", "2m"):
        with pytest.raises(ValueError, match=r"expected a time from 10 ms to 60 s such as .*, got"):
            quantities.seconds(text, least=0.01, most=60)


@pytest.mark.parametrize(("text", "number"), [("5%", 5), ("2.5 %", 2.5), ("300%", 300), (3, 3), ("0", 0)])
def test_percentages(text: str | float, number: float) -> None:
    assert quantities.percent(text) == number


@given(st.text(max_size=20) | st.from_regex(r"[0-9.]{1,4} ?(ns|us|ms|s|m|h|[kKmMgG]i?[bB]?|%)", fullmatch=True))
def test_any_text_is_a_quantity_or_one_error(text: str) -> None:
    for read in (Trigger.of, quantities.seconds, quantities.size, quantities.percent):
        try:
            found = read(text)
        except ValueError as error:
            assert "expected" in str(error)
        else:
            assert isinstance(found, Trigger) or (math.isfinite(found) and found >= 0)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (
            ["telemetry", "--interval", "1 week"],
            "argument --interval: expected a time from 10 ms to 24 h such as",
        ),
        (["telemetry", "--interval", "5"], "argument --interval: expected a time from 10 ms"),
        (
            ["ab", "--base", "a", "--current", "b", "--budget", "soon"],
            "--budget: expected a time above 0 such as 500ms, 2s, 10m or 1h",
        ),
        (["calibrate", "noise", "--budget", "1 day"], "--budget: expected a time above 0 such as 500ms, 2s, 10m or 1h"),
        (["workloads", "watch", "--every", "0s"], "--every: expected a time above 0 such as 500ms"),
        (["compare", "a", "b", "--threshold", "much"], "argument --threshold: expected a percentage such as 5%"),
    ],
)
def test_an_option_is_named_with_what_was_read(words: list[str], error: str, refused: Callable[..., str]) -> None:
    refused(words, error, f"got {words[-1]!r}")
