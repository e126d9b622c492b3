# SPDX-License-Identifier: Apache-2.0
"""The documented interface of comparisons: its examples as they are written, and every name, field and value."""

import dataclasses
import json

import pytest

import regimeter
from regimeter import (
    ChangeType,
    ComparisonSummary,
    OperationComparison,
    ProfilerComparison,
    compare_profiling_runs,
    get_profiler,
)

# The example of the document: one slower, one faster, one new.
BASELINE = {
    "entries": [],
    "summary": {
        "matrix_multiply": {"call_count": 1, "total_time_ms": 98.0, "avg_time_ms": 98.0, "avg_memory_mb": 10.0},
        "xor_transform": {"call_count": 1, "total_time_ms": 35.0, "avg_time_ms": 35.0, "avg_memory_mb": 4.0},
    },
}
CURRENT = {
    "entries": [],
    "summary": {
        "matrix_multiply": {"call_count": 1, "total_time_ms": 138.0, "avg_time_ms": 138.0, "avg_memory_mb": 12.5},
        "xor_transform": {"call_count": 1, "total_time_ms": 0.25, "avg_time_ms": 0.25, "avg_memory_mb": 4.0},
        "new_operation": {"call_count": 1, "total_time_ms": 5.0, "avg_time_ms": 5.0, "avg_memory_mb": 1.0},
    },
}
DOCUMENTED_OPERATION = {
    "operation", "baseline_time_ms", "current_time_ms", "change_ms", "change_percent", "change_type", "is_significant",
    "baseline_calls", "current_calls", "baseline_memory_mb", "current_memory_mb", "memory_change_mb",
}  # fmt: skip
DOCUMENTED_SUMMARY = {
    "total_operations", "regressions_count", "improvements_count", "unchanged_count", "new_operations_count",
    "removed_operations_count", "total_time_change_ms", "total_time_change_percent", "worst_regression",
    "best_improvement",
}  # fmt: skip
DOCUMENTED_EXPORT = {
    "total_operations", "regressions", "improvements", "unchanged", "new_operations", "removed_operations",
    "total_change_ms", "total_change_percent",
}  # fmt: skip


@pytest.fixture
def files(tmp_path):
    paths = []
    for name, document in (("baseline_profile.json", BASELINE), ("current_profile.json", CURRENT)):
        path = tmp_path / name
        path.write_text(json.dumps(document))
        paths.append(str(path))
    return paths


def test_the_documented_numbers_come_out():
    comparison = ProfilerComparison(BASELINE, CURRENT, significance_threshold=5.0)
    summary = comparison.get_summary()
    assert len(comparison.comparisons) == 3
    assert summary.total_operations == 3
    assert (summary.regressions_count, summary.improvements_count, summary.new_operations_count) == (1, 1, 1)
    (regression,) = comparison.get_regressions()
    assert regression.operation == "matrix_multiply"
    assert f"{regression.baseline_time_ms:.2f}ms -> {regression.current_time_ms:.2f}ms" == "98.00ms -> 138.00ms"
    assert f"{regression.change_percent:+.1f}%" == "+40.8%"
    assert regression.memory_change_mb == pytest.approx(2.5)
    (improvement,) = comparison.get_improvements()
    assert f"{improvement.change_percent:+.1f}%" == "-99.3%"
    assert summary.worst_regression == regression
    assert summary.best_improvement == improvement
    assert summary.total_time_change_ms == pytest.approx(138 + 0.25 + 5 - 98 - 35)


def test_the_first_example_reads_files_of_averages(files, capsys):
    comparison = compare_profiling_runs(*files, significance_threshold=5.0)
    summary = comparison.get_summary()
    assert (summary.regressions_count, summary.improvements_count) == (1, 1)
    for reg in comparison.get_regressions(top_n=5):
        print(
            f"{reg.operation}: {reg.baseline_time_ms:.2f}ms -> {reg.current_time_ms:.2f}ms ({reg.change_percent:+.1f}%)"
        )
    comparison.print_summary()
    comparison.print_regressions()
    comparison.print_improvements()
    printed = capsys.readouterr().out
    assert "matrix_multiply: 98.00ms -> 138.00ms (+40.8%)" in printed
    assert "FAILED" in printed
    assert "average only" in printed, "averages without a spread are told"


