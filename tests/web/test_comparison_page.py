# SPDX-License-Identifier: Apache-2.0
"""The page of a comparison in a real browser: verdict, table, samples, trend, flame graph."""

import functools
import json
import math
from typing import Any

import numpy as np
import pytest
import traces
from browsing import Browsing, flame_graph

from regimeter import compare_profiling_runs, compare_samples
from regimeter.report.comparison_html import page_data
from regimeter.report.comparison_view import View

pytestmark = pytest.mark.web

HOSTILE = "</script><img src=x onerror=alert(1)>"


@functools.cache
def compared(count=12, launches=6):
    rng = np.random.default_rng(5)
    slow = {"op01": 1.2, "op02": 0.8, HOSTILE: 1.1}
    names = [*(f"op{i:02}" for i in range(count)), HOSTILE]
    sides: list[dict[str, Any]] = [{}, {}]
    for current, side in enumerate(sides):
        for i, name in enumerate(names):
            factor = (1 + i) * 1e-4 * (slow.get(name, 1.0) if current else 1.0)
            side[name] = (factor * np.exp(rng.normal(0, 0.005, (launches, 12)))).tolist()
    return compare_samples(*sides, paired=True)


def shown(comparison, **view):
    return page_data(comparison, View(**view))


def operations(page):
    return [text.strip() for text in page.locator("#operations tbody th").all_inner_texts()]


def test_the_verdict_comes_first_and_the_counts_are_right(browsing: Browsing) -> None:
    comparison = compared()
    page = browsing.open(shown(comparison, title="main compared with branch"))
    assert page.title() == "main compared with branch - regimeter"
    assert page.locator("main section").first.get_attribute("id") == "verdict"
    assert page.locator(".verdict").inner_text().startswith("Failed")
    values = [int(text) for text in page.locator("#verdict .card-value").all_inner_texts()]
    summary = comparison.get_summary()
    assert values[:2] == [summary.regressions_count, summary.improvements_count] == [2, 1]
    assert "Could have missed" in page.locator("#verdict").inner_text()
    titles = page.locator("main h2").all_inner_texts()
    assert titles[1:] == ["Operations", "Samples", "Differences of the environments", "What this rests on"]


def test_a_pass_and_nothing_compared_say_so(browsing: Browsing) -> None:
    same = {"op": [[1.0, 1.01, 0.99]] * 6}
    page = browsing.open(shown(compare_samples(same, same, paired=True)))
    assert page.locator(".verdict strong").inner_text() == "Passed"
    page = browsing.open(shown(compare_samples({"a": [[1.0]]}, {"b": [[1.0]]})), "nothing.html")
    assert page.locator(".verdict strong").inner_text() == "Nothing compared"
    page = browsing.open(shown(compare_samples({}, {})), "empty.html")
    assert "There is nothing to compare" in page.locator("#operations").inner_text()


def test_what_several_rows_share_is_said_once_and_as_print_has_it(browsing: Browsing) -> None:
    sides = [{f"op{i}": [[1e-3 * (i + 1) * factor, 1.1e-3 * (i + 1)]] for i in range(4)} for factor in (1.0, 1.3)]
    comparison = compare_samples(*sides)
    assert len({row.reason for row in comparison.comparisons}) == 1
    page = browsing.open(shown(comparison))
    shared = "one process a side cannot tell the program from the machine"
    said = page.locator("main").inner_text()
    assert said.count(shared) == 1
    assert f"All 4 rows: {shared}." in said
    assert page.locator("#operations .row-note").count() == 0
    page.get_by_label("Search operations").fill("from the machine")
    assert len(operations(page)) == 4  # rows are still found by it
    assert "q ≤ 0.05" in said
    assert [text for text in ("->", "<=", " x ", "`") if text in said] == []
    assert "regimeter calibrate noise" in page.locator("#basis code").all_inner_texts()


def test_the_table_sorts_and_filters(browsing: Browsing) -> None:
    comparison = compared()
    page = browsing.open(shown(comparison))
    changes = {row.operation: row.change_percent for row in comparison.comparisons}
    button = page.locator("#operations").get_by_role("button", name="Change", exact=True)
    for reverse in (True, False):
        button.click()
        found = [changes[name] for name in operations(page)]
        assert found == sorted(found, reverse=reverse)
    page.get_by_label("Only what changed or is undecided").check()
    assert set(operations(page)) == {"op01", "op02", HOSTILE}
    page.get_by_label("Search operations").fill("op02")
    assert operations(page) == ["op02"]


