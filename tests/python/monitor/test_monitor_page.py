# SPDX-License-Identifier: Apache-2.0
"""What the port of a monitor answers beside /metrics: the live page's data and events, and who may have them."""

import http.client
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import fakes
import pytest
from watching import SCOPES, Watched

from regimeter import load
from regimeter.monitor import policy
from regimeter.monitor.watchers import Watchers

pytest.importorskip("prometheus_client")


class Client:
    """Plain requests to a monitor, with any headers."""

    def __init__(self, watched: Watched) -> None:
        self.port = urlsplit(watched.url).port
        self.own = f"127.0.0.1:{self.port}"

    def ask(self, path: str, method: str = "GET", **headers: str) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        given = {key.replace("_", "-"): text for key, text in headers.items()}
        connection.request(method, path, headers={"Host": self.own, **given})
        return connection.getresponse()

    def status(self, path: str, method: str = "GET", **headers: str) -> int:
        return self.ask(path, method, **headers).status

    def page(self) -> Any:
        return json.loads(self.ask("/page").read())


def section(page: Any, id: str) -> Any:
    return next(one for one in page["sections"] if one["id"] == id)


def column(page: Any, table: str, heading: str) -> list[Any]:
    columns = section(page, table)["columns"]
    return list(next(one for one in columns if one["heading"] == heading)["values"])


def figure(page: Any, label: str) -> Any:
    return next(row for row in section(page, "now")["rows"] if row["label"] == label)


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    found = Watched(tmp_path, "--budget", "0.5%", "--alert", "all", "--keep", "1h", "--on", "slow-step>1h")
    yield found
    if found.process.poll() is None:
        found.process.terminate()
        found.process.communicate(timeout=60)


def test_the_page_says_what_prometheus_is_told(watched: Watched) -> None:
    told = watched.until(SCOPES)
    page = Client(watched).page()
    counts = dict(zip(column(page, "operations", "operation"), column(page, "operations", "calls"), strict=True))
    totals = dict(zip(column(page, "operations", "operation"), column(page, "operations", "total"), strict=True))
    for (name, labels), value in told.items():
        if name == "regimeter_scope_duration_seconds_count":
            assert counts.pop(dict(labels)["operation"]) == value
        if name == "regimeter_scope_duration_seconds_sum":
            assert totals[dict(labels)["operation"]] == pytest.approx(value * 1e9)
    assert counts == {}
    assert f"{SCOPES} scopes ended so far, 1 of them" in figure(page, "scopes a second")["note"]
    assert figure(page, "step")["value"] == pytest.approx(
        told["regimeter_step_duration_seconds", (("quantile", "0.5"),)] * 1e9
    )
    assert "the budget is 0.50 %" in figure(page, "own cost")["note"]
    assert figure(page, "memory")["value"] > 1e6
    assert set(column(page, "alerts", "alert")) == set(policy.RULES)
    assert column(page, "triggers", "condition") == ["slow-step > 3600 s"]
    assert page["limit"]["sentence"]
    assert page["live"]["data"] == "/page"
    watched.end()


def test_devices_are_those_of_nvml(tmp_path: Path) -> None:
    watched = Watched(tmp_path, **fakes.environment(nvml=""), REGIMETER_LIBCUDA="off")
    try:
        told = watched.until(1)
        page = Client(watched).page()
    finally:
        watched.end()
    used = [value for (name, _), value in told.items() if name == "regimeter_gpu_memory_used_bytes"]
    assert used
    assert sorted(value for value in column(page, "devices", "memory") if value is not None) == sorted(used)
    busy = [value for (name, _), value in told.items() if name == "regimeter_gpu_utilization_ratio"]
    assert figure(page, "devices")["value"] == pytest.approx(sum(busy) / len(busy))


def test_each_look_is_told_and_the_end_with_its_page(watched: Watched) -> None:
    watched.until(SCOPES)
    answer = Client(watched).ask("/live")
    assert answer.headers["Content-Type"] == "text/event-stream"
    first, second = (_event(answer) for _ in range(2))
    assert first[0] == second[0] == "state"
    assert second[1]["revision"] > first[1]["revision"]
    watched.end()
    name, last = second
    while name == "state":
        name, last = _event(answer)
    assert (name, last["complete"], last["spans"]) == ("end", True, len(load(watched.run).spans))
    assert sum(column(last["page"], "operations", "calls")) == SCOPES
    assert "live" not in last["page"]


