# SPDX-License-Identifier: Apache-2.0
"""Summaries and entries against NumPy and against slow, plain Python."""

import math
from array import array

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regimeter import FormatError, Run, _core

DEVICES = _core.DEVICES


def build(spans, strings=None, lanes=1):
    """Make a Run of rows (start, duration, name, lane, parent, flags)."""
    columns = list(zip(*spans, strict=True)) if spans else [[]] * 6
    names = strings or ["", *(f"op {n}" for n in range(1, 1 + max(columns[2], default=0)))]
    tables = {
        "spans": {
            "start_ns": array("q", columns[0]),
            "duration_ns": array("q", columns[1]),
            "name": array("I", columns[2]),
            "lane": array("I", columns[3]),
            "parent": array("i", columns[4]),
            "flags": array("I", columns[5]),
        },
        "lanes": {"name": array("I", [0] * lanes)},
    }
    return Run._build(names, tables, "{}", "export", 0, 10**9, -1, True)


def flat(durations):
    at, rows = 0, []
    for duration in durations:
        rows.append((at, duration, 1, 0, -1, 0))
        at += duration
    return build(rows)


durations = st.lists(st.integers(0, 10**12), min_size=1, max_size=200)


@settings(max_examples=100)
@given(durations)
def test_statistics_are_numpys(values):
    (row,) = flat(values).get_summary().values()
    column = np.array(values, dtype=np.float64) / 1e6
    close = {"rel": 1e-9, "abs": 1e-12}
    assert row.call_count == len(values)
    assert row.total_time_ms == pytest.approx(sum(values) / 1e6, rel=1e-12)
    assert row.avg_time_ms == pytest.approx(column.mean(), **close)
    assert row.min_time_ms == column.min()
    assert row.max_time_ms == column.max()
    assert row.std_dev_ms == pytest.approx(column.std(), rel=1e-9, abs=max(1e-9, column.max() * 1e-12))
    assert row.median_ms == pytest.approx(np.percentile(column, 50), **close)
    assert row.p95_ms == pytest.approx(np.percentile(column, 95), **close)
    assert row.p99_ms == pytest.approx(np.percentile(column, 99), **close)
    if column.mean():
        assert row.cv == pytest.approx(column.std() / column.mean(), rel=1e-6, abs=1e-9)
        assert row.share == pytest.approx(1.0)
    else:
        assert row.cv is None
        assert row.share is None
    assert row.exclusive_time_ms == row.total_time_ms


def test_statistics_of_a_large_sample():
    values = np.random.default_rng(1).lognormal(12, 2, 200_000).astype(np.int64)
    (row,) = flat(values.tolist()).get_summary().values()
    for name, expected in {
        "avg_time_ms": values.mean(),
        "std_dev_ms": values.std(),
        "median_ms": np.median(values),
        "p95_ms": np.percentile(values, 95),
        "p99_ms": np.percentile(values, 99),
    }.items():
        assert getattr(row, name) == pytest.approx(expected / 1e6, rel=1e-10)


def test_the_standard_deviation_is_stable():
    """A second, give or take a nanosecond: the textbook formula loses all of it in doubles."""
    values = [10**9 + offset for offset in (0, 1, 2, 3, 4)] * 1000
    (row,) = flat(values).get_summary().values()
    assert row.std_dev_ms * 1e6 == pytest.approx(math.sqrt(2), rel=1e-6)


def test_one_call_has_no_spread():
    (row,) = flat([5_000_000]).get_summary().values()
    assert (row.std_dev_ms, row.cv, row.median_ms, row.p99_ms) == (0.0, 0.0, 5.0, 5.0)


# --- random trees ---------------------------------------------------------------------------------------------


@st.composite
def forests(draw):
    """Properly nested spans on several lanes, few names, so that recursion is common."""
    rows = []

    def subtree(start, room, lane, parent, depth):
        duration = draw(st.integers(0, room))
        index = len(rows)
        device = draw(st.sampled_from([0, 0, 0, 1]))
        rows.append((start, duration, draw(st.integers(1, 3)), lane, parent, device << 8 | draw(st.integers(0, 1))))
        at, left = start, duration
        for _ in range(draw(st.integers(0, 3 if depth < 4 else 0))):
            gap = draw(st.integers(0, left))
            used = subtree(at + gap, left - gap, lane, index, depth + 1)
            at, left = at + gap + used, left - gap - used
        return duration

    lanes = draw(st.integers(1, 3))
    for lane in range(lanes):
        at = 0
        for _ in range(draw(st.integers(0, 3))):
            at += subtree(at, draw(st.integers(0, 10**6)), lane, -1, 0) + draw(st.integers(0, 1000))
    return rows, lanes


def ancestors(rows, index):
    index = rows[index][4]
    while index >= 0:
        yield index
        index = rows[index][4]


def key(row):
    return row[2], row[5] >> 8 & 0xF


@settings(max_examples=150)
@given(forests())
def test_summaries_and_entries_of_random_trees(forest):
    rows, lanes = forest
    run = build(rows, ["", "a", "b", "c"], lanes)
    check_summary(run, rows)
    assert run.entries.depth.tolist() == [len(list(ancestors(rows, index))) for index in range(len(rows))]
    for index, (row, entry) in enumerate(zip(rows, run.get_entries(), strict=True)):
        assert entry.operation == "_abc"[row[2]]
        assert entry.parent == (None if row[4] < 0 else row[4])
        assert entry.failed == bool(row[5] & 1)
        children = sum(child[1] for child in rows if child[4] == index)
        assert entry.exclusive_time_ms == pytest.approx((row[1] - children) / 1e6)
        assert entry.duration_ms == row[1] / 1e6


