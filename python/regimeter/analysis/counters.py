# SPDX-License-Identifier: Apache-2.0
"""Hardware counters as shown."""

from regimeter.analysis.verb import Column, Verb

BY = {"kernel-name": 0, "operator": 1, "kernel": 2}
VERBS = (
    Verb(
        "counters",
        "counter_values",
        "hardware counters attributed to kernels and operators",
        (
            Column("name", "name"),
            Column("series", "counter", whole=True),
            Column("total", "total"),
            Column("mean", "mean"),
            Column("count", "kernels"),
            Column("min", "min"),
            Column("max", "max"),
            Column("source", "recorded as", "code:COUNTER_SOURCES"),
            Column("unpaired", "unpaired"),
            Column("time_ns", "covered", "ns"),
        ),
        by=BY,
        empty="no hardware counter of a device is in the trace",
    ),
    Verb(
        "counter-flops",
        "counter_flops",
        "floating-point operations that the hardware counted (without tensor cores)",
        (
            Column("name", "name"),
            Column("count", "ranges"),
            Column("flops", "FLOP"),
            Column("half_flops", "half"),
            Column("single_flops", "single"),
            Column("double_flops", "double"),
        ),
        by=BY,
        empty="no instruction counters are in the trace",
    ),
)
