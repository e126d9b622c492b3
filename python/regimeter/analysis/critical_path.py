# SPDX-License-Identifier: Apache-2.0
"""The critical path as commands and methods.

``text`` is the window: the number of a step, or the name of an annotation, operator or scope, whose first instance
counts; without it, the whole trace. ``group_by`` chooses the rank: 0 the one that lasts longest, k the k-th.
"""

from collections.abc import Sequence
from typing import Any

from regimeter.analysis.verb import LISTED, Column, Verb
from regimeter.analysis.words import words_of
from regimeter.system.text import duration, percent

_KIND = Column("kind", "time in", "code:PATH_KINDS", whole=True)
_REASON = Column("reason", "what is known", "code:PATH_REASONS")
# Where the path runs is no blame: beside it something else may take as long.
_RUNS_THROUGH = Column("total_ns", "path runs through it for", "ns")

# What the chains of the two sides say together; {host} and {device} are what remains of the path with one alone.
_FOLLOWS = {
    "host": "It follows the host: the host's chain alone takes {host}, the device's alone {device}.",
    "device": "It follows the device: the device's chain alone takes {device}, the host's alone {host}.",
    "tied": "Host and device are nearly tied: the host's chain alone takes {host}, the device's alone {device}; making "
    "one of them faster saves at most what it is longer than the other.",
    "in_turn": "Host and device take turns: the host's chain alone takes {host}, the device's alone {device}.",
}
# Of a start_delay, by what PATH_REASONS calls it.
_KNOWN = {
    "none": "nothing is known of it",
    "launch_not_recorded": "its launch was not recorded",
    "first_work_in_recording": "it is the first work of the device that was recorded, which may have been busy before",
    "graph_launch": "a graph was launched, which sets up all its work first",
    "launch_call_still_running": "the launch call had not returned",
    "first_use_in_recording": "the first use of that kernel in the recording, which may load its code",
    "nothing_recorded": "nothing that was recorded says why",
}
_NO_DEVICE = "No device work is in it; all of it is the host's."


def headline(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return what the rows say together: what the length follows, and what would save most."""
    if not rows:
        return []
    first = rows[0]
    path = first["path_ns"]

    def part(ns: int) -> str:
        return f"{duration(ns / 1e6)} ({percent(ns / path)} of the path)"

    rank = f" of rank {first['rank']}" if first["rank"] >= 0 else ""
    text = _FOLLOWS[first["follows"]] if first["device_chain_ns"] else _NO_DEVICE
    chains = text.format(host=part(first["host_chain_ns"]), device=part(first["device_chain_ns"]))
    most = f"Without {words_of('PATH_KINDS', first['time_in'])}, at least {part(first['bound_ns'])} would remain"
    nothing = "Nothing on it can be done without to save time: beside each part, something else takes as long."
    saving = f"{most}: it saves {duration(first['saving_ns'] / 1e6)} at most, more than any other kind of time."
    lines = [f"The path{rank} is {duration(path / 1e6)} long. {chains}"]
    lines.append(saving if first["saving_ns"] else nothing)
    delayed = next((row for row in rows if row["time_in"] == "start_delay"), None)
    if delayed:
        lines.append(
            f"For {duration(delayed['total_ns'] / 1e6)} of it launched work had not begun, though no other stream was "
            f"busy: {_KNOWN[delayed['reason']]}."
        )
    return lines


VERBS = (
    Verb(
        name="critical-path",
        analysis="critical_path_shares",
        help="what the duration of a run or step hangs on, and what would remain without each part",
        columns=(
            Column("time_in", "time in", "code:PATH_KINDS", whole=True),
            Column("bound_ns", "remains without it", "ns"),
            Column("saving_ns", "saves at most", "ns"),
            Column("saving_share", "of the path", "share"),
            _RUNS_THROUGH,
            Column("count", "segments"),
            Column("inferred_ns", "inferred", "ns"),
            _REASON,
            Column("kind", "kind", "code:PATH_KINDS", hidden=True),
            Column("follows", "follows", "code:PATH_SIDES", hidden=True),
        ),
        text_option="step",
        headline=headline,
    ),
    Verb(
        name="critical-path-top",
        analysis="critical_path_top",
        help="the operators, calls and kernels that the critical path runs through",
        columns=(
            Column("name", "name"),
            _KIND,
            _RUNS_THROUGH,
            Column("path_share", "of the path", "share"),
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
            _REASON,
        ),
        text_option="step",
        top=LISTED,
    ),
    Verb(
        name="critical-path-ties",
        analysis="critical_ties",
        help="what took nearly as long beside the critical path: without a part of the path that would take its place",
        columns=(
            Column("tie", "detour"),
            Column("start_ns", "start", "at"),
            Column("duration_ns", "duration", "ns"),
            _KIND,
            Column("name", "name"),
            Column("slack_ns", "over before the path", "ns"),
            Column("beside_ns", "beside", "ns"),
        ),
        empty="nothing beside the path took nearly as long",
        text_option="step",
        top=LISTED,
    ),
)
