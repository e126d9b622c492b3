# SPDX-License-Identifier: Apache-2.0
"""The page in a real browser, from disk, with every other request refused and counted."""

import copy
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import report_data
from browsing import Browsing, pixels, timeline

from regimeter import load
from regimeter.report.trace_data import trace_data

pytestmark = pytest.mark.web

Standing = Callable[[Callable[[], Any]], Browsing]
COUNT_UNNAMED = """
    [...document.querySelectorAll("button, input, canvas, svg[tabindex]")]
        .filter((node) => !(node.innerText || node.getAttribute("aria-label") || node.labels?.length)).length
"""
FRAME_TIMES = """
    [1, 0.5, 0.05, 0.001].map((part) => {
        t.scene.view.fit();
        t.scene.view.zoom(part, 0.4);
        const from = performance.now();
        t.paint();
        return performance.now() - from;
    })
"""


def dashboard() -> None:
    """Return the data of the page that opens files: none."""


def test_a_report_shows_every_view(standing: Standing) -> None:
    page = standing(report_data.report).page
    assert page.title() == "train_transformer.py - regimeter"
    titles = page.locator("main h2").all_inner_texts()
    assert titles[1:] == [
        "Time per operation",
        "Top bottlenecks",
        "Timeline",
        "Memory over time",
        "Device, host, transfer, overhead",
        "Detailed statistics",
        "Profiler's own cost",
        "Anomalies",
        "Environment",
    ]
    assert len(page.locator(".bottleneck").all()) == 5
    assert page.locator(".notice").count() == 0
    assert "calibrated at start" in page.locator("#cost").inner_text()
    assert pixels(page, "0, 40, c.width, 60") > 3, "blocks of several colours"


def test_the_dashboard_says_that_its_data_is_a_demo(browsing: Browsing) -> None:
    page = browsing.open(None)
    assert page.locator("h1").inner_text() == "Open a profile"
    assert page.locator("#welcome code").count() == 5
    page.get_by_role("button", name="See a demo").click()
    page.wait_for_selector(".notice")
    assert "Demo data, not measured on this machine" in page.locator(".notice").inner_text()
    browsing.load("mine.json", report_data.profile())
    assert page.locator(".notice").count() == 0
    page.click("#demo")
    page.wait_for_selector(".notice")
    page = browsing.open(None, at="#demo")
    assert "Demo data" in page.locator(".notice").inner_text()


def test_a_compressed_profile_is_read_and_a_recording_says_what_to_do(standing: Standing) -> None:
    browsing = standing(dashboard)
    page = browsing.page
    made = gzip.compress(json.dumps(report_data.profile()).encode())
    browsing.load("mine.json.gz", made)
    assert page.locator("h1").inner_text() == "mine.json.gz"
    assert len(browsing.rows()) == 10
    browsing.load("cut.json.gz", made[:-200])
    assert "cut or damaged" in page.get_by_role("alert").inner_text()
    recording = Path(__file__).parents[1] / "data/recordings/version1.rgm"
    browsing.load("mine.rgm", recording.read_bytes())
    assert "regimeter report mine.rgm -o report.html" in page.get_by_role("alert").inner_text()
    assert page.locator("h1").inner_text() == "mine.json.gz"


def test_the_table_sorts_by_every_column(standing: Standing) -> None:
    browsing = standing(report_data.report)
    page = browsing.page
    by_name = {row["operation"]: row for row in report_data.report()["summary"]}
    for label, field in (("Calls", "call_count"), ("Total", "total_ns"), ("p99", "p99_ns"), ("CV", "cv")):
        button = page.locator("#statistics").get_by_role("button", name=label, exact=True)
        heading = button.locator("..")
        for direction, reverse in (("descending", True), ("ascending", False)):
            button.click()
            assert heading.get_attribute("aria-sort") == direction
            values = [by_name[name][field] for name in browsing.rows()]
            assert values == sorted(values, reverse=reverse)
    page.locator("#statistics").get_by_role("button", name="Operation", exact=True).press("Enter")
    assert browsing.rows() == sorted(by_name)
    assert page.locator('.statistics th[aria-sort]:not([aria-sort="none"])').count() == 1


