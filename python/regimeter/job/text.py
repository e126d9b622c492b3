# SPDX-License-Identifier: Apache-2.0
"""The document of a job as sentences and tables."""

from collections.abc import Callable, Sequence
from typing import Any

from ..analysis.rows import format_cell
from ..run.trace_facts import DAMAGE
from ..system.text import TextTable, count, duration, percent, printable, render_fitting

MOST_ROWS = 20
BECAUSE = {
    "compute": "its compute took longer than that of the others",
    "host": "its device had nothing to do: the host launched late",
    "copies": "copies that nothing hid",
    "communication": "it came late out of another communication",
    "several": "no single cause explains half of it",
}


def headline(found: dict[str, Any]) -> list[str]:
    """Return what the job lost, to whom and why, in at most five sentences."""
    lines = [_waits(found), _network(found), _compute(found), _stage(found), _absent(found)]
    return [line for line in lines if line]


def _waits(found: dict[str, Any]) -> str:
    rows, waits = found["stragglers"], sum(found["losses"]["caused_ns"].values())
    if not rows:
        return "No communication was recorded."
    if not any(row["collectives"] for row in rows):
        doubtful = sum(row["doubtful"] for row in rows)
        reason = "the clocks do not fit together" if doubtful else "no collective was recorded on more than one rank"
        return f"Who waits for whom cannot be told: {reason}."
    worst = rows[0]
    if not worst["caused_ns"]:
        return "No rank waited for another in a collective."
    share = percent(worst["caused_share"])
    return (
        f"The ranks waited {_time(waits)} for one another in collectives, {_time(worst['caused_ns'])} of it for rank "
        f"{worst['rank']} ({share}; last in {worst['last']:,} of {worst['collectives']:,}): {BECAUSE[worst['cause']]}."
    )


def _network(found: dict[str, Any]) -> str:
    losses = found["losses"]
    if not losses["slow_transfers"]:
        return ""
    noun = "transfer was" if losses["slow_transfers"] == 1 else "transfers were"
    return (
        f"{losses['slow_transfers']:,} {noun} slower than others of their kind, which cost the ranks "
        f"{_time(losses['slow_transfer_ns'])} in all: the network."
    )


def _compute(found: dict[str, Any]) -> str:
    rows = [row for row in found["steps"] if row["imbalance"] is not None and row["ranks"] > 1]
    if not rows:
        return ""
    worst = max(rows, key=lambda row: row["imbalance"])
    where = f" of step {worst['step']}" if worst["step"] >= 0 else ""
    return (
        f"Compute{where} is {percent(worst['imbalance'])} longer on rank {worst['most_compute_rank']} than on "
        f"average{'' if len(rows) == 1 else ', the most of all steps'}."
    )


def _stage(found: dict[str, Any]) -> str:
    pipeline = found["pipeline"]
    if pipeline["slowest"] is None:
        return ""
    return (
        f"The slowest of {len(pipeline['stages'])} pipeline stages is number {pipeline['slowest']}: "
        f"{percent(pipeline['imbalance'])} more compute than the mean of the stages."
    )


def _named(files: list[str]) -> str:
    return "; ".join(files[:3]) + (f"; and {len(files) - 3} more" if len(files) > 3 else "")


def _absent(found: dict[str, Any]) -> str:
    said = []
    if found["missing"]["count"]:
        said.append(f"{found['missing']['count']:,} of {found['world_size']:,} ranks are missing")
    if found["left_out"]:
        named = _named([f"{printable(row['file'])}: {row['reason']}" for row in found["left_out"]])
        said.append(f"{len(found['left_out'])} files were left out ({named})")
    damaged = [printable(row["file"]) for row in found["files"] if DAMAGE & row["anomalies"].keys()]
    if damaged:
        said.append(f"damaged and read in part: {count(len(damaged), 'file')} ({_named(damaged)})")
    return "; ".join(said) + "." if said else ""


def _time(ns: float | None) -> str:
    return duration(None if ns is None else ns / 1e6)


