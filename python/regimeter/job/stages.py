# SPDX-License-Identifier: Apache-2.0
"""The stages of a pipeline: the ranks at one place of the groups that only pass on from one to the next."""

import re
from typing import TYPE_CHECKING, Any

from .. import _core

if TYPE_CHECKING:
    from .joined import Joined

POINT_TO_POINT = frozenset(_core.COLLECTIVES.index(kind) for kind in ("send_recv", "send", "recv"))


def stages_of(joined: "Joined") -> dict[str, Any]:
    """Return the stages with their mean times per rank, and the slowest; or the reason why there are none.

    slowest: the stage with the longest mean compute time. imbalance: that by the mean over the stages, minus 1.
    """
    groups = _groups(joined)
    if not groups:
        return _none("no process group only passes on from rank to rank")
    places: dict[int, set[int]] = {}
    for ranks in groups:
        for place, rank in enumerate(ranks):
            places.setdefault(rank, set()).add(place)
    if len({len(ranks) for ranks in groups}) > 1 or any(len(found) > 1 for found in places.values()):
        return _none("its groups give a rank more than one place")
    members: dict[int, list[int]] = {}
    for rank, found in places.items():
        members.setdefault(next(iter(found)), []).append(rank)
    rows = [_row(stage, sorted(ranks), joined) for stage, ranks in sorted(members.items())]
    known = [row for row in rows if row["compute_ns"] is not None]
    slowest = max(known, key=lambda row: row["compute_ns"], default=None)
    mean = sum(row["compute_ns"] for row in known) / len(known) if known else 0.0
    return {
        "stages": rows,
        "slowest": slowest["stage"] if slowest else None,
        "imbalance": slowest["compute_ns"] / mean - 1.0 if slowest and mean > 0 else None,
        "reason": None,
    }


def _none(reason: str) -> dict[str, Any]:
    return {"stages": [], "slowest": None, "imbalance": None, "reason": reason}


def _groups(joined: "Joined") -> list[tuple[int, ...]]:
    """Return the ranks of each group of two or more in which nothing but transfers between two was recorded."""
    kinds: dict[tuple[int, int], set[int]] = {}
    columns = [joined.calls[name].tolist() for name in ("group_name", "group_ranks", "collective")]
    for name, ranks, kind in zip(*columns, strict=True):
        kinds.setdefault((name, ranks), set()).add(kind)
    passing = [joined.run.string(ranks) for (_, ranks), found in kinds.items() if ranks and found <= POINT_TO_POINT]
    listed = {tuple(map(int, re.findall(r"\d+", text))) for text in passing if "..." not in text}
    return sorted(ranks for ranks in listed if len(ranks) > 1)


def _row(stage: int, ranks: list[int], joined: "Joined") -> dict[str, Any]:
    rows = [row for row in joined.whole if row["rank"] in ranks]
    names = ("compute_ns", "exposed_comm_ns", "exposed_mem_ns", "idle_ns")
    return {
        "stage": stage,
        "ranks": ranks,
        **{name: sum(row[name] for row in rows) / len(rows) if rows else None for name in names},
    }
