# SPDX-License-Identifier: Apache-2.0
"""The live page of a monitor in a browser: it follows the program, and says what the API says."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import visiting
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

    def go_on(self, steps: int) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Told]:
    package("prometheus_client")
    words = ("--keep", "1h", "--on", "slow-step>1h", "--alert", "all", "--budget", "0.5%")
    made = Told(tmp_path, *words, program=PROGRAM)
    made.go_on(10)
    yield made
    if made.process.poll() is None:
        made.process.kill()
        made.process.communicate()


@pytest.fixture
def page(tab: Any, watched: Told, tmp_path: Path) -> Iterator[Any]:
    with visiting(tab, tmp_path, watched.page.rstrip("/")):
        tab.goto(watched.page)
        tab.wait_for_selector("html[data-ready]:not([data-part])", state="attached")
        tab.evaluate("window.loadedOnce = true")
        yield tab


def until(page: Any, expression: str) -> None:
    """Wait until an expression holds; the page's policy forbids Playwright's own way."""
    end = time.monotonic() + 60
    while not page.evaluate(expression):
        assert time.monotonic() < end, f"{expression} did not come true: {page.inner_text('main')}"
        page.wait_for_timeout(50)


def test_it_follows_the_program_to_its_end(page: Any, watched: Told) -> None:
    until(page, "document.querySelector('#now').innerText.includes('20 scopes ended so far')")
    watched.go_on(490)
    until(page, "document.querySelector('#now').innerText.includes('1,000 scopes ended so far')")
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


def test_figures_are_those_of_the_api(page: Any, watched: Told) -> None:
    until(page, "document.querySelector('#now').innerText.includes('20 scopes ended so far')")
    page.get_by_role("button", name="Pause").click()
    shown = "regimeter.current.model.sections.find(({ id }) => id === 'operations').columns.map(({ values }) => values)"
    told = {name: value for (name, _), value in watched.scrape().items()}
    names, calls = page.evaluate(shown)[:2]
    assert sum(calls) == told["regimeter_scopes_total"] == 20
    page.goto(f"{watched.page}#page=operations")
    cells = page.locator("#operations tbody tr").all()
    texts = {row.locator("th, td").nth(0).inner_text(): row.locator("td").nth(0).inner_text() for row in cells}
    assert texts == {name: str(count) for name, count in zip(names, calls, strict=True)}


def test_the_last_minutes_are_written_by_the_button(page: Any, watched: Told) -> None:
    page.goto(f"{watched.page}#page=ring")
    page.get_by_role("button", name="Write the last minutes out now").click()
    until(page, "document.querySelector('#ring [role=status]').textContent === 'Written to run.trigger-1.rgm.'")
    assert (watched.run.parent / "run.trigger-1.rgm").exists()
    until(page, "document.querySelector('#copies tbody')?.innerText.includes('run.trigger-1.rgm')")
    # What it said stays when the figures are new.
    assert page.locator("#ring [role=status]").text_content() == "Written to run.trigger-1.rgm."


def test_the_button_tells_what_came_of_it_although_the_page_is_made_anew_meanwhile(page: Any, watched: Told) -> None:
    held: list[Any] = []
    page.route("**/trigger", lambda route: held.append(route))
    page.goto(f"{watched.page}#page=ring")
    button = page.get_by_role("button", name="Write the last minutes out now")
    button.click()
    before = page.evaluate("regimeter.following.shown")
    watched.go_on(10)
    until(page, f"regimeter.following.shown > {before} + 1")
    assert page.locator("#ring [role=status]").text_content() == "Writing …"
    assert button.is_disabled()
    held[0].continue_()
    until(page, "document.querySelector('#ring [role=status]').textContent === 'Written to run.trigger-1.rgm.'")
    assert button.is_enabled()


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
    until(page, "document.querySelector('#rates svg') !== null")
    page.get_by_role("button", name="Pause").click()
    for link in page.locator("#nav a").all():
        link.click()
        for form in (PHONE, DESKTOP):
            assert findings(page, *form) == {"found": [], "wide": 0}, (link.inner_text(), form)
