# SPDX-License-Identifier: Apache-2.0
"""What axe-core finds on every page, in both themes and on a phone: nothing."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import report_data
import warm
from browsing import Browsing, data_of, go_to, visiting
from needed import package
from serving import record, serving
from test_comparison_page import compared, shown

from regimeter.cli import main

pytestmark = pytest.mark.web

MADE: dict[str, Callable[[], dict[str, Any]]] = {
    "trace": lambda: data_of("h100_bert_small.json.gz"),
    "job": lambda: data_of("a100_nccl_2024.json.gz"),
    "host": lambda: data_of("cpu_only_no_schema.json.gz"),
    "recording": report_data.report,
    "comparison": lambda: shown(compared()),
}
# One rule is left out: on a phone the first of the links to pages that is scrolled out of view is taken for one that
# skips to a part of this page. From its fourth row on a table looks as before: those rows are taken out.
FINDINGS = """async (contrast) => {
    document.querySelectorAll("tbody tr:nth-child(n + 4)").forEach((row) => row.remove());
    return (await axe.run({ resultTypes: ["violations"], ...{
        only: { runOnly: ["color-contrast"] },
        not: { rules: { "skip-link": { enabled: false }, "color-contrast": { enabled: false } } },
        all: {},
        phone: { rules: { "skip-link": { enabled: false } } },
    }[contrast] }))
    .violations
    .map(({ id, impact, nodes }) => `${impact} ${id} ${nodes.length}: ${nodes[0].html.slice(0, 200)}`);
}"""
DESKTOP, PHONE = ("light", 1280), ("dark", 360)


@functools.cache
def engine() -> str:
    return str(package("axe_playwright_python.sync_playwright").Axe().axe_script)


def look(page: Any, scheme: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)


@pytest.mark.parametrize("kind", MADE)
def test_nothing_is_found_on_any_page(browsing: Browsing, kind: str) -> None:
    """Contrast is most of the work: between them two kinds have everything that has another colour in the dark."""
    page = browsing.page
    browsing.open(MADE[kind](), at="")
    links = page.locator("#nav a")
    assert links.count() > 1
    links.last.click()
    browsing.settle()
    assert page.locator("#nav a[aria-current=page]").inner_text() == "All on one page"
    for width in (360, 760, 1280):
        look(page, "light", width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.evaluate(engine())
    assert page.evaluate(FINDINGS, "only") == []
    if kind in ("recording", "comparison"):
        look(page, "dark", 1280)
        assert page.evaluate(FINDINGS, "only") == []
    look(page, "light", 360)
    assert page.evaluate(FINDINGS, "not") == []


PROGRAM = "kept = [bytearray(100_000) for _ in range(300)]\n"
WORKLOADS = ("workloads", "run", "--kernel", "conv2d", "--backend", "c", "--iterations", "3")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Pages that commands write, of sections that no page of section_pages.py has."""
    folder = tmp_path_factory.mktemp("written")
    run, history = warm.record(folder, PROGRAM, "--memory"), folder / "kept.db"
    for words in (
        ("memory", run, "-o", folder / "run.html"),
        (*WORKLOADS, "--keep", "--db", history, "-q", "-o", folder / "workloads.txt"),
        ("workloads", "trend", "conv2d", "--db", history, "--format", "html", "-o", folder / "trend.html"),
    ):
        assert main([*map(str, words)]) == 0
    return [folder / "run.html", folder / "trend.html"]


def findings(page: Any, scheme: str, width: int) -> dict[str, Any]:
    """Return what is found on the open page, and how far it reaches beyond the screen; long tables are cut then."""
    look(page, scheme, width)
    wide = page.evaluate("document.documentElement.scrollWidth") - width
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(engine())
    return {"found": page.evaluate(FINDINGS, "phone" if width < 700 else "all"), "wide": max(0, wide)}


def test_nothing_is_found_on_what_commands_write(browsing: Browsing, written: list[Path]) -> None:
    for path in written:
        go_to(browsing.page, f"{path.as_uri()}#page=all")
        for form in (PHONE, DESKTOP):
            assert findings(browsing.page, *form) == {"found": [], "wide": 0}, (path.name, form)


def test_nothing_is_found_on_what_the_server_writes(tab: Any, tmp_path: Path) -> None:
    record(tmp_path, "base", 200)
    (tmp_path / "odd.json").write_text('{"traceEvents": [1]}')
    with serving(str(tmp_path)) as server, visiting(tab, tmp_path, server.address) as visit:
        page = visit.page
        page.goto(f"{server.address}/")
        page.wait_for_function("() => !document.body.innerText.includes('still being read')")
        run = page.get_by_role("link", name="base.rgm", exact=True).get_attribute("href")
        for path in ("/runs", run, "/history", "/runs/none", "/compare?baseline=none&current=none"):
            go_to(page, server.address + path)
            for form in (PHONE, DESKTOP):
                assert findings(page, *form) == {"found": [], "wide": 0}, (path, form)
        visit.complaints.clear()  # the browser tells that two of them answered with a status of failure


def test_a_finding_is_a_finding(browsing: Browsing) -> None:
    page = browsing.open(report_data.report(steps=2), at="#page=memory")
    page.evaluate(engine())
    page.evaluate("document.querySelector('h1').style.color = '#bbb'")
    assert any("color-contrast" in found for found in page.evaluate(FINDINGS, "only"))
