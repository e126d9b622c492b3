# SPDX-License-Identifier: Apache-2.0
"""The page of a run with more spans than it holds: the timeline asks the server for what is in view."""

import contextlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browsing import Browsing, go_to, timeline, visiting
from needed import package
from serving import Server, serving
from traces import load_trace, trace_path

pytestmark = pytest.mark.web
TRACE = "h100_bert_small.json.gz"
ABOVE = 1_000  # spans, for the test
ALL_THERE = "t.tiles.asked.size === 0 && t.tiles.timer === 0 && t.tiles.shown.key !== ''"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("served")
    shutil.copy(trace_path(TRACE), folder)
    with serving(str(folder / TRACE), "--tiles-above", str(ABOVE)) as running:
        yield running


@pytest.fixture
def browsing(tab: Any, server: Server, tmp_path: Path) -> Iterator[Browsing]:
    with visiting(tab, tmp_path, server.address) as made:
        yield made


def open_at(browsing: Browsing, server: Server, hash_: str = "#page=trace") -> Any:
    go_to(browsing.page, f"{server.address}/{hash_}")
    browsing.page.wait_for_selector("html[data-rest=there]")
    until(browsing, ALL_THERE)
    return browsing.page


def until(browsing: Browsing, expression: str) -> None:
    find = "regimeter.current.handles.find((handle) => handle.timeline).timeline"
    browsing.until(f"((t) => {expression})({find})")


def shown(browsing: Browsing) -> dict[int, int]:
    """Return the rows of single spans that are drawn in the part in view: number of the span -> its duration."""
    rows = timeline(
        browsing,
        """(() => {
            const { line, view } = t.scene;
            return [...line.start.keys()].filter((i) => line.stands[i] === 1 && line.depth[i] >= 0
                && line.start[i] <= view.end && line.start[i] + line.duration[i] >= view.start)
                .map((i) => [line.span[i], line.duration[i]]);
        })()""",
    )
    assert len({number for number, _ in rows}) == len(rows), "a span is there twice"
    return {int(number): int(duration) for number, duration in rows}


def test_every_span_that_is_wide_enough_is_drawn_wherever_one_looks(browsing: Browsing, server: Server) -> None:
    run = load_trace(TRACE)
    table = run.analyse("timeline_blocks")
    drawn = np.zeros(len(run.spans), dtype=bool)
    drawn[table.span[table.plain_depth >= 0]] = True
    start = run.spans.start_ns - run.start_ns
    end = start + run.spans.duration_ns
    page = open_at(browsing, server)
    counted = [int(page.evaluate(f"document.documentElement.dataset.{name}")) for name in ("drawn", "aggregated")]
    assert sum(counted) == len(run.spans)
    assert len(run.spans) > ABOVE
    whole = run.duration_ns
    # The marks of the profiler that stand on no thread are not drawn (adapter_timeline.js).
    bare = [lane for lane in range(len(run.lanes)) if run.lanes.device[lane] < 0 and run.lanes.thread[lane] < 0]
    drawn &= ~np.isin(run.spans.lane, bare) | (run.spans.duration_ns > 0)
    for place, part in ((0.3, 0.2), (0.35, 0.02), (0.36, 0.002), (0.7, 0.0002), (0.1, 0.5)):
        low, long = int(whole * place), int(whole * part)
        timeline(browsing, f"(t.scene.view.set({low}, {low + long}), t.touch())")
        until(browsing, f"{ALL_THERE} && t.tiles.wanted().level === t.tiles.shown.view.level")
        until(browsing, "t.tiles.wanted().from >= t.tiles.shown.from && t.tiles.wanted().to <= t.tiles.shown.to")
        pixel = 2 ** timeline(browsing, "t.tiles.shown.view.level")
        assert pixel <= timeline(browsing, "1 / t.scale")
        wide = drawn & (start <= low + long) & (end >= low) & (run.spans.duration_ns >= pixel)
        found = shown(browsing)
        assert set(np.flatnonzero(wide).tolist()) <= set(found)
        assert all(run.spans.duration_ns[number] == duration for number, duration in found.items())


def test_what_is_selected_has_its_arguments_and_links(browsing: Browsing, server: Server) -> None:
    run = load_trace(TRACE)
    table = run.analyse("timeline_blocks")
    row = int(np.flatnonzero(table.launch >= 0)[3])
    span, launch = int(table.span[row]), int(table.span[table.launch[row]])
    page = open_at(browsing, server, f"#page=trace&sel={span}")
    until(browsing, f"t.numberOf(t.scene.selected) === {span} && t.scene.arrows.length === 1")
    assert page.locator(".span-details").get_by_text("Launched by").is_visible()
    browsing.until(f"location.hash.includes('sel={span}')")
    page.locator(".span-details .links button").first.click()
    until(browsing, f"t.numberOf(t.scene.selected) === {launch}")
    assert page.locator(".span-details").get_by_text("Launches").is_visible()
    timeline(browsing, "t.clear()")
    until(browsing, "t.scene.selected === null")
    assert page.locator(".span-details").get_by_text("Click a span").is_visible()


