# SPDX-License-Identifier: Apache-2.0
"""A recording that is watched while a program writes it."""

import http.client
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from growing import Program
from serving import Server, record, serving

from regimeter import load


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    (tmp_path / "served").mkdir()
    made = Program(tmp_path, tmp_path / "served" / "run.rgm")
    made.go_on(10)
    yield made
    made.kill()


def events(server: Server, query: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the events of the stream as they come."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    connection.request("GET", f"/api/live?interval_ms=200{query}")
    answer = connection.getresponse()
    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    name = ""
    for line in answer:
        if line.startswith(b"event: "):
            name = line[7:].decode().strip()
        elif line.startswith(b"data: "):
            yield name, json.loads(line[6:])
    connection.close()


def test_a_recording_is_watched_to_its_end(program: Program, tmp_path: Path) -> None:
    with serving(str(tmp_path / "served")) as server:
        stream = events(server, "&run=run.rgm")
        name, state = next(event for event in stream if event[1]["spans"] >= 20)
        assert name == "state"
        assert state["writing"]
        assert not state["complete"]
        program.go_on(500)
        name, state = next(event for event in stream if event[1]["spans"] >= 1020)
        assert {row["operation"] for row in state["summary"]} >= {"step", "forward"}
        run = server.id_of("run.rgm")
        page = server.ask(f"/runs/{run}")
        assert "connect-src 'self'" in page.headers["content-security-policy"]
        told = server.ask(f"/api/runs/{run}/page").json()
        assert told["live"]["events"] == f"/api/live?run={run}"
        assert {row["operation"] for row in told["summary"]} >= {"step", "forward"}
        program.end()
        name, state = list(stream)[-1]
        assert name == "end"
        assert state["complete"]
        assert state["spans"] == len(load(tmp_path / "served" / "run.rgm").spans)
        page = server.ask(f"/runs/{run}")
        assert "connect-src 'none'" in page.headers["content-security-policy"]
        assert "live" not in server.ask(f"/api/runs/{run}/page").json()


def test_every_view_of_an_unfinished_recording_can_be_had(program: Program, tmp_path: Path) -> None:
    with serving(str(tmp_path / "served" / "run.rgm")) as server:
        next(event for event in events(server) if event[1]["spans"] >= 20)
        for path in ("/", "/runs", "/api/profiler/timeline", "/api/profiler/flame", "/api/profiler/hta", "/api/runs"):
            assert server.ask(path).status == 200


def test_streams_end_with_the_server(program: Program, tmp_path: Path) -> None:
    with serving(str(tmp_path / "served")) as server:
        stream = events(server, "&run=run.rgm")
        next(stream)
        server.process.send_signal(signal.SIGTERM)
        assert all(name == "state" for name, _ in stream)  # and the loop ends


def test_a_recording_that_is_closed_is_one_event(tmp_path: Path) -> None:
    record(tmp_path, "run", 5)
    with serving(str(tmp_path)) as server:
        ((name, state),) = events(server, "&run=run.rgm")
        assert (name, state["complete"], state["spans"]) == ("end", True, 40)
        assert server.ask("/api/live?run=other").status == 404
        (tmp_path / "odd.json").write_text('{"traceEvents": [1]}')
        ((name, state),) = events(server, "&run=odd.json")
        assert name == "end"
        assert state["problem"].startswith("odd.json: ")