def _event(answer: http.client.HTTPResponse) -> tuple[str, Any]:
    name, data, _ = (answer.readline().decode().strip() for _ in range(3))
    return name.removeprefix("event: "), json.loads(data.removeprefix("data: "))


def test_a_page_of_another_site_gets_nothing(watched: Watched) -> None:
    client = Client(watched)
    for path in ("/", "/page", "/live"):
        assert client.status(path, Host=f"evil.example:{client.port}") == 400
        assert client.status(path, Origin="http://evil.example") == 403
    assert client.status("/page", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="cors", Sec_Fetch_Dest="empty") == 403
    assert client.status("/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate", Sec_Fetch_Dest="document") == 200
    assert client.status("/trigger", "POST", Origin="http://evil.example", Content_Length="0") == 403
    # A name that was made to lead here is one's own to the browser.
    rebound = {"Host": f"evil.example:{client.port}", "Origin": f"http://evil.example:{client.port}"}
    assert client.status("/trigger", "POST", Content_Length="0", **rebound) == 400
    assert not list(watched.run.parent.glob("*.trigger-*"))
    assert client.status("/metrics", Host="prometheus-target.example") == 200
    assert client.status("/", "POST", Content_Length="0") == 405
    answer = client.ask("/")
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    assert answer.headers["X-Frame-Options"] == "DENY"
    watched.until(SCOPES)
    assert client.status("/trigger", "POST", Origin=f"http://{client.own}", Content_Length="0") == 200
    assert (watched.run.parent / "run.trigger-1.rgm").exists()
    watched.end()


def test_others_need_the_token(tmp_path: Path) -> None:
    watched = Watched(tmp_path, "--host", "0.0.0.0", "--keep", "1h", "--name", "watch.example")
    try:
        client = Client(watched)
        [token] = parse_qs(urlsplit(watched.page).query)["token"]
        assert client.status("/metrics") == 200
        for path in ("/", "/page", "/live"):
            assert client.status(path) == 401
        assert client.status("/page", X_Regimeter_Token="wrong") == 401
        assert client.status("/page", X_Regimeter_Token=token) == 200
        assert client.status("/page", X_Regimeter_Token=token, Host="watch.example") == 200
        assert client.status("/page", X_Regimeter_Token=token, Host="evil.example") == 400
        assert client.status("/trigger", "POST", Content_Length="0") == 401
        opened = client.ask(f"/?token={token}")
        assert (opened.status, opened.headers["Location"]) == (303, "/")
        cookie = opened.headers["Set-Cookie"].partition(";")[0]
        assert client.status("/", Cookie=cookie) == 200
        watched.until(SCOPES)  # before, there may be nothing to write out
        assert client.status("/trigger", "POST", Cookie=cookie, Content_Length="0") == 200
    finally:
        watched.end()


def test_so_many_may_watch_and_the_last_event_reaches_them() -> None:
    watchers = Watchers()
    streams = [watchers.events() for _ in range(policy.MOST_WATCHERS)]
    assert all(next(stream).startswith(b"event: state\n") for stream in streams)
    assert b"are watching already" in next(watchers.events())
    streams.pop().close()
    streams.append(watchers.events())
    assert next(streams[-1]).startswith(b"event: state\n")
    for stream in streams[1:]:
        stream.close()
    watchers.end(lambda: {"complete": True})
    assert next(streams[0]).startswith(b'event: end\ndata: {"revision":0,"complete":true}')
    assert list(streams[0]) == []


def test_nothing_is_made_for_the_end_where_nobody_watches() -> None:
    def refuse() -> dict[str, Any]:
        raise AssertionError

    Watchers().end(refuse)


def test_the_page_needs_no_package_of_the_server() -> None:
    code = "import sys, regimeter.monitor.server as s; print([m for m in ('fastapi', 'uvicorn') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout == "[]\n"
