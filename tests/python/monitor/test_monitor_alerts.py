# SPDX-License-Identifier: Apache-2.0
"""Alerts of the monitor: when they are raised and cleared, whom they reach, and what a failure of that costs."""

import http.server
import json
import queue
import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fakes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import ROOT
from published import check
from watching import Watched

from regimeter import GPUProfiler, _core
from regimeter.monitor.alerts import Alarm, Alerts, Webhook, line_of
from regimeter.monitor.figures import Figures
from regimeter.monitor.look import Looks
from regimeter.monitor.policy import BASELINE_STEPS, RULES, TREND_LOOKS, WARMUP_STEPS, Rule
from regimeter.monitor.tail import Tail

RULE = Rule("test", 1.2, 1.1, 3, "times", "a test")
ON_FLUSH = {"enable_detailed_metrics": False, "drain_interval_ns": 3_600_000_000_000}


def test_raised_after_looks_in_a_row_and_cleared_below() -> None:
    alarm = Alarm(RULE)
    values = [1.3, 1.3, 1.0, 1.3, 1.3, None, 1.3, 1.3, 1.15, 1.15, 1.21, 1.1, 1.3, 1.3, 1.3]
    found = [alarm.look(value) for value in values]
    assert found == ["", "", "", "", "", "", "firing", "", "", "", "", "cleared", "", "", "firing"]
    assert (alarm.raised, alarm.firing, alarm.value) == (2, True, 1.3)


@given(st.lists(st.none() | st.floats(0, 2)))
def test_between_the_two_limits_nothing_changes(values: list[float | None]) -> None:
    alarm, firing, row = Alarm(RULE), False, 0
    for value in values:
        state = alarm.look(value)
        row = row if value is None else row + 1 if value > RULE.fires else 0
        assert (state == "firing") == (not firing and value is not None and row >= RULE.looks)
        assert (state == "cleared") == (firing and value is not None and value <= RULE.clears)
        firing = alarm.firing


def test_every_rule_clears_below_where_it_fires() -> None:
    for rule in RULES.values():
        assert 0 < rule.clears < rule.fires
        assert rule.above(2 * rule.fires).clears == pytest.approx(2 * rule.clears)


def test_the_document_states_the_thresholds() -> None:
    text = (ROOT / "docs/monitor.md").read_text()
    rows = re.findall(r"^\| `([\w-]+)` \| .* \| ([\d.]+) \| (\d+) \| ([\d.]+) \|$", text, re.M)
    stated = {name: (float(fires), int(looks), float(clears)) for name, fires, looks, clears in rows}
    assert stated == {rule.name: (rule.fires, rule.looks, rule.clears) for rule in RULES.values()}


def step(profiler: GPUProfiler, count: int) -> None:
    scope = profiler._role_scope("step", _core.ROLES.index("step"))
    for _ in range(count):
        with scope:
            pass
    profiler.flush()


def test_values_of_real_steps(tmp_path: Path) -> None:
    path = tmp_path / "run.rgm"
    tail, figures = Tail(str(path)), Figures()
    looks, against = Looks(["step-time"]), Looks(["step-time"], baseline_ns=1.0)
    with GPUProfiler(path=path, **ON_FLUSH) as profiler:
        step(profiler, WARMUP_STEPS + BASELINE_STEPS)
        first = tail.read()
        figures.add(first, tail.anomalies, tail.steps)
        looks.see(first, tail.steps)
        look = looks.take(figures, 1, 1.0)
        assert look.rules["step-time"] is None  # it is what others are held against
        step(profiler, 50)
        part = tail.read()
        figures.add(part, tail.anomalies, tail.steps)
    assert first is not None
    assert part is not None
    base = np.median(np.sort(first.spans.duration_ns[np.argsort(first.spans.start_ns)][WARMUP_STEPS:]))
    for each in (looks, against):
        each.see(part, tail.steps)
    found = looks.take(figures, 1, 2.0)
    assert found.rules["step-time"] == pytest.approx(np.median(part.spans.duration_ns) / max(base, 1))
    assert found.rules["own-cost"] is not None
    assert found.rules["own-cost"] > 0
    assert found.slowest_step_s == part.spans.duration_ns.max() / 1e9
    assert against.take(figures, 1, 2.0).rules["step-time"] == np.median(part.spans.duration_ns)
    assert looks.take(figures, 1, 3.0).rules["step-time"] is None


