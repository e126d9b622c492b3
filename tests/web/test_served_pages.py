# SPDX-License-Identifier: Apache-2.0
"""The server in a browser: the list, a run, two compared, an upload; no complaint, and no request to anywhere else."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import go_to, visiting
from serving import Server, record, serving
from traces import trace_path

from regimeter.cli import main

pytestmark = pytest.mark.web
COMPILE_LOG = Path(__file__).resolve().parents[1] / "data/compile_logs/dedicated_log_torch_trace_cold.log"
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
def page(tab: Any, server: Server, tmp_path: Path) -> Iterator[Any]:
    with visiting(tab, tmp_path, server.address):
        tab.goto(server.address)
        tab.wait_for_function("() => !document.body.innerText.includes('still being read')")
        yield tab


def test_a_run_is_opened_from_the_list(page: Any) -> None:
    assert page.locator("#runs tbody tr").count() == 4
    assert page.get_by_role("link", name=HOSTILE, exact=True).is_visible()
    assert page.locator(".limit-why").inner_text().strip() == "1 file cannot be read: the reasons are below."
    assert "not one of its 1 rows is an event" in page.locator("#unreadable tbody tr").inner_text()
    page.get_by_role("link", name=TRACE, exact=True).click()
    page.wait_for_selector("html[data-ready]:not([data-part])")
    assert TRACE in page.title()
    assert page.locator("#roofline .chart > svg > circle").count() == 8
    assert page.get_by_label("Critical path").is_checked()
    page.go_back()
    page.get_by_role("link", name=HOSTILE, exact=True).click()
    page.wait_for_selector("html[data-ready]:not([data-part])")
    assert HOSTILE in page.inner_text("h1")


def test_two_runs_are_compared(page: Any) -> None:
    compare = page.get_by_role("button", name="Compare")
    assert compare.is_disabled()  # both have to be chosen
    page.get_by_role("radio", name="base.rgm as baseline").check()
    assert compare.is_disabled()
    page.get_by_role("button", name="size", exact=True).click()  # rows that are made anew keep what was chosen
    assert page.get_by_role("radio", name="base.rgm as baseline").is_checked()
    page.get_by_role("radio", name="base.rgm as current").check()
    assert compare.is_disabled(), "a run is not compared with itself"
    assert "Choose two different runs." in page.inner_text("#runs")
    page.get_by_role("radio", name="new.rgm as current").check()
    page.get_by_role("button", name="Compare").click()
    page.wait_for_selector("html[data-ready]:not([data-part])")
    assert "base.rgm compared with new.rgm" in page.inner_text("h1")


def test_every_page_leads_back_to_all_runs(page: Any, server: Server) -> None:
    address = f"http://127.0.0.1:{server.port}"
    [base, new] = [server.id_of(name) for name in ("base.rgm", "new.rgm")]
    for path in (f"/runs/{base}", f"/compare?baseline={base}&current={new}"):
        go_to(page, address + path)
        page.get_by_role("link", name="All runs", exact=True).click()
        page.wait_for_url(f"{address}/runs")
        page.wait_for_selector("html[data-ready]:not([data-part])")
    assert page.get_by_role("link", name="All runs", exact=True).count() == 0, "this is where they are"


def said(page: Any) -> str:
    """Return the sentence that the list says of what was done, once there is one."""
    page.locator("#runs .run-said:not(:empty)").wait_for()
    return str(page.inner_text("#runs .run-said"))


def test_a_run_is_tagged_and_found_by_its_tag_and_the_tag_is_taken_away(page: Any, server: Server) -> None:
    row = page.locator("#runs tbody tr", has_text="base.rgm")
    add = page.get_by_role("button", name="Add tag to base.rgm")
    add.press("Enter")
    page.keyboard.type("two words")
    page.keyboard.press("Enter")
    assert said(page) == "A tag has letters, digits, '_', '.' and '-', at most 64, a letter or digit first"
    assert page.evaluate("document.activeElement.tagName") == "INPUT", "what was typed can be mended"
    page.get_by_role("textbox", name="New tag of base.rgm").fill("nightly")
    page.keyboard.press("Enter")
    take = page.get_by_role("button", name="Take the tag nightly from base.rgm")
    take.wait_for()
    assert said(page) == "base.rgm has the tag nightly."
    assert add.evaluate("(one) => one === document.activeElement")
    assert server.ask(f"/api/runs/{server.id_of('base.rgm')}").json()["tags"] == ["nightly"]
    page.get_by_role("button", name="tags", exact=True).click()  # rows are made anew
    assert "nightly" in row.inner_text()
    with page.expect_download() as saved:
        page.get_by_role("button", name="CSV").first.click()
    assert ",nightly" in Path(saved.value.path()).read_text("utf-8-sig")
    take.press("Enter")
    page.get_by_text("base.rgm no longer has the tag nightly.").wait_for()
    assert server.ask(f"/api/runs/{server.id_of('base.rgm')}").json()["tags"] == []


def test_a_file_is_uploaded_and_deleted_after_a_question(page: Any, server: Server, tmp_path: Path) -> None:
    page.set_input_files("#upload input[type=file]", record(tmp_path, "gone", 10))
    page.get_by_role("button", name="Upload").click()
    page.get_by_role("link", name="gone.rgm").wait_for()
    assert "recording, uploaded" in page.inner_text("main")
    delete = page.get_by_role("button", name="Delete gone.rgm")
    delete.press("Enter")
    question = page.get_by_role("dialog", name="Delete gone.rgm?")
    assert question.get_by_role("button", name="Keep it").evaluate("(one) => one === document.activeElement")
    page.keyboard.press("Escape")
    assert question.count() == 0
    assert delete.evaluate("(one) => one === document.activeElement")
    delete.press("Enter")
    question.get_by_role("button", name="Delete it").click()
    page.get_by_role("link", name="gone.rgm").wait_for(state="detached")
    assert "gone.rgm" not in [run["name"] for run in server.ask("/api/runs").json()["runs"]]


def test_a_file_of_the_folder_is_kept_and_the_page_says_why(page: Any, server: Server) -> None:
    delete = page.get_by_role("button", name="Delete base.rgm")
    assert delete.get_attribute("aria-disabled") == "true"
    delete.press("Enter")
    assert page.get_by_role("dialog").count() == 0
    assert said(page) == "base.rgm: was not uploaded; files are deleted only by `serve --allow-delete`"


def test_what_cannot_be_compared_is_said_in_plain_words(page: Any, server: Server, tmp_path: Path) -> None:
    report = tmp_path / "graphs.json"
    assert main(["compile", str(COMPILE_LOG), "-o", str(report)]) == 0
    page.set_input_files("#upload input[type=file]", report)
    page.get_by_role("button", name="Upload").click()
    page.get_by_role("link", name="graphs.json").wait_for()
    base, graphs = server.id_of("base.rgm"), server.id_of("graphs.json")
    refused = page.context.new_page()  # in which the browser may tell of the status
    refused.goto(f"{server.address}/compare?baseline={base}&current={graphs}")
    assert refused.inner_text("h1") == "This did not work"
    assert "graphs.json: a compile report cannot be compared" in refused.inner_text("main")
    refused.get_by_role("link", name="All runs").click()
    refused.wait_for_selector("html[data-ready]:not([data-part])")
    refused.close()
    assert server.ask(f"/api/runs/{graphs}", "DELETE").status == 204


def test_cells_of_a_comparison_do_not_overlap_on_a_phone(page: Any, server: Server) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    base, new = server.id_of("base.rgm"), server.id_of("new.rgm")
    go_to(page, f"{server.address}/compare?baseline={base}&current={new}")
    wide = "(cells) => cells.filter((cell) => cell.scrollWidth > cell.clientWidth + 1).map((cell) => cell.innerText)"
    assert page.locator(".comparison tbody tr th").evaluate_all(wide) == []


def test_an_empty_folder_says_how_a_run_comes_into_it(tab: Any, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with serving(str(tmp_path / "empty")) as server, visiting(tab, tmp_path, server.address) as visit:
        page = visit.page
        go_to(page, server.address)
        assert page.locator("main > section").evaluate_all("(all) => all.map(({ id }) => id)") == [
            "limit", "upload", "more",
        ]  # fmt: skip
        assert "regimeter record -o" in page.locator(".limit-why").inner_text()
        page.set_input_files("#upload input[type=file]", record(tmp_path, "mine", 10))
        page.get_by_role("button", name="Upload").click()
        page.get_by_role("link", name="mine.rgm").wait_for()


def test_a_page_of_another_site_cannot_ask(context: Any, page: Any, server: Server) -> None:
    """A page from elsewhere, here another port: its forms are refused, and it cannot read an answer."""
    with serving(str(Path(__file__).parent / "js")) as other:
        foreign = context.new_page()
        foreign.goto(f"http://localhost:{other.port}/api/runs")
        foreign.set_content(
            f'<form method="post" action="http://127.0.0.1:{server.port}/api/runs?name=evil.rgm"><button>Go</button></form>'
        )
        with foreign.expect_response(f"{server.address}/api/runs*") as answer:
            foreign.evaluate("document.querySelector('form').submit()")
        assert answer.value.status == 403
        foreign.close()
