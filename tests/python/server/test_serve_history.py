# SPDX-License-Identifier: Apache-2.0
"""A history over HTTP: what `regimeter history` prints of it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from needed import package
from serving import Server, record, serving

package("sqlalchemy")
package("alembic")

from regimeter.cli import main  # noqa: E402


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A history of three runs of one program."""
    folder = tmp_path_factory.mktemp("recorded")
    where = str(tmp_path_factory.mktemp("history") / "history.db")
    for number in range(3):
        path = record(folder, f"run{number}", 30)
        assert main(["history", "add", str(path), "--db", where, "-q"]) == 0
    return where


@pytest.fixture(scope="module")
def server(place: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(str(tmp_path_factory.mktemp("served")), "--history", place) as running:
        yield running


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> dict:
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


def test_answers_are_those_of_the_command(server: Server, place: str, capsys: pytest.CaptureFixture[str]) -> None:
    told = printed(capsys, "history", "list", "--db", place)
    assert server.ask("/api/history/runs").json()["runs"] == told["runs"]
    assert len(server.ask("/api/history/runs?limit=2").json()["runs"]) == 2
    operations = server.ask("/api/history/operations").json()["operations"]
    assert {"step", "forward", "layer", "backward"} <= set(operations)
    told = printed(capsys, "history", "step", "--db", place)
    assert server.ask("/api/history/series?operation=step").json()["series"] == told["series"]
    assert len(told["series"][0]["points"]) == 3


def test_its_pages(server: Server, place: str) -> None:
    assert b'["/history","History"]' in server.ask("/").body
    page = server.ask("/history")
    assert page.status == 200
    assert "connect-src 'none'" in page.headers["content-security-policy"]
    told = server.ask("/api/history/page").json()
    assert {trend["operation"] for trend in told["trends"]} >= {"step", "forward", "layer", "backward"}
    assert all(len(trend["points"]) == 3 for trend in told["trends"])
    assert len(told["runs"]) == told["runs_in_all"] == 3
    moved = server.ask("/history?operation=forward")
    assert (moved.status, moved.headers["location"]) == (303, "/history#op=forward")
    assert place.encode() not in page.body
    assert place not in json.dumps(told)


def test_what_is_wrong_names_no_place(server: Server, place: str) -> None:
    answer = server.ask("/api/history/series?operation=nothing")
    assert answer.status == 404
    assert place not in answer.problem
    assert server.ask("/api/history/series").status == 422
    assert server.ask("/history?operation=nothing").status == 404


def test_without_a_history(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(str(tmp_path)) as other:
        assert "--history" in other.ask("/api/history/runs").problem
        assert "--history" in other.ask("/api/history/series?operation=x").problem
        assert b"/history" not in other.ask("/").body
    assert main(["serve", str(tmp_path), "--history", str(tmp_path / "no.db")]) != 0
    assert "no.db" in capsys.readouterr().err
