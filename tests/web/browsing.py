# SPDX-License-Identifier: Apache-2.0
"""A page in a real browser, from disk, with every other request refused and counted."""

import contextlib
import functools
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from traces import load_trace

from regimeter.report.html import write_html
from regimeter.report.trace_data import trace_data

SIZE = {"width": 1366, "height": 900}


# Resolves when all of a page is there and a frame has begun; Playwright's own way has the page draw frame after frame.
READY = """(patience) => new Promise((done, fail) => {
    const root = document.documentElement;
    const ready = () => root.matches("[data-ready]:not([data-part])");
    const end = () => requestAnimationFrame(() => done());
    const look = (_, watch) => { if (ready()) { watch.disconnect(); end(); } };
    if (ready()) end();
    else new MutationObserver(look).observe(root, { attributes: true });
    setTimeout(() => fail(new Error("the page did not get ready")), patience);
})"""
PATIENCE_MS = 120_000  # for one element or one load: a busy machine is slow, not wrong


def be_ready(page: Any) -> None:
    """Wait until all of a page that has been loaded is there."""
    page.evaluate(READY, PATIENCE_MS)


def go_to(page: Any, address: str) -> None:
    """Open an address, and wait until all of its page is there."""
    page.goto(address)
    be_ready(page)


class Browsing:
    """One page and everything it complained about or asked for."""

    def __init__(self, page: Any, folder: Path) -> None:
        self.page = page
        self.folder = folder
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.heard = {
            "console": lambda said: self.complaints.append(said.text) if said.type in ("error", "warning") else None,
            "pageerror": lambda error: self.complaints.append(str(error)),
            "request": lambda request: self.requests.append(request.url),
        }

    def open(self, data: dict[str, Any] | None, name: str = "report.html", at: str = "#page=all") -> Any:
        """Open the page of this data where the address says, by default with all of it on one page."""
        write_html(data, self.folder / name)
        if self.page.url != "about:blank":
            self.page.goto("about:blank")  # so that the same file with another address is read again
        go_to(self.page, (self.folder / name).as_uri() + at)
        return self.page

    def load(self, name: str, content: str | bytes | dict[str, Any]) -> None:
        path = self.folder / name
        text = json.dumps(content) if isinstance(content, dict) else content
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        self.page.set_input_files("#file", path)
        until = time.monotonic() + 300
        while self.page.evaluate("document.querySelector('#file').value") != "":  # emptied once the file is dealt with
            assert time.monotonic() < until, f"{name} was not dealt with in 300 s"
            time.sleep(0.01)

    def rows(self) -> list[str]:
        return [text.strip() for text in self.page.locator(".statistics tbody th").all_inner_texts()]

    def until(self, expression: str) -> None:
        """Wait until an expression holds in the page; its policy forbids Playwright's own way."""
        until = time.monotonic() + 60
        while not self.page.evaluate(expression):
            assert time.monotonic() < until, f"{expression} did not come true in 60 s"
            time.sleep(0.01)

    def settle(self) -> None:
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


@functools.cache
def data_of(trace: str) -> dict[str, Any]:
    """Return the page of a trace, the same each time: who changes it takes a copy."""
    return trace_data(load_trace(trace))


@contextlib.contextmanager
def visiting(tab: Any, folder: Path, address: str = "file://") -> Iterator[Browsing]:
    """Lend a tab to one test. Its pages may ask for what is below this address alone, and complain of nothing."""
    tab.context.set_offline(address.startswith("file:"))
    tab.set_viewport_size(SIZE)
    tab.emulate_media(color_scheme="light", reduced_motion="no-preference")
    tab.mouse.move(0, 0)
    made = Browsing(tab, folder)
    for event, hear in made.heard.items():
        tab.on(event, hear)
    yield made
    violations, alerted = tab.evaluate("[window.violations, window.alerted === true]")
    for event, hear in made.heard.items():
        tab.remove_listener(event, hear)
    tab.unroute_all()
    tab.goto("about:blank")
    assert made.complaints == []
    assert (violations, alerted) == ([], False)
    assert all(url.startswith((f"{address}/", "data:")) for url in made.requests), made.requests


def timeline(browsing: Browsing, expression: str) -> Any:
    """Value of a JavaScript expression in which t is the page's timeline."""
    find = "regimeter.current.handles.find((handle) => handle.timeline).timeline"
    return browsing.page.evaluate(f"() => {{ const t = {find}; return {expression.strip()}; }}")


def flame_graph(browsing: Browsing, expression: str) -> Any:
    """Value of a JavaScript expression in which g is the page's flame graph."""
    find = "regimeter.current.handles.find((handle) => handle.graph).graph"
    return browsing.page.evaluate(f"() => {{ const g = {find}; return {expression}; }}")


def pixels(page: Any, area: str) -> int:
    """Number of different colours in an area (x, y, width, height) of the timeline's canvas, c."""
    colours = f"new Set(new Uint32Array(c.getContext('2d').getImageData({area}).data.buffer)).size"
    found: int = page.locator("canvas.timeline").evaluate(f"(c) => {colours}")
    return found
