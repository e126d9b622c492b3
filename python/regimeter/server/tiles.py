# SPDX-License-Identifier: Apache-2.0
"""The timeline of a run that has more spans than a page can hold, piece by piece, as the page of a server asks for it.

A tile is TILE_PIXELS pixels of 2**level ns; the tile numbered t begins t * TILE_PIXELS pixels after the start of the
run, and has the lanes of one band of BAND_LANES. In it a span of at least a pixel is drawn, and so is one that began
before and reaches into it; shorter ones of a pixel share a row. So over the tiles of a level every span begins in one.
"""

from typing import TYPE_CHECKING, Any

from .. import _core
from ..report.pack import Names, bare, binary
from ..report.trace_timeline import rows_of
from .problems import Problem

if TYPE_CHECKING:
    from ..public.run import Run
    from .loaded import Loaded

TILE_PIXELS = 1_024
BAND_LANES = 64
MOST_LEVEL = 52  # a tile of the last level holds all times that there are
FURTHEST_NS = (1 << 62) - 1
HIDDEN, SHOWN, FOLDED = 0, 1, 2


def is_tiled(loaded: "Loaded") -> bool:
    """Whether the page of a run asks for its timeline in tiles."""
    above = loaded.tiles_above
    return len(loaded.need_run().spans) > (_core.policy()["timeline_max_spans"]["default"] if above is None else above)


def grid(loaded: "Loaded") -> dict[str, Any]:
    """Return what a page must know to ask for tiles."""
    return {"run": loaded.entry.id, "pixels": TILE_PIXELS, "lanes": BAND_LANES, "levels": MOST_LEVEL}


def tile_of(loaded: "Loaded", *, level: int, tile: int, band: int, python: bool) -> bytes:
    """Return a tile: the columns of a page's timeline, each row with its row in `spans`, and the names in it.

    python: whether with Python functions; without them other spans move up.
    """
    run = loaded.need_run()
    begins, ends = (_reachable(run.start_ns + (tile + more) * (TILE_PIXELS << level)) for more in (0, 1))
    low, high = (min(at * BAND_LANES, len(run.lanes)) for at in (band, band + 1))
    return _document(loaded, run._tile(python, begins, ends, 1 << level, low, high), details=False)


def span_of(loaded: "Loaded", *, span: int, python: bool) -> bytes:
    """Return one span with its arguments, and its launch or the device work that it launched. Problem for none."""
    run = loaded.need_run()
    _need_span(run, span)
    return _document(loaded, run._tile_span(python, span), details=True)


def _need_span(run: "Run", span: int) -> None:
    if span >= len(run.spans):
        raise Problem(404, f"span: a row of {len(run.spans)} spans, not {span}")


def _reachable(time: int) -> int:
    return max(-FURTHEST_NS, min(FURTHEST_NS, time))


def _document(loaded: "Loaded", table: Any, *, details: bool) -> bytes:
    run = loaded.need_run()
    names = Names(run)
    made = rows_of(run, table, names, bare, details=details)
    made["columns"]["span"] = bare(table.span)
    return binary(made | {"names": names.texts})


def range_of(
    loaded: "Loaded", *, start_ns: int, end_ns: int, hidden: set[int], folded: set[int], python: bool, top: int
) -> dict[str, Any]:
    """Return what runs in a range, by name, the `top` with most time; of spans that reach beyond, the part inside.

    hidden: lanes that do not count; folded: lanes of which the first line counts. ValueError for a lane that is none.
    """
    run = loaded.need_run()
    lanes = bytearray([SHOWN]) * len(run.lanes)
    for how, numbers in ((FOLDED, folded), (HIDDEN, hidden)):
        for lane in numbers:
            if not 0 <= lane < len(lanes):
                raise ValueError(f"lanes: the run has {len(lanes)}, numbered from 0; there is no lane {lane}")
            lanes[lane] = how
    table = run._range_times(python, run.start_ns + start_ns, run.start_ns + end_ns, bytes(lanes))
    columns = (table.name, table.spans, table.time_ns, table.longest)
    rows = zip(*(column[:top].tolist() for column in columns), strict=True)
    return {
        "spans": int(table.spans.sum()),
        "names": len(table),
        "rows": [
            {"name": run.string(name), "spans": spans, "time_ns": time, "longest": longest}
            for name, spans, time, longest in rows
        ],
    }


def find_in(
    loaded: "Loaded", *, text: str, name: str | None, span: int | None, backwards: bool, python: bool
) -> dict[str, Any]:
    """Return how many spans have a text in their name, in any case, or have that name; and the next one after `span`.

    Problem for a span that is none.
    """
    run, wanted = loaded.need_run(), text.lower()
    _need_span(run, -1 if span is None else span)
    if name is not None:
        passes = bytes(one == name for one in run.strings)
    else:
        passes = bytes(wanted in one.lower() for one in run.strings)
    spans, duration, following = run._find(python, passes, -1 if span is None else span, -1 if backwards else 1)
    return {"spans": spans, "duration_ns": duration, "next": None if following < 0 else following}
