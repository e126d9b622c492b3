# SPDX-License-Identifier: Apache-2.0
"""Copies by direction and memory, and their bandwidth over time, against a count at every nanosecond."""

import csv
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import OTHER_DEVICE, OTHER_STREAM, STREAM, kernel, launch, run_of, span
from traces import load_trace, trace_path

from regimeter import Run, _core

DIRECTIONS, MEMORIES = _core.COPY_DIRECTIONS, _core.COPY_MEMORIES
HTOD, DTOH = "Memcpy HtoD (Pinned -> Device)", "Memcpy DtoH (Device -> Pageable)"


def copy(name: str, lane: int, start: int, duration: int, size: int = -1, correlation: int = -1) -> dict[str, object]:
    """Return a copy."""
    return span("memcpy", name, lane, start, duration, bytes=size, correlation=correlation)


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        (HTOD, "memcpy", ("host_to_device", "pinned", "device")),
        (DTOH, "memcpy", ("device_to_host", "device", "pageable")),
        ("Memcpy DtoD (Device -> Device)", "memcpy", ("device_to_device", "device", "device")),
        ("Memcpy PtoP (Device -> Device)", "memcpy", ("peer_to_peer", "device", "device")),
        ("Memcpy HtoD (Host -> Device)", "memcpy", ("host_to_device", "host", "device")),
        ("Memset (Device)", "memset", ("set", "unknown", "device")),
        ("Memset (Unknown)", "memset", ("set", "unknown", "unknown")),
        ("CopyHostToDevice", "memcpy", ("host_to_device", "unknown", "unknown")),
        ("[CUDA memcpy Device-to-Host]", "memcpy", ("device_to_host", "unknown", "unknown")),
        ("Memcpy DtoH (", "memcpy", ("device_to_host", "unknown", "unknown")),
        ("", "memcpy", ("unknown", "unknown", "unknown")),
    ],
)
def test_what_a_name_says(name: str, kind: str, expected: tuple[str, str, str]) -> None:
    table = run_of([span(kind, name, STREAM, 0, 10)]).analyse("copy_times")
    found = (DIRECTIONS[table.direction[0]], MEMORIES[table.source[0]], MEMORIES[table.target[0]])
    assert found == expected


def test_bandwidth_is_bytes_over_the_time_with_a_copy_of_known_bytes() -> None:
    run = run_of([copy(HTOD, STREAM, 0, 10, 100), copy(HTOD, OTHER_STREAM, 5, 15, 500), copy(HTOD, STREAM, 30, 10),
                  copy(HTOD, STREAM, 50, 0, 70_000), copy(HTOD, OTHER_DEVICE, 0, 1, 7), kernel(0, 99)])  # fmt: skip
    table = run.analyse("copy_times")
    assert table.device.tolist() == [0, 1]
    expected = {"count": 4, "unknown_bytes": 1, "bytes": 70_600, "total_ns": 35, "union_ns": 30, "small": 2,
                "median_bytes": 500, "bandwidth": 70_600 / 20 * 1e9, "peak_bandwidth": 500 / 15 * 1e9}  # fmt: skip
    for name, value in expected.items():
        assert getattr(table, name)[0] == pytest.approx(value)


@pytest.mark.parametrize(
    ("call", "duration", "name", "expected"),
    [
        ("cudaMemcpy", 50, HTOD, (1, 1)),
        ("hipMemcpyWithStream", 50, HTOD, (1, 1)),
        ("cuMemcpyHtoD_v2", 50, HTOD, (1, 1)),
        ("cudaMemcpyAsync", 5, DTOH, (0, 0)),
        ("cudaMemcpyAsync", 50, DTOH, (0, 1)),
        ("cudaMemcpyAsync", 50, HTOD, (0, 0)),
        ("cudaMemsetAsync", 50, HTOD, (0, 0)),
    ],
)
def test_copies_for_which_the_host_waits(call: str, duration: int, name: str, expected: tuple[int, int]) -> None:
    table = run_of([launch(call, 0, duration, 1), copy(name, STREAM, 10, 20, 8, 1)]).analyse("copy_times")
    assert (table.synchronous[0], table.blocking[0]) == expected


copy_lists = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 40), st.integers(0, 9), st.integers(-1, 10**6)), min_size=1, max_size=10
)


