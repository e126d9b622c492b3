# SPDX-License-Identifier: Apache-2.0
"""The analyses that compare ranks."""

from regimeter.analysis.verb import LISTED, Column, Verb

RANK = Column("rank", "rank")
VERBS = (
    Verb(
        "ranks",
        "rank_times",
        "where the time of each rank went, and how unevenly work is shared out",
        (
            RANK,
            Column("device", "device"),
            Column("step", "step"),
            Column("behind_ns", "starts after", "ns"),
            Column("span_ns", "span", "ns"),
            Column("compute_ns", "compute", "ns"),
            Column("exposed_comm_ns", "exposed comm.", "ns"),
            Column("exposed_mem_ns", "exposed mem.", "ns"),
            Column("idle_ns", "idle", "ns"),
            Column("kernels", "kernels"),
            Column("compute_deviation", "compute vs mean", "share"),
            Column("imbalance", "imbalance", "share"),
        ),
        by={"rank": 0, "step": 1},
        empty="no device work is in the trace",
    ),
    Verb(
        "stragglers",
        "stragglers",
        "which rank the others wait for in collectives",
        (
            RANK,
            Column("collectives", "collectives"),
            Column("last", "last"),
            Column("last_share", "share last", "share"),
            Column("caused_ns", "made others wait", "ns"),
            Column("caused_share", "of all waits", "share"),
            Column("waited_ns", "waited", "ns"),
            Column("transfer_ns", "transfer", "ns"),
            Column("mean_late_ns", "mean lateness", "ns"),
            Column("doubtful", "doubtful"),
            Column("unmatched", "unmatched"),
        ),
        options={"clock-tolerance-ns": "stragglers_clock_tolerance_ns"},
        empty="no communication is in the trace",
    ),
    Verb(
        "collective-instances",
        "collective_instances",
        "each collective across its ranks: who came last, wait and transfer",
        (
            Column("collective", "collective", "code:COLLECTIVES"),
            Column("bytes", "size", "bytes"),
            Column("step", "step"),
            Column("participants", "ranks"),
            Column("start_skew_ns", "start skew", "ns"),
            Column("end_skew_ns", "end skew", "ns"),
            Column("transfer_ns", "transfer", "ns"),
            Column("wait_ns", "wait of all", "ns"),
            Column("last_rank", "last rank"),
            Column("overlaps", "plausible"),
        ),
        empty="no collective was recorded on more than one rank",
        top=LISTED,
    ),
    Verb(
        "clock-offsets",
        "clock_offsets",
        "how far the clocks of the ranks are apart, told by the ends of their collectives",
        (
            RANK,
            Column("reference_rank", "reference"),
            Column("offset_ns", "offset", "ns"),
            Column("shared", "collectives"),
            Column("spread_ns", "spread", "ns"),
        ),
        empty="no device work is in the trace",
    ),
)
