# SPDX-License-Identifier: Apache-2.0
"""Communication as shown: overlap with compute, and collectives with their bandwidths."""

from regimeter.analysis.verb import Column, Verb

VERBS = (
    Verb(
        "communication",
        "communication",
        "communication time, how much of it compute hides, and by which library",
        (
            Column("rank", "rank"),
            Column("device", "device"),
            Column("library", "library", "code:LIBRARIES"),
            Column("name", "kernel"),
            Column("count", "kernels"),
            Column("comm_ns", "communication", "ns"),
            Column("hidden_ns", "hidden", "ns"),
            Column("exposed_ns", "exposed", "ns"),
            Column("overlap_share", "overlap", "share"),
        ),
        by={"device": 0, "library": 1, "kernel": 2},
        empty="no device work is in the trace",
    ),
    Verb(
        "collectives",
        "collective_times",
        "time and bandwidth of collectives (sizes and bus factors as in nccl-tests)",
        (
            Column("collective", "collective", "code:COLLECTIVES"),
            Column("element_type", "type"),
            Column("bytes", "size", "bytes"),
            Column("group_size", "ranks"),
            Column("group_name", "group"),
            Column("count", "calls"),
            Column("total_ns", "total", "ns"),
            Column("mean_ns", "mean", "ns"),
            Column("min_ns", "min", "ns"),
            Column("median_ns", "median", "ns"),
            Column("max_ns", "max", "ns"),
            Column("algorithm_bandwidth", "algorithm bw", "rate"),
            Column("bus_bandwidth", "bus bw", "rate"),
            Column("source", "told by", "code:COLLECTIVE_SOURCES"),
        ),
        by={"collective": 0, "message": 1, "call": 2},
        empty="no communication kernel is in the trace",
    ),
)
