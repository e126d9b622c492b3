# SPDX-License-Identifier: Apache-2.0
"""What a comparison's figures are of: a call, all calls of a process, the process; and that they agree on one page."""

import json

import numpy as np
import pytest

from regimeter import FlameGraphGenerator, GPUProfiler, compare_profiling_runs, compare_samples, load
from regimeter.report.comparison_flame import _merge
from regimeter.report.comparison_html import page_data
from regimeter.report.comparison_view import View

RNG = np.random.default_rng(3)


def launches(count, samples, level=1e-3):
    """Launches of uneven length with two modes, which medians and shifts see differently."""
    made = []
    for _ in range(count):
        slow = RNG.random(samples) < RNG.uniform(0.2, 0.8)
        made.append((level * np.where(slow, 9.0, 1.0) * np.exp(RNG.normal(0, 0.05, samples))).tolist())
    return made


@pytest.mark.parametrize(("count", "paired"), [(1, False), (2, False), (6, False), (6, True), (1, True)])
def test_the_change_is_the_ratio_of_the_levels_beside_it(count, paired):
    before = {f"op{i}": launches(count, 31) for i in range(4)}
    after = {f"op{i}": launches(count, 30, 1.2e-3) for i in range(4)}
    comparison = compare_samples(before, after, paired=paired)
    assert not comparison.facts["common_removed"]
    for row in comparison.comparisons:
        assert row.current / row.baseline - 1 == pytest.approx(row.change_percent / 100, rel=1e-9)
        assert row.change_ms == pytest.approx(row.current_time_ms - row.baseline_time_ms, rel=1e-9)


def test_single_values_are_told_to_the_last_digit():
    (row,) = compare_samples({"op": [[0.098]]}, {"op": [[0.138]]}).comparisons
    assert (row.baseline, row.current) == (pytest.approx(0.098, rel=1e-15), pytest.approx(0.138, rel=1e-15))


def work(amount):
    return sum(range(amount))


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Recordings of a loop whose second form has a fourth layer."""
    folder = tmp_path_factory.mktemp("estimand")
    made = []
    for layers in (3, 4):
        profiler = GPUProfiler(enabled=True, enable_detailed_metrics=False)
        for _ in range(20):
            with profiler.profile("step", device="cpu"):
                with profiler.profile("embed", device="cpu"):
                    work(500)
                for _ in range(layers):
                    with profiler.profile("layer", device="cpu"):
                        work(3000)
        path = folder / f"layers{layers}.json"
        profiler.export_json(path)
        profiler.close()
        made.append(path)
    return made


def test_what_all_calls_took_adds_up_to_the_recording(runs):
    comparison = compare_profiling_runs(*map(str, runs))
    rows = {row.operation: row for row in comparison.comparisons}
    for side, path in zip(("baseline", "current"), runs, strict=True):
        summary = json.loads(path.read_text())["summary"]
        for name, row in rows.items():
            assert getattr(row, f"{side}_run_ms") == pytest.approx(summary[name]["total_time_ms"], rel=1e-6)
    step = rows["step"]
    assert step.impact_percent == pytest.approx(step.run_change_percent), "every round is a step"
    layer = rows["layer"]
    assert layer.run_change_percent == pytest.approx(100 * (layer.current_run_ms / layer.baseline_run_ms - 1))
    moved = layer.current_run_ms - layer.baseline_run_ms
    assert layer.impact_percent == pytest.approx(100 * moved / step.baseline_run_ms)


def test_the_flame_graph_shows_the_same_sums(runs):
    comparison = compare_profiling_runs(*(load(path) for path in runs))
    generator = FlameGraphGenerator(min_duration_us=0.0, group_small_kernels=False)
    tree = _merge(generator.from_run(load(runs[0])), generator.from_run(load(runs[1])), "host_us")
    sums = {}
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        waiting += node["children"]
        sums[node["name"]] = [a + b for a, b in zip(sums.get(node["name"], [0, 0]), node["times"], strict=True)]
    for row in comparison.comparisons:
        assert sums[row.operation] == pytest.approx([1e3 * row.baseline_run_ms, 1e3 * row.current_run_ms], rel=1e-6)


def test_more_calls_have_a_column_in_every_report(runs):
    comparison = compare_profiling_runs(*map(str, runs))
    layer = next(row for row in comparison.comparisons if row.operation == "layer")
    assert layer.calls == (60, 80)
    assert layer.calls_changed
    assert "60 → 80 (+33 %)" in comparison.to_text(), "also where a call is as long as before"
    assert "60 → 80 (+33 %)" in comparison.to_markdown()
    values = {row["operation"]: row for row in json.loads(comparison.render("json"))["comparisons"]}
    assert (values["layer"]["baseline_calls"], values["layer"]["current_calls"]) == (60, 80)


def test_without_another_number_of_calls_there_is_no_such_column():
    same = {"op": [[1.0, 1.1, 0.9]] * 3}
    table = compare_samples(same, same).render("text", only_changed=False).split("\n\n")[1]
    assert table.startswith("operation")
    assert "calls" not in table


def test_a_sum_that_moves_the_other_way_is_said():
    before = {"op": [[1.0] * 19 + [1.0]] * 3}
    after = {"op": [[0.9] * 19 + [9.0]] * 3}
    (row,) = compare_samples(before, after).comparisons
    assert row.change_percent == pytest.approx(-10)
    assert row.run_change_percent == pytest.approx(100 * ((19 * 0.9 + 9) / 20 - 1))
    assert "moved the other way" in compare_samples(before, after).to_text()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 0.0, -1.0])
def test_what_is_no_time_has_no_impact_that_json_lacks(value):
    comparison = compare_samples({"op": [[value]], "other": [[1.0]]}, {"op": [[1.0]], "other": [[1.0]]})
    json.loads(comparison.to_json(), parse_constant=pytest.fail)


def test_undecided_rows_are_called_so_in_text_and_page(runs):
    comparison = compare_profiling_runs(*map(str, runs))
    summary = comparison.get_summary()
    text = comparison.to_text().splitlines()[0]
    assert f"{summary.unchanged_count - summary.inconclusive_count} unchanged" in text
    assert f"{summary.inconclusive_count} undecided" in text or not summary.inconclusive_count
    assert page_data(comparison, View())["verdict"] in text
