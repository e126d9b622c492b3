# SPDX-License-Identifier: Apache-2.0
"""The pages of a report: which there are, what each address shows, going back, keys, and every table as a file."""

import csv
import io
from collections.abc import Callable
from typing import Any

import pytest
import report_data
from browsing import Browsing, be_ready, data_of, flame_graph, go_to, timeline
from traces import load_trace

from regimeter.analysis.catalog import find_verbs
from regimeter.report import path_data
from regimeter.report.trace_data import trace_data

pytestmark = pytest.mark.web

TRACE = "h100_bert_small.json.gz"
SHOWN = "(all) => all.filter((one) => !one.hidden).map((one) => one.id)"


@pytest.fixture(scope="module")
def data() -> dict[str, Any]:
    return data_of(TRACE)


def sections(page: Any) -> list[str]:
    found: list[str] = page.locator("main > section").evaluate_all(SHOWN)
    return found


def address(page: Any) -> str:
    found: str = page.evaluate("location.hash")
    return found


def test_each_page_has_an_address_and_each_panel_a_page(browsing: Browsing, data: dict[str, Any]) -> None:
    page = browsing.open(data, at="")
    links = page.locator("#nav a")
    assert links.all_inner_texts() == [
        "Overview",
        "Kernels",
        "Operators",
        "Regimes",
        "Memory",
        "Communication and ranks",
        "Idle and launches",
        "Critical path",
        "Suggestions",
        "Trace",
        "All on one page",
    ]
    tabs: list[str] = []
    views: set[str] = set()
    for link in links.all()[:-1]:
        link.click()
        assert page.locator("#nav a[aria-current=page]").all_inner_texts() == [link.inner_text()]
        assert page.evaluate("scrollY") == 0
        assert sections(page), link.inner_text()
        assert page.locator("h1").inner_text() == TRACE, "the name of the file is on every page"
        views |= set(sections(page))
        tabs += page.locator("#analyses .tab:visible").all_inner_texts()
    named = [panel["name"].replace("-", " ").replace("_", " ").capitalize() for panel in data["panels"]]
    assert sorted(tabs) == sorted(named), "each table is on one page"
    links.last.click()
    assert set(sections(page)) == views
    assert page.locator("#analyses .tab:visible").count() == len(named)


def test_a_recording_has_the_seven_elements_on_its_overview(browsing: Browsing) -> None:
    page = browsing.open(report_data.report(), at="")
    wanted = {"overview", "shares", "split", "memory", "bottlenecks", "timeline", "statistics"}
    assert wanted == set(sections(page))
    assert page.locator("#nav a").all_inner_texts() == ["Overview", "Operators", "Memory", "Trace", "All on one page"]


# Holds what is put off to a later task back, until the page is told to go on.
HELD_BACK = """
    const later = window.setTimeout;
    window.waiting = [];
    window.setTimeout = (call, ms, ...given) => (ms === 0 ? window.waiting.push(call) : later(call, ms, ...given));
"""


@pytest.mark.parametrize("way", ["going there", "printing", "waiting"])
def test_only_the_page_that_is_asked_for_is_rendered_at_first(standing: Callable[[str], Browsing], way: str) -> None:
    whole = standing(TRACE).page
    things = whole.locator("#timeline .view-body > *").count()
    page = whole.context.new_page()
    page.add_init_script(HELD_BACK)
    page.goto(whole.url.replace("#page=all", "#page=kernels"))
    page.wait_for_selector("html[data-ready]")
    body = page.locator("#timeline .view-body > *")
    assert page.evaluate("document.documentElement.dataset.part") == "1"
    assert page.locator("#analyses tbody tr").count() > 0
    assert body.count() == 0 < things
    go_on = "waiting.splice(0).forEach((call) => call())"
    if way == "going there":
        page.get_by_role("link", name="Trace", exact=True).click()
        assert page.locator("#timeline canvas").first.is_visible()
    elif way == "printing":
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
    else:
        page.evaluate(go_on)
        page.wait_for_selector("html[data-ready]:not([data-part])")
    assert body.count() == things
    page.evaluate(go_on)  # nothing is rendered twice
    page.wait_for_selector("html[data-ready]:not([data-part])")
    assert body.count() == things
    page.close()


def test_the_name_of_the_page_stays_in_view_when_the_window_shrinks(browsing: Browsing, data: dict[str, Any]) -> None:
    page = browsing.open(data, at="#page=suggestions")
    for width in (1366, 360, 640):
        page.set_viewport_size({"width": width, "height": 700})
        browsing.settle()
        left, right = page.locator("#nav a[aria-current=page]").evaluate(
            "(link) => [link.getBoundingClientRect().left, link.getBoundingClientRect().right]"
        )
        assert 0 <= left < right <= width
    assert page.evaluate("scrollY") == 0


