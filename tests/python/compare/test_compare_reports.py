# SPDX-License-Identifier: Apache-2.0
"""The formats of a comparison: what each says, within the limits of what reads it."""

import csv
import io
import json
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
import traces
from page_columns import unpacked
from page_data import page_of

from regimeter import compare_profiling_runs, compare_samples
from regimeter.cli import main
from regimeter.public.run import load
from regimeter.report.comparison_flame import differential
from regimeter.report.comparison_github import SUMMARY_BYTES, SUMMARY_VARIABLE, escape_data, escape_property
from regimeter.report.comparison_html import SAMPLES, page_data
from regimeter.report.comparison_text import interval
from regimeter.report.comparison_view import View


def sides(slow, count=30, seed=1, pairs=8):
    rng = np.random.default_rng(seed)
    made = []
    for current in (False, True):
        side = {}
        for i in range(count):
            factor = slow.get(i, 1.0) if current else 1.0
            side[f"op{i:04}"] = ((1 + i) * 1e-4 * factor * np.exp(rng.normal(0, 0.005, (pairs, 10)))).tolist()
        made.append(side)
    return made


@pytest.fixture(scope="module")
def comparison():
    return compare_samples(*sides({3: 1.2, 7: 0.8, 11: 1.4}), paired=True)


def test_an_interval_beyond_tenfold_has_no_digits(comparison):
    row = comparison.comparisons[3]
    assert interval(row).startswith("[+1")
    assert interval(replace(row, low_percent=-100.0, high_percent=1164897.2)) == "[-100.0, over +900]"
    assert interval(replace(row, low_percent=None)) == ""


def test_the_text_has_verdict_evidence_what_was_missed_and_what_to_do(comparison):
    text = comparison.to_text()
    lines = text.splitlines()
    assert lines[0].startswith("PERF FAILED  2 regressions, 1 improvement, 27 unchanged  [")
    assert "95 % interval" in lines[3]
    assert [line.split()[0] for line in lines[5:8]] == ["op0011", "op0003", "op0007"], "by what moves the whole most"
    assert any(line.startswith("Could have missed: slowdowns below ") for line in lines)
    assert any("regimeter baseline accept --op op0011" in line for line in lines)


def test_the_heading_states_the_level(comparison):
    narrow = compare_samples(*sides({3: 1.2}), paired=True, policy={"interval": 0.9})
    assert "90 % interval" in narrow.to_text()
    assert "| 90 % interval |" in narrow.to_markdown()
    assert "90 % interval" in narrow.to_junit()
    assert "| 95 % interval |" in comparison.to_markdown()


def test_the_csv_has_every_field_of_every_row(comparison):
    rows = list(csv.DictReader(io.StringIO(comparison.to_csv())))
    assert len(rows) == 30
    by_name = {row.operation: row for row in comparison.comparisons}
    for row in rows:
        assert set(row) == set(by_name[row["operation"]].to_dict())
        assert float(row["change_percent"]) == by_name[row["operation"]].change_percent
        assert row["change_type"] == by_name[row["operation"]].status


@pytest.mark.parametrize(
    ("sort", "expected"),
    [("impact", ["op0011", "op0003", "op0007"]), ("ratio", ["op0011", "op0003"]), ("name", ["op0000", "op0001"])],
)
def test_the_order_of_the_rows(comparison, sort, expected):
    rows = json.loads(comparison.render("json", sort=sort))["comparisons"]
    assert [row["operation"] for row in rows][: len(expected)] == expected
    assert len(rows) == 30


def test_only_what_changed(comparison):
    document = json.loads(comparison.render("json", only_changed=True))
    assert {row["operation"] for row in document["comparisons"]} == {"op0003", "op0007", "op0011"}
    assert document["summary"]["total_operations"] == 30, "counts are of all"


def test_junit_counts_what_it_holds(comparison):
    suite = ElementTree.fromstring(comparison.to_junit()).find("testsuite")
    assert suite.get("tests") == str(len(suite.findall("testcase"))) == "30"
    assert suite.get("failures") == str(len(suite.findall("testcase/failure"))) == "2"
    failed = [case.get("name") for case in suite.findall("testcase") if case.find("failure") is not None]
    assert sorted(failed) == ["op0003", "op0011"]


