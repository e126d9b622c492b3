# SPDX-License-Identifier: Apache-2.0
"""Why a rank came late to a collective, and which transfers were slow.

The start of a rank's kernel is the end of its communication before, plus what its device did from there on: compute,
copies, nothing. Each of the four minus its mean over the other ranks is a part of the lateness, and the parts add up
to it. The largest is the cause where it explains more than `ranks_cause_share`:

    compute        its kernels took longer, or it had more of them
    host           its device had nothing to do: work was launched late
    copies         copies and sets that nothing hid
    communication  it came late out of another communication: of another group, a transfer between two, the network
    several        none of them explains as much

Before the first communication of a rank is the start of its device's first work: a late beginning is the host's.

A transfer is slow when it took `ranks_slow_transfer` times the median of those of the same kind, message size and
number of ranks, of which there are at least `ranks_like_transfers`; what is beyond the median is the network's.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .joined import Joined

CAUSES = ("compute", "host", "copies", "communication", "several")
_SEVERAL = CAUSES.index("several")


@dataclass(frozen=True, slots=True)
class Arrivals:
    """One row a matched collective, in the order of collective_instances.

    caused_ns: waits of the others, 0 where the match is doubtful. late_ns: start of the last to arrive after the mean
    of the others. parts: [n, 4] what that is made of, in the order of CAUSES. cause: an index of CAUSES. slow_ns: what
    the transfer took beyond the median of like ones, 0 where it was not slow.
    """

    step: "NDArray[np.int32]"
    last_rank: "NDArray[np.int32]"
    doubtful: "NDArray[np.bool_]"
    caused_ns: "NDArray[np.int64]"
    transfer_ns: "NDArray[np.int64]"
    late_ns: "NDArray[np.float64]"
    parts: "NDArray[np.float64]"
    cause: "NDArray[np.int64]"
    slow_ns: "NDArray[np.int64]"


def arrivals_of(joined: "Joined", policy: dict[str, float], rules: tuple[tuple[str, str], ...]) -> Arrivals:
    """Return what is to be said of each matched collective."""
    table = joined.run.analyse("collective_instances", thresholds=policy, rules=rules)
    calls, count = joined.calls, len(table)
    member = np.flatnonzero(calls["instance"] >= 0)
    member = member[np.argsort(calls["instance"][member], kind="stable")]  # of one instance in order of device
    of = calls["instance"][member]
    doubtful = table.doubtful != 0
    last = _last(of, calls["start_ns"][member], count)
    others = np.bincount(of, minlength=count) - 1.0

    def of_last_less_others(values: "NDArray[Any]") -> "NDArray[np.float64]":
        base = np.zeros(count, np.int64)  # moments are 2^60 ns: their differences are exact, not their sums
        base[of[::-1]] = values[::-1]
        relative = (values - base[of]).astype(np.float64)
        own = relative[last]
        mean: NDArray[np.float64] = (np.bincount(of, relative, count) - own) / others
        difference: NDArray[np.float64] = own - mean
        return difference

    first = _first_of_device(calls)[member]
    start = calls["start_ns"][member]
    compute, memory, idle = (calls[name][member] for name in ("since_compute_ns", "since_mem_ns", "since_idle_ns"))
    left = start - calls["since_ns"][member]
    left_parts = of_last_less_others(left) if count else np.zeros(0)
    parts = (
        np.stack([of_last_less_others(compute), of_last_less_others(idle), of_last_less_others(memory), left_parts], 1)
        if count
        else np.zeros((0, 4))
    )
    if count:
        began = first[last]  # nothing communicated before: that its device began late is the host's
        parts[began, 1] += parts[began, 3]
        parts[began, 3] = 0.0
    late = of_last_less_others(start) if count else np.zeros(0)
    largest = parts.argmax(1) if count else np.zeros(0, np.int64)
    explains = parts.max(1) >= policy["ranks_cause_share"] * late if count else np.zeros(0, bool)
    return Arrivals(
        step=table.step,
        last_rank=table.last_rank,
        doubtful=doubtful,
        caused_ns=np.where(doubtful, 0, table.wait_ns),
        transfer_ns=table.transfer_ns,
        late_ns=late,
        parts=parts,
        cause=np.where(explains, largest, _SEVERAL),
        slow_ns=_slow(table, doubtful, policy),
    )


def _last(of: "NDArray[Any]", start: "NDArray[Any]", count: int) -> "NDArray[np.int64]":
    """Return the place of the last to arrive of each instance, of several the first in order of devices."""
    order = np.lexsort((-np.arange(len(of)), start, of))
    return order[np.searchsorted(of[order], np.arange(count), "right") - 1]


def _first_of_device(calls: dict[str, "NDArray[Any]"]) -> "NDArray[np.bool_]":
    """Return whether a call is the first of its device; calls are by device, then by start."""
    rank, device = calls["rank"], calls["device"]
    same = (rank[1:] == rank[:-1]) & (device[1:] == device[:-1])
    return np.concatenate((np.ones(min(1, len(rank)), bool), ~same))


def _slow(table: Any, doubtful: "NDArray[np.bool_]", policy: dict[str, float]) -> "NDArray[np.int64]":
    slow = np.zeros(len(table), np.int64)
    keys = np.stack([table.collective, table.bytes, table.participants, table.group_size], 1).astype(np.int64)
    sure = np.flatnonzero(~doubtful)
    if not len(sure):
        return slow
    _, kind = np.unique(keys[sure], axis=0, return_inverse=True)
    for value in range(int(kind.max()) + 1):
        alike = sure[kind.reshape(-1) == value]
        if len(alike) < policy["ranks_like_transfers"]:
            continue
        times = table.transfer_ns[alike]
        median = float(np.median(times))
        beyond = alike[times > policy["ranks_slow_transfer"] * median]
        slow[beyond] = np.rint(table.transfer_ns[beyond] - median).astype(np.int64)
    return slow


def by_cause(arrivals: Arrivals, rows: Any) -> dict[str, int]:
    """Return the waits that the collectives `rows` charge to a rank, by cause, without those that are 0."""
    sums = np.bincount(arrivals.cause[rows], arrivals.caused_ns[rows], len(CAUSES))
    return {cause: int(value) for cause, value in zip(CAUSES, sums.tolist(), strict=True) if value}
