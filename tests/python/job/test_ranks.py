# SPDX-License-Identifier: Apache-2.0
"""Ranks: load imbalance, clocks, and who waits for whom, on made-up jobs with known answers and on a real one."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import ALL_REDUCE, build_run, named_kernel, rank_run, span
from traces import load_trace

from regimeter import Run
from regimeter.run.alignment import merge_ranks

job = st.integers(2, 5).flatmap(
    lambda ranks: st.lists(
        st.tuples(st.lists(st.integers(0, 50), min_size=ranks, max_size=ranks), st.integers(1, 20)),
        min_size=1,
        max_size=6,
    ).map(lambda rounds: (ranks, rounds))
)


@given(job, st.booleans(), st.data())
def test_a_job_with_known_arrivals(made: Any, numbered: bool, data: Any) -> None:
    """Every rank arrives at a time of its own, and all leave when the last has arrived and the transfer is done."""
    ranks, rounds = made
    clocks = [0, *(data.draw(st.integers(-1000, 1000)) for _ in range(ranks - 1))]
    calls: list[list[tuple[int, int]]] = [[] for _ in range(ranks)]
    begin = 0
    expected = {key: [0] * ranks for key in ("last", "caused_ns", "waited_ns", "transfer_ns", "latest_ns")}
    for arrivals, transfer in rounds:
        end = begin + max(arrivals) + transfer
        late = arrivals.index(max(arrivals))
        expected["last"][late] += 1
        expected["caused_ns"][late] += sum(max(arrivals) - a for a in arrivals)
        for rank, arrival in enumerate(arrivals):
            calls[rank].append((begin + arrival, end))
            expected["waited_ns"][rank] += max(arrivals) - arrival
            expected["transfer_ns"][rank] += transfer
            expected["latest_ns"][rank] = max(expected["latest_ns"][rank], arrival - min(arrivals))
        begin = end + 10
    sequence = list(range(5, 5 + len(rounds))) if numbered else None
    runs = [rank_run(r, calls[r], sequence=sequence, clock=clocks[r]) for r in range(ranks)]
    run, alignment = merge_ranks(runs)
    assert alignment.shifts_ns == tuple(-c for c in clocks)
    assert (alignment.rule, alignment.unaligned, alignment.remaining_ns, alignment.spread_ns) == (
        "collectives",
        (),
        0,
        0.0,
    )
    table = run.analyse("stragglers")
    order = np.argsort(table.rank)
    assert {key: getattr(table, key)[order].tolist() for key in expected} == expected
    assert table.collectives.tolist() == [len(rounds)] * ranks
    assert (table.unmatched.tolist(), table.doubtful.tolist()) == ([0] * ranks, [0] * ranks)
    assert table.caused_ns.tolist() == sorted(table.caused_ns.tolist(), reverse=True)
    instances = run.analyse("collective_instances")
    assert instances.by_sequence.tolist() == [int(numbered)] * len(rounds)
    assert instances.transfer_ns.tolist() == [transfer for _, transfer in rounds]
    assert instances.start_skew_ns.tolist() == [max(a) - min(a) for a, _ in rounds]
    assert instances.wait_ns.tolist() == [sum(max(a) - x for x in a) for a, _ in rounds]
    assert instances.last_rank.tolist() == [a.index(max(a)) for a, _ in rounds]
    assert instances.end_skew_ns.tolist() == [0] * len(rounds)
    assert instances.participants.tolist() == [ranks] * len(rounds)


def test_numbers_match_where_order_would_not() -> None:
    a = rank_run(0, [(0, 10), (20, 30), (40, 50)], sequence=[1, 2, 3])
    b = rank_run(1, [(25, 30), (41, 50)], sequence=[2, 3])
    table = Run._merge([a, b], [0, 0]).analyse("stragglers")
    assert dict(zip(table.rank.tolist(), table.unmatched.tolist(), strict=True)) == {0: 1, 1: 0}
    assert table.collectives.tolist() == [2, 2]


def test_without_numbers_unequal_counts_are_not_guessed() -> None:
    a, b = rank_run(0, [(0, 10), (20, 30), (40, 50)]), rank_run(1, [(25, 30), (41, 50)])
    table = Run._merge([a, b], [0, 0]).analyse("stragglers")
    assert dict(zip(table.rank.tolist(), table.unmatched.tolist(), strict=True)) == {0: 3, 1: 2}
    assert table.collectives.tolist() == [0, 0]
    assert np.isnan(table.last_share).all()
    assert len(Run._merge([a, b], [0, 0]).analyse("collective_instances")) == 0


def test_transfers_between_two_and_unknown_kernels_are_not_matched() -> None:
    names = ["ncclDevKernel_SendRecv", "ncclDevKernel_Generic"]
    runs = [rank_run(r, [(0, 10), (20, 30)], names=names) for r in (0, 1)]
    assert Run._merge(runs, [0, 0]).analyse("stragglers").unmatched.tolist() == [2, 2]


def test_a_collective_that_somebody_left_before_another_entered_is_doubtful() -> None:
    strict = {"stragglers_clock_tolerance_ns": 0}
    runs = [rank_run(0, [(0, 10), (100, 150)]), rank_run(1, [(20, 30), (120, 150)])]
    table = Run._merge(runs, [0, 0]).analyse("stragglers", thresholds=strict)
    assert (table.doubtful.tolist(), table.collectives.tolist(), table.caused_ns.tolist()) == ([1, 1], [1, 1], [20, 0])
    strict = {"stragglers_clock_tolerance_ns": 10}  # the clocks may be that far apart
    assert Run._merge(runs, [0, 0]).analyse("stragglers", thresholds=strict).doubtful.tolist() == [0, 0]
    strict = {"stragglers_clock_tolerance_ns": 9}
    assert Run._merge(runs, [0, 0]).analyse("stragglers", thresholds=strict).doubtful.tolist() == [1, 1]
    names = ["ncclDevKernel_Broadcast"] * 2  # the root of a broadcast may leave early
    runs = [rank_run(0, [(0, 10), (100, 150)], names=names), rank_run(1, [(20, 30), (120, 150)], names=names)]
    assert Run._merge(runs, [0, 0]).analyse("stragglers", thresholds=strict).doubtful.tolist() == [0, 0]


def test_clocks_reach_each_other_over_groups() -> None:
    """Ranks 0 and 1 share a group, and 1 and 2; rank 3 shares none."""

    def member(rank: int, groups: list[tuple[str, int]], clock: int) -> Run:
        spans = [named_kernel(ALL_REDUCE, end - 5 + clock, 5, step=1) for _, end in groups]
        rows = [
            {"span": i, "collective": "allreduce", "group_name": g, "group_size": 2, "sequence": 1}
            for i, (g, _) in enumerate(groups)
        ]
        return build_run(spans, [{"process": rank, "device": rank, "rank": rank}], collectives=rows)

    runs = [
        member(0, [("a", 10)], 0),
        member(1, [("a", 10), ("b", 30)], 70),
        member(2, [("b", 30)], -11),
        member(3, [("c", 9)], 0),
    ]
    _, alignment = merge_ranks(runs)
    assert (alignment.shifts_ns, alignment.unaligned) == ((0, -70, 11, 0), (3,))


def test_wall_clocks_come_first() -> None:
    def at(rank: int, base: int) -> Run:
        lanes = [{"process": rank, "rank": rank}]
        return build_run([named_kernel(ALL_REDUCE, 50, 10)], lanes, start_unix_ns=base + 50)

    run, alignment = merge_ranks([at(0, 1000), at(1, 1003)])
    assert (alignment.rule, alignment.shifts_ns, alignment.remaining_ns) == ("wall clock", (0, 3), 3)
    assert run.spans.start_ns.tolist() == [50, 53]


def test_a_single_run_and_runs_without_communication() -> None:
    run, alignment = merge_ranks([rank_run(0, [(0, 10)])])
    assert (alignment.rule, alignment.shifts_ns, alignment.remaining_ns) == ("none", (0,), None)
    assert run.analyse("stragglers").unmatched.tolist() == [1]
    plain = [build_run([named_kernel("gemm", 0, 5)], [{"rank": r}]) for r in (0, 1)]
    assert merge_ranks(plain)[1].unaligned == (0, 1)
    with pytest.raises(ValueError, match="no run"):
        merge_ranks([])


kinds = st.sampled_from(["gemm", ALL_REDUCE, "copy"])
work = st.lists(
    st.tuples(st.integers(0, 2), st.integers(-1, 2), kinds, st.integers(0, 80), st.integers(0, 20)),
    min_size=1,
    max_size=30,
)


@given(work)
def test_rank_times_match_a_count_of_every_nanosecond(rows: list[tuple[int, int, str, int, int]]) -> None:
    spans = [
        span("memcpy" if name == "copy" else "kernel", name, rank, start, duration, step=step)
        for rank, step, name, start, duration in rows
    ]
    run = build_run(spans, [{"process": r, "device": r, "rank": r} for r in range(3)])
    for by in (0, 1):
        groups: dict[tuple[int, int], list[Any]] = {}
        for row in rows:
            groups.setdefault((row[1] if by else -1, row[0]), []).append(row)
        table = run.analyse("rank_times", group_by=by)
        assert list(zip(table.step.tolist(), table.rank.tolist(), strict=True)) == sorted(groups)
        compute = {}
        for i, key in enumerate(sorted(groups)):
            active = {
                n: {t for r in groups[key] if r[2] == n for t in range(r[3], r[3] + r[4])}
                for n in ("gemm", ALL_REDUCE, "copy")
            }
            first, last = min(r[3] for r in groups[key]), max(r[3] + r[4] for r in groups[key])
            busy = active["gemm"] | active[ALL_REDUCE] | active["copy"]
            compute[key] = len(active["gemm"])
            whole = last - first
            assert (table.span_ns[i], table.busy_ns[i], table.idle_ns[i]) == (whole, len(busy), whole - len(busy))
            assert table.compute_ns[i] == len(active["gemm"])
            assert table.exposed_comm_ns[i] == len(active[ALL_REDUCE] - active["gemm"])
            assert table.exposed_mem_ns[i] == len(active["copy"] - active["gemm"] - active[ALL_REDUCE])
            assert table.kernels[i] == sum(r[2] != "copy" for r in groups[key])
            assert table.behind_ns[i] == first - min(r[3] for k, g in groups.items() if k[0] == key[0] for r in g)
        for i, key in enumerate(sorted(groups)):
            peers = [n for k, n in compute.items() if k[0] == key[0]]
            mean = sum(peers) / len(peers)
            assert table.imbalance[i] == pytest.approx(max(peers) / mean - 1 if mean else math.nan, nan_ok=True)
            assert mean == 0 or table.compute_deviation[i] == pytest.approx(compute[key] / mean - 1)


def test_a_real_job_of_eight_ranks() -> None:
    runs = [load_trace(f"dlrm8/rank-{i}.json.gz") for i in range(8)]
    run, alignment = merge_ranks(runs)
    assert (alignment.rule, alignment.unaligned) == ("wall clock", ())  # one host: its clocks agree to microseconds
    instances = run.analyse("collective_instances")
    assert instances.participants.tolist() == [8] * 8
    assert instances.overlaps.all()
    assert instances.end_skew_ns.max() <= 20_000  # all leave together: the match is right
    assert instances.start_skew_ns.max() > 7_000_000
    table = run.analyse("stragglers")
    assert (table.unmatched.sum(), table.doubtful.sum(), table.last.sum()) == (0, 0, 8)
    assert table.rank[0] == 7
    times, parts = run.analyse("rank_times"), run.analyse("breakdown")
    for name in ("span_ns", "busy_ns", "idle_ns", "compute_ns", "exposed_comm_ns", "exposed_mem_ns"):
        assert getattr(times, name).tolist() == getattr(parts, name).tolist()


def test_traces_with_parts_left_out_are_found_doubtful() -> None:
    """These two were thinned out by their publisher: most of their collectives cannot be the same ones."""
    run, alignment = merge_ranks([load_trace(f"ranks128/rank-{i}.json.gz") for i in (0, 1)])
    table = run.analyse("stragglers")
    assert (table.collectives + table.doubtful).tolist() == [10, 10]
    assert table.doubtful.min() >= 5
    assert alignment.spread_ns > 1_000_000