def test_going_back_goes_back(browsing: Browsing, data: dict[str, Any]) -> None:
    page = browsing.open(data, at="")
    page.get_by_role("link", name="Kernels").click()
    page.get_by_role("tab", name="Flops").click()
    page.get_by_role("link", name="Trace", exact=True).click()
    timeline(browsing, "t.choose(40, true)")
    browsing.until("location.hash.includes('sel=40')")
    page.go_back()
    browsing.until("!location.hash.includes('sel=')")
    browsing.settle()
    assert timeline(browsing, "t.scene.selected") is None
    page.go_back()
    browsing.until("location.hash.includes('table=flops')")
    assert page.locator("#analyses .tab[aria-selected=true]").inner_text() == "Flops"
    page.go_back()
    browsing.until("!location.hash.includes('table')")
    assert page.locator("#analyses .tab[aria-selected=true]").inner_text() == "Kernels"
    page.go_back()
    browsing.until("location.hash === ''")
    assert sections(page)[0] == "limit"
    for _ in range(4):
        page.go_forward()
    browsing.until("location.hash.includes('sel=40')")
    browsing.settle()
    assert timeline(browsing, "t.scene.selected") == 40


def test_a_link_opened_elsewhere_shows_the_same(browsing: Browsing, data: dict[str, Any]) -> None:
    page = browsing.open(data, at="#page=kernels")
    page.get_by_role("button", name="Module", exact=True).click()
    [kernels] = [panel for panel in data["panels"] if panel["name"] == "kernels"]
    [modules] = [table["count"] for table in kernels["tables"] if table["by"] == "module"]
    page.get_by_role("tabpanel", name="Kernels").get_by_text(f"{modules:,} rows", exact=True).wait_for()
    page.get_by_label("Search Kernels").fill("layer")
    page.locator("#analyses").get_by_role("button", name="count", exact=True).click()
    page.get_by_role("button", name="Host time").click()
    page.get_by_label("Flames").check()
    page.locator("canvas.flame").press("ArrowUp")
    page.get_by_label("Highlight names in the flame graph").fill("aten::")
    rows = page.locator("#analyses tbody th").all_inner_texts()
    assert len(rows) > 0
    node = flame_graph(browsing, "g.focus")
    wanted = {"page": "kernels", "table": "kernels", "by": "module", "find": "layer", "sort": "-count"}
    wanted |= {"flame": "host", "form": "flames", "node": str(node), "match": "aten::"}
    assert page.evaluate("Object.fromEntries(new URLSearchParams(location.hash.slice(1)))") == wanted
    url = page.url
    page.goto("about:blank")
    go_to(page, url)
    page.locator("#analyses tbody tr").first.wait_for()
    assert page.locator("#analyses tbody th").all_inner_texts() == rows
    assert page.locator("#analyses th[aria-sort=descending]").inner_text() == "count"
    assert page.get_by_label("Flames").is_checked()
    assert flame_graph(browsing, "[g.focus, g.flames, g.test !== null]") == [node, True, True]
    assert page.get_by_role("button", name="Host time").get_attribute("aria-pressed") == "true"


def test_a_page_keeps_what_was_seen_on_it(browsing: Browsing, data: dict[str, Any]) -> None:
    page = browsing.open(data, at="#page=trace")
    timeline(browsing, "t.scene.view.set(1000, 5000), t.touch()")
    browsing.until("location.hash.includes('t=1000..5000')")
    page.get_by_role("link", name="Kernels").click()
    assert address(page) == "#page=kernels"
    page.get_by_role("link", name="Trace", exact=True).click()
    assert address(page) == "#page=trace&t=1000..5000"
    browsing.settle()
    assert timeline(browsing, "[t.scene.view.start, t.scene.view.end]") == [1000, 5000]


def test_the_chosen_operation_stands_in_the_address(browsing: Browsing) -> None:
    page = browsing.open(report_data.report(), at="")
    page.locator("#shares").get_by_role("button", name="backward").click()
    assert address(page) == "#page=overview&op=backward"
    page.reload()
    be_ready(page)
    assert page.locator(".statistics tr.is-selected th").inner_text().strip() == "backward"
    page.locator("#shares").get_by_role("button", name="backward").click()
    assert address(page) == ""


def test_an_address_that_names_nothing_known_opens_the_first_page(browsing: Browsing, data: dict[str, Any]) -> None:
    for odd in ("#sel=x", "#table=", "#%E0%A4%A", "#node=-7&flame=x&sort=--&by=q", "#page=nowhere"):
        page = browsing.open(data, at=odd)
        assert sections(page) == ["limit", "breakdown"], odd
        said = page.locator("#heading .notice[role=status]")
        assert said.is_visible() == odd.startswith("#page="), odd
    assert said.inner_text() == "There is no page “nowhere” here; this is “Overview”."
    page.keyboard.press("]")
    assert not said.is_visible()
    page = browsing.open(data, at="#roadmap")
    assert sections(page) == ["roadmap"], "a part of the page is shown on its page"


