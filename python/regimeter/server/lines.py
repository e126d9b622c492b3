# SPDX-License-Identifier: Apache-2.0
"""Every span on a line of its lane, and what of them a window of a given width in pixels shows.

A span that is at least a pixel wide, or began before the window, is drawn as itself. Shorter ones that begin in the
same pixel of a line are aggregated, and their number and the sum of their times are kept: drawn + aggregated is always
the number of spans. The core draws (``csrc/analysis/views/tiles.h``), in time proportional to what is drawn.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core

if TYPE_CHECKING:
    from ..public.run import Run

MOST_WIDTH = 16_384
COLUMNS = ("lane", "depth", "start_ns", "duration_ns", "name", "kind", "activity", "count", "sum_ns", "span")


def window_of(run: "Run", start_ns: int | None, end_ns: int | None, width: int) -> dict[str, Any]:
    """Return what is within a window of the timeline, as columns with names and codes as text, ready for JSON.

    start_ns, end_ns: since the start of the run; None for the first start and the last end. width: pixels. Spans that
    reach into the window count. `spans` = `drawn` + `aggregated`, and the sums of `count` and `sum_ns` are those of the
    spans. A row with a count above 1 has the name, kind, activity and `span` of the longest span in it, and goes from
    the first start to the last end.
    """
    low, high = ends_of(run)
    first = low if start_ns is None else start_ns
    last = max(high if end_ns is None else end_ns, first)
    pixel = max(1, -(-(last - first) // width))
    table = run._tile(True, run.start_ns + first, run.start_ns + last + 1, pixel, 0, len(run.lanes))
    columns = {name: getattr(table, name) for name in COLUMNS} | {"start_ns": table.start_ns - run.start_ns}
    used, index = np.unique(table.name, return_inverse=True)
    return {
        "start_ns": first,
        "end_ns": last,
        "width": width,
        "pixel_ns": pixel,
        "spans": int(table.count.sum()),
        "drawn": int((table.count == 1).sum()),
        "aggregated": int(table.count[table.count > 1].sum()),
        "names": [run.string(number) for number in used.tolist()],
        "kinds": list(_core.SPAN_KINDS),
        "activities": list(_core.ACTIVITIES),
        "columns": {name: values.tolist() for name, values in columns.items()} | {"name": index.tolist()},
    }


def ends_of(run: "Run") -> tuple[int, int]:
    """Return the first start and the last end of the spans, in ns since the start of the run."""
    low, high, block = 0, 0, 1 << 20
    starts, durations = run.spans.start_ns, run.spans.duration_ns
    for at in range(0, len(starts), block):
        start = starts[at : at + block]
        first, last = int(start.min()), int((start + durations[at : at + block]).max())
        low, high = (first, last) if at == 0 else (min(low, first), max(high, last))
    return (low - run.start_ns, high - run.start_ns) if len(starts) else (0, 0)
