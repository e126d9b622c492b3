# SPDX-License-Identifier: Apache-2.0
"""Every span on a line of its lane, and what of them a window of a given width in pixels shows.

A span that is at least a pixel wide is drawn as itself. Shorter ones that begin in the same pixel of a line are
aggregated, and their number and the sum of their times are kept: drawn + aggregated is always the number of spans.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..public.run import Run

MOST_WIDTH = 16_384
COLUMNS = ("lane", "depth", "start_ns", "duration_ns", "name", "kind", "activity", "count", "sum_ns", "span")


@dataclass(frozen=True, slots=True)
class Lines:
    """Rows of the analysis `timeline_blocks` in order of line and start; times in ns since the start of the run.

    begins: the first row of each line, and the number of rows. reach_ns: the latest end on the line up to a row, by
    which what reaches into a window is found without looking at all rows.
    line: the number of the line among those of all lanes. count, sum_ns: what a row stands for, 1 and its own
    duration for a span.
    """

    begins: "NDArray[np.int64]"
    reach_ns: "NDArray[np.int64]"
    line: "NDArray[np.int32]"
    lane: "NDArray[np.uint32]"
    depth: "NDArray[np.int32]"
    start_ns: "NDArray[np.int64]"
    duration_ns: "NDArray[np.int64]"
    name: "NDArray[np.uint32]"
    kind: "NDArray[np.uint8]"
    activity: "NDArray[np.uint8]"
    count: "NDArray[np.int64]"
    sum_ns: "NDArray[np.int64]"
    span: "NDArray[np.int64]"

    def window(self, start_ns: int | None, end_ns: int | None, width: int) -> dict[str, Any]:
        """Return what is within a window of the timeline, as columns.

        start_ns, end_ns: None for the first start and the last end. width: pixels. Spans that reach into the window
        count. `spans` = `drawn` + `aggregated`, and the sums of `count` and `sum_ns` are those of the spans. A row
        with a count above 1 has the name, kind, activity and `span` of the longest span in it, and goes from the
        first start to the last end.
        """
        heads, tails = self.begins[:-1], self.begins[1:] - 1
        first = int(self.start_ns[heads].min(initial=0)) if start_ns is None else start_ns
        last = int(self.reach_ns[tails].max(initial=0)) if end_ns is None else end_ns
        last = max(last, first)
        rows = self._inside(first, last)
        pixel = max(1, -(-(last - first) // width))
        shown = self._shown(rows, first, pixel)
        count = shown["count"]
        return {
            "start_ns": first,
            "end_ns": last,
            "width": width,
            "pixel_ns": pixel,
            "spans": int(self.count[rows].sum()),
            "drawn": int((count == 1).sum()),
            "aggregated": int(count[count > 1].sum()),
            "columns": shown,
        }

    def _inside(self, first: int, last: int) -> "NDArray[np.int64]":
        """Return the rows that reach into a window, in order."""
        found = [self.begins[:0]]
        for head, tail in zip(self.begins[:-1].tolist(), self.begins[1:].tolist(), strict=True):
            low = head + int(np.searchsorted(self.reach_ns[head:tail], first, "left"))
            high = head + int(np.searchsorted(self.start_ns[head:tail], last, "right"))
            if low < high:
                ends = self.start_ns[low:high] + self.duration_ns[low:high]
                found.append(low + np.flatnonzero(ends >= first))
        return np.concatenate(found)

    def _shown(self, rows: "NDArray[np.int64]", first: int, pixel: int) -> dict[str, "NDArray[Any]"]:
        """Return the columns of the rows, neighbours that are shorter than a pixel gathered."""
        wide = (self.duration_ns[rows] >= pixel) | (self.count[rows] > 1)
        single, short = rows[wide], rows[~wide]
        bucket = (np.maximum(self.start_ns[short], first) - first) // pixel
        line = self.line[short]
        begins = np.flatnonzero(np.r_[True, (np.diff(line) != 0) | (np.diff(bucket) != 0)]) if len(short) else short[:0]
        gathered = self._gathered(short, begins)
        shown = {name: np.concatenate((getattr(self, name)[single], gathered[name])) for name in COLUMNS}
        line = np.concatenate((self.line[single], line[begins]))
        order = np.lexsort((shown["start_ns"], line))
        return {name: values[order] for name, values in shown.items()}

    def _gathered(self, short: "NDArray[np.int64]", begins: "NDArray[np.int64]") -> dict[str, "NDArray[Any]"]:
        """Return a row for each group of spans; `begins` says where in `short` each one begins."""
        if not len(short):
            return {name: getattr(self, name)[short] for name in COLUMNS}
        duration, start = self.duration_ns[short], self.start_ns[short]
        sizes = np.diff(np.r_[begins, len(short)])
        longest = np.repeat(np.maximum.reduceat(duration, begins), sizes) == duration
        places = np.flatnonzero(longest)
        groups = np.repeat(np.arange(len(begins)), sizes)[places]
        of_longest = short[places[np.r_[True, np.diff(groups) != 0]]]
        first = start[begins]
        made: dict[str, NDArray[Any]] = {
            "start_ns": first,
            "duration_ns": np.maximum.reduceat(start + duration, begins) - first,
            "count": np.add.reduceat(self.count[short], begins),
            "sum_ns": np.add.reduceat(self.sum_ns[short], begins),
        }
        return {name: made[name] if name in made else getattr(self, name)[of_longest] for name in COLUMNS}


def lines_of(run: "Run") -> Lines:
    """Return every span of a run on its line."""
    table: Any = run.analyse("timeline_blocks", thresholds={"timeline_max_spans": len(run.spans) + 1})
    lane, depth = table.lane, table.depth
    order = np.lexsort((table.start_ns, depth, lane))
    columns = {name: getattr(table, name)[order] for name in COLUMNS}
    changes = (np.diff(columns["lane"]) != 0) | (np.diff(columns["depth"]) != 0)
    heads = np.flatnonzero(np.r_[True, changes]) if len(order) else order[:0]
    begins = np.r_[heads, len(order)].astype("int64")
    columns["start_ns"] = columns["start_ns"] - run.start_ns
    reach = columns["start_ns"] + columns["duration_ns"]
    for head, tail in zip(begins[:-1].tolist(), begins[1:].tolist(), strict=True):
        np.maximum.accumulate(reach[head:tail], out=reach[head:tail])
    line = np.repeat(np.arange(len(heads)), np.diff(begins)).astype("int32")
    return Lines(begins=begins, reach_ns=reach, line=line, **columns)


def window_of(run: "Run", lines: Lines, start_ns: int | None, end_ns: int | None, width: int) -> dict[str, Any]:
    """Return a window with its names and codes as text, ready for JSON."""
    found = lines.window(start_ns, end_ns, width)
    columns = found.pop("columns")
    used, index = np.unique(columns["name"], return_inverse=True)
    shown = {name: values.tolist() for name, values in columns.items()} | {"name": index.tolist()}
    return found | {
        "names": [run.string(number) for number in used.tolist()],
        "kinds": list(_core.SPAN_KINDS),
        "activities": list(_core.ACTIVITIES),
        "columns": shown,
    }
