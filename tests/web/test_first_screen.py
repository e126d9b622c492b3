# SPDX-License-Identifier: Apache-2.0
"""The first screen of real traces: the sentence of the verdict, one bar, at most three things to do with evidence."""

import contextlib
import functools
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import warm
from browsing import Browsing, data_of, go_to, timeline
from needed import package
from traces import load_trace, trace_path

from regimeter import _core, compare_samples, load
from regimeter.cli import main
from regimeter.report import first_screen
from regimeter.report.trace_data import trace_data

pytestmark = pytest.mark.web

STEADY = [[1.0 + 0.001 * ((7 * i + 3 * j) % 11) for j in range(12)] for i in range(6)]
SLOWER = [[1.2 * value for value in one] for one in STEADY]
Maker = Callable[[Path], str]


def of_trace(name: str) -> Maker:
    """Return what makes the page of a trace, and returns what `regimeter show` prints of it."""

    def make(folder: Path) -> str:
        main(["report", str(trace_path(name)), "-q", "-o", str(folder / "page.html")])
        return shown(name)

    return make


def of_command(verb: str, name: str) -> Maker:
    """Return what makes the page of a verb, and returns what that prints, or else `regimeter show`."""

    def make(folder: Path) -> str:
        said = printed(verb, str(trace_path(name)), "-o", str(folder / "page.html"))
        return said if verb == "flame" else said + shown(name)

    return make


def of_comparison(baseline: Any, current: Any) -> Maker:
    """Return what makes the page of a comparison of samples, and returns its report as text."""

    def make(folder: Path) -> str:
        comparison = compare_samples(baseline, current, paired=len(baseline["op"]) > 1)
        (folder / "page.html").write_text(comparison.to_html())
        return comparison.to_text()

    return make


def of_recording(folder: Path) -> str:
    """Make the page of a recording of scopes, one of which takes most of it."""
    program = (
        "import time, regimeter\nprofiler = regimeter.get_profiler()\n"
        "for _ in range(6):\n    with profiler.profile('forward'):\n        time.sleep(0.004)\n"
        "    with profiler.profile('backward'):\n        time.sleep(0.03)\n"
    )
    recorded = str(warm.record(folder, program, "--stacks", "0"))
    main(["report", recorded, "-q", "-o", str(folder / "page.html")])
    return printed("show", recorded)


def printed(*words: str) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert main([*words]) == 0
    return out.getvalue()


@functools.cache
def shown(name: str) -> str:
    """Return what `regimeter show` prints of a trace."""
    return printed("show", str(trace_path(name)))


# Of these the first screen is compared with the verdict too.
TRACES = {
    "bert": "h100_bert_small.json.gz",
    "v100": "v100_ddp_large.json.gz",
    "host": "cpu_only_no_schema.json.gz",
    "vllm": "mi300_vllm_decode_graph.json.gz",
    "nccl": "a100_nccl_2024.json.gz",
}
# What a newcomer must read first, of each kind of page: how it is made, and the words that it says, with figures that
# the analyses give.
SAID: dict[str, tuple[Callable[[Path], str], tuple[str, ...]]] = {
    "v100": (of_trace(TRACES["v100"]), ("waits for the host in 35 %", "no all-reduce is hidden")),
    "bert": (of_trace(TRACES["bert"]), ("waits for the host in 81 %",)),
    "owlv2": (of_trace("h100_owlv2_with_stack.json.gz"), ("waits for its input in 46 %",)),
    "vllm": (of_trace(TRACES["vllm"]), ("computes in 99 %", "two kernels take 66 % of its work")),
    "ranks": (
        of_trace("dlrm8"),
        ("Rank 7 comes last in 5 of 8 collectives", "causes 76 % of the others' waiting", "35.5 ms of rank time"),
    ),
    "nccl": (of_trace(TRACES["nccl"]), ("waits for the host in 71 %",)),
    "host": (of_trace(TRACES["host"]), ("No GPU work in this trace: 75.5 ms on the host.",)),
    "nothing": (
        of_trace("cpu_only_rank34.json.gz"),
        ("No GPU work in this trace: 1.31 s on the host. Nothing in the recording tells where 100 % of it went",),
    ),
    "recording": (of_recording, ("backward", "takes")),
    "one process a side": (
        of_comparison({"op": [[1.0, 1.01, 0.99]]}, {"op": [[1.08, 1.09, 1.07]]}),
        ("Cannot tell: one process a side.",),
    ),
    "slower": (
        of_comparison({"op": STEADY, "b": STEADY}, {"op": SLOWER, "b": STEADY}),
        ("op is 20.0 % slower (",),
    ),
    "unchanged": (of_comparison({"op": STEADY}, {"op": STEADY}), ("Nothing is slower or faster",)),
    "flame": (
        of_command("flame", "v100_ddp_large.json.gz"),
        ("36 % of the device time (357 ms) hangs under c10d::allred",),
    ),
    "timeline": (of_command("timeline", "v100_ddp_large.json.gz"), ("waits for the host in 35 %", "no all-reduce")),
    "hta": (of_command("hta", "v100_ddp_large.json.gz"), ("waits for the host in 35 %", "no all-reduce")),
}


