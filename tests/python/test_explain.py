# SPDX-License-Identifier: Apache-2.0
"""The page that fits into an issue: what the verdict and the suggestions say, and never more than 4,000 characters."""

import json
import re

import pytest
from traces import load_trace, trace_path

from regimeter.cli import main
from regimeter.report.explanation import MOST, explain

TRACES = ("a100_simple_add.json.gz", "diff_small_base.json.gz", "h100_bert_small.json.gz", "cpu_only_rank34.json.gz")


@pytest.mark.parametrize("name", TRACES)
def test_it_says_what_verdict_and_suggestions_say(name: str) -> None:
    run = load_trace(name)
    page = explain(run, name)
    verdict = run.verdict()
    for text in (page.text(), page.markdown()):
        assert len(text) <= MOST
        plain = re.sub(r"\\(.)", r"\1", text)
        if verdict is None:
            assert "cannot be told" in text
            continue
        assert verdict.sentence in plain
        assert verdict.why in plain
        assert verdict.next in plain
        shown = [one for one in run.suggestions() if one.description.rstrip(".") in plain]
        left = re.search(r"(\d+) more: regimeter suggest", text)
        assert len(shown) + int(left[1] if left else 0) == len(run.suggestions())


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_the_command(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    name = str(trace_path(TRACES[0]))
    assert main(["explain", name, "--format", form]) == 0
    out = capsys.readouterr().out
    if form != "json":
        assert len(out) <= MOST + 1
        return
    found = json.loads(out)
    assert (found["format"], found["version"]) == ("regimeter.explain", 1)
    assert found["verdict"]["sentence"] == load_trace(TRACES[0]).verdict().sentence
    assert len(found["markdown"]) <= MOST
    assert main(["explain", name, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == found


def test_a_name_cannot_break_out_of_the_page() -> None:
    page = explain(load_trace(TRACES[0]), "`<script>` | [x](y) \x1b[31m\n# head" * 40)
    text = page.markdown()
    assert len(text) <= MOST
    assert "\x1b" not in text
    assert "\n# head" not in text
    assert "<script>" not in text
