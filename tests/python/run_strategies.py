# SPDX-License-Identifier: Apache-2.0
"""Small runs made by hypothesis: programs with launches, and whatever a Run can hold."""

from typing import Any

from hypothesis import strategies as st
from runs import build_run

from regimeter import Run

NAMES = ("", "a", "b", "c", "gemm", "ncclDevKernel_AllReduce")
HOST_LANES, DEVICE_LANE = 2, 2
NASTY = ["", "a;b c", 'quo"te', "back\\slash", "new\nline\r", "tab\t\x00\x1f\x7f", "<script>", "é漢🙂", "a,b", " pad ",
         "\ufeffbom", "${x}", "=1+1", "NaN", "'", "\u2028"]  # fmt: skip

# (kind, number of the name, lane, start, duration, correlation)
Span = tuple[str, int, int, int, int, int]
KINDS = ("cpu_op", "runtime", "kernel", "memcpy", "annotation", "scope", "python", "device_annotation", "sync")
COLUMNS = ("kind", "name", "lane", "start_ns", "duration_ns", "correlation")


def run_of_tuples(spans: list[Span]) -> Run:
    """Return a run with two host threads and one stream; parents as the slow importer finds them."""
    lanes = {"thread": [11, 12, 7], "device": [-1, -1, 0], "process": [5, 5, 0]}
    columns = {key: [span[at] for span in spans] for at, key in enumerate(COLUMNS)}
    return build_run(columns, lanes, parents=True, strings=NAMES)


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
         "kind": draw(st.sampled_from(KINDS)),
         "lane": draw(st.integers(0, len(lanes) - 1)), "correlation": draw(st.sampled_from([-1, 0, 1, 2, 3])),
         "metadata": draw(st.sampled_from(["", "{}", '{"a": [1, "x"]}', '{"a": NaN}', "nonsense"]))}
        for _ in range(draw(st.integers(0, 25)))
    ]  # fmt: skip
    return build_run(spans, lanes, parents=True)


def _is_surrogate(character: str) -> bool:
    return 0xD800 <= ord(character) <= 0xDFFF
