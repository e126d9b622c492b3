# SPDX-License-Identifier: Apache-2.0
"""The page that fits into an issue: what the verdict and the suggestions say, and never more than 4,000 characters."""

import contextlib
import json
import re
from pathlib import Path

import pytest
from traces import load_trace, trace_path

import regimeter
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


@pytest.mark.parametrize("name", ["memory_snapshot.pickle", "memory_timeline.raw.gz"])
def test_what_holds_memory_alone_is_explained_by_it(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", str(trace_path(name))]) == 0
    said = capsys.readouterr().out.splitlines()
    page = explain(regimeter.load(trace_path(name)), name)
    for text in (page.text(), page.markdown()):
        assert len(text) <= MOST
        assert "memory and no work" in text
        assert said[0] in text.splitlines()
    assert page.markdown().count("```") == 2


def test_a_name_cannot_break_out_of_the_page() -> None:
    page = explain(load_trace(TRACES[0]), "`<script>` | [x](y) \x1b[31m\n# head" * 40)
    text = page.markdown()
    assert len(text) <= MOST
    assert "\x1b" not in text
    assert "\n# head" not in text
    assert "<script>" not in text


def test_one_of_a_thing_is_no_plural(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    profiler = regimeter.GPUProfiler()
    with contextlib.suppress(KeyError), profiler.profile("one", device="cpu"):
        raise KeyError
    profiler.print_summary()
    profiler.print_bottlenecks()
    run = profiler.run()
    profiler.close()
    said = capsys.readouterr().out + explain(run, "one.rgm").text()
    assert "one.rgm: 1 span," in said
    assert "Cost of profiling: 1 scope at" in said
    assert "    1 call ended with an exception" in said


def test_suggest_says_what_limits_a_run_that_no_rule_speaks_of(capsys: pytest.CaptureFixture[str]) -> None:
    profiler = regimeter.GPUProfiler()
    with profiler.profile("whole", device="cpu"):
        sum(range(1_000_000))
    run = profiler.run()
    profiler.close()
    optimizer = regimeter.ProfilerOptimizer(run)
    optimizer.print_suggestions()
    words = " ".join(capsys.readouterr().out.split())
    verdict = run.verdict()
    assert words.startswith("Nothing stands out by the rules")
    assert f"What limits it: {verdict.sentence} Next: {verdict.next}" in words
    with pytest.raises(ValueError, match="negative"):
        optimizer.print_suggestions(-1)
