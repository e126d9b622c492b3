# SPDX-License-Identifier: Apache-2.0
"""The page of a history in a browser: from a file and from a server, its figures those of the command."""

import json
from pathlib import Path
from typing import Any

import pytest
from browsing import Browsing, go_to, visiting
from needed import package
from serving import serving

package("sqlalchemy")
package("alembic")

from regimeter.cli import main  # noqa: E402
from regimeter.history import open_history  # noqa: E402
from regimeter.report.history_page import history_data  # noqa: E402

pytestmark = pytest.mark.web
HOSTILE = '<img src=x onerror=alert(1)>"&'
BEFORE, AFTER = 12, 10  # runs of both levels


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A history of runs in which one of three operations became half as fast at once."""
    folder = tmp_path_factory.mktemp("history")
    where = str(folder / "history.db")
    for number in range(BEFORE + AFTER):
        slow = 2.0 if number >= BEFORE else 1.0
        entries = [
            {"operation": name, "duration_ms": ms + 0.001 * (7 * number % 5)}
            for name, ms in (("forward", slow), ("backward", 3.0), (HOSTILE, 0.5))
        ]
        path = folder / f"run{number:02}.json"
        path.write_text(json.dumps({"entries": entries}))
        assert main(["history", "add", str(path), "--db", where, "--commit", f"{number:07x}", "-q"]) == 0
    return where


def written(place: str, folder: Path, *words: str) -> str:
    assert main(["history", "page", "--html", str(folder / "history.html"), "--db", place, "-q", *words]) == 0
    return (folder / "history.html").as_uri()


def figures_are_those_of_the_history(page: Any, place: str) -> None:
    told = history_data(open_history(place, create=False))
    rows = page.locator("#operations-of-runs tbody tr")
    assert rows.count() == len(told["trends"]) == 3
    inside = page.evaluate("regimeter.current.model.trends.map((one) => [one.operation, one.newest, one.change])")
    assert inside == [[one["operation"], one["newest"], one["change_percent"]] for one in told["trends"]]
    page.locator("#trend summary").click()
    assert page.locator("#trend .as-table tbody tr").first.inner_text().startswith(f"run {BEFORE + AFTER},")


def test_the_operation_that_changed_is_told_first_with_the_figures_of_the_history(
    browsing: Browsing, place: str, tmp_path: Path
) -> None:
    page = browsing.page
    go_to(page, written(place, tmp_path))
    sentence = page.inner_text("#changed .headline")
    assert sentence.startswith("forward is 99."), sentence
    assert f"% slower since run {BEFORE + 1} of" in sentence
    assert page.locator("#trend svg.trend circle.point").count() == BEFORE + AFTER
    assert page.locator("#trend svg.trend .change-point").count() == 1
    assert page.inner_text("#trend h3") == "forward"
    figures_are_those_of_the_history(page, place)


def test_too_few_runs_are_not_said_to_be_without_a_change(tmp_path: Path) -> None:
    path, where = tmp_path / "run.json", str(tmp_path / "short.db")
    path.write_text(json.dumps({"entries": [{"operation": "forward", "duration_ms": 1.0}]}))
    for commit in ("1" * 7, "2" * 7):
        assert main(["history", "add", str(path), "--db", where, "--commit", commit, "-q"]) == 0
    told = history_data(open_history(where, create=False))
    assert told["sentence"] == "No change can be told yet: that takes 8 runs of an operation in one environment."


def test_an_operation_is_in_the_address(browsing: Browsing, place: str, tmp_path: Path) -> None:
    page, address = browsing.page, written(place, tmp_path)
    go_to(page, address)
    page.get_by_role("button", name=HOSTILE).click()
    assert page.inner_text("#trend h3") == HOSTILE
    assert "op=" in page.url
    page.go_back()
    assert page.inner_text("#trend h3") == "forward"
    page.goto("about:blank")
    go_to(page, f"{address}#op=backward")
    assert page.inner_text("#trend h3") == "backward"
    page.get_by_role("link", name="Runs", exact=True).click()
    assert page.locator("#runs").is_visible()
    assert page.locator("#trend").is_hidden()
    assert page.locator("#runs tbody tr").first.inner_text().split()[0].endswith(f"run{BEFORE + AFTER - 1}.json")


def test_a_history_without_runs_says_so(browsing: Browsing, tmp_path: Path) -> None:
    where = str(tmp_path / "empty.db")
    open_history(where)
    go_to(browsing.page, written(where, tmp_path))
    assert "No run is in this history yet" in browsing.page.inner_text("main")


def test_a_server_shows_the_same(tab: Any, place: str, tmp_path: Path) -> None:
    with serving(str(tmp_path), "--history", place) as server, visiting(tab, tmp_path, server.address):
        go_to(tab, f"{server.address}/history?operation=backward")
        assert tab.inner_text("#trend h3") == "backward"
