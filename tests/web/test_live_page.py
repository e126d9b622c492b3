# SPDX-License-Identifier: Apache-2.0
"""The page of a recording that is still being written, in a browser: it grows without being loaded again, keeps what
the reader looks at, and says when the recording has ended."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import go_to
from growing import Program
from needed import package
from serving import Server, serving

from regimeter import load

pytestmark = pytest.mark.web
TIMELINE = "regimeter.current.handles.find((handle) => handle.timeline).timeline"
# What is in view has come from the server, where it has to.
AT_REST = f"""((tiles) => tiles === null
    || tiles.shown.key !== "" && tiles.asked.size === 0 && tiles.timer === 0
       && tiles.coming === null && tiles.sought === null
)({TIMELINE}.tiles)"""

# The figures have come, and are shown when the test says so.
HOLD_THE_NEXT_FIGURES = """(() => {
    const { update } = regimeter;
    regimeter.update = (...all) => new Promise((resolve) => {
        window.showThem = () => { regimeter.update = update; resolve(update(...all)); };
    });
})()"""


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    made = Program(tmp_path, tmp_path / "run.rgm")
    made.go_on(10)
    yield made
    made.kill()


@pytest.fixture
def server(request: pytest.FixtureRequest, program: Program) -> Iterator[Server]:
    with serving(str(program.path), *getattr(request, "param", ())) as running:
        yield running


@pytest.fixture
def monitored(tmp_path: Path) -> Iterator[Program]:
    package("prometheus_client")
    made = Program(tmp_path, tmp_path / "run.rgm", "monitor", "--port", "0")
    made.go_on(10)
    yield made
    made.kill()


@pytest.fixture
def page(context: Any, server: Server) -> Iterator[Any]:
    context.set_offline(False)
    opened, complaints, requests = context.new_page(), [], []
    opened.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("request", lambda request: requests.append(request.url))
    go_to(opened, f"http://127.0.0.1:{server.port}/")
    opened.evaluate("window.loadedOnce = true")
    yield opened
    assert complaints == []
    assert opened.evaluate("window.violations") == []
    assert all(url.startswith((f"http://127.0.0.1:{server.port}/", "data:")) for url in requests), requests
    opened.close()
    context.set_offline(True)


def until(page: Any, expression: str) -> None:
    """Wait until an expression holds; the page's policy forbids Playwright's own way."""
    for _ in range(1200):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"{expression} did not come true: {page.inner_text('#live')}")


def spans(page: Any) -> int:
    return int(page.evaluate("document.documentElement.dataset.spans"))


def stays_while_paused(page: Any, program: Program) -> None:
    page.get_by_role("button", name="Pause").click()
    before = spans(page)
    program.go_on(100)
    until(page, "((f) => f.wanted !== f.shown && performance.now() >= f.next)(regimeter.following)")
    assert page.evaluate("(regimeter.following.tick(), regimeter.following.busy)") is False, "it asks for no figures"
    assert spans(page) == before
    assert page.inner_text("#live").startswith("paused, figures of ")
    page.get_by_role("button", name="Go on").click()
    until(page, f"Number(document.documentElement.dataset.spans) >= {before + 200}")


def shows_what_the_api_says(page: Any, server: Server) -> None:
    run = server.ask("/api/runs").json()["runs"][0]["id"]
    told = server.ask(f"/api/runs/{run}/page").json()
    assert "live" not in told
    inside = json.loads(
        page.evaluate("JSON.stringify(regimeter.current.model.operations.map((one) => [one.name, one.calls]))")
    )
    assert dict(inside) == {row["operation"]: row["call_count"] for row in told["summary"]}
    assert page.inner_text(".headline").replace("\N{NO-BREAK SPACE}", " ") == told["limit"]["sentence"]


def test_a_page_grows_but_while_it_is_paused_to_what_the_api_says_at_the_end(
    page: Any, program: Program, server: Server
) -> None:
    until(page, "document.querySelector('#live').innerText.includes('live')")
    until(page, "Number(document.documentElement.dataset.spans) >= 20")
    assert "ended early" not in page.inner_text("#heading")
    assert page.evaluate("regimeter.current.model.anomalies.map(({ code }) => code)") == []
    program.go_on(500)
    until(page, "Number(document.documentElement.dataset.spans) >= 1020")
    assert page.evaluate("window.loadedOnce")
    calls = page.locator(".statistics tbody tr", has_text="forward").first.inner_text()
    assert "510" in calls, calls
    stays_while_paused(page, program)
    program.end()
    until(page, "document.querySelector('#live').dataset.state === 'ended'")
    whole = load(program.path)
    assert spans(page) == len(whole.spans)
    assert page.inner_text("#live").startswith("ended, 1,220 spans")
    assert page.locator("#live button").is_hidden()
    shows_what_the_api_says(page, server)


@pytest.mark.parametrize("server", [(), ("--tiles-above", "0")], indirect=True, ids=["all", "tiles"])
def test_what_the_reader_looks_at_stays(page: Any, program: Program) -> None:
    until(page, "Number(document.documentElement.dataset.spans) >= 20")
    page.goto(page.url.split("#")[0] + "#page=trace")
    page.evaluate(f"({TIMELINE}).chooseNumber(7, true)")  # by its number: a row of the tiles may be several spans
    until(page, AT_REST)
    page.evaluate(f"({TIMELINE}).zoom(0.25, 0.5)")
    until(page, AT_REST)
    where = "[s.view.start, s.view.end, s.names[s.line.name[s.selected]], s.line.start[s.selected]]"
    seen = f"(() => {{ const s = {TIMELINE}.scene; return {where}; }})()"
    before = page.evaluate(seen)
    search = page.get_by_label("Find spans by name")
    search.fill("forw")
    until(page, "location.hash.includes('q=forw')")
    page.evaluate("document.querySelector('#timeline input[type=search]').setSelectionRange(1, 3)")
    page.evaluate("scrollTo(0, 120)")
    top = page.evaluate("scrollY")
    program.go_on(300)
    until(page, "Number(document.documentElement.dataset.spans) >= 620")
    until(page, AT_REST)  # with tiles what was selected may have to be asked for again
    assert page.evaluate(seen) == pytest.approx(before)
    assert search.input_value() == "forw"
    assert page.evaluate("[document.activeElement.ariaLabel, document.activeElement.selectionStart]") == [
        "Find spans by name",
        1,
    ]
    assert page.evaluate("scrollY") == top
    assert "page=trace" in page.url
    assert page.evaluate("window.loadedOnce")


@pytest.mark.parametrize("server", [("--tiles-above", "0")], indirect=True, ids=["tiles"])
def test_a_span_that_only_a_tile_holds_stays_selected(page: Any, program: Program) -> None:
    program.go_on(20_000)
    until(page, "Number(document.documentElement.dataset.spans) >= 40_000")
    page.goto(page.url.split("#")[0] + "#page=trace")
    page.evaluate(f"""(() => {{
        const t = {TIMELINE};
        const {{ start, stands }} = t.tiles.overview;
        const block = stands.findIndex((count, i) => count > 4 && i > stands.length / 2);
        t.scene.view.set(start[block], start[block] + 50e3);
        t.touch();
    }})()""")
    only_there = """(() => {
        const { line, view } = t.scene;
        const known = new Set([...t.tiles.overview.span].filter((_, i) => t.tiles.overview.stands[i] === 1));
        return [...line.start.keys()].find((i) => line.stands[i] === 1 && !known.has(line.span[i])
            && t.scene.names[line.name[i]] === "forward" && line.start[i] > view.start
            && line.start[i] < view.end) ?? -1;
    })()"""
    until(page, f"{AT_REST} && ((t) => {only_there} >= 0)({TIMELINE})")
    page.evaluate(f"((t) => t.choose({only_there}, false))({TIMELINE})")
    page.evaluate(f"((t) => t.setRange([t.scene.view.start, t.scene.view.end]))({TIMELINE})")
    until(page, f"{AT_REST} && document.querySelector('.range-panel tbody tr') !== null")
    until(page, "location.hash.includes('range=')")
    seen = f"""((t) => {{
        const {{ names, line, selected, range }} = t.scene;
        if (selected === null) return null;
        return [names[line.name[selected]], line.start[selected], line.duration[selected], ...range];
    }})({TIMELINE})"""
    told = "[...document.querySelectorAll('.span-details, .range-panel tbody')].map((one) => one.innerText)"
    before = page.evaluate(f"[{seen}, {told}]")
    assert before[0][0] == "forward"
    for count in (60_000, 80_000):
        program.go_on(10_000)
        until(page, f"Number(document.documentElement.dataset.spans) >= {count}")
        until(page, f"{AT_REST} && document.querySelector('.range-panel tbody tr') !== null")
        assert page.evaluate(f"[{seen}, {told}]") == before
        number = page.evaluate(f"((t) => t.numberOf(t.scene.selected))({TIMELINE})")
        until(page, f"location.hash.includes('sel={number}')")


def test_the_recording_of_a_monitor_is_followed(context: Any, monitored: Program) -> None:
    context.set_offline(False)
    with serving(str(monitored.path)) as server:
        page = context.new_page()
        go_to(page, f"http://127.0.0.1:{server.port}/#page=trace")
        monitored.go_on(100)
        until(page, "Number(document.documentElement.dataset.spans) >= 220")
        monitored.end()
        until(page, "document.querySelector('#live').dataset.state === 'ended'")
        page.close()
    context.set_offline(True)


def test_a_server_that_is_gone_is_told(context: Any, program: Program) -> None:
    """And still is when figures that it answered before are shown only then."""
    context.set_offline(False)
    page = context.new_page()
    with serving(str(program.path)) as server:
        go_to(page, f"http://127.0.0.1:{server.port}/")
        until(page, "Number(document.documentElement.dataset.spans) >= 20")
        page.evaluate(HOLD_THE_NEXT_FIGURES)
        program.go_on(10)
        until(page, "window.showThem !== undefined")
    until(page, "document.querySelector('#live').dataset.state === 'broken'")
    page.evaluate("window.showThem()")
    until(page, "!regimeter.following.busy")
    assert page.inner_text("#live").startswith("no connection, figures of ")
    assert page.locator(".statistics tbody tr").count() == 2  # and what was shown is there still
    page.close()
    context.set_offline(True)