def test_the_table_searches(standing: Standing) -> None:
    browsing = standing(report_data.report)
    page = browsing.page
    page.get_by_label("Search operations").fill("NUMPY batch")
    assert browsing.rows() == ["load_batch"]
    assert "1 of 12 operations" in page.locator("#statistics").inner_text()
    page.get_by_label("Search operations").fill("")
    assert len(browsing.rows()) == 12


def test_choosing_an_operation_marks_it_everywhere(standing: Standing) -> None:
    browsing = standing(report_data.report)
    page = browsing.page
    page.locator("#shares").get_by_role("button", name="backward").click()
    assert page.locator(".statistics tr.is-selected th").inner_text().strip() == "backward"
    assert page.locator("#shares").get_by_role("button", name="backward").get_attribute("aria-pressed") == "true"
    assert timeline(browsing, "t.scene.bright.reduce((a, b) => a + b, 0)") == 1
    page.locator("#shares").get_by_role("button", name="backward").click()
    assert timeline(browsing, "t.scene.bright") is None


def test_a_report_opens_no_other_files(standing: Standing) -> None:
    page = standing(report_data.report).page
    assert page.locator("#open").is_hidden()
    assert page.locator("#demo").is_hidden()


def test_the_page_says_how_many_spans_it_holds(standing: Standing) -> None:
    said = standing(report_data.report).page.evaluate("({...document.documentElement.dataset})")
    count = str(report_data.report()["timeline"]["count"])
    assert (said["ready"], said["spans"], said["drawn"], said["aggregated"]) == ("1", count, count, "0")


def test_the_timeline_zooms_pans_and_reads_out(browsing: Browsing) -> None:
    page = browsing.open(report_data.report())
    canvas = page.locator("canvas.timeline")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    whole = timeline(browsing, "t.scene.view.length")
    page.mouse.move(box["x"] + 300, box["y"] + 57)
    assert "starts at" in page.locator(".tooltip").inner_text()
    page.mouse.wheel(0, -300)
    assert timeline(browsing, "t.scene.view.length") == whole, "without focus the wheel scrolls the page"
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    page.mouse.click(box["x"] + 300, box["y"] + 57)
    assert page.locator("#timeline .span-name").inner_text() == "train_step"
    page.mouse.wheel(0, -300)
    browsing.settle()
    zoomed = timeline(browsing, "[t.scene.view.start, t.scene.view.length]")
    assert zoomed[1] < whole * 0.7
    page.keyboard.press("ArrowRight")
    assert timeline(browsing, "t.scene.view.start") > zoomed[0]
    page.mouse.move(box["x"] + 600, box["y"] + 57)
    page.mouse.down()
    page.mouse.move(box["x"] + 800, box["y"] + 57, steps=4)
    page.mouse.up()
    assert timeline(browsing, "t.scene.view.start") < zoomed[0] + zoomed[1]
    page.keyboard.press("n")
    assert timeline(browsing, "t.scene.selected") is not None
    page.keyboard.press("Home")
    assert timeline(browsing, "t.scene.view.length") == whole
    page.mouse.move(box["x"] + 200, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + 400, box["y"] + 10, steps=4)
    page.mouse.up()
    page.locator(".range-panel table").wait_for()
    length = timeline(browsing, "t.scene.range[1] - t.scene.range[0]")
    assert length == pytest.approx(whole * 200 / box["width"], rel=0.02)
    page.get_by_role("button", name="Zoom to it").click()
    assert timeline(browsing, "t.scene.view.length") == length
    page.get_by_role("button", name="Clear").click()
    page.locator(".range-panel").wait_for(state="hidden")


