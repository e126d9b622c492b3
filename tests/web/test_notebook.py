# SPDX-License-Identifier: Apache-2.0
"""A run as the value of a cell, in a notebook that nbconvert made a document of, in a browser without a network."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from needed import package
from traces import load_trace

from regimeter.report import notebook

pytestmark = pytest.mark.web

TRACE = "h100_bert_small.json.gz"


def document(value: object, template: str) -> str:
    """Return a notebook with one cell that shows the value, as HTML."""
    formats = package("nbformat").v4
    data, metadata = package("IPython.core.formatters").DisplayFormatter().format(value)
    shown = formats.new_output("execute_result", data=data, metadata=metadata, execution_count=1)
    cell = formats.new_code_cell("run", outputs=[shown], execution_count=1)
    made = formats.new_notebook(cells=[cell])
    text: str = package("nbconvert").HTMLExporter(template_name=template).from_notebook_node(made)[0]
    return text


@pytest.fixture
def tab(context: Any) -> Iterator[Any]:
    made = context.new_page()
    yield made
    made.close()


@pytest.mark.parametrize("template", ["lab", "classic"])
def test_the_page_of_a_run_stands_in_its_cell(tab: Any, tmp_path: Path, template: str) -> None:
    run = load_trace(TRACE)
    path = tmp_path / "notebook.html"
    path.write_text(document(run, template), encoding="utf-8")
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url) if request.frame != tab.main_frame else None)
    tab.goto(path.as_uri(), wait_until="domcontentloaded")
    frame = tab.frame_locator("iframe[title='Report of the run']")
    frame.locator("html[data-ready='1']").wait_for(state="attached")
    verdict = run.verdict()
    assert verdict is not None
    assert frame.locator(".headline").inner_text().replace("\u00a0", " ") == verdict.sentence
    frame.get_by_role("link", name="Kernels").click()
    frame.get_by_role("tab", name="Flops").click()
    frame.locator("#analyses tbody tr").first.wait_for()
    assert frame.locator("#nav a[aria-current=page]").inner_text() == "Kernels"
    frame.get_by_role("link", name="Trace", exact=True).click()
    assert frame.locator("canvas.timeline").bounding_box()["height"] > 100
    assert tab.url == path.as_uri(), "the address and the history are the notebook's"
    assert tab.evaluate("history.length") == 2
    assert all(url.startswith(("about:", "data:", "blob:")) for url in asked), asked
    held = tab.locator("iframe").get_attribute("sandbox").split()
    assert "allow-same-origin" not in held
    assert "allow-top-navigation" not in held
    plain = tab.locator("details").filter(has_text="The same in plain form")
    assert not plain.get_by_text("Limit:").is_visible()
    plain.locator("summary").click()
    assert verdict.sentence in plain.inner_text()


def test_without_scripts_the_plain_form_remains(context: Any, tmp_path: Path) -> None:
    run = load_trace(TRACE)
    path = tmp_path / "notebook.html"
    path.write_text(document(run, "basic"), encoding="utf-8")
    quiet = context.browser.new_context(java_script_enabled=False)
    tab = quiet.new_page()
    tab.goto(path.as_uri())
    assert tab.frame_locator("iframe").locator("noscript").count() == 1
    tab.get_by_text("The same in plain form").click()
    verdict = run.verdict()
    assert verdict is not None
    assert tab.get_by_text(verdict.sentence).last.is_visible()
    quiet.close()


def test_a_large_run_says_how_to_get_its_page(monkeypatch: pytest.MonkeyPatch) -> None:
    run = load_trace(TRACE)
    monkeypatch.setattr(notebook, "MOST_SPANS", len(run.spans) - 1)
    shown = run._repr_html_()
    assert "<iframe" not in shown
    assert f"{len(run.spans):,} spans are too many for a cell" in shown
    assert "run.write_html(&quot;report.html&quot;)" in shown
    assert "<script" not in shown
