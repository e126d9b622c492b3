# SPDX-License-Identifier: Apache-2.0
"""Pages that are made of sections, in a browser: their figures are those of the API, names are texts, keys work."""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import section_pages
from browsing import Browsing, go_to, visiting
from needed import package
from serving import Server, record, serving
from test_accessible import findings, look

from regimeter.cli import main

pytestmark = pytest.mark.web
HOSTILE = '<img src=x onerror=alert(1)>"&'
KEEPS = """
import torch

def keep():
    return [torch.ones(25_000) for _ in range(30)]

kept = keep()
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    package("torch")
    folder: Path = tmp_path_factory.mktemp("reports")
    record(folder, "base", 50)
    program = tmp_path_factory.mktemp("programs") / "keeps.py"
    program.write_text(KEEPS)
    for words in (
        ("memory", "-o", str(folder / "memory.json"), str(program)),
        ("compile", str(section_pages.LOG), "-o", str(folder / f"{HOSTILE}.json")),
        ("history", "add", str(folder / "base.rgm"), "--db", str(program.parent / "history.db")),
    ):
        assert main([*words]) == 0
    with serving(str(folder), "--history", str(program.parent / "history.db")) as running:
        yield running


@pytest.fixture
def page(tab: Any, server: Server, tmp_path: Path) -> Iterator[Any]:
    with visiting(tab, tmp_path, server.address):
        yield tab


def open_run(page: Any, server: Server, name: str) -> str:
    run = server.id_of(name)
    go_to(page, f"{server.address}/runs/{run}#page=all")
    return run


def shown(page: Any, section: str) -> list[list[str]]:
    """The texts of a section's rows: of its figures, or of its table."""
    rows = page.locator(f"#{section} dl.figures > div, #{section} tbody tr")
    return [
        [re.sub(r"\s+", " ", text).strip() for text in row.locator("dt, dd, th, td").all_inner_texts()]
        for row in rows.all()
    ]


def test_figures_of_a_compile_report_are_those_of_the_api(page: Any, server: Server) -> None:
    run = open_run(page, server, f"{HOSTILE}.json")
    told = server.ask(f"/api/profiler/compile?run={run}").json()
    assert HOSTILE in page.inner_text("h1")
    figures = dict(row[:2] for row in shown(page, "figures"))
    assert figures["graphs"] == str(told["graphs"])
    assert figures["backend"] == told["backend"]
    assert figures["compiling, slowest process"].startswith(f"{told['compile_time_ms'] / 1e3:.1f} s")
    kernels = {row[0]: int(row[1]) for row in shown(page, "kernels")}
    assert kernels == {one["name"]: one["call_count"] for one in told["fused_kernels"]}


def test_figures_of_a_memory_report_are_those_of_the_api(page: Any, server: Server) -> None:
    run = open_run(page, server, "memory.json")
    peak = server.ask(f"/api/profiler/memory?run={run}").json()["peak_analysis"]
    figures = dict(row[:2] for row in shown(page, "figures"))
    assert figures["peak"] == f"{peak['peak_allocated_mb']:#.3g} MB"
    counts = [int(row[2]) for row in shown(page, "allocations")]
    assert counts == [one["count"] for one in peak["top_allocations"]][: len(counts)]
    assert any("keeps.py" in row[0] for row in shown(page, "allocations"))
    points = "regimeter.current.model.sections.find(({ id }) => id === 'levels').series[0].value.at(-1)"
    assert page.evaluate(points) > 0


def test_the_list_and_the_history_are_those_of_the_api(page: Any, server: Server) -> None:
    address = f"http://127.0.0.1:{server.port}"
    page.goto(f"{address}/runs")
    page.wait_for_function("() => !document.body.innerText.includes('still being read')")
    told = server.ask("/api/runs").json()["runs"]
    rows = {row[0]: row for row in shown(page, "runs")}
    assert set(rows) == {one["name"] for one in told}
    assert "1 recording" in page.inner_text(".headline")
    go_to(page, f"{address}/history")
    names = [row[0] for row in shown(page, "operations-of-runs")]
    assert set(names) <= set(server.ask("/api/history/operations").json()["operations"])
    newest = page.evaluate(
        "Object.fromEntries(regimeter.current.model.trends.map((one) => [one.operation, one.newest]))"
    )
    for name in names:
        [series] = server.ask(f"/api/history/series?operation={quote(name)}").json()["series"]
        assert newest[name] == pytest.approx(series["points"][-1]["value"])


@pytest.mark.parametrize("name", section_pages.PAGES)
def test_tables_say_what_the_data_say_and_nothing_is_clipped(browsing: Browsing, name: str) -> None:
    """Each table: its first column in order, numbers without a unit as they are, and as many rows as there are."""
    data = section_pages.page_data(name)
    page = browsing.open(data)
    for section in data.get("sections", []):
        if section["form"] != "table":
            continue
        rows = shown(page, section["id"])
        first = section["columns"][0]["values"]
        assert [row[0] for row in rows] == [re.sub(r"\s+", " ", str(text)).strip() for text in first[: len(rows)]]
        assert len(rows) == min(len(first), 25)
        assert page.locator(f"#{section['id']} .tools .dim").inner_text().startswith(f"{len(first):,} row")
    for form in (("light", 360), ("dark", 2560)):
        look(page, *form)
        browsing.settle()
        # What a table has beyond its box can be reached: the box scrolls, by keys too.
        wide = "(all) => all.filter((one) => one.scrollWidth > one.clientWidth + 2)"
        boxes = page.locator(".scroller").evaluate_all(f"{wide}.map((one) => [one.tabIndex, one.className])")
        assert all(box == [0, "scroller has-more"] for box in boxes), boxes
        for text in page.locator("svg.memory text, svg.trend text").all():
            place, inside = text.bounding_box(), page.locator("main").bounding_box()
            assert place is None or place["x"] >= inside["x"] - 1, text.text_content()
    for form in (("dark", 2560), ("light", 360)):
        assert findings(page, *form) == {"found": [], "wide": 0}, form


