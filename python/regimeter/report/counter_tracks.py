# SPDX-License-Identifier: Apache-2.0
"""Time series for the page: rows of the analysis `counter_points`, one packed pair of columns a series."""

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from .pack import packed

if TYPE_CHECKING:
    from ..trace import Run

MOST_SERIES = 64  # a track is some 50 pixels high; what is beyond is counted
WHOLE = " (whole device)"  # what telemetry adds to the name where a MIG device cannot answer for itself


def counters_of(run: "Run") -> dict[str, Any]:
    """Return the series of a run, by device and name, with the number of those left out; times since the start."""
    table: Any = run.analyse("counter_points")
    if not len(table):
        return {"series": [], "omitted": 0}
    starts = np.flatnonzero(np.diff(table.series, prepend=-1) | np.diff(table.device, prepend=-2))
    ends = np.append(starts[1:], len(table))
    # The host's and unknown devices come last.
    groups = sorted(
        zip(starts.tolist(), ends.tolist(), strict=True),
        key=lambda one: (table.device[one[0]] < 0, table.device[one[0]], run.string(table.series[one[0]])),
    )
    shown = [_series(run, table, slice(*group)) for group in groups[:MOST_SERIES]]
    return {"series": shown, "omitted": len(groups) - len(shown)}


def _series(run: "Run", table: Any, rows: slice) -> dict[str, Any]:
    name = run.string(table.series[rows.start])
    metric = _core.telemetry_metrics().get(name.removesuffix(WHOLE), {})
    return {
        "name": name,
        "device": int(table.device[rows.start]),
        "unit": metric.get("unit", ""),
        "doc": metric.get("doc", ""),
        "reasons": {str(bit): token for token, (bit, _, _) in _core.clock_reasons().items()}
        if metric.get("kind") == "flags"
        else None,
        "count": rows.stop - rows.start,
        "samples": int(table.count[rows].sum()),
        "time_ns": packed(table.time_ns[rows] - run.start_ns, steps=True),
        "value": packed(table.value[rows]),
    }