def check_summary(run, rows):
    """Hold the summary against sums over the rows."""
    expected = {}
    for index, row in enumerate(rows):
        group = expected.setdefault(key(row), {"calls": 0, "total": 0, "own": 0, "recursive": 0, "failed": 0})
        inside = any(key(rows[above]) == key(row) for above in ancestors(rows, index))
        children = sum(child[1] for child in rows if child[4] == index)
        group["calls"] += 1
        group["failed"] += row[5] & 1
        group["recursive"] += inside
        group["total"] += 0 if inside else row[1]
        group["own"] += row[1] - children
    table = run.summary
    found = {
        (name, device): {"calls": calls, "total": total, "own": own, "recursive": recursive, "failed": failed}
        for name, device, calls, total, own, recursive, failed in zip(
            (run.string(name) for name in table.operation.tolist()),
            table.device.tolist(),
            table.call_count.tolist(),
            table.total_ns.tolist(),
            table.exclusive_ns.tolist(),
            table.recursive_count.tolist(),
            table.failed_count.tolist(),
            strict=True,
        )
    }
    assert found == {("_abc"[name], device): group for (name, device), group in expected.items()}
    busy = sum(row[1] for row in rows if row[4] == -1)
    assert sum(group["own"] for group in found.values()) == busy
    own = table.exclusive_ns.tolist()
    assert own == sorted(own, reverse=True)
    if busy:
        assert table.share.sum() == pytest.approx(1.0)


def test_the_order_is_fixed_when_times_are_equal():
    rows = [(0, 5, name, 0, -1, 0) for name in (3, 1, 2)]
    run = build(rows, ["", "b", "c", "a"])
    assert list(run.get_summary()) == ["a", "b", "c"]


def test_one_operation_on_two_devices_is_two_rows():
    run = build([(0, 5, 1, 0, -1, 0), (5, 7, 1, 0, -1, 1 << 8)], ["", "op"])
    assert list(run.get_summary()) == ["op [cpu]", "op [gpu]"]
    assert run.get_summary()["op [cpu]"].total_time_ms == 7e-6


def test_children_that_overlap_their_parent_leave_no_negative_time():
    """Damage, or an imported trace: more time in the children than in the parent."""
    run = build([(0, 10, 1, 0, -1, 0), (0, 8, 2, 0, 0, 0), (2, 8, 2, 0, 0, 0)])
    assert run.entries.exclusive_ns.tolist()[0] == 0
    assert all(row.exclusive_time_ms >= 0 for row in run.get_summary().values())


def test_very_long_durations_do_not_overflow():
    longest = 2**61 - 1
    run = build([(0, longest, 1, 0, -1, 0)] * 10)
    (row,) = run.get_summary().values()
    assert row.total_time_ms > 0
    assert row.max_time_ms == pytest.approx(longest / 1e6)
    assert run.summary.total_ns.tolist() == [2**63 - 1]


@pytest.mark.parametrize("parents", [(2, 1, 0), (0, -1, -1), (1, 2, 0), (-1, 2, 1)])
def test_parents_in_a_circle_are_refused(parents):
    with pytest.raises(FormatError, match="its own ancestor"):
        build([(0, 10, 1, 0, parent, 0) for parent in parents])


def test_parents_may_come_behind_their_children():
    run = build([(0, 10, 1, 0, 2, 0), (0, 10, 1, 0, -1, 0), (0, 10, 1, 0, 1, 0)])
    assert len(run.get_entries()) == 3
    run.get_summary()


@pytest.mark.parametrize("flags", [0xFF00, 0xF00, 0xF000, 0xFFFFFFFF])
def test_a_device_or_backend_that_nobody_knows_is_refused(flags):
    with pytest.raises(FormatError, match="span 0 is of an unknown device or backend"):
        build([(0, 10, 1, 0, -1, flags)])


@pytest.mark.parametrize("flags", [0xFF, 0xFF0000, 0xFFFF00FF])
def test_flags_of_a_later_version_break_nothing(flags):
    run = build([(0, 10, 1, 0, -1, flags)])
    (entry,) = run.get_entries()
    assert entry.device in DEVICES
    assert entry.backend in _core.BACKENDS
    (row,) = run.get_summary().values()
    assert row.device in DEVICES


def test_an_empty_run():
    run = build([])
    assert run.get_entries() == []
    assert run.get_summary() == {}
    assert run.get_bottlenecks() == []
    assert len(run.summary) == len(run.entries) == 0


def test_other_thresholds():
    run = flat(range(101))
    assert run.summarise({"percentile_tail": 0.5}).p95_ns.tolist() == [50.0]
    assert run.summary.p95_ns.tolist() == [95.0]
    for bad in ({"percentile_tail": math.nan}, {"percentile_tail": -1}, {"no_such": 1}):
        with pytest.raises(ValueError, match="threshold"):
            run.summarise(bad)
    with pytest.raises(TypeError):
        run.summarise({"percentile_tail": "half"})
    with pytest.raises(TypeError):
        run.summarise([])