def test_intervals_are_drawn_where_they_are(browsing: Browsing) -> None:
    """Points of the forest plot lie on one logarithmic scale: equal ratios, equal distances."""
    comparison = compared()
    page = browsing.open(shown(comparison))
    places = page.evaluate(
        """() => {
            const x = (node) => Number(node.getAttribute("cx") ?? node.getAttribute("x1"));
            const marks = "svg.forest line.zero, svg.forest circle";
            const rows = [...document.querySelectorAll("#operations tbody tr")];
            const places = (row) => [...row.querySelectorAll(marks)].map(x);
            return Object.fromEntries(rows.map((row) => [row.dataset.operation, places(row)]));
        }"""
    )
    slopes = []
    for row in comparison.comparisons:
        zero, point = places[row.operation]
        if row.operation in ("op01", "op02", HOSTILE):
            slopes.append((point - zero) / math.log1p(row.change_percent / 100))
    assert max(slopes) == pytest.approx(min(slopes), rel=1e-6)
    assert min(slopes) > 0


def test_choosing_an_operation_shows_its_samples_and_its_trend(browsing: Browsing) -> None:
    rng = np.random.default_rng(6)
    values = np.exp(rng.normal(0, 0.01, 50)) * np.where(np.arange(50) < 30, 1e-3, 1.3e-3)
    history = {"op04": [{"label": f"run {i}", "value": float(v)} for i, v in enumerate(values)]}
    page = browsing.open(shown(compared(), history=history))
    page.locator("#operations").get_by_role("button", name="op04", exact=True).click()
    browsing.settle()
    assert page.locator("#samples h3").all_inner_texts() == ["op04", "Trend"]
    assert page.locator("#samples svg.samples .tick-0").count() == 6
    assert page.locator("#samples svg.samples .tick-1").count() == 6
    assert page.locator("#samples svg.trend circle.point").count() == 50
    assert page.locator("#samples svg.trend .change-point").count() == 1
    assert "change at run 30" in page.locator("#samples output").inner_text()
    page.locator("svg.trend").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#samples output").inner_text().startswith("run 0: ")
    page.locator("#operations").get_by_role("button", name="op05", exact=True).click()
    assert page.locator("#samples h3").all_inner_texts() == ["op05"]


def test_a_differential_flame_graph_is_drawn_for_traces(browsing: Browsing) -> None:
    paths = [traces.trace_path(name) for name in ("diff_small_base.json.gz", "diff_small_test.json.gz")]
    page = browsing.open(shown(compare_profiling_runs(*paths)))
    browsing.settle()
    assert "Differential flame graph" in page.locator("main h2").all_inner_texts()
    colours = page.locator("canvas.flame").evaluate(
        "(c) => new Set(new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)).size"
    )
    assert colours > 3
    told = "g.row(at) === undefined || regimeter.changeWords.stateOf(g.row(at)) === 'undecided'"
    grey = "regimeter.flameDiff.fillOf(g.row(at)) === 'untold'"
    assert flame_graph(browsing, f"[...g.flame.name.keys()].every((at) => ({told}) === ({grey}))")
    assert (
        "calls" in page.locator("#flame-diff output").inner_text()
        or "a call" in page.locator("#flame-diff").inner_text()
    )
    assert page.locator("#flame-diff output").inner_text().startswith("all: baseline ")
    page.locator("#flame-diff").get_by_role("button", name="Baseline").click()
    assert page.locator("#flame-diff button[aria-pressed=true]").inner_text() == "Baseline"


def test_an_exported_comparison_can_be_opened_in_the_dashboard(browsing: Browsing) -> None:
    page = browsing.open(None)
    browsing.load("comparison.json", json.loads(compared().to_json()))
    assert page.locator(".verdict strong").inner_text() == "Failed"
    assert len(operations(page)) == 13


def test_ten_thousand_rows_are_cut_and_told(browsing: Browsing) -> None:
    rng = np.random.default_rng(7)
    sides = [{f"op{i}": [row.tolist()] for i, row in enumerate(np.exp(rng.normal(-7, 0.01, (6000, 3))))} for _ in "ab"]
    page = browsing.open(shown(compare_samples(*sides)))
    assert "5,000 of 6,000 rows" in page.locator("#operations [role=status]").inner_text()
    assert len(operations(page)) == 100
