# SPDX-License-Identifier: Apache-2.0
"""The critical path as commands and methods.

``text`` is the window: the number of a step, or the name of an annotation, operator or scope, whose first instance
counts; without it, the whole trace. ``group_by`` chooses the rank: 0 the one that lasts longest, k the k-th.
"""

from regimeter.analysis.verb import LISTED, Column, Verb

_KIND = Column("kind", "time in", "code:PATH_KINDS")

VERBS = (
    Verb(
        name="critical-path",
        analysis="critical_path_shares",
        help="what the duration of a run or step hangs on, and what would remain without each part",
        columns=(
            _KIND,
            Column("total_ns", "on the path", "ns"),
            Column("share", "share", "share"),
            Column("count", "segments"),
            Column("bound_ns", "path without it", "ns"),
            Column("inferred_ns", "inferred", "ns"),
        ),
        text_option="step",
    ),
    Verb(
        name="critical-path-top",
        analysis="critical_path_top",
        help="the operators, calls and kernels on the critical path",
        columns=(
            Column("name", "name"),
            _KIND,
            Column("total_ns", "on the path", "ns"),
            Column("share", "share", "share"),
            Column("count", "segments"),
        ),
        text_option="step",
    ),
    Verb(
        name="critical-path-segments",
        analysis="critical_path",
        help="the critical path, segment by segment",
        columns=(
            Column("start_ns", "start", "at"),
            Column("duration_ns", "duration", "ns"),
            _KIND,
            Column("name", "name"),
            Column("inferred", "inferred"),
        ),
        text_option="step",
        top=LISTED,
    ),
)
