# SPDX-License-Identifier: Apache-2.0
"""A timeline in a terminal: a bar a lane, as high as the part of each moment in which something ran there."""

from typing import TYPE_CHECKING, Any

from .. import _core
from ..system.arrays import np
from ..system.text import count, duration, padded, percent, printable, shorten

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..public.run import Run

LANES = 8
HEIGHTS = " ▁▂▃▄▅▆▇█"
NAME, LEAST_BARS = 30, 16  # cells of a lane's name at the most, of the bars at the least
DEVICE = tuple(_core.SPAN_KINDS.index(kind) for kind in ("kernel", "memcpy", "memset", "accelerator"))
FIGURES = 9  # cells of the share behind the bars


def timeline_lines(run: "Run", width: int, most: int | None = LANES) -> list[str]:
    """Return a line a lane, devices first, then the busiest, and the axis beneath.

    A cell stands for an equal part of the time from the first to the last event. Its height is the part of it in which
    any span of the lane ran, of a device's any work; anything at all is the lowest bar. Lanes of no thread, to which a
    profiler writes marks of its own, are left out. most: lanes, None for all. width: in cells.
    """
    spans, lanes = run.spans, run.lanes
    if not len(spans) or not len(lanes) or not run.has_start_times:
        return []
    begin, end = int(spans.start_ns.min()), int((spans.start_ns + spans.duration_ns).max())
    used = np.unique(spans.lane).tolist()
    found = [(lane, *_merged(run, lane)) for lane in used if lanes.device[lane] >= 0 or lanes.thread[lane] >= 0]
    found = [one for one in found if one[2].sum() > 0]
    found.sort(key=lambda one: (lanes.device[one[0]] < 0, -int(one[2].sum())))
    shown = found[:most]
    if not shown or end <= begin:
        return []
    names = [_name(run, lane) for lane, _, _ in shown]
    room = min(max(map(len, names)), NAME, max(8, width - LEAST_BARS - FIGURES - 1))
    bars = max(LEAST_BARS, width - room - FIGURES - 1)
    edges = np.linspace(begin, end, bars + 1)
    lines = [
        f"{padded(shorten(name, room), room)} {_drawn(starts, lengths, edges)}"
        f" {percent(float(lengths.sum()) / (end - begin)):>8}"
        for name, (_, starts, lengths) in zip(names, shown, strict=True)
    ]
    last = duration((end - begin) / 1e6)
    axis = f"{' ' * room} 0{last:>{bars - 1}}"
    more = [f"({count(len(found) - len(shown), 'more lane')}: --full)"] if len(found) > len(shown) else []
    return [*lines, axis, *more]


def _merged(run: "Run", lane: int) -> "tuple[NDArray[Any], NDArray[Any]]":
    """Return starts and lengths of the unions of a lane's spans, ns."""
    spans = run.spans
    chosen = spans.lane == lane
    if run.lanes.device[lane] >= 0:
        chosen &= np.isin(spans.kind, DEVICE)  # steps and annotations lie on streams, too
    rows = np.flatnonzero(chosen)
    if not len(rows):
        return rows, rows
    rows = rows[np.argsort(spans.start_ns[rows], kind="stable")]
    starts = spans.start_ns[rows]
    ends = np.maximum.accumulate(starts + spans.duration_ns[rows])
    first = np.flatnonzero(np.r_[True, starts[1:] > ends[:-1]])
    last = np.r_[first[1:], len(rows)] - 1
    return starts[first], ends[last] - starts[first]


def _drawn(starts: "NDArray[Any]", lengths: "NDArray[Any]", edges: "NDArray[Any]") -> str:
    """Return a bar for each cell between two edges."""
    before = np.r_[0, np.cumsum(lengths)]
    at = np.searchsorted(starts, edges, side="right") - 1
    place = np.maximum(at, 0)
    inside = np.clip(edges - starts[place], 0, lengths[place])
    covered = np.where(at < 0, 0.0, before[place] + inside)
    parts = np.diff(covered) / np.diff(edges)
    heights = np.where(parts > 0, np.maximum(1, np.round(parts * (len(HEIGHTS) - 1))), 0).astype(int)
    return "".join(HEIGHTS[height] for height in np.minimum(heights, len(HEIGHTS) - 1).tolist())


def _name(run: "Run", lane: int) -> str:
    """Return what a lane is called, with its device where it has one and its rank where there are several."""
    lanes = run.lanes
    name = printable(run.string(int(lanes.name[lane]))).strip()
    device, rank = int(lanes.device[lane]), int(lanes.rank[lane])
    if device >= 0:
        name = f"device {device} {name or f'stream {int(lanes.thread[lane])}'}"
    ranks = len(set(lanes.rank.tolist())) > 1
    return f"rank {rank} {name}" if ranks and rank >= 0 else name or f"thread {int(lanes.thread[lane])}"
