# SPDX-License-Identifier: Apache-2.0
"""Raw memory timelines of torch.profiler (`export_memory_timeline("x.raw.json.gz")`) -> Run.

A list of [time in ns, action, bytes, category]: bytes that a category gains or loses. What was there before recording
has the time -1. A file does not say of which device it is; its rows are those of device 0. They have no addresses.
"""

import json
import re
from typing import TYPE_CHECKING, Any

from .. import _core
from .format_error import format_error

if TYPE_CHECKING:
    from ..public.run import Run

# In the order of torch/profiler/_memory_profiler.py, _CATEGORY_TO_INDEX.
CATEGORIES = (
    "parameter",
    "optimizer_state",
    "input",
    "temporary",
    "activation",
    "gradient",
    "autograd_detail",
    "unknown",
)
FIRST_ROW = re.compile(rb"\s*\[\s*\[\s*-?\d+\s*,\s*[1-4]\s*,\s*-?\d+\s*,\s*[0-7]\s*\]")


def is_timeline(head: bytes) -> bool:
    """Return whether text begins as such a file does."""
    return FIRST_ROW.match(head) is not None


def read_memory_timeline(kind: "type[Run]", name: str, data: bytes) -> "Run":
    """Return the run. FormatError, with the number of the row, for what is no such list."""
    import numpy as np

    try:
        rows = json.loads(data)
    except ValueError as error:
        raise format_error(f"{name}: {error}", getattr(error, "pos", None)) from None
    for number, row in enumerate(rows):
        if not (isinstance(row, list) and len(row) == 4 and all(type(value) is int for value in row)):
            raise format_error(f"{name}: row {number:,} is not [time in ns, action, bytes, category]")
        if not 0 <= row[3] < len(CATEGORIES) or any(abs(value) >> 62 for value in row):
            raise format_error(f"{name}: row {number:,} has a number out of range")
    columns = np.array(rows, dtype=np.int64).reshape(-1, 4)
    times, change, category = columns[:, 0], columns[:, 2], columns[:, 3]
    known = times[times >= 0]
    first = int(known.min()) if len(known) else 0
    strings = ["", name, "torch_memory_timeline", "allocator", *CATEGORIES]
    alloc, free = (_core.MEMORY_ACTIONS.index(action) for action in ("alloc", "free"))
    memory = {
        "time_ns": np.where(times >= 0, times - first, 0),
        "device": np.zeros(len(rows), dtype=np.int16),
        "action": np.where(change >= 0, alloc, free).astype(np.uint8),
        "bytes": np.abs(change),
        "category": (category + strings.index(CATEGORIES[0])).astype(np.uint32),
    }
    one = np.ones(1, dtype=np.int64)
    tables: dict[str, dict[str, Any]] = {
        "memory": memory,
        "lanes": {"process": -one, "name": np.full(1, 3, dtype=np.uint32)},
        "files": {"file": one.astype(np.uint32), "format": np.full(1, 2, dtype=np.uint32), "bytes": one * len(data),
                  "events": one * len(rows), "kept": one * len(rows), "base_ns": one * first},
    }  # fmt: skip
    end = int(known.max()) - first if len(known) else 0
    built: Run = kind._build(strings, tables, "{}", "trace", 0, end, first or -1, True)
    return built
