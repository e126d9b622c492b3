# SPDX-License-Identifier: Apache-2.0
"""What Python objects were allocated by which line, where the program runs with tracemalloc."""

import tracemalloc
from typing import Any

OFF = "tracemalloc is off; start it with `python -X tracemalloc` or tracemalloc.start(): it makes allocations slower"
TOP = 20


class HostLines:
    """Differences by line between two moments; nothing where tracemalloc does not run, which is never started here."""

    def __init__(self) -> None:
        self._before = self._take()

    def read(self) -> dict[str, Any]:
        """Return {lines: [{file, line, bytes, count}], current_bytes, peak_bytes}, or {unavailable: why}."""
        after = self._take()
        if self._before is None or after is None:
            return {"unavailable": OFF}
        current, peak = tracemalloc.get_traced_memory()
        rows = [
            {"file": one.traceback[0].filename, "line": one.traceback[0].lineno, "bytes": one.size_diff,
             "count": one.count_diff}
            for one in after.compare_to(self._before, "lineno")[:TOP]
            if one.size_diff or one.count_diff
        ]  # fmt: skip
        return {"lines": rows, "current_bytes": current, "peak_bytes": peak}

    @staticmethod
    def _take() -> tracemalloc.Snapshot | None:
        if not tracemalloc.is_tracing():
            return None
        ours = [tracemalloc.Filter(False, name) for name in (tracemalloc.__file__, __file__)]
        return tracemalloc.take_snapshot().filter_traces(ours)
