# SPDX-License-Identifier: Apache-2.0
"""The accuracy harness: what it counts, and that its cases say why they are labelled as they are."""

import pytest
from needed import benchmarks


@pytest.fixture(scope="module")
def harness():
    benchmarks()
    from benchmarks.regimes import run

    return run


def row(harness, labels, verdict, confidence=0.9):
    case = harness.Case("a case", labels, "why", lambda: (abs, (1,), {}))
    return harness.Row(case, {"regime": verdict, "confidence": confidence})


def test_every_case_has_a_reason_and_a_name_of_its_own(harness):
    sets = {name: list(harness.cases_of(name)) for name in harness.SETS}
    fewer = {"later": 50, "usual": 30, "usual_second": 50, "usual_third": 50}
    for name, found in sets.items():
        assert sum(len(case.labels) == 1 for case in found) >= fewer.get(name, 60)
    cases = [case for found in sets.values() for case in found]
    assert len({case.name for case in cases}) == len(cases)
    assert all(case.reason and set(case.labels) <= set(harness.VERDICTS) for case in cases)
    for label in harness.LABELS:
        assert sum(case.labels == (label,) for case in cases) >= 10


def test_the_figures(harness):
    memory = ("MEMORY_BOUND",)
    rows = [
        row(harness, memory, "MEMORY_BOUND"),
        row(harness, memory, "AMBIGUOUS", 0.4),
        row(harness, memory, "COMPUTE_BOUND", 0.9),
        row(harness, ("MEMORY_BOUND", "AMBIGUOUS"), "AMBIGUOUS", 0.1),
    ]
    figures = harness.summary(rows)
    assert figures == {
        "cases": 3, "right": 1, "accuracy": 1 / 3, "confidently_wrong": 1, "wrong": 1, "undecided": 1 / 3,
    }  # fmt: skip
    text = harness.markdown(rows, "tuning")
    assert "| MEMORY_BOUND | 0 | 1 | 1 | 1 | 0 |" in text
    assert "| between two | 0 | 0 | 0 | 1 | 0 |" in text
