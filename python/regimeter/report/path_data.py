# SPDX-License-Identifier: Apache-2.0
"""The critical path for the page's timeline: on which lane it runs when, and what took nearly as long beside it."""

from typing import TYPE_CHECKING, Any

from .. import _core
from ..analysis.words import words_of
from ..system.arrays import np, parts
from .pack import packed

if TYPE_CHECKING:
    from ..public.run import Run

PART_ROWS = 1 << 16  # that are looked at together: a piece of one row takes a number a kind
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
    duration, kind = _times(changes, table)
    shown = np.sort(np.argsort(-duration, kind="stable")[:MOST_PIECES])
    columns = {
        "start_ns": packed(table.start_ns[first[shown]] - run.start_ns),
        "duration_ns": packed(duration[shown]),
        "lane": packed(table.lane[first[shown]]),
        "kind": packed(kind[shown]),
    } | {name: packed(getattr(table, name)[first[shown]]) for name in more}
    left_out = {"omitted": len(first) - len(shown), "omitted_ns": int(duration.sum() - duration[shown].sum())}
    return {"count": len(shown), **left_out, "columns": columns}


def _times(changes: Any, table: Any) -> tuple[Any, Any]:
    """Return how long each piece is and the kind that most of it went into; a piece begins at each of `changes`."""
    durations, kinds = [], []
    open_times = np.zeros(len(_core.PATH_KINDS), dtype="int64")  # of the piece that goes on into the next part
    columns = (parts(column, PART_ROWS) for column in (changes, table.kind, table.duration_ns))
    for begins, kind, duration in zip(*columns, strict=True):
        piece = np.cumsum(begins)
        times = np.zeros((piece[-1] + 1, len(open_times)), dtype="int64")
        np.add.at(times, (piece, kind), duration)
        times[0] += open_times
        open_times = times[-1].copy()
        durations.append(times[:-1].sum(axis=1))
        kinds.append(times[:-1].argmax(axis=1).astype("u1"))
    durations.append(np.array([open_times.sum()]))
    kinds.append(np.array([open_times.argmax()], dtype="u1"))
    return np.concatenate(durations)[1:], np.concatenate(kinds)[1:]  # without what was before the first one
