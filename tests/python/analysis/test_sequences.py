# SPDX-License-Identifier: Apache-2.0
"""Repeated kernel sequences: against a search through all substrings of small texts."""

import itertools
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from runs import build_run, named_kernel
from traces import load_trace

from regimeter import Run, _core

ALL = {"sequences_top": 10_000, "sequences_min_count": 2, "sequences_min_length": 2, "sequences_max_length": 64}


def stream(text: str, lane: int = 0, gap: int = 5) -> list[dict[str, Any]]:
    """Return kernels named by the letters of a text, 10 ns long; "." is a copy, "!" communication."""
    names = {"!": "ncclDevKernel_AllReduce", ".": "Memcpy DtoD"}
    return [
        {**named_kernel(names.get(c, c), i * (10 + gap), 10), "kind": "memcpy" if c == "." else "kernel", "lane": lane}
        for i, c in enumerate(text)
    ]


def found(run: Run, **thresholds: float) -> dict[str, int]:
    """Return patterns as texts, with their counts."""
    policy = {**ALL, **{f"sequences_{key}": value for key, value in thresholds.items()}}
    table, kernels = run.analyse("sequences", thresholds=policy), run.analyse("sequence_kernels", thresholds=policy)
    texts = [""] * len(table)
    for row, name in zip(kernels.sequence, kernels.name, strict=True):
        texts[row] += run.string(name)
    assert [len(t) for t in texts] == table.length.tolist()
    return dict(zip(texts, table.count.tolist(), strict=True))


def occurrences(texts: list[str], pattern: str) -> list[tuple[int, int]]:
    """Return all places of a pattern, overlapping ones too."""
    return [(t, i) for t, text in enumerate(texts) for i in range(len(text)) if text.startswith(pattern, i)]


def apart(places: list[tuple[int, int]], length: int) -> int:
    """Return how many of the places do not overlap, counted from the left."""
    count, end = 0, (-1, 0)
    for text, at in places:
        if text != end[0] or at >= end[1]:
            count, end = count + 1, (text, at + length)
    return count


