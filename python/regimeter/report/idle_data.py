# SPDX-License-Identifier: Apache-2.0
"""Why devices had nothing to do, gap by gap, for the page: rows of the analysis `idle_gaps`, packed."""

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..analysis.words import words_of
from .pack import Names, packed

if TYPE_CHECKING:
    from ..public.run import Run

MOST_GAPS = 20_000  # the longest of all devices; of the others the page has number and sum


def idle_of(run: "Run", names: Names) -> dict[str, Any] | None:
    """Return the gaps of whole devices, in order of device and time; None where there are none.

    Times are ns since the start of the run. `devices` are {rank, device, count}, in the order of the rows; `omitted`
    and `omitted_ns` are of the gaps that are left out, the shortest. `cause_ns` is the idle time of each cause, as
    `regimeter idle` has it: a gap before work that was launched late has two, and its row that of the first part.
    """
    table: Any = run.analyse("idle_gaps")
    times: Any = run.analyse("idle_times")
    whole = times.lane < 0
    sums = np.bincount(times.cause[whole], times.total_ns[whole], len(_core.IDLE_CAUSES))
    shown = np.arange(min(len(table), MOST_GAPS))  # the longest come first
    if not len(shown):
        return None
    rows = shown[np.lexsort((table.start_ns[shown], table.device[shown], table.rank[shown]))]
    places = list(zip(table.rank[rows].tolist(), table.device[rows].tolist(), strict=True))
    columns = {
        "start_ns": packed(table.start_ns[rows] - run.start_ns, steps=True),
        "duration_ns": packed(table.duration_ns[rows]),
        "cause": packed(table.cause[rows]),
        "next_name": packed(names.number(table.next_name[rows])),
        "activity_name": packed(names.number(table.activity_name[rows])),
    }
    return {
        "count": len(rows),
        "columns": columns,
        "causes": list(_core.IDLE_CAUSES),
        "cause_words": [words_of("IDLE_CAUSES", token) for token in _core.IDLE_CAUSES],
        "cause_ns": [int(total) for total in sums],
        "devices": [
            {"rank": rank, "device": device, "count": places.count((rank, device))}
            for rank, device in dict.fromkeys(places)
        ],
        "omitted": len(table) - len(rows),
        "omitted_ns": int(table.duration_ns[len(shown) :].sum()),
    }
