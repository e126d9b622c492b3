# SPDX-License-Identifier: Apache-2.0
"""The address of a page says what is seen of its timeline; a selected range has statistics; keys have a sheet."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from browsing import Browsing, be_ready, data_of, timeline
from traces import load_trace

from regimeter.report.trace_data import timeline_data
from regimeter.server.lines import MOST_WIDTH, window_of

pytestmark = pytest.mark.web

TRACE = "h100_bert_small.json.gz"


def number(text: str) -> int:
    return int(text.replace(",", ""))


def open_at(browsing: Browsing, hash_: str) -> Any:
    page = browsing.open(data_of(TRACE), at=hash_)
    browsing.settle()
    return page


def test_an_address_brings_back_what_was_seen(browsing: Browsing) -> None:
    page = open_at(browsing, "#t=1ms..2ms&range=1.2ms..1.4ms&sel=40&q=aten")
    page.locator(".range-panel table").wait_for()
    assert timeline(browsing, "[t.scene.view.start, t.scene.view.end]") == [1e6, 2e6]
    assert timeline(browsing, "t.scene.range") == [1.2e6, 1.4e6]
    assert timeline(browsing, "t.scene.selected") == 40
    assert page.get_by_label("Find spans by name").input_value() == "aten"
    assert timeline(browsing, "t.scene.bright.reduce((a, b) => a + b, 0)") > 0
    assert page.evaluate("document.querySelector('#timeline').getBoundingClientRect().top") < 200


def test_the_address_follows_what_is_seen(browsing: Browsing) -> None:
    page = browsing.open(data_of(TRACE), at="#page=trace")
    browsing.settle()
    assert page.evaluate("location.hash") == "#page=trace", "until something is chosen the address stays as it is"
    timeline(browsing, "t.scene.view.set(1000, 5000), t.choose(7, false)")
    browsing.until("location.hash.includes('sel=7')")
    assert page.evaluate("location.hash") == "#page=trace&t=1000..5000&sel=7"
    timeline(browsing, "t.fit(), t.clear()")
    browsing.until("location.hash === '#page=trace'")


def test_what_is_switched_stands_in_the_address(browsing: Browsing) -> None:
    page = browsing.open(data_of(TRACE), at="#page=trace")
    python, path = page.get_by_label("Python functions"), page.get_by_label("Critical path", exact=False)
    python.check()
    path.uncheck()
    browsing.until("location.hash.includes('path=0')")
    assert page.evaluate("location.hash") == "#page=trace&python=1&path=0"
    page.reload()
    be_ready(page)
    assert (python.is_checked(), path.is_checked()) == (True, False)
    assert timeline(browsing, "t.scene.path") is None
    path.check()
    python.uncheck()
    browsing.until("location.hash === '#page=trace'")


def test_a_range_says_what_ran_in_it(browsing: Browsing) -> None:
    run = load_trace(TRACE)
    page = open_at(browsing, "#range=1ms..2ms")
    page.locator(".range-panel table").wait_for()
    # The same from the columns of the run, without the lanes and functions that are not drawn.
    spans, low, high = run.spans, run.start_ns + 1_000_000, run.start_ns + 2_000_000
    start, end = spans.start_ns, spans.start_ns + spans.duration_ns
    plain = run.analyse("timeline_blocks").plain_depth
    order = run.analyse("timeline_blocks").span
    drawn = np.zeros(len(spans), dtype=bool)
    drawn[order[plain >= 0]] = True
    inside = drawn & (start <= high) & (end >= low)
    part = np.minimum(end, high) - np.maximum(start, low)
    times: dict[str, int] = {}
    for row in np.flatnonzero(inside).tolist():
        name = run.string(spans.name[row])
        times[name] = times.get(name, 0) + max(int(part[row]), 0)
    head = page.locator(".range-panel .dim").first.inner_text()
    said = re.search(r"([\d,]+) spans of ([\d,]+) names", head)
    assert said is not None
    assert (number(said[1]), number(said[2])) == (int(inside.sum()), len(times))
    first = page.locator(".range-panel tbody th").first.inner_text()
    assert times[first] == max(times.values())


@pytest.mark.parametrize(
    ("name", "start"), [(TRACE, 0.3), (TRACE, 0.62), ("a100_nccl_2024.json.gz", 0.5), ("diff_v100_test.json.gz", 0.4)]
)
def test_figures_of_a_range_are_those_of_the_api(browsing: Browsing, name: str, start: float) -> None:
    """Each name's spans and time, from the rows that the server gives for the same window, a nanosecond a pixel."""
    run = load_trace(name)
    low = int(run.duration_ns * start)
    high = low + MOST_WIDTH
    window = window_of(run, low, high, MOST_WIDTH)
    assert window["aggregated"] == 0
    expected: dict[str, list[int]] = {}
    columns = window["columns"]
    for text, at, long in zip(columns["name"], columns["start_ns"], columns["duration_ns"], strict=True):
        one = expected.setdefault(window["names"][text], [0, 0])
        one[0] += 1
        one[1] += max(0, min(at + long, high) - max(at, low))
    page = browsing.open(timeline_data(run))
    timeline(browsing, f"(t.showPython(true), t.setRange([{low}, {high}]))")
    found = timeline(
        browsing,
        f"""regimeter.rangeStats.of(t.scene.line, t.scene.layout.rows.map(({{ row }}) => row), {low}, {high})
            .rows.map((one) => [t.scene.names[one.name], one.spans, one.time])""",
    )
    assert {text: [spans, time] for text, spans, time in found} == expected
    # And what a reader sees of it: the names in that order, with their number.
    page.locator(".range-panel table").wait_for()
    shown = page.locator(".range-panel tbody tr")
    for row, (text, spans, _) in enumerate(found[: shown.count()]):
        assert shown.nth(row).locator("th").inner_text() == text
        assert number(shown.nth(row).locator("td").first.inner_text()) == spans