def test_the_memory_chart_reads_out(standing: Standing) -> None:
    page = standing(report_data.report).page
    chart = page.locator("svg.memory")
    chart.hover()
    assert "host resident set" in page.locator("#memory .readout").inner_text()
    page.mouse.move(0, 0)
    chart.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#memory .readout").inner_text().startswith("At ")


def test_what_was_not_measured_is_named_and_never_zero(browsing: Browsing) -> None:
    data = report_data.report(steps=2)
    for row in data["summary"]:
        row.update(gpu_ns=None, cpu_ns=None, transfer_ns=None, overhead_ns=None, std_dev_ns=None)
    data["summary"][0]["p95_ns"] = None
    data["unavailable"] = {"gpu_ns": "no CUDA driver found", "p95_ns": "too few calls"}
    data["memory"] = {"series": [], "unavailable": [{"name": "device allocated", "reason": "torch is not using CUDA"}]}
    data["cost"] = None
    page = browsing.open(data)
    assert "no CUDA driver found" in page.locator("#split").inner_text()
    assert page.locator("#split .stack").count() == 0
    assert "torch is not using CUDA" in page.locator("#memory").inner_text()
    assert page.locator('.statistics .absent[title="too few calls"]').inner_text() == "n/a"
    assert "GPU (no CUDA driver found)" in page.locator("#statistics .help").inner_text()
    assert "not stated" in page.locator("#overview").inner_text()


@pytest.mark.parametrize("with_times", [True, False], ids=["exported", "documented form"])
def test_an_exported_profile_opens(standing: Standing, with_times: bool) -> None:
    browsing = standing(dashboard)
    page = browsing.page
    browsing.load("mine.json", report_data.profile(with_times))
    assert page.locator("h1").inner_text() == "mine.json"
    assert len(browsing.rows()) == 10
    assert "Derived in the page" in page.locator("#statistics .caution").inner_text()
    assert page.locator("#timeline .caution").count() == (0 if with_times else 1)
    assert ("nested operations count twice" in page.locator("#heading").inner_text()) is not with_times


@pytest.mark.parametrize("written", [False, True], ids=["opened", "written"])
def test_memory_of_a_file_without_start_times_is_drawn_over_the_calls(
    standing: Standing, written: bool, tmp_path: Path
) -> None:
    """It was said that memory was not recorded, beside a table that has it."""
    entries = [
        {"operation": "a", "duration_ms": 10.0, "device": "gpu", "memory_allocated_mb": mb, "memory_peak_mb": 9.0}
        for mb in (5.0, 6.0)
    ]
    stated = {"entries": [*entries, {"operation": "b", "duration_ms": 4.0, "device": "cpu"}], "summary": {}}
    if written:
        (tmp_path / "stated.json").write_text(json.dumps(stated))
        browsing = standing(lambda: trace_data(load(tmp_path / "stated.json")))
    else:
        browsing = standing(dashboard)
        browsing.load("stated.json", stated)
    memory = browsing.page.locator("#memory")
    assert memory.locator("path").count() == 2
    assert "calls, laid end to end" in memory.inner_text()
    assert "memory allocated per call 6.00 MB, memory peak per call 9.00 MB" in memory.locator("output").inner_text()
    assert "not recorded" not in memory.inner_text()


BROKEN: list[tuple[str, str, tuple[str, ...]]] = [
    ("cut.json", '{"entries": [\n  {"operation": "a", "dur', ("line 2", "cut off")),
    ("typo.json", '{\n "entries": [,]\n}', ("line 2, column 14", "export the profile again")),
    ("trace.json", '{"traceEvents": []}', ("Chrome format", "regimeter report")),
    ("other.json", '{"hello": 1}', ("neither entries nor summary", "export_json")),
    ("newer.json", '{"format": "regimeter.profile", "version": 9}', ("version 9", "version 1")),
    ("wrong.json", '{"entries": [{"operation": "a", "duration_ms": "1"}]}', ("entries[0].duration_ms", "a string")),
    ("binary.json", "RGM\x00\x01\x02", ("not a text file", "regimeter report RUN")),
    ("empty.json", "", ("empty", "Export")),
]