def test_the_second_example_profiles_both_sides(tmp_path, capsys, fresh_global):
    profiler = get_profiler(enabled=True)
    profiler.reset()
    for name in ("baseline.json", "current.json"):
        for _ in range(30):
            with profiler.profile("operation_1"):
                sum(range(200))
        profiler.export_json(str(tmp_path / name))
        profiler.reset()
    comparison = compare_profiling_runs(str(tmp_path / "baseline.json"), str(tmp_path / "current.json"))
    assert comparison.get_summary().total_operations == 1
    (row,) = comparison.comparisons
    assert row.operation == "operation_1"
    assert (row.baseline_calls, row.current_calls) == (30, 30)
    if comparison.get_summary().regressions_count > 0:
        comparison.print_regressions()
    else:
        comparison.print_improvements()
    assert capsys.readouterr().out


def test_the_example_of_a_pipeline(files):
    comparison = compare_profiling_runs(*files, significance_threshold=10.0)
    assert comparison.get_summary().regressions_count == 1
    assert comparison.exit_code == 1
    assert compare_profiling_runs(files[0], files[0], significance_threshold=10.0).exit_code == 0


def test_the_export_has_the_documented_keys(files, tmp_path):
    comparison = compare_profiling_runs(*files)
    comparison.export_comparison(str(tmp_path / "comparison.json"))
    document = json.loads((tmp_path / "comparison.json").read_text())
    assert set(document["summary"]) >= DOCUMENTED_EXPORT
    assert document["summary"]["regressions"] == 1
    assert [row["operation"] for row in document["comparisons"]] == [
        "matrix_multiply",
        "xor_transform",
        "new_operation",
    ]
    assert set(document["comparisons"][0]) >= DOCUMENTED_OPERATION
    assert document["comparisons"][0]["change_type"] == "regression"


def test_every_documented_field_is_there():
    assert {field.name for field in dataclasses.fields(OperationComparison)} >= DOCUMENTED_OPERATION
    assert {field.name for field in dataclasses.fields(ComparisonSummary)} >= DOCUMENTED_SUMMARY


def test_change_types_have_their_long_and_their_short_names():
    assert ChangeType.NEW is ChangeType.NEW_OPERATION
    assert ChangeType.REMOVED is ChangeType.REMOVED_OPERATION
    assert {kind.name for kind in ChangeType} == {
        "IMPROVEMENT", "REGRESSION", "NO_CHANGE", "NEW_OPERATION", "REMOVED_OPERATION", "INVALID",
    }  # fmt: skip


def test_a_removed_operation_is_one():
    comparison = ProfilerComparison(CURRENT, BASELINE)
    assert [row.operation for row in comparison.comparisons if row.change_type is ChangeType.REMOVED] == [
        "new_operation"
    ]
    assert comparison.get_summary().removed_operations_count == 1


def test_more_calls_are_not_a_slower_operation():
    """The origin compared whole times, so twice the calls were a regression of 100 %."""
    once = {"entries": [{"operation": "op", "duration_ms": 2.0 + i % 3 / 100} for i in range(20)]}
    twice = {"entries": once["entries"] * 2}
    (row,) = ProfilerComparison(once, twice).comparisons
    assert row.change_type is ChangeType.NO_CHANGE
    assert not row.conclusive, "two processes of which nothing is known may differ by 5 %"
    assert (row.baseline_calls, row.current_calls) == (20, 40)
    assert row.current_total_ms == pytest.approx(2 * row.baseline_total_ms)


def test_the_order_is_that_of_the_baseline():
    names = [f"op{i}" for i in range(50)]
    documents = [{"summary": {name: {"avg_time_ms": 1.0 + i} for i, name in enumerate(names)}} for _ in range(2)]
    assert [row.operation for row in ProfilerComparison(*documents).comparisons] == names


def test_top_n_limits_and_a_negative_one_is_refused():
    comparison = ProfilerComparison(BASELINE, CURRENT)
    assert comparison.get_regressions(top_n=0) == []
    assert comparison.get_improvements(1)[0].operation == "xor_transform"
    for method in (comparison.get_regressions, comparison.get_improvements, comparison.print_summary):
        with pytest.raises(ValueError, match="at least 0"):
            method(-1)


def test_the_names_are_those_of_the_package():
    for name in ("compare_profiling_runs", "ProfilerComparison", "OperationComparison", "ChangeType"):
        assert name in regimeter.__all__