@pytest.mark.parametrize("width", [360, 1280])
def test_a_single_sample_is_a_dot_over_an_axis_that_can_be_read(browsing: Browsing, width: int) -> None:
    from regimeter.report.document import document, first, levels

    series = {"name": "allocated", "time_ns": [14_412_342.0], "value": [22.9e6]}
    data = document("memory", "one", limit=first("", "One sample."), sections=[levels("levels", "Levels", [series])])
    browsing.page.set_viewport_size({"width": width, "height": 800})
    page = browsing.open(data, at="")
    assert page.locator("svg.memory > circle").count() == 1
    boxes = [text.bounding_box() for text in page.locator("svg.memory text[text-anchor=middle]").all()]
    assert len(boxes) >= 2
    ends = [(box["x"], box["x"] + box["width"]) for box in sorted(boxes, key=lambda box: box["x"])]
    assert all(one[1] < two[0] for one, two in itertools.pairwise(ends))
    inside = page.locator("#levels").bounding_box()
    assert ends[-1][1] <= inside["x"] + inside["width"]


def test_keys_lead_through_the_pages(browsing: Browsing) -> None:
    page = browsing.open(section_pages.page_data("memory"), at="")
    page.keyboard.press("g")
    page.keyboard.press("p")
    assert page.locator("#nav a[aria-current=page]").inner_text() == "At the peak"
    heading = page.get_by_role("button", name="size").first
    heading.focus()
    page.keyboard.press("Enter")
    assert page.locator("#allocations th[aria-sort=descending]").count() == 1
    page.locator("#nav a", has_text="Overview").click()
    chart = page.locator("svg.memory").first
    before = page.locator("#levels-device-0 .readout").inner_text()
    chart.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#levels-device-0 .readout").inner_text() != before
    page.keyboard.press("Escape")
    assert page.locator("#levels-device-0 .readout").inner_text() == before


def in_table(page: Any, section: str) -> list[list[str]]:
    """The texts of a picture's table, all rows of it."""
    page.locator(f"#{section} summary", has_text="As a table").click()
    page.locator(f"#{section} .as-table table").wait_for()  # it is made once the element is open
    while page.locator(f"#{section} button.more:visible").count():
        page.locator(f"#{section} button.more").click()
    return shown(page, section)


def test_a_sweep_s_pictures_and_tables_say_what_was_measured(browsing: Browsing) -> None:
    data = section_pages.page_data("sweep")
    page = browsing.open(data)
    sections = {section["id"]: section for section in data["sections"]}
    cells = sections["regime-map"]["cells"]
    assert page.locator("#regime-map .letter").count() == len(cells) + 5, "and one of each regime in the legend"
    rows = [[row[0], int(row[1].replace(",", "")), row[2]] for row in in_table(page, "regime-map")]
    names, sizes = sections["regime-map"]["operations"], sections["regime-map"]["elements"]
    assert rows == [[names[one["row"]], sizes[one["column"]], one["regime"]] for one in cells]
    assert page.locator("#roofline circle:not(.key circle)").count() == sections["roofline"]["points"]["count"]
    for panel in ("time", "throughput", "bandwidth"):
        series = sections[panel]["series"]
        expected = [(one["name"], x, said) for one in series for x, said in zip(one["x"], one["said"], strict=True)]
        found = in_table(page, panel)
        assert [(row[0], int(row[1].replace(",", "")), row[3]) for row in found] == expected
        assert page.locator(f"#{panel} .curve circle").count() == len(expected)
    share = sections["bandwidth"]["series"][0]["y"][-1]
    assert [row[2] for row in found if row[0] == "add"][-1] == f"{100 * share:.1f} %"


def test_a_series_that_is_switched_off_is_off_in_every_picture(browsing: Browsing) -> None:
    page = browsing.open(section_pages.page_data("sweep"))
    circles = page.locator("#roofline svg.roofline:not(.key) circle")
    before = circles.count()
    key = page.locator("#throughput button.series-key", has_text="cos")
    key.focus()
    page.keyboard.press("Enter")
    assert page.locator("button.series-key[aria-pressed=false]").all_inner_texts() == ["cos"] * 4
    hidden = page.locator(".curve[data-series=cos]")
    assert [hidden.nth(i).is_visible() for i in range(3)] == [False] * 3
    assert page.locator(".curve[data-series=add]").first.is_visible()
    assert circles.count() == before - 10
    plot = page.locator("#time svg.curves:not(.key)")
    plot.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#time .readout").inner_text().startswith("add, 64 elements: 2.02 µs, OVERHEAD_BOUND")
    page.keyboard.press("ArrowDown")  # cos is passed over
    assert page.locator("#time .readout").inner_text().startswith("matmul, 64 elements")
    page.locator("#roofline button.series-key", has_text="cos").click()
    assert hidden.first.is_visible()
    page.locator("#regime-map svg.regime-map:not(.key)").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.locator("#regime-map .readout").inner_text().startswith("add, 256 elements: OVERHEAD_BOUND")
