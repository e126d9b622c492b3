# SPDX-License-Identifier: Apache-2.0
"""The documented face of the suggestions: dictionaries of old profiles, the rules on them, fields and printing."""

import dataclasses
import json
import math

import pytest
from suggest_series import scopes
from traces import trace_path

import regimeter
from regimeter import ProfilerOptimizer
from regimeter.suggest import Evidence, OptimizationSuggestion, OptimizationType, Priority

DOCUMENTED = (
    "operation",
    "type",
    "priority",
    "description",
    "expected_improvement",
    "implementation_hint",
    "current_time_ms",
    "estimated_time_ms",
    "potential_speedup",
)


def profile(**operations: dict[str, float]) -> dict[str, object]:
    """An exported profile as the program behind the specification writes it: constant shares of the duration."""
    entries = []
    for name, row in operations.items():
        for _ in range(int(row["call_count"])):
            d = row["avg_time_ms"]
            entries.append(
                {"operation": name, "duration_ms": d, "device": row.get("device", "gpu"), "gpu_time_ms": 0.85 * d,
                 "overhead_ms": 0.05 * d, "gpu_utilization": 85.0 if d > 1 else 30.0, "memory_allocated_mb": 1.0}
            )  # fmt: skip
    summary = {
        name: {
            "total_time_ms": row["call_count"] * row["avg_time_ms"],
            "avg_memory_mb": 1.0,
            "avg_gpu_utilization": 85.0 if row["avg_time_ms"] > 1 else 30.0,
            **{key: value for key, value in row.items() if key != "device"},
        }
        for name, row in operations.items()
    }
    return {"entries": entries, "summary": summary}


def rules_of(data: dict[str, object]) -> dict[str, OptimizationSuggestion]:
    return {one.rule: one for one in ProfilerOptimizer(data).get_suggestions()}


def test_a_time_that_is_none_is_not_a_small_one() -> None:
    assert "small_gpu_scope" not in rules_of(profile(op={"call_count": 1, "avg_time_ms": 0.0}))


# Routing, batching and use of the device as the specification's second test prints them, the others as the program
# behind it has them.
@pytest.mark.parametrize(
    ("rule", "row", "priority"),
    [
        ("small_gpu_scope", {"call_count": 5, "avg_time_ms": 0.5}, "high"),
        ("repeated_scope", {"call_count": 20, "avg_time_ms": 50.0}, "high"),
        ("repeated_scope", {"call_count": 12, "avg_time_ms": 50.0}, "medium"),
        ("idle_scope", {"call_count": 5, "avg_time_ms": 0.5}, "medium"),
        ("cacheable_scope", {"call_count": 100, "avg_time_ms": 0.5}, "critical"),
        ("memory_heavy_scope", {"call_count": 1, "avg_time_ms": 5, "avg_memory_mb": 101}, "medium"),
    ],
)
def test_documented_priorities(rule: str, row: dict[str, float], priority: str) -> None:
    assert rules_of(profile(op=row))[rule].priority.value == priority


def test_documented_order() -> None:
    """The three of the specification's second test, in its order; what is bounded stands first, by its speed-up."""
    data = profile(
        small_gpu_op={"call_count": 5, "avg_time_ms": 0.5}, repeated_op={"call_count": 20, "avg_time_ms": 50.0}
    )
    said = [(one.operation, one.type.value, one.priority.value) for one in ProfilerOptimizer(data).get_suggestions()]
    assert said == [
        ("small_gpu_op", "routing", "high"),
        ("repeated_op", "batching", "high"),
        ("small_gpu_op", "parallelization", "medium"),
    ]
    data = profile(few={"call_count": 120, "avg_time_ms": 0.5}, many={"call_count": 400, "avg_time_ms": 0.2})
    bounded = [one.potential_speedup for one in ProfilerOptimizer(data).get_suggestions() if one.bounded]
    assert bounded == pytest.approx([400.0, 120.0])


def test_what_a_file_states_is_said_to_be_the_files() -> None:
    constant = rules_of(profile(op={"call_count": 5, "avg_time_ms": 0.5}))["idle_scope"].description
    assert constant.startswith("The file states a GPU utilisation of 30.0 % for op")
    assert "which is no measurement" in constant
    data = profile(op={"call_count": 5, "avg_time_ms": 0.5, "avg_gpu_utilization": 37.5})
    for entry in data["entries"]:  # type: ignore[attr-defined]
        entry["gpu_utilization"] = 37.5
    assert "no measurement" not in rules_of(data)["idle_scope"].description


def test_calls_that_differ_are_an_algorithms() -> None:
    data = profile(op={"call_count": 20, "avg_time_ms": 5.0})
    assert "variable_scope" not in rules_of(data)
    for i, entry in enumerate(data["entries"]):  # type: ignore[arg-type, var-annotated]
        entry["duration_ms"] = 20.0 if i % 5 == 0 else 1.25
    one = rules_of(data)["variable_scope"]
    assert one.type is OptimizationType.ALGORITHM
    assert one.saved_high_ms == pytest.approx(100 - 20 * 1.25)
    assert "coefficient of variation 1.5" in one.description