def test_of_a_block_the_longest_span_is_selected_and_stays_so_in_finer_tiles(
    browsing: Browsing, server: Server
) -> None:
    run = load_trace(TRACE)
    page = open_at(browsing, server)
    block = "[...t.scene.line.stands.keys()].find((i) => t.scene.line.stands[i] > 1 && t.scene.line.depth[i] >= 0)"
    span, start, long = timeline(
        browsing, f"((i) => [t.scene.line.span[i], t.scene.line.start[i], t.scene.line.duration[i]])({block})"
    )
    timeline(browsing, f"t.choose({block}, false)")
    alone = "t.tiles.coming === null && t.scene.line.stands[t.scene.selected] === 1"
    one = f"t.numberOf(t.scene.selected) === {span} && {alone}"
    until(browsing, one)
    name = run.string(run.spans.name[int(span)])
    assert page.locator(".span-details .span-name").inner_text() == name
    level = timeline(browsing, "t.tiles.shown.view.level")
    timeline(browsing, f"(t.scene.view.set({start}, {start + long}), t.touch())")
    until(browsing, f"{ALL_THERE} && t.tiles.shown.view.level < {level}")
    assert timeline(browsing, one)
    browsing.until(f"location.hash.includes('sel={int(span)}')")


def test_search_and_statistics_are_those_of_the_whole_run(browsing: Browsing, server: Server) -> None:
    run = load_trace(TRACE)
    page = open_at(browsing, server)
    texts = np.array(run.strings)[run.spans.name]
    matches = np.flatnonzero(np.char.find(np.char.lower(texts), "addmm") >= 0)
    page.get_by_label("Find spans by name").fill("addmm")
    page.get_by_text(f"{len(matches):,} matches").wait_for()
    page.get_by_label("Next match").click()
    first = int(matches[np.lexsort((matches, run.spans.start_ns[matches]))][0])
    until(browsing, f"t.numberOf(t.scene.selected) === {first}")
    low, high = int(run.duration_ns * 0.3), int(run.duration_ns * 0.6)
    timeline(browsing, f"t.setRange([{low}, {high}])")
    page.locator(".range-panel table").wait_for()
    head = page.locator(".range-panel .dim").first.inner_text()
    said = re.search(r"(about )?([\d,]+) spans of ([\d,]+) names", head)
    answer = server.ask(f"/api/profiler/range?start_ns={low}&end_ns={high}").json()
    assert said is not None
    assert said[1] is None
    assert [int(text.replace(",", "")) for text in said.groups()[1:]] == [answer["spans"], answer["names"]]
    first_row = page.locator(".range-panel tbody tr").first.inner_text()
    assert answer["rows"][0]["name"][:20] in first_row


def test_what_is_no_longer_wanted_is_not_waited_for(browsing: Browsing, server: Server) -> None:
    page = open_at(browsing, server)
    Error = package("playwright.sync_api").Error
    held: list[Any] = []
    page.route("**/api/profiler/tiles*", lambda route: held.append(route))
    timeline(browsing, "(t.scene.view.set(1e6, 1.01e6), t.touch())")
    until(browsing, "t.tiles.asked.size > 0")
    timeline(browsing, "(window.before = [...t.tiles.asked.values()]).length")
    timeline(browsing, "(t.scene.view.set(9e6, 9.5e6), t.touch())")
    browsing.until("window.before.every((one) => one.signal.aborted)")
    until(browsing, "t.tiles.asked.size > 0")
    page.unroute("**/api/profiler/tiles*")
    for route in held:
        with contextlib.suppress(Error):  # what was aborted cannot go on
            route.continue_()
    until(browsing, ALL_THERE)


def test_without_its_server_the_page_shows_the_overview_and_says_so(browsing: Browsing, server: Server) -> None:
    page = open_at(browsing, server)
    page.route("**/api/profiler/tiles*", lambda route: route.abort())
    timeline(browsing, "(t.scene.view.set(2e6, 2.1e6), t.touch())")
    page.get_by_text("only the overview is shown").wait_for()
    assert timeline(browsing, "t.scene.line.count") > 0
    browsing.complaints.clear()  # the browser tells that it had no connection


def test_the_page_opens_before_what_takes_long_is_there_and_says_so(browsing: Browsing, server: Server) -> None:
    page, held = browsing.page, []
    page.route("**/api/runs/*/page", lambda route: held.append(route))
    go_to(page, f"{server.address}/#page=trace")
    until(browsing, ALL_THERE)
    status = page.get_by_role("status").filter(has_text="computing suggestions")
    status.wait_for()
    titles = "[...document.querySelectorAll('#nav a')].map((link) => link.textContent)"
    assert "Suggestions" not in page.evaluate(titles)
    timeline(browsing, "(t.scene.view.set(2e6, 2.1e6), t.touch())")
    browsing.until("document.documentElement.dataset.rest === 'computing'")
    held[0].abort()
    page.get_by_text("not here: suggestions").wait_for()
    browsing.complaints.clear()  # the browser tells that it had no connection
    page.unroute("**/api/runs/*/page")
    page.get_by_role("button", name="Try again").click()
    page.wait_for_selector("html[data-rest=there]")
    assert {"Suggestions", "Critical path", "Kernels"} <= set(page.evaluate(titles))
    assert not page.locator("#live").is_visible()
    assert timeline(browsing, "[t.scene.view.start, t.scene.view.end]") == pytest.approx([2e6, 2.1e6])
