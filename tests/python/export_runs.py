# SPDX-License-Identifier: Apache-2.0
"""Runs built by hand, or by hypothesis, for tests of what is written from them."""

import json
from typing import Any

import numpy as np
from hypothesis import strategies as st

from regimeter import Run, _core

KIND = {name: number for number, name in enumerate(_core.SPAN_KINDS)}
WORK = ("kernel", "memcpy", "memset", "accelerator")
NASTY = ["", "a;b c", 'quo"te', "back\\slash", "new\nline\r", "tab\t\x00\x1f\x7f", "<script>", "é漢🙂", "a,b", " pad ",
         "\ufeffbom", "${x}", "=1+1", "NaN", "'", "\u2028"]  # fmt: skip


def build(spans: list[dict[str, Any]], lanes: list[dict[str, Any]], **tables: dict[str, list[Any]]) -> Run:
    """Return a Run; texts in columns of names are interned, what is left out holds its default.

    A table is a list of rows (dictionaries) for spans and lanes, and a dictionary of columns otherwise.
    """
    schema = _core.schema()["run"]
    ids: dict[str, int] = {"": 0}

    def columns(name: str, given: dict[str, list[Any]]) -> dict[str, np.ndarray]:
        kinds = {c["name"]: c for c in schema[name]["columns"]}
        return {
            key: np.array([ids.setdefault(v, len(ids)) for v in values] if kinds[key]["type"] == "name" else values,
                          dtype=kinds[key]["dtype"])
            for key, values in given.items()
        }  # fmt: skip

    def transposed(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
        return {key: [row[key] for row in rows] for key in (rows[0] if rows else ())}

    given = {"spans": transposed(spans), "lanes": transposed(lanes), **tables}
    made = {name: columns(name, table) for name, table in given.items()}
    start = min((s["start_ns"] for s in spans), default=0)
    end = max((s["start_ns"] + s["duration_ns"] for s in spans), default=0)
    run: Run = Run._build(list(ids), made, json.dumps({}), "kineto", start, end, -1, True)
    return run


@st.composite
def runs(draw: Any) -> Run:
    """Small runs that are as unpleasant as a Run can be: nasty names, overlaps, ties, negative and huge starts."""
    lanes = [
        {"process": draw(st.sampled_from([0, 1, 1, 7, -1])), "thread": draw(st.sampled_from([-1, 0, 7, 7, 2**40])),
         "device": draw(st.sampled_from([-1, -1, 0, 1])), "rank": draw(st.sampled_from([-1, 0, 1])),
         "name": draw(st.sampled_from(["", "stream 7", *NASTY])), "process_name": draw(st.sampled_from(["", "p", "q"]))}
        for _ in range(draw(st.integers(1, 4)))
    ]  # fmt: skip
    base = draw(st.sampled_from([0, 0, 0, -50, 10**15, 2**61]))
    name = st.one_of(st.sampled_from(NASTY), st.text(max_size=6).filter(lambda t: not any(map(_is_surrogate, t))))
    spans = [
        {"start_ns": base + draw(st.integers(-3, 30)), "duration_ns": draw(st.integers(0, 20)), "name": draw(name),
         "kind": draw(st.sampled_from([KIND[k] for k in ("cpu_op", "runtime", "kernel", "memcpy", "annotation",
                                                         "scope", "python", "device_annotation", "sync")])),
         "lane": draw(st.integers(0, len(lanes) - 1)), "correlation": draw(st.sampled_from([-1, 0, 1, 2, 3])),
         "metadata": draw(st.sampled_from(["", "{}", '{"a": [1, "x"]}', '{"a": NaN}', "nonsense"]))}
        for _ in range(draw(st.integers(0, 25)))
    ]  # fmt: skip
    return build(spans, lanes)


def _is_surrogate(character: str) -> bool:
    return 0xD800 <= ord(character) <= 0xDFFF


def is_work(run: Run) -> np.ndarray:
    """Which spans are device work."""
    return np.isin(run.spans.kind, [KIND[k] for k in WORK])


def names_of(run: Run) -> list[str]:
    """The names of all spans."""
    strings = run.strings
    return [strings[i] for i in run.spans.name.tolist()]


def rows_of(run: Run) -> list[tuple[Any, ...]]:
    """Start, duration, name and kind of all spans, sorted."""
    s = run.spans
    return sorted(zip(s.start_ns.tolist(), s.duration_ns.tolist(), names_of(run), s.kind.tolist(), strict=True))
