# SPDX-License-Identifier: Apache-2.0
"""The first screen of real traces: the sentence of the verdict, one bar, at most three things to do with evidence."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from browsing import Browsing, timeline
from needed import package
from traces import load_trace

from regimeter import load
from regimeter.report.trace_data import trace_data

pytestmark = pytest.mark.web

TRACES = (
    "h100_bert_small.json.gz",
    "v100_ddp_large.json.gz",
    "cpu_only_no_schema.json.gz",
    "mi300_vllm_decode_graph.json.gz",
    "a100_nccl_2024.json.gz",
)


@pytest.fixture(scope="module", params=TRACES)
def traced(request: pytest.FixtureRequest) -> tuple[Any, dict[str, Any]]:
    run = load_trace(request.param)
    return run, trace_data(run)


def test_it_says_what_the_verdict_says_in_420_pixels(traced: tuple[Any, dict[str, Any]], browsing: Browsing) -> None:
    run, data = traced
    verdict = run.verdict()
    assert verdict is not None
    browsing.page.set_viewport_size({"width": 1440, "height": 900})
    page = browsing.open(data)
    screen = page.locator("#limit")
    assert screen.locator(".limit-sentence").inner_text().replace("\u00a0", " ") == verdict.sentence
    assert screen.bounding_box()["height"] <= 420
    assert page.locator("main > section").first.get_attribute("id") == "limit"
    actions = screen.locator(".limit-actions li")
    assert 1 <= actions.count() <= 3
    assert actions.locator(".limit-title").first.inner_text() == verdict.next.partition(" That saves at most ")[0]
    parts = screen.locator(".limit-bar .strip-part").evaluate_all("(all) => all.map((one) => one.style.flexGrow)")
    assert sum(map(float, parts)) == pytest.approx(1, abs=0.01)
    assert {action["table"] for action in data["limit"]["actions"]} <= {None} | {p["name"] for p in data["panels"]}


def test_evidence_is_one_click_away(browsing: Browsing) -> None:
    run = load_trace("h100_bert_small.json.gz")
    data = trace_data(run)
    page = browsing.open(data, at="")
    at, action = next((i, one) for i, one in enumerate(data["limit"]["actions"]) if one["time"] and one["table"])
    wanted = next(one for one in run.suggestions() if one.description == action["title"])
    start, end = action["time"]
    span = next(row.span for row in wanted.evidence if row.span is not None)
    assert start <= run.spans.start_ns[span] - run.start_ns < end
    item = page.locator("#limit .limit-actions li").nth(at)
    item.get_by_role("link", name="where").click()
    browsing.until(f"document.querySelector('#timeline input[type=search]').value === {action['query']!r}")
    assert timeline(browsing, "[t.scene.view.start, t.scene.view.end]") == [start, end]
    page.go_back()
    item.get_by_role("link", name="table").click()
    browsing.until("document.querySelector('#analyses .tab[aria-selected=true]') !== null")
    tab = page.locator("#analyses .tab[aria-selected=true]").inner_text()
    assert tab.lower().replace(" ", "-") == action["table"]


def test_nothing_is_said_twice(tmp_path: Path) -> None:
    """A loader that is late is the verdict; the suggestion that says the same of the critical path is left out."""
    package("torch")
    (tmp_path / "program.py").write_text(
        "import time, torch\nfrom torch.utils.data import DataLoader, Dataset\n"
        "class Slow(Dataset):\n    def __len__(self):\n        return 80\n"
        "    def __getitem__(self, index):\n        time.sleep(0.02)\n        return torch.zeros(8)\n"
        "model = torch.nn.Linear(8, 2)\noptimizer = torch.optim.SGD(model.parameters(), lr=0.01)\n"
        "for rows in DataLoader(Slow(), batch_size=8):\n    optimizer.zero_grad()\n    model(rows).sum().backward()\n"
        "    optimizer.step()\n"
    )
    command = [sys.executable, "-m", "regimeter", "record", "-q", "-o", "run.rgm", "program.py"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    run = load(tmp_path / "run.rgm")
    assert "data_loader" in {one.rule for one in run.suggestions()}
    limit = trace_data(run)["limit"]
    assert limit["cause"] == "input"
    assert limit["actions"][0]["of"] == "of the steps"
    assert not any("loader" in one["title"].lower() for one in limit["actions"][1:])
