# SPDX-License-Identifier: Apache-2.0
"""Repeated kernel sequences as shown."""

from regimeter.analysis.verb import LISTED, Column, Verb

LIMITS = {
    "min-length": "sequences_min_length",
    "max-length": "sequences_max_length",
    "min-count": "sequences_min_count",
    "top": "sequences_top",
}
VERBS = (
    Verb(
        "sequences",
        "sequences",
        "kernel sequences that repeat: candidates for fusion or CUDA graphs, by the gaps they contain",
        (
            Column("length", "kernels"),
            Column("count", "count"),
            Column("gap_ns", "gaps", "ns"),
            Column("kernel_ns", "kernel time", "ns"),
            Column("first_name", "first kernel"),
            Column("last_name", "last kernel"),
            Column("first_operator", "first operator"),
            Column("last_operator", "last operator"),
            Column("operators", "operators"),
            Column("cut", "goes on"),
        ),
        options=LIMITS,
        empty="no sequence of kernels repeats often enough",
    ),
    Verb(
        "sequence-kernels",
        "sequence_kernels",
        "the kernels of each repeated sequence",
        (
            Column("sequence", "sequence"),
            Column("position", "position"),
            Column("name", "kernel"),
            Column("op", "operator"),
            Column("count", "count"),
            Column("total_ns", "total", "ns"),
            Column("gap_ns", "gap before", "ns"),
        ),
        options=LIMITS,
        empty="no sequence of kernels repeats often enough",
        top=LISTED,
    ),
)
