# SPDX-License-Identifier: Apache-2.0
"""What the analyses of a trace add to the sentence of its verdict: which rank comes last, what nothing hides, which
kernels have most of the time, and that no device worked at all."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .. import _core
from ..run.trace_facts import is_trace
from ..system.arrays import np
from .words import subject

if TYPE_CHECKING:
    from ..public.run import Run

LEAST_EXPOSED = 0.05  # of the devices' spans: from here on it is told that nothing hides communication
LEAST_HIDDEN = 0.01  # of it
LEAST_LATE = 0.5  # of the waiting that one rank causes
LATE_OF_EVEN = 1.5  # times what would fall on each of the ranks
FEW_COLLECTIVES = 3
MOST_KERNELS, MOST_OF_TIME = 3, 0.5  # so few kernels with so much of the device's time are named
LEAST_PAGEABLE = 0.05  # of the time of pinned copies
NUMBERS = {1: "one kernel takes", 2: "two kernels take", 3: "three kernels take"}


@dataclass(frozen=True, slots=True)
class LateRank:
    """The rank for which most is waited: last in so many collectives of all, with its share of the others' waiting."""

    rank: int
    last: int
    collectives: int
    share: float
    time_ms: float


def late_rank(run: "Run") -> LateRank | None:
    """Return it where one causes most of the waiting, and more than its part; None elsewhere, and for one rank."""
    table = run.analyse("stragglers")
    if len(table) < 2:
        return None
    row = int(np.argmax(table.caused_ns))
    share, last, of = float(table.caused_share[row]), int(table.last[row]), int(table.collectives[row])
    sound = of >= FEW_COLLECTIVES and 2 * int(table.doubtful[row]) < of
    if not sound or not share >= max(LEAST_LATE, LATE_OF_EVEN / len(table)):
        return None
    return LateRank(int(table.rank[row]), last, of, share, int(table.caused_ns[row]) * 1e-6)


def unhidden(run: "Run") -> str:
    """Return what communication is called where none of it runs beside computation and it takes long; else ''."""
    table = run.analyse("breakdown")
    span, whole = int(table.span_ns.sum()), int(table.comm_ns.sum())
    hidden = int(table.comm_overlapped_by_compute_ns.sum())
    if not span or whole < LEAST_EXPOSED * span or hidden > LEAST_HIDDEN * whole:
        return ""
    kinds = {_core.COLLECTIVES[code] for code in run.analyse("collective_times").collective.tolist()}
    return kinds.pop().replace("_", "-") if len(kinds) == 1 and "unknown" not in kinds else "communication"


def largest_kernels(run: "Run") -> tuple[list[tuple[str, float]], float]:
    """Return the few kernels that have most of the device's time, (name, share), and their share; none where it takes
    more than a few."""
    table = run.analyse("kernel_times")
    computes = np.flatnonzero(table.activity == _core.ACTIVITIES.index("compute"))
    whole = int(table.total_ns[computes].sum())
    rows = [row for row in computes[np.argsort(-table.total_ns[computes], kind="stable")] if not table.others[row]]
    shares = [int(table.total_ns[row]) / whole for row in rows[:MOST_KERNELS]]
    for count in range(1, len(shares) + 1):
        if sum(shares[:count]) >= MOST_OF_TIME:
            names = [subject(run.string(int(table.name[row]))) for row in rows[:count]]
            return list(zip(names, shares[:count], strict=True)), sum(shares[:count])
    return [], 0.0


def are_pinned(run: "Run") -> bool:
    """Whether copies between host and device use pinned memory, by nearly all of their time."""
    table = run.analyse("copy_times")

    def time_ns(memory: str) -> int:
        code = _core.COPY_MEMORIES.index(memory)
        return int(table.total_ns[(table.source == code) | (table.target == code)].sum())

    return time_ns("pageable") < LEAST_PAGEABLE * time_ns("pinned")


def without_device(run: "Run") -> bool:
    """Whether a trace of another profiler has no work of a device: it may not have been asked for."""
    return is_trace(run) and not len(run.analyse("breakdown"))


def largest_operator(run: "Run") -> tuple[str, float, float] | None:
    """Return the operator with most time of its own, as (name, ms, share of all operators' own time); None without."""
    table = run.analyse("operator_times")
    if not len(table) or not int(table.self_ns.sum()):
        return None
    row = int(np.argmax(table.self_ns))
    own = int(table.self_ns[row])
    return subject(run.string(int(table.name[row]))), own * 1e-6, own / int(table.self_ns.sum())
