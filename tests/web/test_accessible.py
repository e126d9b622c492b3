# SPDX-License-Identifier: Apache-2.0
"""What axe-core finds on every page, in both themes and on a phone: nothing."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import report_data
from browsing import Browsing
from needed import package
from serving import record, serving
from test_comparison_page import compared, shown
from traces import load_trace, trace_path

from regimeter.report.trace_data import trace_data

pytestmark = pytest.mark.web

MADE: dict[str, Callable[[], dict[str, Any]]] = {
    "trace": lambda: trace_data(load_trace("h100_bert_small.json.gz")),
    "job": lambda: trace_data(load_trace("a100_nccl_2024.json.gz")),
    "host": lambda: trace_data(load_trace("cpu_only_no_schema.json.gz")),
    "recording": report_data.report,
    "comparison": lambda: shown(compared()),
}
# One rule is left out: on a phone the first of the links to pages that is scrolled out of view is taken for one that
# skips to a part of this page.
FINDINGS = """async (contrast) => (await axe.run({ resultTypes: ["violations"], ...{
    only: { runOnly: ["color-contrast"] },
    not: { rules: { "skip-link": { enabled: false }, "color-contrast": { enabled: false } } },
    all: {},
}[contrast] }))
    .violations
    .map(({ id, impact, nodes }) => `${impact} ${id} ${nodes.length}: ${nodes[0].html.slice(0, 200)}`)"""


# Contrast is most of the work. Between them two kinds have everything that has a colour of its own.
LOOKS = [
    *((kind, "light", 1280, "only") for kind in MADE),
    *((kind, "dark", 1280, "only") for kind in ("recording", "comparison")),
    *((kind, "light", 360, "not") for kind in MADE),
]


@pytest.mark.parametrize(("kind", "scheme", "width", "contrast"), LOOKS)
def test_nothing_is_found_on_any_page(browsing: Browsing, kind: str, scheme: str, width: int, contrast: str) -> None:
    engine = package("axe_playwright_python.sync_playwright").Axe().axe_script
    browsing.page.set_viewport_size({"width": width, "height": 800})
    browsing.page.emulate_media(color_scheme=scheme)
    page = browsing.open(MADE[kind](), at="")
    page.evaluate(engine)
    links = page.locator("#nav a")
    assert links.count() > 1
    for link in links.all():
        link.click()
        browsing.settle()
        assert page.evaluate("document.documentElement.scrollWidth") <= width, link.inner_text()
    assert page.locator("#nav a[aria-current=page]").inner_text() == "All on one page"
    assert page.evaluate(FINDINGS, contrast) == []


PROGRAM = "kept = [bytearray(100_000) for _ in range(300)]\n"
WORKLOADS = ("workloads", "run", "--kernel", "conv2d", "--backend", "c", "--iterations", "3", "--format", "html")
COMPILED = Path(__file__).parents[1] / "data" / "compile_logs" / "dedicated_log_torch_trace_cold.log"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Every page without scripts that a command writes."""
    folder = tmp_path_factory.mktemp("written")
    (folder / "keeps.py").write_text(PROGRAM)
    commands = (
        ("record", "-q", "--memory", "-o", "run.rgm", "keeps.py"),
        ("memory", "run.rgm", "-o", "run.html"),
        ("memory", trace_path("memory_snapshot.pickle"), "-o", "snapshot.html"),
        ("compile", COMPILED, "-o", "compile.html"),
        (*WORKLOADS, "-o", "workloads.html", "--keep", "--db", "kept.db"),
        ("workloads", "trend", "conv2d", "--db", "kept.db", "--format", "html", "-o", "trend.html"),
    )
    for words in commands:
        subprocess.run([sys.executable, "-m", "regimeter", *map(str, words)], cwd=folder, capture_output=True)
    pages = sorted(folder.glob("*.html"))
    assert len(pages) == len(commands) - 1
    return pages


def findings(page: Any, scheme: str, width: int) -> dict[str, Any]:
    """Return what is found on the open page, and how far it reaches beyond the screen."""
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)
    page.evaluate(package("axe_playwright_python.sync_playwright").Axe().axe_script)
    wide = page.evaluate("document.documentElement.scrollWidth") - width
    return {"found": page.evaluate(FINDINGS, "all"), "wide": max(0, wide)}


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
def test_nothing_is_found_on_what_commands_write(
    browsing: Browsing, written: list[Path], scheme: str, width: int
) -> None:
    for path in written:
        browsing.page.goto(path.as_uri())
        assert findings(browsing.page, scheme, width) == {"found": [], "wide": 0}, path.name


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
def test_nothing_is_found_on_what_the_server_writes(context: Any, tmp_path: Path, scheme: str, width: int) -> None:
    record(tmp_path, "base", 200)
    (tmp_path / "odd.json").write_text('{"traceEvents": [1]}')
    context.set_offline(False)
    page = context.new_page()
    with serving(str(tmp_path)) as server:
        address = f"http://127.0.0.1:{server.port}"
        page.goto(f"{address}/")
        page.wait_for_function("() => !document.body.innerText.includes('still being read')")
        run = page.get_by_role("link", name="base.rgm", exact=True).get_attribute("href")
        for path in ("/runs", run, "/history", "/runs/none", "/compare?baseline=none&current=none"):
            page.goto(address + path)
            assert findings(page, scheme, width) == {"found": [], "wide": 0}, path
    page.close()
    context.set_offline(True)


def test_a_finding_is_a_finding(browsing: Browsing) -> None:
    engine = package("axe_playwright_python.sync_playwright").Axe().axe_script
    page = browsing.open(report_data.report(steps=2))
    page.evaluate(engine)
    page.evaluate("document.querySelector('h1').style.color = '#bbb'")
    assert any("color-contrast" in found for found in page.evaluate(FINDINGS, "only"))
