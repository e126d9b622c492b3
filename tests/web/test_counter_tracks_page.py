# SPDX-License-Identifier: Apache-2.0
"""Time series below the timeline in a real browser: drawn on its scale, read under the pointer, on both pages."""

from typing import Any

import pytest
from browsing import Browsing, timeline
from runs import build_run

from regimeter.report.trace_data import trace_data

pytestmark = pytest.mark.web

NAME = "power_instant_watts"


def run_with(values: list[tuple[int, float]], series: str = NAME, device: int = 0) -> Any:
    spans = [{"kind": "scope", "start_ns": 0, "duration_ns": 1000, "name": "a"}]
    rows = [{"time_ns": t, "series": series, "value": v, "device": device, "span": -1} for t, v in values]
    return build_run(spans, counters=rows)


def painted(browsing: Browsing, x: float, y: int) -> str:
    """Return the colour at a share of the width and a pixel of height of the tracks."""
    # Read from a copy: a canvas that is read again and again makes the browser complain.
    script = """([x, y]) => {
        const from = document.querySelector("canvas.counters");
        const copy = document.createElement("canvas");
        [copy.width, copy.height] = [from.width, from.height];
        copy.getContext("2d").drawImage(from, 0, 0);
        const place = [Math.round(x * from.width), Math.round((y * from.width) / from.clientWidth)];
        return [...copy.getContext("2d").getImageData(...place, 1, 1).data].join();
    }"""
    found: str = browsing.page.evaluate(script, [x, y])
    return found


def test_a_track_is_drawn_on_the_scale_of_the_timeline(browsing: Browsing) -> None:
    page = browsing.open(trace_data(run_with([(0, 10.0), (500, 100.0), (900, 100.0)])))
    browsing.settle()
    assert page.locator("canvas.counters").get_attribute("aria-label") == (
        f"1 time series below the timeline: GPU 0 · {NAME} [W]"
    )
    # Low in the first half, high in the second: the area below the line reaches up only there.
    before, after = painted(browsing, 0.25, 30), painted(browsing, 0.75, 30)
    assert before != after
    timeline(browsing, "t.scene.view.set(600, 700), t.touch()")
    browsing.settle()
    assert painted(browsing, 0.25, 30) == after


def test_the_pointer_reads_the_value_that_holds(browsing: Browsing) -> None:
    page = browsing.open(trace_data(run_with([(100, 10.0), (500, 100.0)])))
    browsing.settle()
    assert timeline(browsing, "t.tracks.at(0, 5).value") is None
    assert timeline(browsing, "t.tracks.at(0.3 * t.tracks.canvas.clientWidth, 5).value") == 10
    assert timeline(browsing, "t.tracks.at(0.9 * t.tracks.canvas.clientWidth, 5).value") == 100
    assert timeline(browsing, "t.tracks.at(0, 5000)") is None
    page.locator("canvas.counters").scroll_into_view_if_needed()  # the panels above it may fill the window
    box = page.locator("canvas.counters").bounding_box()
    page.mouse.move(box["x"] + 0.9 * box["width"], box["y"] + 25)
    assert "100 W" in page.locator(".tooltip").inner_text()


def test_flags_are_spelled_out(browsing: Browsing) -> None:
    page = browsing.open(trace_data(run_with([(0, 4.0), (500, 0.0)], "clock_reasons", 1)))
    assert page.locator("canvas.counters").count() == 1
    assert timeline(browsing, "regimeter.counterSeries.valueText(t.tracks.series[0], 4)") == "sw_power_cap"


def test_a_run_without_series_has_no_tracks(browsing: Browsing) -> None:
    page = browsing.open(trace_data(run_with([])))
    assert page.locator("canvas.counters").count() == 0