def test_keys_have_a_sheet(standing: Callable[[str], Browsing]) -> None:
    page = standing(TRACE).page
    canvas = page.locator("canvas.timeline")
    canvas.press("?")
    assert page.locator("dialog.keys").is_visible()
    page.keyboard.press("Escape")
    assert page.locator("dialog.keys").is_hidden()
    canvas.press("m")
    page.locator(".range-panel table").wait_for()
    canvas.press("/")
    assert page.evaluate("document.activeElement.type") == "search"


def test_the_small_picture_moves_what_is_in_view(standing: Callable[[str], Browsing]) -> None:
    browsing = standing(TRACE)
    page = browsing.page
    timeline(browsing, "t.zoom(0.1, 0)")
    before = timeline(browsing, "t.scene.view.start")
    box = page.locator("canvas.minimap").bounding_box()
    page.locator("canvas.minimap").click(position={"x": box["width"] * 0.75, "y": 10})
    middle = timeline(browsing, "(t.scene.view.start + t.scene.view.end) / 2 / t.scene.view.high")
    assert before == 0
    assert middle == pytest.approx(0.75, abs=0.01)


def test_why_the_device_was_idle_stands_above_its_streams(browsing: Browsing) -> None:
    run = load_trace("v100_ddp_large.json.gz")
    data = data_of("v100_ddp_large.json.gz")
    page = browsing.open(data)
    idle = data["idle"]
    gaps = run.analyse("idle_gaps")
    assert idle["count"] + idle["omitted"] == len(gaps)
    drawn = timeline(browsing, "t.idle.idle.duration_ns.reduce((sum, one) => sum + one, 0)")
    assert drawn + idle["omitted_ns"] == int(gaps.duration_ns.sum())
    legend = page.locator("#timeline .legend").nth(1).inner_text()
    assert "host late" in legend
    assert ("600 ms" in legend, "125 ms" in legend) == (True, True)  # as `regimeter idle` divides it
    page.locator("canvas.idle-strip").hover()
    # No cause has more time than the analysis gives it.
    times = run.analyse("idle_times")
    cause = timeline(browsing, "t.idle.idle.causes").index("host_late")
    late = timeline(
        browsing,
        f"t.idle.idle.duration_ns.reduce((sum, one, i) => sum + (t.idle.idle.cause[i] === {cause} ? one : 0), 0)",
    )
    in_all = int(times.total_ns[times.lane < 0].sum())
    assert 0 < late <= in_all


def test_a_recording_without_device_work_has_no_such_line(browsing: Browsing) -> None:
    page = browsing.open(data_of("cpu_only_no_schema.json.gz"))
    assert page.locator("canvas.timeline").count() == 1
    assert page.locator("canvas.idle-strip").count() == 0