def test_a_file_that_cannot_be_read_leaves_the_page_as_it_was(standing: Standing) -> None:
    browsing = standing(dashboard)
    page = browsing.page
    before = page.locator("main").inner_text()
    for name, content, words in BROKEN:
        browsing.load(name, content)
        [fault] = page.get_by_role("alert").all_inner_texts()
        assert [word for word in (name, *words) if word not in fault] == [], fault
        assert page.locator("main").inner_text() == before, name
    browsing.load("good.json", report_data.profile())
    assert page.get_by_role("alert").count() == 0
    assert page.locator("h1").inner_text() == "good.json"


def test_hostile_names_are_text(browsing: Browsing) -> None:
    hostile = "</script><img src=x onerror=alert(1)>"
    data = copy.deepcopy(report_data.report(steps=2))
    data["title"] = data["summary"][0]["operation"] = data["names"][0] = data["lanes"][0]["name"] = hostile
    data["environment"][hostile] = hostile
    data["anomalies"] = [{"code": hostile, "count": 1, "detail": hostile}]
    data["memory"]["series"][0]["name"] = hostile
    data["unavailable"] = {"gpu_utilization": hostile}
    page = browsing.open(data)
    assert page.locator("h1").inner_text() == hostile
    assert hostile in browsing.rows()
    assert page.locator("img").count() == 0
    page = browsing.open(None)
    browsing.load(f"{hostile.replace('/', '')}.json", "{")
    assert "<img src=x" in page.get_by_role("alert").inner_text()
    assert page.locator("img").count() == 0


def test_paper_shows_everything_in_light_colours(browsing: Browsing) -> None:
    page = browsing.open(report_data.report())
    page.emulate_media(color_scheme="dark", media="print")
    browsing.settle()
    assert (
        page.evaluate("getComputedStyle(document.querySelector('.view:not(.bare)')).backgroundColor")
        == "rgb(255, 255, 255)"
    )
    assert page.locator("header.top").is_hidden()
    for section in ("overview", "shares", "bottlenecks", "timeline", "memory", "statistics", "environment", "cost"):
        assert page.locator(f"#{section}").is_visible()
    corner = page.locator("canvas.timeline").evaluate(
        "(c) => c.getContext('2d').getImageData(2, c.height - 3, 1, 1).data[0]"
    )
    assert corner == 255
    assert page.pdf().startswith(b"%PDF")
    page.emulate_media(color_scheme="light", media="screen")


def test_the_controls_have_names_and_a_visible_focus(browsing: Browsing) -> None:
    page = browsing.open(None)
    assert page.evaluate(COUNT_UNNAMED) == 0
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_two_hundred_thousand_spans_stay_fluid(
    browsing: Browsing, record_property: Callable[[str, object], None]
) -> None:
    page = browsing.open(report_data.many_spans(200_000))
    frames = timeline(browsing, FRAME_TIMES)
    record_property("frame_ms", frames)
    print("milliseconds a frame, whole to 0.1 %:", [round(frame, 1) for frame in frames])
    assert "200,000" in page.locator("#overview").inner_text()


def test_shares_are_a_pie_on_demand(browsing: Browsing) -> None:
    page = browsing.open(report_data.report(), at="#page=overview")
    page.get_by_role("button", name="Pie", exact=True).click()
    shares = page.evaluate("regimeter.current.model.operations.map((one) => one.share).filter((one) => one > 0).length")
    assert page.locator("svg.pie path.slice").count() == min(shares, 9)
    assert "shares=pie" in page.url
    page.locator(".pie-list button").first.click()
    assert page.locator(".slice.is-selected").count() == 1
    page.get_by_role("button", name="Strip", exact=True).click()
    assert page.locator(".strip .strip-part").first.is_visible()
