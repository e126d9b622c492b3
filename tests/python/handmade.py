# SPDX-License-Identifier: Apache-2.0
"""Small runs, span by span, for tests that know what must come out."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from slow_import import KINDS, set_parents

from regimeter import Run, _core

HOST, OTHER_HOST, STREAM, OTHER_STREAM, OTHER_DEVICE = range(5)
LANES = {
    "process": [100, 100, 0, 0, 1],
    "thread": [1, 2, 7, 20, 7],
    "device": [-1, -1, 0, 0, 1],
    "rank": [-1] * 5,
}
TYPES = {name: {c["name"]: c["dtype"] for c in table["columns"]} for name, table in _core.schema()["run"].items()}


def columns(table: str, values: Mapping[str, Iterable[Any]]) -> dict[str, np.ndarray]:
    """Return the columns of a run table with their types."""
    return {key: np.array(list(cells), dtype=TYPES[table][key]) for key, cells in values.items()}


def span(kind: str, name: str, lane: int, start: int, duration: int, **more: int) -> dict[str, Any]:
    """Return a span; `more` are further columns (correlation, bytes, step)."""
    return {"kind": kind, "name": name, "lane": lane, "start_ns": start, "duration_ns": duration, **more}


def launch(name: str, start: int, duration: int, correlation: int, lane: int = HOST) -> dict[str, Any]:
    """Return a runtime call."""
    return span("runtime", name, lane, start, duration, correlation=correlation)


def kernel(
    start: int, duration: int, correlation: int = -1, lane: int = STREAM, name: str = "gemm", kind: str = "kernel"
) -> dict[str, Any]:
    """Return a piece of device work."""
    return span(kind, name, lane, start, duration, correlation=correlation)


def run_of(spans: list[dict[str, Any]], lanes: Mapping[str, Iterable[int]] = LANES) -> Run:
    """Return the run of these spans; parents are worked out on each lane."""
    spans = [dict(s) for s in spans]
    set_parents(spans)
    names = {"": 0}
    for s in spans:
        s["name"] = names.setdefault(s["name"], len(names))
        s["kind"] = KINDS[s["kind"]]
    defaults = {"correlation": -1, "bytes": -1, "step": -1, "external_id": -1}
    keys = ("start_ns", "duration_ns", "name", "kind", "lane", "parent", *defaults)
    tables = {
        "spans": columns("spans", {key: [s.get(key, defaults.get(key)) for s in spans] for key in keys}),
        "lanes": columns("lanes", lanes),
    }
    run: Run = Run._build(list(names), tables, "{}", "kineto", 0, 0, -1, True)
    return run
