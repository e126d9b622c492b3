# SPDX-License-Identifier: Apache-2.0
"""Time series for the page, one packed pair of columns a series: rows of the analysis `counter_points`, and what the
looks at the machine say."""

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..run.witness import WORDS, threshold
from .pack import packed

if TYPE_CHECKING:
    from ..public.run import Run

MOST_SERIES = 64  # a track is some 50 pixels high; what is beyond is counted
MOST_POINTS = int(_core.policy()["counter_max_points"]["default"])  # of a series of the machine
AROUND = int(threshold("around"))
MACHINE_DOCS = {
    "throughput": f"Time of a fixed piece of arithmetic over its median, median of {AROUND} looks.",
    "memory": f"Time of fixed reads from main memory over its median, median of {AROUND} looks.",
    "waiting": f"How many times as long any work took because others had the processor, median of {AROUND} intervals.",
}
WHOLE = " (whole device)"  # what telemetry adds to the name where a MIG device cannot answer for itself


def counters_of(run: "Run") -> dict[str, Any]:
    """Return the series of a run, by device and name, with the number of those left out; times since the start."""
    table: Any = run.analyse("counter_points")
    machine = _machine(run)
    if not len(table):
        return {"series": machine, "omitted": 0}
    starts = np.flatnonzero(np.diff(table.series, prepend=-1) | np.diff(table.device, prepend=-2))
    ends = np.append(starts[1:], len(table))
    # The host's and unknown devices come last.
    groups = sorted(
        zip(starts.tolist(), ends.tolist(), strict=True),
        key=lambda one: (table.device[one[0]] < 0, table.device[one[0]], run.string(table.series[one[0]])),
    )
    shown = [_series(run, table, slice(*group)) for group in groups[:MOST_SERIES]]
    return {"series": [*shown, *machine], "omitted": len(groups) - len(shown)}


def _machine(run: "Run") -> list[dict[str, Any]]:
    """Return how much slower than usual the machine was, a series for each thing that says so."""
    table: Any = run.analyse("machine_levels")
    found = []
    for sign in np.unique(table.sign).tolist():
        rows = np.flatnonzero(table.sign == sign)
        shown = rows[:: -(-len(rows) // MOST_POINTS)]
        what = _core.MACHINE_SIGNS[sign]
        found.append(
            {
                "name": f"machine, {WORDS[what]}",
                "device": -1,
                "unit": "x",
                "doc": MACHINE_DOCS[what],
                "reasons": None,
                "count": len(shown),
                "samples": len(shown),
                "time_ns": packed(np.maximum(table.time_ns[shown] - run.start_ns, 0), steps=True),
                "value": packed(table.level[shown]),
            }
        )
    return found


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
