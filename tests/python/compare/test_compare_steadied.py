# SPDX-License-Identifier: Apache-2.0
"""What the machine did to all operations of a pair is taken out of each, as far as it follows the others."""

import json
import math

import numpy as np
import pytest
from places import TESTS

from regimeter import ChangeType, compare_samples
from regimeter.compare.ab import steadied as rule
from regimeter.compare.ab.steadied import doubtful_shift, without_common

RECORDED = TESTS / "data" / "recordings" / "pairs_beside_a_busy_loop.json"
NAMES = tuple("abcdef")


def pairs(seed, count=5, slow=0.3, factors=None, follows=1.0, noise=0.03):
    """Two sides of processes; each is with a probability of `slow` 1.7 x slower in all operations."""
    rng = np.random.default_rng(seed)
    sides = []
    for side in range(2):
        machine = 0.53 * (rng.random(count) < slow) + rng.normal(0, 0.05, count)
        sides.append(
            {
                name: [
                    list(
                        1e-3 * (factors or {}).get(name, 1.0) ** side
                        * math.exp(follows * machine[at] + rng.normal(0, noise))
                        * np.exp(rng.normal(0, 0.01, 9))
                    )
                    for at in range(count)
                ]
                for name in NAMES
            }
        )  # fmt: skip
    return sides


def called(comparison):
    return {row.operation: row.change_type for row in comparison.comparisons if row.is_significant}


def test_thirty_per_cent_is_found_in_five_pairs_of_a_machine_with_two_speeds():
    found = dict.fromkeys((True, False), 0)
    others = 0
    for seed in range(60):
        for steadied in found:
            names = called(compare_samples(*pairs(seed, factors={"c": 1.3}), paired=True, steadied=steadied))
            found[steadied] += names.get("c") is ChangeType.REGRESSION
            others += steadied and bool(names.keys() - {"c"})
    assert found[True] >= 54
    assert found[False] <= 40
    assert others <= 5


def test_the_same_program_is_rarely_called():
    assert sum(bool(called(compare_samples(*pairs(seed), paired=True))) for seed in range(150)) <= 12


def test_the_row_has_both_changes_and_the_report_says_so():
    comparison = compare_samples(*pairs(1, factors={"c": 1.3}), paired=True)
    row = comparison.comparisons[2]
    assert row.coefficient == pytest.approx(1.0, abs=0.25)
    assert abs(row.change_percent - 30) < abs(row.raw_percent - 30)
    assert f"raw {row.raw_percent:+.1f} %; {row.coefficient:.2f} of what the others did is taken out" in (
        comparison.to_text()
    )
    assert row.current / row.baseline - 1 == pytest.approx(row.change_percent / 100)


def test_a_program_that_is_slower_as_a_whole_keeps_its_change():
    """All operations differ by more than chance over the pairs: that may be the program, so nothing is taken out."""
    comparison = compare_samples(*pairs(3, slow=0.0, factors=dict.fromkeys(NAMES, 1.5)), paired=True)
    assert {row.raw_percent for row in comparison.comparisons} == {None}
    assert set(called(comparison)) == set(NAMES)


def test_where_half_of_the_operations_changed_the_other_half_is_not_called_faster():
    faster = 0
    for seed in range(40):
        sides = pairs(seed, factors=dict.fromkeys("abc", 1.3))
        faster += ChangeType.IMPROVEMENT in called(compare_samples(*sides, paired=True)).values()
    assert faster <= 3


def test_operations_that_do_not_follow_are_left_alone():
    rng = np.random.default_rng(4)
    differences = rng.normal(0, 0.02, (6, 40))
    made, told = without_common(differences)
    assert told == {}
    assert (made == differences).all()


def test_few_operations_tell_nothing_of_the_machine():
    base, current = pairs(5)
    few = [{name: side[name] for name in NAMES[:3]} for side in (base, current)]
    assert {row.raw_percent for row in compare_samples(*few, paired=True).comparisons} == {None}


# --- few operations that differ together ------------------------------------------------------------------------


def recorded():
    """Both sides of ten recorded pairs, in seconds; one operation, `normalise`, does 30 % more work in the second."""
    found = json.loads(RECORDED.read_text())["pairs"]
    return [
        {name: [[value * 1e-9 for value in pair[side][name]] for pair in found] for name in found[0][side]}
        for side in ("base", "current")
    ]


def test_recorded_operations_that_a_machine_slowed_together_are_not_called(monkeypatch):
    """All five were slower on one side, four of them for the machine: the test that all differ said p < 0.05."""
    comparison = compare_samples(*recorded(), paired=True)
    assert called(comparison).keys() <= {"normalise"}
    assert any("5 operations differ together" in line for line in comparison.warnings)
    assert not [row for row in comparison.comparisons if row.operation != "normalise" and row.conclusive]
    monkeypatch.setattr(rule, "FEW", 0)
    assert called(compare_samples(*recorded(), paired=True)).keys() & {"read", "project", "write"}


def test_many_operations_or_a_shift_beyond_doubt_are_not_in_doubt():
    noise = np.random.default_rng(1).normal(0, 0.02, (7, 10))
    machine = np.array([0.9, -0.3, 0.5, 0.4, -0.1, 0.6, 0.2, 0.5, -0.2, 0.7]) * 0.2
    assert doubtful_shift(noise + machine) == pytest.approx(np.median(noise + machine, axis=0).mean())
    assert doubtful_shift(np.vstack([noise, noise[:1]]) + machine) is None
    assert doubtful_shift(noise + 0.3) is None
    assert doubtful_shift(noise) is None


def test_a_shift_in_doubt_widens_every_operation_and_moves_none():
    rng = np.random.default_rng(2)
    differences = rng.normal(0, 0.05, (5, 10)) + rng.normal(0.1, 0.15, 10)
    made = rule.in_doubt(differences)
    assert made.mean(axis=1) == pytest.approx(differences.mean(axis=1))
    for row in range(5):
        shift = np.median(np.delete(differences, row, axis=0), axis=0).mean()
        errors = [np.var(values[row], ddof=1) / 10 for values in (differences, made)]
        assert errors[1] == pytest.approx(errors[0] + shift**2)