def says_what_the_verdict_says_in_420_pixels(page: Any, trace: str) -> None:
    verdict, data = load_trace(trace).verdict(), data_of(trace)
    assert verdict is not None
    page.set_viewport_size({"width": 1440, "height": 900})
    screen = page.locator("#limit")
    assert screen.locator(".headline").inner_text().replace("\u00a0", " ") == verdict.sentence
    assert screen.bounding_box()["height"] <= 420
    assert page.locator("main > section").first.get_attribute("id") == "limit"
    actions = screen.locator(".limit-actions li")
    assert 1 <= actions.count() <= 3
    assert actions.locator(".limit-title").first.inner_text() == verdict.next.partition(" That saves at most ")[0]
    parts = screen.locator(".limit-bar .strip-part").evaluate_all("(all) => all.map((one) => one.style.flexGrow)")
    assert sum(map(float, parts)) == pytest.approx(1, abs=0.01)
    assert {action["table"] for action in data["limit"]["actions"]} <= {None} | {p["name"] for p in data["panels"]}


@pytest.mark.parametrize("kind", SAID)
def test_each_page_begins_with_one_sentence(kind: str, browsing: Browsing, capsys: pytest.CaptureFixture[str]) -> None:
    """The same words stand at the top of the page and in what the command prints."""
    make, words = SAID[kind]
    said = make(browsing.folder)
    browsing.page.set_viewport_size({"width": 1280, "height": 900})
    go_to(browsing.page, (browsing.folder / "page.html").as_uri())
    headline = browsing.page.locator("main .headline")
    assert headline.count() == 1
    text = headline.inner_text().replace("\u00a0", " ")
    assert [word for word in words if word not in text] == [], text
    assert headline.bounding_box()["y"] < 300
    assert re.search(r"\d|one process", text)
    assert "UNKNOWN" not in text
    printed = " ".join((said + capsys.readouterr().out).split())
    assert " ".join(text.split()) in printed
    if kind in TRACES:
        says_what_the_verdict_says_in_420_pixels(browsing.page, TRACES[kind])


def test_each_large_part_of_the_bar_has_its_action() -> None:
    """What the sentence names beside its cause is among the three things to do, and they are in the order of all."""
    data = data_of("v100_ddp_large.json.gz")
    titles = [one["title"] for one in data["limit"]["actions"]]
    known = [one["description"] for one in data["suggestions"] if not one["folded"]]
    assert len(titles) == 3
    assert any("collectives are small" in title for title in titles)
    assert sorted(titles[1:], key=known.index) == titles[1:]
    assert known.index(titles[2]) > 1, "one that is less sure is before another of a part that has one"


def test_evidence_is_one_click_away(browsing: Browsing) -> None:
    run = load_trace("h100_bert_small.json.gz")
    data = data_of("h100_bert_small.json.gz")
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


def test_the_rank_that_comes_last_is_named_once() -> None:
    data = trace_data(load(str(trace_path("dlrm8"))))
    assert data["limit"]["sentence"].startswith("Rank 7 comes last")
    titles = [one["title"] for one in data["limit"]["actions"]]
    assert len(titles) == 3
    assert [title for title in titles if "ank 7" in title] == titles[:1]
    assert any("Rank 7 causes" in one["description"] for one in data["suggestions"])


def test_the_rules_and_causes_that_it_names_are_those_of_the_core() -> None:
    named = (*first_screen.SAME.values(), *first_screen.SAME_BY_TABLE.values(), *first_screen.PARTS.values())
    assert set().union(*named) <= set(_core.SUGGESTION_RULES)
    assert {*first_screen.SAME, *first_screen.PARTS} <= set(_core.LIMIT_CAUSES)


def test_nothing_is_said_twice(tmp_path: Path) -> None:
    """A loader that is late is the verdict; the suggestion that says the same of the critical path is left out."""
    package("torch")
    program = (
        "import time, torch\nfrom torch.utils.data import DataLoader, Dataset\n"
        "class Slow(Dataset):\n    def __len__(self):\n        return 80\n"
        "    def __getitem__(self, index):\n        time.sleep(0.02)\n        return torch.zeros(8)\n"
        "model = torch.nn.Linear(8, 2)\noptimizer = torch.optim.SGD(model.parameters(), lr=0.01)\n"
        "for rows in DataLoader(Slow(), batch_size=8):\n    optimizer.zero_grad()\n    model(rows).sum().backward()\n"
        "    optimizer.step()\n"
    )
    run = load(warm.record(tmp_path, program))
    assert "data_loader" in {one.rule for one in run.suggestions()}
    limit = trace_data(run)["limit"]
    assert limit["cause"] == "input"
    assert limit["actions"][0]["of"] == "of the steps"
    assert not any("loader" in one["title"].lower() for one in limit["actions"][1:])