def test_an_accepted_regression_does_not_fail_in_any_format(comparison):
    import dataclasses

    accepted = compare_samples(*sides({3: 1.2}), paired=True)
    accepted.comparisons = [dataclasses.replace(row, accepted="known|`cost`") for row in accepted.comparisons]
    assert accepted.exit_code == 0
    assert 'failures="0"' in accepted.to_junit()
    assert "::error" not in accepted.render("github")
    assert "**slower**" not in accepted.to_markdown()


def test_markdown_and_summary_stay_within_their_limits():
    before, after = sides({i: 1.5 for i in range(4500) if i % 5}, 4500, pairs=5)
    names = {name: f"{name} {'of a long name ' * 6}" for name in before}
    both = ({names[name]: values for name, values in side.items()} for side in (before, after))
    many = compare_samples(*both, paired=True)
    comment = many.to_markdown(top_n=20_000)
    assert 60_000 < len(comment) <= 65_536
    assert "more rows" in comment
    assert comment.rstrip().splitlines()[-1].startswith("- "), "what to do next is not cut off"
    summary = many.render("github", top=20_000).split("###", 1)[1]
    assert 900_000 < len(summary.encode()) <= SUMMARY_BYTES
    assert many.render("github").count("::error ") == 10


def test_a_limit_too_small_for_the_head_still_holds(comparison):
    from regimeter.report.comparison_markdown import markdown

    for limit in (50, 200, 700, 1500):
        assert len(markdown(comparison, View(), limit)) <= limit


def test_the_summary_is_appended_and_counts_what_is_there(tmp_path, capsys, monkeypatch):
    files = []
    for name, side in zip(("b.json", "n.json"), sides({3: 1.5}, pairs=1), strict=True):
        rows = [{"operation": op, "duration_ms": value * 1e3} for op, launches in side.items() for value in launches[0]]
        (tmp_path / name).write_text(json.dumps({"entries": rows}))
        files.append(str(tmp_path / name))
    place = tmp_path / "summary.md"
    place.write_text("# before\n")
    monkeypatch.setenv(SUMMARY_VARIABLE, str(place))
    assert main(["compare", *files, "--format", "github"]) == 1
    printed = capsys.readouterr().out
    assert printed.startswith("::error title=op0003 got slower::op0003 (time): ")
    assert len(printed.splitlines()) == 1
    assert place.read_text().startswith("# before\n### :x: Performance gate failed")
    place.write_text("x" * (SUMMARY_BYTES - 900))
    main(["compare", *files, "--format", "github"])
    assert place.stat().st_size <= SUMMARY_BYTES


def test_commands_of_the_workflow_are_escaped():
    assert escape_data("50 %\r\n::error::") == "50 %25%0D%0A::error::"
    assert escape_property("a:b,c%") == "a%3Ab%2Cc%25"


# --- page data --------------------------------------------------------------------------------------------------


def test_the_page_has_the_samples_of_both_sides():
    rng = np.random.default_rng(3)
    base = {"op": np.exp(rng.normal(-7, 0.05, (2, 5000))).tolist()}
    data = page_data(compare_samples(base, base), View())
    (one,) = data["samples"]
    assert one["baseline"]["count"] == 10_000
    values = one["baseline"]["values"]
    assert len(values) == SAMPLES
    assert values == sorted(values)
    everything = np.sort(np.concatenate(base["op"]))
    assert (values[0], values[-1]) == (everything[0], everything[-1])
    assert np.median(values) == pytest.approx(np.median(everything), rel=1e-3)
    assert one["current"]["medians"] == [np.median(launch) for launch in base["op"]]


def test_a_trend_has_its_change_points():
    rng = np.random.default_rng(3)
    values = np.exp(rng.normal(0, 0.01, 60)) * np.where(np.arange(60) < 40, 1.0, 1.2)
    history = {"op0003": [{"label": str(i), "value": value} for i, value in enumerate(values)]}
    trend = page_data(compare_samples(*sides({})), View(history=history))["history"]["op0003"]
    assert [change["at"] for change in trend["changes"]] == [40]
    given = {"op": {"points": history["op0003"], "changes": [{"at": 3, "before": 1.0, "after": 2.0, "p": 0.001}]}}
    assert page_data(compare_samples(*sides({})), View(history=given))["history"]["op"]["changes"][0]["at"] == 3
    with pytest.raises(ValueError, match="history of 'op'"):
        compare_samples(*sides({})).to_html(history={"op": [{"label": "no value"}]})


