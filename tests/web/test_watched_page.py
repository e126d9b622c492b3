# SPDX-License-Identifier: Apache-2.0
"""The live page of a monitor in a browser: it follows the program, and says what the API says."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import go_to, visiting
from needed import package
from test_accessible import DESKTOP, PHONE, findings
from watching import Watched

pytestmark = pytest.mark.web
HOSTILE = '<img src=x onerror=alert(1)>"&'
PROGRAM = f"""
    import gc, sys
    gc.disable()
    import regimeter
    from regimeter import _core
    step = regimeter.get_profiler()._role_scope("step", _core.ROLES.index("step"))
    for line in sys.stdin:
        for _ in range(int(line)):
            with step:
                with regimeter.profile({HOSTILE!r}, device="cpu"):
                    pass
        print("done", flush=True)
"""


class Told(Watched):
    """A program under the monitor that does what it is told."""

    def __init__(self, folder: Path) -> None:
        package("prometheus_client")
        words = ("--keep", "1h", "--on", "slow-step>1h", "--alert", "all", "--budget", "0.5%")
        super().__init__(folder, *words, program=PROGRAM)
        self.scopes = 0
        self.go_on(10)

    def go_on(self, steps: int) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"
        self.scopes += 2 * steps

    @property
    def seen(self) -> str:
        """What holds in the page once it has all scopes."""
        return f"document.querySelector('#now').innerText.includes('{self.scopes:,} scopes ended so far')"

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    """A program that goes on for all tests of the file: each may have it do more."""
    made = Told(tmp_path_factory.mktemp("watched"))
    yield made
    made.kill()


@contextlib.contextmanager
def reading(tab: Any, watched: Told, folder: Path) -> Iterator[Any]:
    with visiting(tab, folder, watched.page.rstrip("/")):
        go_to(tab, watched.page)
        yield tab


@pytest.fixture
def page(tab: Any, watched: Told, tmp_path: Path) -> Iterator[Any]:
    with reading(tab, watched, tmp_path) as opened:
        yield opened


def until(page: Any, expression: str) -> None:
    """Wait until an expression holds; the page's policy forbids Playwright's own way."""
    end = time.monotonic() + 60
    while not page.evaluate(expression):
        assert time.monotonic() < end, f"{expression} did not come true: {page.inner_text('main')}"
        page.wait_for_timeout(50)


def test_it_follows_the_program_to_its_end(tab: Any, tmp_path: Path) -> None:
    watched = Told(tmp_path)
    try:
        with reading(tab, watched, tmp_path) as page:
            page.evaluate("window.loadedOnce = true")
            until(page, watched.seen)
            watched.go_on(490)
            until(page, watched.seen)
            assert page.evaluate("window.loadedOnce")
            assert page.inner_text(".headline") != ""
            for chart in ("rates", "own-cost", "resident", "step-time"):
                until(page, f"document.querySelector('#{chart} svg path')?.getAttribute('d').length > 10")
            page.goto(f"{watched.page}#page=operations")
            row = page.locator("#operations tbody tr", has_text=HOSTILE).inner_text()
            assert "500" in row
            watched.end()
            until(page, "document.querySelector('#live').dataset.state === 'ended'")
            assert page.inner_text("#live").startswith("ended, 1,000 spans")
            assert page.locator("#limit h2").text_content() == "What limited the program at the end"
    finally:
        watched.kill()


def test_figures_are_those_of_the_api(page: Any, watched: Told) -> None:
    until(page, watched.seen)
    page.get_by_role("button", name="Pause").click()
    shown = "regimeter.current.model.sections.find(({ id }) => id === 'operations').columns.map(({ values }) => values)"
    told = {name: value for (name, _), value in watched.scrape().items()}
    names, calls = page.evaluate(shown)[:2]
    assert sum(calls) == told["regimeter_scopes_total"] == watched.scopes
    page.goto(f"{watched.page}#page=operations")
    cells = page.locator("#operations tbody tr").all()
    texts = {row.locator("th, td").nth(0).inner_text(): row.locator("td").nth(0).inner_text() for row in cells}
    assert texts == {name: str(count) for name, count in zip(names, calls, strict=True)}


def test_the_button_writes_the_last_minutes_and_tells_so_although_the_page_is_made_anew_meanwhile(
    page: Any, watched: Told
) -> None:
    held: list[Any] = []
    page.route("**/trigger", lambda route: held.append(route))
    page.goto(f"{watched.page}#page=ring")
    button, status = (
        page.get_by_role("button", name="Write the last minutes out now"),
        page.locator("#ring [role=status]"),
    )
    button.click()
    before = page.evaluate("regimeter.following.shown")
    watched.go_on(10)
    until(page, f"regimeter.following.shown > {before} + 1")
    assert status.text_content() == "Writing …"
    assert button.is_disabled()
    held[0].continue_()
    until(page, "document.querySelector('#ring [role=status]').textContent === 'Written to run.trigger-1.rgm.'")
    assert button.is_enabled()
    assert (watched.run.parent / "run.trigger-1.rgm").exists()
    until(page, "document.querySelector('#copies tbody')?.innerText.includes('run.trigger-1.rgm')")
    # What it said stays when the figures are new.
    assert status.text_content() == "Written to run.trigger-1.rgm."


def test_the_reader_keeps_the_page_and_its_order(page: Any, watched: Told) -> None:
    page.goto(f"{watched.page}#page=alerts")
    before = page.evaluate("regimeter.following.shown")
    watched.go_on(10)
    until(page, f"regimeter.following.shown > {before} + 1")
    assert page.locator("#nav a[aria-current=page]").inner_text() == "Alerts"
    page.goto(f"{watched.page}#page=all")
    until(page, f"regimeter.following.shown > {before} + 3")
    page.goto(f"{watched.page}#page=operations")
    page.goto(f"{watched.page}#page=all")
    assert page.evaluate("[...document.querySelectorAll('main > section')].map(({ id }) => id)")[:3] == [
        "limit",
        "now",
        "rates",
    ]
    page.keyboard.press("g")
    page.keyboard.press("m")
    assert page.locator("#nav a[aria-current=page]").inner_text() == "The last minutes"


def test_nothing_is_found(page: Any) -> None:
    """On the first page and on that of all sections."""
    until(page, "document.querySelector('#rates svg') !== null")
    page.get_by_role("button", name="Pause").click()
    links = page.locator("#nav a")
    assert links.last.inner_text() == "All on one page"
    for link in (links.first, links.last):
        link.click()
        for form in (PHONE, DESKTOP):
            assert findings(page, *form) == {"found": [], "wide": 0}, (link.inner_text(), form)
