# SPDX-License-Identifier: Apache-2.0
"""Events of traces as text, and what tests of the importer read of the run they become."""

import json
from typing import Any

from traces import fast_import

from regimeter import Run, _core


def x(name: str, ts: str, dur: str, cat: str = "cpu_op", more: str = "", pid: str = "1", tid: str = "1") -> str:
    """Return the text of a complete event as Kineto prints it."""
    return (
        f'  {{\n    "ph": "X", "cat": "{cat}", "name": "{name}", "pid": {pid}, "tid": {tid},\n'
        f'    "ts": {ts}, "dur": {dur}{more}\n  }}'
    )


def trace(*events: str, head: str = '"schemaVersion": 1,', tail: str = "") -> Run:
    """Import an object with these events."""
    return fast_import(f'\n{{\n  {head}\n  "traceEvents": [\n{",".join(events)}\n  ]{tail}\n}}'.encode())


def times(run: Run) -> list[tuple[int, int]]:
    return list(zip(run.spans.start_ns.tolist(), run.spans.duration_ns.tolist(), strict=True))


def kinds(run: Run) -> list[str]:
    return [_core.SPAN_KINDS[kind] for kind in run.spans.kind]


def names(run: Run) -> list[str]:
    return [run.strings[name] for name in run.spans.name]


def codes(run: Run) -> set[str]:
    return {_core.ANOMALY_CODES[code] for code in run.table("anomalies").code}


def metadata(run: Run, row: int) -> Any:
    return json.loads(run.strings[run.spans.metadata[row]] or "{}")