def test_the_differential_flame_graph_keeps_both_totals():
    before, after = (load(traces.trace_path(name)) for name in ("diff_small_base.json.gz", "diff_small_test.json.gz"))
    flame = differential(before, after)
    assert flame is not None
    columns = columns_of(flame)
    for side, run in (("baseline_ns", before), ("current_ns", after)):
        tree = run.analyse("flame")
        assert columns[side][0] == tree.total_device_ns[0]
        children = [i for i in range(flame["count"]) if columns["parent"][i] == 0]
        assert sum(columns[side][i] for i in children) == pytest.approx(columns[side][0], abs=len(children))
        assert sum(columns[side.replace("_ns", "_calls")]) > 0
    same = columns_of(differential(before, before))
    assert same["baseline_calls"] == same["current_calls"]
    assert same["baseline_ns"] == same["current_ns"]
    assert all(parent < i for i, parent in enumerate(columns["parent"]))


def test_without_stacks_there_is_no_flame_graph(comparison):
    assert page_data(comparison, View())["flame"] is None
    assert differential(None, None) is None


def columns_of(flame):
    return {name: unpacked(column, flame["count"]) for name, column in flame["columns"].items()}


def test_traces_are_compared_by_what_the_device_ran():
    paths = [traces.trace_path(name) for name in ("diff_small_base.json.gz", "diff_small_test.json.gz")]
    comparison = compare_profiling_runs(*paths, metrics=("time", "launches"))
    assert {row.metric for row in comparison.comparisons} == {"time", "launches"}
    text = comparison.to_text()
    assert "metric" in text
    assert "exact" in text


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
def test_the_text_fits_the_terminal(comparison, columns, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(columns))
    comparison.print_summary()
    lines = capsys.readouterr().out.splitlines()
    widest = max(len(line) for line in lines if not line.startswith("Accept:"))  # a command stays whole
    assert widest <= max(columns, 54), lines  # both values, change and interval are not left out
    text = " ".join(" ".join(lines).split())
    for said in (
        "PERF FAILED",
        "op0003",
        "op0007",
        "Could have missed",
        "pairs of processes, compared within each pair",
    ):
        assert said in text
    monkeypatch.delenv("COLUMNS")
    comparison.print_summary()
    assert capsys.readouterr().out.rstrip() == comparison.to_text(5)


def test_more_pairs_than_anybody_waits_for_are_no_advice():
    rng = np.random.default_rng(5)
    wide = [{"op": (0.01 * np.exp(rng.normal(0, 1.5, (6, 10)))).tolist()} for _ in range(2)]
    found = compare_samples(*wide, paired=True)
    assert (found.comparisons[0].needed or 0) > 200
    text = found.to_text()
    assert "Cannot tell: 1 operation is undecided." in text
    assert "pairs would be needed here; on a quieter machine" in text
    assert "--pairs" not in text


@pytest.mark.parametrize(
    ("base", "current", "title"),
    [
        ("x/a.json", "x/b.json", "a.json compared with b.json"),
        ("one/a.json", "other/a.json", "one/a.json compared with other/a.json"),
        ("a.json", "other/b.json", "a.json compared with other/b.json"),
    ],
)
@pytest.mark.parametrize("whole", [False, True])
def test_a_heading_leaves_out_the_folders_that_both_sides_lie_in(
    base, current, title, whole, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    for name, time in ((base, 1.0), (current, 1.1)):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"entries": [{"operation": "op", "duration_ms": time}]}))
    names = [str(tmp_path / name) if whole else name for name in (base, current)]
    assert main(["compare", *names, "--format", "html", "-o", "page.html", "--fail-on", "never"]) == 0
    assert page_of((tmp_path / "page.html").read_text())["title"] == title
