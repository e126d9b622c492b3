# SPDX-License-Identifier: Apache-2.0
"""What changed between two traces, as a command and a method.

The run of the method is the current one, ``other`` the baseline. ``text`` restricts both sides to the step of
that number. ``trace_diff_pairs`` holds the spans that belong together: operators, or (group_by 1) device work.
"""

from regimeter.analysis.verb import Column, Verb

VERBS = (
    Verb(
        name="diff",
        analysis="trace_diff",
        help="what changed from a baseline trace to another, aligned by the tree of operators",
        columns=(
            Column("name", "name"),
            Column("baseline_name", "in the baseline"),
            Column("change", "change", "code:CHANGES"),
            Column("baseline_calls", "calls before"),
            Column("calls", "calls"),
            Column("matched", "matched"),
            Column("baseline_host_ns", "host before", "ns"),
            Column("host_ns", "host", "ns"),
            Column("baseline_device_ns", "device before", "ns"),
            Column("device_ns", "device", "ns"),
            Column("difference_ns", "difference", "ns"),
        ),
        by={"operator": 0, "kernel": 1, "sequence": 2},
        text_option="step",
        other="BASELINE",
        empty="neither trace has operators or device work",
    ),
)
