# SPDX-License-Identifier: Apache-2.0
"""Small runs with host threads, device streams and launches, built from plain tuples."""

import numpy as np
from hypothesis import strategies as st
from slow_import import set_parents

from regimeter import Run, _core

KINDS = {kind: number for number, kind in enumerate(_core.SPAN_KINDS)}
NAMES = ("", "a", "b", "c", "gemm", "ncclDevKernel_AllReduce")
HOST_LANES, DEVICE_LANE = 2, 2

# (kind, name, lane, start, duration, correlation)
Span = tuple[str, int, int, int, int, int]


def build(spans: list[Span]) -> Run:
    """Return a run with two host threads and one stream; parents as the slow importer finds them."""
    rows = [
        {"kind": kind, "start_ns": start, "duration_ns": duration, "lane": lane}
        for kind, _, lane, start, duration, _ in spans
    ]
    set_parents(rows)

    def column(values: list[int], dtype: str) -> np.ndarray:
        return np.array(values, dtype=dtype)

    columns = {
        "start_ns": column([span[3] for span in spans], "int64"),
        "duration_ns": column([span[4] for span in spans], "int64"),
        "name": column([span[1] for span in spans], "uint32"),
        "kind": column([KINDS[span[0]] for span in spans], "uint8"),
        "lane": column([span[2] for span in spans], "uint32"),
        "parent": column([row["parent"] for row in rows], "int32"),
        "correlation": column([span[5] for span in spans], "int64"),
    }
    lanes = {
        "thread": column([11, 12, 7], "int64"),
        "device": column([-1, -1, 0], "int16"),
        "process": column([5, 5, 0], "int64"),
    }
    run: Run = Run._build(list(NAMES), {"spans": columns, "lanes": lanes}, "{}", "kineto", 0, 0, -1, True)
    return run


times = (st.integers(-20, 80), st.integers(0, 40))
host = st.tuples(st.sampled_from(["cpu_op", "python", "annotation"]), st.integers(1, 3), st.integers(0, 1), *times)
calls = st.tuples(st.just("runtime"), st.integers(1, 3), st.integers(0, 1), *times)
work = st.tuples(st.sampled_from(["kernel", "memcpy"]), st.integers(4, 5), st.just(DEVICE_LANE), *times)


@st.composite
def span_lists(draw: st.DrawFn) -> list[Span]:
    """Return host spans that nest and overlap, calls, and device work of which some was launched by them."""
    found = [(*span, -1) for span in draw(st.lists(host, max_size=14))]
    found += [(*span, 100 + i) for i, span in enumerate(draw(st.lists(calls, max_size=4)))]
    found += [(*span, draw(st.integers(100, 105))) for span in draw(st.lists(work, max_size=6))]
    return draw(st.permutations(found))