@given(copy_lists)
def test_bandwidth_over_time_is_an_exact_sum(copies: list[tuple[int, int, int, int]]) -> None:
    run = run_of(
        [copy((HTOD, DTOH)[d], STREAM + i % 2, start, n, size) for i, (d, start, n, size) in enumerate(copies)]
    )
    series, rates = run.analyse("copy_bandwidth"), run.analyse("copy_rates")
    for direction in range(2):
        code = DIRECTIONS.index(("host_to_device", "device_to_host")[direction])
        own = [(s, s + n, round(size / n * 1e9)) for d, s, n, size in copies if d == direction and n and size >= 0]
        steps = series.direction == code
        time, value = series.time_ns[steps], series.bandwidth[steps]
        expected = [sum(rate for s, e, rate in own if s <= t < e) for t in range(51)]
        found = [int(value[time <= t][-1]) if (time <= t).any() else 0 for t in range(51)]
        assert found == pytest.approx(expected, abs=len(own))  # a half may round either way
        row = np.flatnonzero(rates.direction == code)
        if not len(row):
            continue
        assert rates.left_out[row[0]] == sum(d == direction for d, *_ in copies) - len(own)
        active = [found[t] for t in range(51) if any(s <= t < e for s, e, _ in own)]
        assert rates.active_ns[row[0]] == len(active)
        if own:
            assert value[-1] == 0
            assert series.active[steps][-1] == 0
            assert rates.max[row[0]] == max(active)
            assert rates.mean[row[0]] == pytest.approx(np.mean(active))
            assert rates.median[row[0]] == sorted(active)[(len(active) + 1) // 2 - 1]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 2**61 - 1), st.integers(0, 2**62)), min_size=1, max_size=9))
def test_absurd_copies_leave_no_residue(copies: list[tuple[int, int, int]]) -> None:
    series = run_of([copy(HTOD, STREAM, s, n, size) for s, n, size in copies]).analyse("copy_bandwidth")
    assert (series.bandwidth[-1], series.active[-1]) == (0, 0)
    assert (series.bandwidth >= 0).all()


TRACES = ["diff_v100_test.json.gz", "a100_memcpy_2023.json", "a100_alexnet_cuda_sync.json.gz"]


@pytest.mark.parametrize("name", TRACES)
def test_totals_of_real_traces(name: str) -> None:
    run = load_trace(name)
    table = run.analyse("copy_times")
    kinds = [_core.SPAN_KINDS.index(kind) for kind in ("memcpy", "memset")]
    chosen = np.isin(run.spans.kind, kinds)
    assert table.count.sum() == chosen.sum()
    assert table.total_ns.sum() == run.spans.duration_ns[chosen].sum()
    known = chosen & (run.spans.bytes >= 0)
    assert table.bytes.sum() == run.spans.bytes[known].sum()
    assert table.unknown_bytes.sum() == chosen.sum() - known.sum()


def moved(run: Run) -> dict[str, tuple[Fraction, int]]:
    """Return bytes and number of copies by the first eleven characters of their names, by a loop."""
    found: dict[str, tuple[Fraction, int]] = {}
    kind = _core.SPAN_KINDS.index("memcpy")
    for i in np.flatnonzero((run.spans.kind == kind) & (run.spans.bytes >= 0) & (run.spans.duration_ns > 0)):
        key = run.strings[int(run.spans.name[i])][:11]
        size, count = found.get(key, (Fraction(0), 0))
        found[key] = (size + int(run.spans.bytes[i]), count + 1)
    return found


def test_series_gives_back_the_bytes_and_has_no_float_residue_as_the_peer_has() -> None:
    """HTA's samples above 0 outnumber two for each copy, because its sums do not return to 0."""
    run = load_trace("diff_v100_test.json.gz")
    series = run.analyse("copy_bandwidth")
    steps = series.direction == DIRECTIONS.index("device_to_device")
    time, value = series.time_ns[steps], series.bandwidth[steps]
    size, count = moved(run)["Memcpy DtoD"]
    assert (np.diff(time) * (value[:-1] / 1e9)).sum() == pytest.approx(float(size), rel=1e-6)
    with trace_path("hta_reference/diff_v100_test/memory_bw_summary.csv").open() as file:
        theirs = next(row for row in csv.reader(file) if row[:2] == ["0", "Memcpy DtoD"] or "Memcpy DtoD" in row)
    assert float(theirs[2]) > (value > 0).sum()
    assert (value > 0).sum() <= 2 * count
