# SPDX-License-Identifier: Apache-2.0
"""The critical path for the page's timeline: on which lane it runs when, and what took nearly as long beside it."""

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..analysis.words import words_of
from .pack import packed

if TYPE_CHECKING:
    from ..public.run import Run

MOST_PIECES = 50_000  # the longest of the path and of the detours; of the others the page has number and time


def path_of(run: "Run") -> dict[str, Any] | None:
    """Return path and ties as pieces in order of time; None for a run without a path.

    A piece is all that follows one another on one lane (-1 where nothing was recorded): when it starts, in ns since the
    start of the run, how long it is, and the kind that most of it went into, a number of `kinds` (words). Of ties,
    also how long before the path their detour was over, and how long the path beside it is.
    """
    path: Any = run.analyse("critical_path")
    if not len(path):
        return None
    ties: Any = run.analyse("critical_ties")
    return {
        "kinds": [words_of("PATH_KINDS", token) for token in _core.PATH_KINDS],
        "path": _pieces(run, path, [path.lane], ()),
        "ties": _pieces(run, ties, [ties.tie, ties.lane], ("slack_ns", "beside_ns")),
        "tied": int(ties.tie[-1]) + 1 if len(ties) else 0,
    }


def _pieces(run: "Run", table: Any, keys: list[Any], more: tuple[str, ...]) -> dict[str, Any]:
    """Return neighbours with the same keys as one piece, packed."""
    changes = np.zeros(len(table), dtype=bool)
    changes[:1] = True
    for key in keys:
        changes[1:] |= key[1:] != key[:-1]
    first = np.flatnonzero(changes)
    piece = np.cumsum(changes) - 1
    times = np.zeros((len(first), len(_core.PATH_KINDS)), dtype="int64")
    np.add.at(times, (piece, table.kind), table.duration_ns)
    duration = times.sum(axis=1)
    shown = np.sort(np.argsort(-duration, kind="stable")[:MOST_PIECES])
    columns = {
        "start_ns": packed(table.start_ns[first][shown] - run.start_ns),
        "duration_ns": packed(duration[shown]),
        "lane": packed(table.lane[first][shown]),
        "kind": packed(times.argmax(axis=1)[shown]),
    } | {name: packed(getattr(table, name)[first][shown]) for name in more}
    left_out = {"omitted": len(first) - len(shown), "omitted_ns": int(duration.sum() - duration[shown].sum())}
    return {"count": len(shown), **left_out, "columns": columns}