def expected(texts: list[str], min_length: int, max_length: int, min_count: int) -> dict[str, int]:
    """Return what the definition says, by trying every substring.

    Maximal repeats (no extension to either side keeps all occurrences); a repeat of max_length may go on to the right;
    repetitions, and repeats of which at most three quarters of the occurrences lie apart, count as their period.
    """
    pieces = [p for text in texts for p in text.replace("!", ".").split(".")]
    candidates = {
        p[i:j] for p in pieces for i in range(len(p)) for j in range(i + min_length, min(len(p), i + max_length) + 1)
    }
    result: dict[str, int] = {}
    for c in candidates:
        places = occurrences(pieces, c)
        if len(places) < max(2, min_count):
            continue
        before = {pieces[t][i - 1] if i else (t, i) for t, i in places}
        after = {pieces[t][i + len(c)] if i + len(c) < len(pieces[t]) else (t, i) for t, i in places}
        if len(before) == 1 or (len(after) == 1 and len(c) < max_length):
            continue
        period = min((b[1] - a[1] for a, b in itertools.pairwise(places) if a[0] == b[0]), default=10**9)
        pattern = c
        if 2 * period <= len(c) or (period < len(c) and 4 * apart(places, len(c)) <= 3 * len(places)):
            length = -(-min_length // period) * period
            pattern = c[:length] if length < len(c) else c
        count = apart(occurrences(pieces, pattern), len(pattern))
        if count >= min_count:
            result[pattern] = count
    # A part of a longer pattern that occurs no more often says nothing new.
    return {p: n for p, n in result.items() if not any(p != q and p in q and n == m for q, m in result.items())}


letters = st.lists(st.text("ab", max_size=24) | st.text("abc.!", max_size=30), min_size=1, max_size=3)


@given(letters, st.integers(1, 4), st.integers(0, 6), st.integers(2, 4))
@example(["aaaaaaaa"], 2, 6, 2)
@example(["abababab"], 2, 6, 2)
@example(["cabababac"], 2, 6, 2)
@example(["abcxabcyabc"], 2, 6, 2)
@example(["xyxyxyzxyxyxyzxyxyxyz"], 3, 6, 2)
def test_patterns_match_a_search_through_all_substrings(
    texts: list[str], min_length: int, more: int, min_count: int
) -> None:
    spans = [row for lane, text in enumerate(texts) for row in stream(text, lane)]
    run = build_run(spans, [{"process": 0, "device": 0, "thread": i} for i in range(len(texts))])
    limits = {"min_length": min_length, "max_length": min_length + more, "min_count": min_count}
    assert found(run, **limits) == expected(texts, **limits)


def test_times_are_those_of_the_kernels_and_of_the_gaps_between_them() -> None:
    spans = [
        named_kernel(name, start, duration)
        for name, start, duration in [
            ("a", 0, 10), ("b", 13, 10), ("c", 30, 1),
            ("a", 40, 20), ("b", 50, 5), ("d", 90, 1),
            ("a", 100, 10), ("b", 117, 10),
        ]
    ]  # fmt: skip
    run = build_run(spans)
    table = run.analyse("sequences")
    assert (table.length.tolist(), table.count.tolist()) == ([2], [3])
    assert (table.kernel_ns.tolist(), table.gap_ns.tolist()) == ([65], [10])  # 3 + 0 (b starts within a) + 7
    assert (table.first_span.tolist(), table.last_span.tolist()) == ([0], [1])
    kernels = run.analyse("sequence_kernels")
    assert (kernels.total_ns.tolist(), kernels.gap_ns.tolist()) == ([40, 25], [0, 10])
    assert kernels.position.tolist() == [0, 1]


def test_most_gap_time_comes_first_and_the_number_of_rows_is_bounded() -> None:
    run = build_run([*stream("abxabyab", gap=1), *stream("cdxcdycd", lane=1, gap=9)], [{"thread": 0}, {"thread": 1}])
    table = run.analyse("sequences")
    assert [run.string(n) for n in table.first_name] == ["c", "a"]
    assert table.gap_ns.tolist() == [27, 3]
    assert len(run.analyse("sequences", thresholds={"sequences_top": 1})) == 1
    assert len(run.analyse("sequences", thresholds={"sequences_top": 0})) == 0


def test_the_hash_is_that_of_the_names() -> None:
    one, other = build_run(stream("abxabyab")), build_run(stream("zzzqabxabyab"))
    assert one.analyse("sequences").hash[0] in other.analyse("sequences").hash.tolist()
    assert one.analyse("sequences").hash[0] != build_run(stream("acxacyac")).analyse("sequences").hash[0]


def test_a_repeat_beyond_the_limit_is_told_by_its_first_kernels() -> None:
    step = "abcdefghij"
    run = build_run(stream(".".join([step] * 3)))
    table = run.analyse("sequences", thresholds={**ALL, "sequences_max_length": 4})
    assert found(run, max_length=4) == {"abcd": 3}
    assert table.cut.tolist() == [1]
    assert found(run) == {step: 3}
    assert run.analyse("sequences", thresholds=ALL).cut.tolist() == [0]


@pytest.mark.parametrize("text", ["a" * 30_000, "ab" * 15_000, "a" * 15_000 + "b" * 15_000])
def test_long_monotony_is_no_quadratic_matter(text: str) -> None:
    run = build_run(stream(text))
    table = run.analyse("sequences", thresholds={"sequences_max_length": 64})
    assert table.length.max() == 2
    assert table.count.max() == text.count(text[:2])


def test_operators_are_named() -> None:
    spans: list[dict[str, Any]] = []
    for i, name in enumerate("abxabyab"):
        start = 100 * i
        spans += [
            {**named_kernel(f"op_{name}", start, 50), "kind": "cpu_op", "lane": 1, "parent": -1, "correlation": -1},
            {**named_kernel("launch", start, 9), "kind": "runtime", "lane": 1, "parent": 3 * i, "correlation": i + 1},
            {**named_kernel(name, start + 20, 9), "parent": -1, "correlation": i + 1},
        ]
    run = build_run(spans, [{"device": 0}, {"device": -1}])
    table = run.analyse("sequences")
    assert [run.string(table.first_operator[0]), run.string(table.last_operator[0])] == ["op_a", "op_b"]
    assert table.operators.tolist() == [2]
    assert [run.string(n) for n in run.analyse("sequence_kernels").op] == ["op_a", "op_b"]


Stream = tuple[list[int], list[int], list[int]]


def streams_of(run: Run) -> list[Stream]:
    """Return of each stream its names, -1 for what is no kernel that computes, durations, and gaps before each."""
    spans, lanes = run.spans, defaultdict(list)
    work = {number for number, kind in enumerate(_core.SPAN_KINDS) if kind in ("kernel", "memcpy", "memset")}
    for i in np.argsort(spans.start_ns, kind="stable").tolist():
        if spans.kind[i] in work:
            lanes[spans.lane[i]].append(i)
    communication = [n for n, text in enumerate(run.strings) if "nccl" in text]
    computes = (spans.kind == _core.SPAN_KINDS.index("kernel")) & ~np.isin(spans.name, communication)
    names = np.where(computes, spans.name.astype(np.int64), -1)
    found = []
    for rows in lanes.values():
        ends = np.maximum.accumulate(spans.start_ns[rows] + spans.duration_ns[rows])
        gaps = np.maximum(0, spans.start_ns[rows][1:] - ends[:-1])
        found.append((names[rows].tolist(), spans.duration_ns[rows].tolist(), [0, *gaps.tolist()]))
    return found


def count_on_streams(streams: list[Stream], pattern: list[int]) -> tuple[int, int, int]:
    """Return occurrences of names on all streams, counted from the left, their kernel time and the gaps within."""
    count = kernels = total = 0
    for names, durations, gaps in streams:
        at = 0
        while at + len(pattern) <= len(names):
            end = at + len(pattern)
            if names[at] != pattern[0] or names[at:end] != pattern:
                at += 1
                continue
            count += 1
            kernels += sum(durations[at:end])
            total += sum(gaps[at + 1 : end])
            at = end
    return count, kernels, total


def test_a_real_trace() -> None:
    """Every pattern is checked occurrence by occurrence against the kernels of each stream."""
    run = load_trace("diff_v100_test.json.gz")
    table, kernels = run.analyse("sequences"), run.analyse("sequence_kernels")
    assert len(table) == 50
    streams = streams_of(run)
    for row in range(len(table)):
        names = kernels.name[kernels.sequence == row].tolist()
        assert count_on_streams(streams, names) == (table.count[row], table.kernel_ns[row], table.gap_ns[row])