def test_every_page_is_reached_by_keys(browsing: Browsing, data: dict[str, Any]) -> None:
    page = browsing.open(data, at="")
    for keys, current in (("gk", "Kernels"), ("gi", "Idle and launches"), ("gp", "Critical path"), ("go", "Overview")):
        for key in keys:
            page.keyboard.press(key)
        assert page.locator("#nav a[aria-current=page]").inner_text() == current
    page.keyboard.press("]")
    assert page.locator("#nav a[aria-current=page]").inner_text() == "Kernels"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Search Kernels"
    page.keyboard.type("gk?t")
    assert page.get_by_label("Search Kernels").input_value() == "gk?t", "where one types, keys are letters"
    page.get_by_label("Search Kernels").fill("")
    first, second = page.locator("#analyses tbody button.operation").all()[:2]
    first.focus()
    page.keyboard.press("ArrowDown")
    assert second.evaluate("(one) => one === document.activeElement")
    assert page.locator("#analyses tbody button.operation[tabindex='0']").count() == 1, "one stop of the Tab key"
    page.keyboard.press("Enter")
    assert second.get_attribute("aria-pressed") == "true"
    page.keyboard.press("Escape")
    assert second.get_attribute("aria-pressed") == "false"
    page.keyboard.press("?")
    sheet = page.locator("dialog.keys")
    assert sheet.is_visible()
    for text in ("g k", "Kernels", "Ctrl-K", "Timeline, once it has been clicked"):
        assert text in sheet.inner_text()
    page.keyboard.press("Escape")
    sheet.wait_for(state="detached")
    page.keyboard.press("t")
    assert page.locator("#theme").inner_text() == "Theme: light"


def saved(page: Any, button: Any) -> list[list[str]]:
    with page.expect_download() as download:
        button.click()
    text = download.value.path().read_bytes().decode()
    return list(csv.reader(io.StringIO(text, newline="")))


def test_a_table_is_saved_as_it_is_seen(browsing: Browsing, data: dict[str, Any]) -> None:
    run = load_trace(TRACE)
    table: Any = run.analyse(find_verbs()["kernels"].analysis)
    page = browsing.open(data, at="#table=kernels&find=vectorized&sort=total_ns")
    page.locator("#analyses tbody tr").first.wait_for()
    header, *rows = saved(page, page.get_by_role("button", name="Save Kernels as CSV"))
    name, total = header.index("name"), header.index("total (ns)")
    named = zip((run.string(one) for one in table.name), table.total_ns.tolist(), strict=True)
    wanted = sorted(((text, ns) for text, ns in named if "vectorized" in text), key=lambda one: one[1])
    assert len(wanted) > 2
    assert [(row[name], int(row[total])) for row in rows] == wanted


def test_each_picture_is_also_a_table(browsing: Browsing, data: dict[str, Any]) -> None:
    page = browsing.open(data)
    pictures = ("limit", "breakdown", "regimes", "flame", "memory")
    for section in pictures:
        opened = page.locator(f"#{section} .as-table")
        opened.locator("summary").click()
        opened.locator("tbody tr").first.wait_for()
    breakdown = data["breakdown"][0]
    header, row = saved(page, page.get_by_role("button", name="Save Time of each device as CSV"))
    got = dict(zip(header, row, strict=True))
    assert int(got["Compute (ns)"]) == breakdown["compute_ns"]
    assert int(got["Idle (ns)"]) == breakdown["idle_ns"]
    _, *nodes = saved(page, page.get_by_role("button", name="Save Nodes of the flame graph as CSV"))
    assert len(nodes) == flame_graph(browsing, "[...g.total].filter((one) => one > 0).length")
    _, *samples = saved(page, page.get_by_role("button", name="Save Memory over time as CSV"))
    held = "regimeter.current.model.memory.series.reduce((sum, one) => sum + one.time.length, 0)"
    assert len(samples) == page.evaluate(held) > 100


def test_what_of_the_path_is_left_out_is_said(browsing: Browsing, monkeypatch: pytest.MonkeyPatch) -> None:
    run = load_trace("diff_a100_control.json.gz")
    whole = path_data.path_of(run)
    monkeypatch.setattr(path_data, "MOST_PIECES", 10)
    cut = path_data.path_of(run)
    assert whole is not None
    assert cut is not None
    assert (whole["path"]["omitted"], whole["path"]["omitted_ns"]) == (0, 0)
    assert cut["path"]["omitted"] == whole["path"]["count"] - 10
    page = browsing.open(trace_data(run), at="#page=path")
    said = page.locator("#timeline .caution").inner_text()
    assert f"of the {whole['path']['count']:,} pieces of the critical path" in said
    assert f"the {cut['path']['omitted']:,} shortest" in said
    path: Any = run.analyse("critical_path")
    drawn = timeline(browsing, "t.scene.path.along.duration_ns.reduce((a, b) => a + b, 0)")
    assert drawn + cut["path"]["omitted_ns"] == int(path.duration_ns.sum())
    monkeypatch.undo()
    assert (
        browsing.open(data_of("diff_a100_control.json.gz"), at="#page=path").locator("#timeline .caution").count() == 0
    )