def _clocks(clocks: dict[str, Any]) -> str:
    """Say how the clocks were aligned, and what tells whether they are: barriers leave nothing that does."""
    if len(clocks["shifts_ns"]) < 2:
        return "one clock"
    if clocks["rule"] == "none":
        return "clocks not aligned: there is neither a wall clock of each rank nor a collective in common"
    if clocks["remaining_ns"] is None:
        return f"clocks aligned by {clocks['rule']}, not checked: there is no collective in common"
    remaining, spread = _time(clocks["remaining_ns"]), _time(clocks["spread_ns"])
    return f"clocks aligned by {clocks['rule']}, remaining {remaining}, spread {spread}"


def text(found: dict[str, Any], width: int = 0) -> str:
    """Return the whole report; width: of its tables, 0 for no limit."""
    facts = f"{found['ranks']:,} ranks; {_clocks(found['clocks'])}"
    return "\n".join([*found["headline"], "", facts, *(part for part in _tables(found, width) if part)])


Describe = Sequence[tuple[str, str, str]]  # column, heading, unit
STRAGGLERS: Describe = (
    ("rank", "rank", ""), ("collectives", "collectives", ""), ("last", "last", ""),
    ("caused_ns", "made others wait", "ns"), ("caused_share", "of all waits", "share"), ("cause", "because of", ""),
    ("waited_ns", "waited", "ns"), ("mean_late_ns", "mean lateness", "ns"), ("doubtful", "doubtful", ""),
    ("unmatched", "unmatched", ""),
)  # fmt: skip
STEPS: Describe = (
    ("step", "step", ""), ("duration_ns", "median duration", "ns"), ("compute_ns", "compute", "ns"),
    ("exposed_comm_ns", "exposed comm.", "ns"), ("idle_ns", "idle", "ns"), ("imbalance", "imbalance", "share"),
    ("wait_ns", "waits of all", "ns"), ("waited_for", "for rank", ""), ("caused_share", "of the waits", "share"),
    ("cause", "because of", ""), ("slow_transfer_ns", "slow transfers", "ns"),
)  # fmt: skip
COLLECTIVES: Describe = (
    ("collective", "collective", ""), ("bytes", "size", "bytes"), ("group_size", "group", ""), ("calls", "calls", ""),
    ("matched", "matched", ""), ("exposed_per_rank_ns", "exposed per rank", "ns"), ("transfer_ns", "transfer", "ns"),
    ("wait_ns", "waits of all", "ns"), ("slow", "slow", ""), ("slow_ns", "too long", "ns"),
)  # fmt: skip
RANKS: Describe = (
    ("rank", "rank", ""), ("step", "step", ""), ("behind_ns", "starts after", "ns"), ("span_ns", "span", "ns"),
    ("compute_ns", "compute", "ns"), ("exposed_comm_ns", "exposed comm.", "ns"),
    ("exposed_mem_ns", "exposed mem.", "ns"), ("idle_ns", "idle", "ns"), ("kernels", "kernels", ""),
    ("compute_deviation", "compute vs mean", "share"),
)  # fmt: skip
STAGES: Describe = (
    ("stage", "stage", ""), ("ranks", "ranks", ""), ("compute_ns", "compute", "ns"),
    ("exposed_comm_ns", "exposed comm.", "ns"), ("idle_ns", "idle", "ns"),
)  # fmt: skip


def _tables(found: dict[str, Any], width: int) -> list[str]:
    stages = [{**row, "ranks": len(row["ranks"])} for row in found["pipeline"]["stages"]]
    return [
        _table("Who is waited for", STRAGGLERS, found["stragglers"], width),
        _table("Step by step", STEPS, found["steps"], width),
        _table("Communication", COLLECTIVES, found["collectives"], width),
        _table("Pipeline stages", STAGES, stages, width),
        _table("Where the time went", RANKS, found["rows"], width),
    ]


def _table(title: str, columns: Describe, rows: list[dict[str, Any]], width: int) -> str:
    if not rows:
        return ""
    shown = rows[:MOST_ROWS]
    columns = [c for c in columns if any(row[c[0]] not in (None, -1) for row in shown)]
    format_row: Callable[[dict[str, Any]], list[str]] = lambda row: [  # noqa: E731
        "-" if row[name] in (None, -1) else format_cell(row[name], unit) for name, _, unit in columns
    ]
    table = TextTable(title, [heading for _, heading, _ in columns], [format_row(row) for row in shown])
    more = f"\n{len(shown)} of {len(rows):,} rows; --json has all" if len(rows) > MOST_ROWS else ""
    return f"\n{render_fitting(table, width)}{more}"