def test_our_own_export_has_both_kinds_of_rules(tmp_path) -> None:
    """As a dictionary, a path or a Run: the run's rules, then the documented ones; a recording has the former."""
    run = scopes([100_000] * 120)
    run.export_json(tmp_path / "own.json")
    forms = [
        json.loads((tmp_path / "own.json").read_text()),
        tmp_path / "own.json",
        regimeter.load(tmp_path / "own.json"),
    ]
    told = [[one.rule for one in ProfilerOptimizer(form).get_suggestions()] for form in forms]
    assert told == [["cacheable_scope", "small_gpu_scope", "repeated_scope"]] * 3
    assert run.suggestions() == []


@pytest.mark.parametrize(
    ("rule", "row", "other"),
    [
        ("small_gpu_scope", {"call_count": 2, "avg_time_ms": 0.9}, {"call_count": 2, "avg_time_ms": 1.1}),
        (
            "large_cpu_scope",
            {"call_count": 2, "avg_time_ms": 11, "avg_memory_mb": 5, "device": "cpu"},
            {"call_count": 2, "avg_time_ms": 9, "avg_memory_mb": 5, "device": "cpu"},
        ),
        ("repeated_scope", {"call_count": 10, "avg_time_ms": 5}, {"call_count": 9, "avg_time_ms": 5}),
        (
            "memory_heavy_scope",
            {"call_count": 1, "avg_time_ms": 5, "avg_memory_mb": 101},
            {"call_count": 1, "avg_time_ms": 5, "avg_memory_mb": 99},
        ),
        ("cacheable_scope", {"call_count": 100, "avg_time_ms": 0.9}, {"call_count": 99, "avg_time_ms": 0.9}),
        ("idle_scope", {"call_count": 1, "avg_time_ms": 0.9}, {"call_count": 1, "avg_time_ms": 2}),
    ],
)
def test_documented_rules_hold_at_their_thresholds(rule: str, row: dict[str, float], other: dict[str, float]) -> None:
    assert rule in rules_of(profile(op=row))
    assert rule not in rules_of(profile(op=other))


def test_constant_shares_bound_nothing() -> None:
    one = rules_of(profile(op={"call_count": 20, "avg_time_ms": 5.0}))["repeated_scope"]
    assert one.expected_improvement == "not bounded"
    assert math.isnan(one.estimated_time_ms)


def test_measured_overheads_bound_batching() -> None:
    data = profile(op={"call_count": 20, "avg_time_ms": 5.0})
    for i, entry in enumerate(data["entries"]):  # type: ignore[arg-type, var-annotated]
        entry["overhead_ms"] = 1.0 + i / 100
    one = rules_of(data)["repeated_scope"]
    assert one.saved_high_ms == pytest.approx(0.95 * (20 + 1.9))
    assert one.potential_speedup == pytest.approx(100 / (100 - 0.95 * 21.9))


def test_caching_saves_all_but_one_call() -> None:
    one = rules_of(profile(op={"call_count": 200, "avg_time_ms": 0.5}))["cacheable_scope"]
    assert one.saved_high_ms == pytest.approx(99.5)
    assert one.priority is Priority.CRITICAL


@pytest.mark.parametrize("data", [{}, {"summary": 3}, {"summary": {"a": 1}}, 7])
def test_other_data_is_refused(data: object) -> None:
    with pytest.raises(ValueError, match=r"profiling_data|summary"):
        ProfilerOptimizer(data)  # type: ignore[arg-type]


def test_an_operation_without_figures_suggests_nothing() -> None:
    assert ProfilerOptimizer({"summary": {"op": {"call_count": None}}}).get_suggestions() == []


def test_every_documented_field_is_there(tmp_path, capsys) -> None:
    optimizer = ProfilerOptimizer(profile(op={"call_count": 200, "avg_time_ms": 0.5}))
    one = optimizer.get_suggestions(top_n=1)[0]
    names = {field.name for field in dataclasses.fields(OptimizationSuggestion)}
    assert names >= {*DOCUMENTED, "evidence", "refuted_by", "verify", "confidence", "effort", "saved_low_ms"}
    assert isinstance(one.evidence[0], Evidence)
    assert [member.value for member in OptimizationType] == [
        "routing", "batching", "memory", "caching", "algorithm", "parallelization",
    ]  # fmt: skip
    assert [member.value for member in Priority] == ["critical", "high", "medium", "low"]
    optimizer.export_suggestions(tmp_path / "s.json")
    written = json.loads((tmp_path / "s.json").read_text())
    assert written["format"] == "regimeter.suggestions"
    assert set(DOCUMENTED) <= set(written["suggestions"][0])
    optimizer.print_suggestions(top_n=1)
    assert "[1] " in capsys.readouterr().out
    optimizer.print_critical_suggestions()
    assert "[1] cacheable_scope (caching, critical" in capsys.readouterr().out
    ProfilerOptimizer(profile(op={"call_count": 20, "avg_time_ms": 5})).print_critical_suggestions()
    assert "No critical suggestion." in capsys.readouterr().out


def test_a_path_of_an_old_profile_and_of_a_trace(tmp_path) -> None:
    data = profile(op={"call_count": 200, "avg_time_ms": 0.5})
    (tmp_path / "old.json").write_text(json.dumps(data))
    told = [one.rule for one in ProfilerOptimizer(tmp_path / "old.json").get_suggestions()]
    assert told == [one.rule for one in ProfilerOptimizer(data).get_suggestions()]
    first = ProfilerOptimizer(trace_path("h100_bert_small.json.gz")).get_suggestions()[0]
    assert first.verify.endswith("h100_bert_small.json.gz")