@pytest.mark.parametrize(("each", "grows"), [(0, False), (1 << 20, True)])
def test_memory_that_grows(each: int, grows: bool) -> None:
    looks, figures = Looks(["memory-growth"]), Figures()
    rng = np.random.default_rng(1)
    levels = [(100 << 20) + each * i + int(rng.integers(0, 4096)) for i in range(TREND_LOOKS)]
    values = [
        looks.take(figures, level, 5.0 * i + part).rules["memory-growth"]
        for i, level in enumerate(levels)
        for part in ((0.0, 1.0, 2.0) if i + 1 < len(levels) else (0.0,))
    ]
    assert set(values[:-1]) == {None}, "a program that is starting grows, however often it is looked at"
    assert values[-1] is not None
    assert (values[-1] > RULES["memory-growth"].fires) == grows


def test_devices_are_asked_on_their_double(run_python: Any) -> None:
    script = """
        import numpy as np
        from regimeter.monitor.figures import Figures
        from regimeter.monitor.look import Looks
        found = Looks(["gpu-idle", "throttling"]).take(Figures(), 1, 1.0).rules
        assert 0 <= found["gpu-idle"] <= 1, found
        assert found["throttling"] in (0.0, 1.0), found
        print("ok")
    """
    assert run_python(script, env=fakes.environment(cuda="", nvml="")).stdout.strip() == "ok"


@pytest.fixture
def hook() -> Iterator[tuple[str, "queue.Queue[dict[str, Any]]"]]:
    """An address that takes posts, and what was posted."""
    posted: queue.Queue[dict[str, Any]] = queue.Queue()

    class Taker(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.headers["Content-Type"] == "application/json"
            posted.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Taker)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/hook", posted
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_webhook_that_nobody_answers_is_counted(hook: tuple[str, "queue.Queue[dict[str, Any]]"]) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        refused = Webhook(f"http://127.0.0.1:{closed.getsockname()[1]}/")
        sound, lines = Webhook(hook[0]), []
        alerts = Alerts([RULE], [refused, sound, lambda change: lines.append(line_of(change))])
        for value in (1.3, 1.3, 1.3, 1.0):
            alerts.look({"test": value}, {"pid": 7})
        refused.close()
        sound.close()
    assert (refused.failures, sound.failures) == (2, 0)
    assert "refused" in refused.reason
    assert [hook[1].get(timeout=60)["state"] for _ in range(2)] == ["firing", "cleared"]
    assert lines == [
        "alert test firing: 1.3 times, above 1.2 (a test)",
        "alert test cleared: 1 times, at most 1.1 (a test)",
    ]
    assert alerts.raised == ["test"]


PROGRAM = """
    import select, sys, time
    import regimeter
    print("recorded", flush=True)
    while not select.select([sys.stdin], [], [], 0.001)[0]:
        with regimeter.profile("work", device="cpu"):
            pass
"""


def test_an_alert_reaches_all_and_fails_the_command(
    tmp_path: Path, hook: tuple[str, "queue.Queue[dict[str, Any]]"]
) -> None:
    pytest.importorskip("prometheus_client")
    options = (
        "--alert",
        "own-cost>0.0000001",
        "--webhook",
        hook[0],
        "--fail-on-alert",
        "--keep",
        "1h",
        "--on",
        "alert",
    )
    watched = Watched(tmp_path, *options, program=PROGRAM)
    try:
        change = check(hook[1].get(timeout=120), "alert")
        found = watched.scrape()
    finally:
        code, said = watched.end()
    assert (change["alert"], change["state"], change["threshold"]) == ("own-cost", "firing", 1e-7)
    assert change["value"] > 1e-7
    assert change["recording"] == str(watched.run)
    assert found["regimeter_alert_firing", (("alert", "own-cost"),)] == 1
    assert found["regimeter_alerts_total", (("alert", "own-cost"),)] >= 1  # a program that gets no turn has no cost
    assert found["regimeter_alert_value", (("alert", "own-cost"),)] > 1e-7
    assert code == 3
    assert "regimeter: alert own-cost firing: " in said
    assert "regimeter: alerts were raised: own-cost" in said
    assert (tmp_path / "run.trigger-1.rgm").exists()
