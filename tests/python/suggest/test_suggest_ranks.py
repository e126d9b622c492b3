# SPDX-License-Identifier: Apache-2.0
"""Suggestions on several ranks: who is late, who computes more than the others, and what that may cost."""

import pytest
from runs import ALL_REDUCE, rank_run

from regimeter import Run
from regimeter.run.alignment import merge_ranks


def two_ranks(late: int, compute: tuple[int, int] = (100_000, 100_000)) -> Run:
    """Ten collectives of two ranks; the second arrives `late` ns after the first, which waits."""
    runs = []
    for rank in (0, 1):
        calls = [(i * 1_000_000 + rank * late, i * 1_000_000 + 500_000) for i in range(10)]
        kernels = [(i * 1_000_000 + 600_000, i * 1_000_000 + 600_000 + compute[rank]) for i in range(10)]
        runs.append(rank_run(rank, calls + kernels, names=[ALL_REDUCE] * 10 + ["gemm"] * 10))
    return merge_ranks(runs)[0]


@pytest.mark.parametrize("late", [0, 300_000])
def test_a_late_rank_is_named(late: int) -> None:
    found = {one.rule: one for one in two_ranks(late).suggestions()}
    assert ("straggler" in found) == (late > 0)
    if late:
        ranks = [row.value for row in found["straggler"].evidence if row.quantity == "rank"]
        assert ranks == [1]
        assert "Rank 1 " in found["straggler"].description


@pytest.mark.parametrize("more", [100_000, 200_000])
def test_uneven_ranks_are_told(more: int) -> None:
    rules = {one.rule for one in two_ranks(0, (100_000, more)).suggestions()}
    assert ("rank_imbalance" in rules) == (more > 100_000)


@pytest.mark.parametrize("late", [200_000, 300_000])
def test_a_late_rank_is_bounded_by_the_waits_for_it(late: int) -> None:
    """Both end together, so the path is that of rank 0, which waits ten times."""
    (one,) = (s for s in two_ranks(late).suggestions() if s.rule == "straggler")
    assert one.bounded
    assert one.saved_high_ms == pytest.approx(10 * late / 1e6)
