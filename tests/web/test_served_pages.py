# SPDX-License-Identifier: Apache-2.0
"""The server in a browser: the list, a run, two compared, an upload; no complaint, and no request to anywhere else."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from serving import Server, record, serving
from traces import trace_path

pytestmark = pytest.mark.web
HOSTILE = '<img src=x onerror=alert(1)>"&.json.gz'
TRACE = "h100_bert_small.json.gz"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("served")
    record(folder, "base", 200)
    record(folder, "new", 200)
    shutil.copy(trace_path(TRACE), folder)
    shutil.copy(trace_path(TRACE), folder / HOSTILE)
    (folder / "odd.json").write_text('{"traceEvents": [1]}')
    with serving(str(folder)) as running:
        yield running


@pytest.fixture
def page(context: Any, server: Server) -> Iterator[Any]:
    context.set_offline(False)
    opened, complaints, requests = context.new_page(), [], []
    opened.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("request", lambda request: requests.append(request.url))
    opened.goto(f"http://127.0.0.1:{server.port}/")
    opened.wait_for_function("() => !document.body.innerText.includes('still being read')")
    yield opened
    assert complaints == []
    assert opened.evaluate("window.violations") == []
    assert not opened.evaluate("window.alerted === true")
    assert all(url.startswith((f"http://127.0.0.1:{server.port}/", "data:")) for url in requests), requests
    opened.close()
    context.set_offline(True)


def test_a_run_is_opened_from_the_list(page: Any) -> None:
    assert page.locator("tbody tr").count() == 4 + 1  # and what cannot be read, folded
    assert page.get_by_role("link", name=HOSTILE, exact=True).is_visible()
    assert not page.get_by_text("odd.json").is_visible()
    page.get_by_text("1 file cannot be read").click()
    assert page.get_by_text("odd.json").is_visible()
    page.get_by_role("link", name=TRACE, exact=True).click()
    page.wait_for_selector("html[data-ready]")
    assert TRACE in page.title()
    assert page.locator("#roofline .chart > svg > circle").count() == 8
    assert page.get_by_label("Critical path").is_checked()
    page.go_back()
    page.get_by_role("link", name=HOSTILE, exact=True).click()
    page.wait_for_selector("html[data-ready]")
    assert HOSTILE in page.inner_text("h1")


def test_two_runs_are_compared(page: Any) -> None:
    page.get_by_role("button", name="Compare").click()
    assert "/compare" not in page.url  # both have to be chosen
    page.get_by_role("radio", name="base.rgm as baseline").check()
    page.get_by_role("radio", name="new.rgm as current").check()
    page.get_by_role("button", name="Compare").click()
    page.wait_for_selector("html[data-ready]")
    assert "base.rgm compared with new.rgm" in page.inner_text("h1")


def test_a_file_is_uploaded(page: Any, server: Server, tmp_path: Path) -> None:
    page.set_input_files("input[type=file]", record(tmp_path, "mine", 10))
    page.get_by_role("button", name="Upload").click()
    page.get_by_role("link", name="mine.rgm").wait_for()
    assert "recording, uploaded" in page.inner_text("main")
    assert server.ask(f"/api/runs/{server.id_of('mine.rgm')}", "DELETE").status == 204


def test_a_page_of_another_site_cannot_ask(context: Any, page: Any, server: Server) -> None:
    """A page from elsewhere, here another port: its forms are refused, and it cannot read an answer."""
    with serving(str(Path(__file__).parent / "js")) as other:
        foreign = context.new_page()
        foreign.goto(f"http://localhost:{other.port}/api/runs")
        foreign.set_content(
            f'<form method="post" action="http://127.0.0.1:{server.port}/api/runs?name=evil.rgm"><button>Go</button></form>'
        )
        with foreign.expect_response(f"http://127.0.0.1:{server.port}/api/runs*") as answer:
            foreign.evaluate("document.querySelector('form').submit()")
        assert answer.value.status == 403
        foreign.close()
