# SPDX-License-Identifier: Apache-2.0
"""Functions of several calls: which are gone through, what they may change, and the verdict on the sum."""

import numpy as np
import pytest

from regimeter import suggest_optimization
from regimeter.regime import steps

CALLED = []


def judged(regime, sure=1.0, detail="none"):
    others = dict.fromkeys(("overhead_probability", "memory_probability", "compute_probability"), 0.0)
    return {"regime": regime, "detail": detail} | others | {f"{regime.partition('_')[0].lower()}_probability": sure}


def walk(function, *args):
    """Return the names of the calls and what the function would, None where it is not gone through."""
    results = []

    def judge(called, given, kwargs, changes):
        result = called(*given, **kwargs)
        results.append((result, changes))
        return result, 1.0, judged("MEMORY_BOUND")

    found = steps.of_function(function, args, {}, judge)
    return None if found is None else ([step.name for step in found], results)


def numbers():
    return np.random.default_rng(5).random(100)


def helper(values, factor=2.0):
    return np.exp(values) * factor


def several(values):
    scaled = helper(values)
    scaled += 1
    scaled[:10] = 0
    whole, rest = np.divmod(scaled, 2.0)
    return np.sort(whole)[::2].mean() + rest.max()


def test_each_call_has_the_values_that_it_has_in_the_function():
    names, results = walk(lambda x: np.sort(np.sqrt(x) * 2)[::2].sum(), numbers())
    assert names == ["sqrt", "multiply", "sort", "sum"]
    assert results[-1][0] == np.sort(np.sqrt(numbers()) * 2)[::2].sum()


def test_functions_of_the_program_are_gone_through_and_arrays_of_their_own_may_change():
    values = numbers()
    names, results = walk(several, values)
    assert names == ["exp", "multiply", "add", "copyto", "divmod", "sort", "mean", "max"]
    assert [changes for _, changes in results] == [False, False, True, True, False, False, False, False]
    assert results[-2][0] + results[-1][0] == several(numbers())
    assert np.array_equal(values, numbers())


def in_place(values):
    values += 1
    return np.sort(values)


def of_a_view(values):
    half = values[:50]
    half *= 2
    return half + 1


def into_another(values):
    np.add(values, 1, out=values)
    return values * 2


def sorts(values):
    values.sort()
    return values + 1


def unknown(values):
    CALLED.append(1)
    return np.sqrt(values) + 1


def loop(values):
    total = values * 1
    for _ in range(3):
        total = total + values
    return total


def prints(values):
    print("called")
    return np.sqrt(values) + 1


def reads(values):
    return np.sqrt(values) + np.loadtxt("no such file")


@pytest.mark.parametrize("function", [in_place, of_a_view, into_another, sorts, unknown, loop, prints, reads])
def test_what_would_change_something_or_is_not_known_is_not_made_again(function, capsys):
    values = numbers()
    assert walk(function, values) is None
    assert np.array_equal(values, numbers())
    assert not CALLED
    assert not capsys.readouterr().out


def test_one_call_and_what_fails_are_no_steps():
    assert walk(lambda x: np.sqrt(x), numbers()) is None
    assert walk(lambda x, y: np.sqrt(x) @ y + 1, numbers(), np.ones(3)) is None
    assert walk(len, numbers()) is None


def recurring(values):
    return recurring(np.sqrt(values))


def test_what_calls_itself_ends():
    assert walk(recurring, numbers()) is None


def rows(*told):
    return [steps.Step(name, ns, judged(regime, *more)) for name, ns, regime, *more in told]


OPEN = {"regime": "UNKNOWN", "detail": "none", "confidence": None, "leans_to": None, "reason": "no_operations"}


def test_the_regime_of_most_of_the_time_is_that_of_the_function():
    found = steps.combined(rows(("sort", 70, "COMPUTE_BOUND"), ("add", 20, "MEMORY_BOUND")), 100, OPEN)
    assert (found["regime"], found["reason"]) == ("COMPUTE_BOUND", "steps")
    assert found["confidence"] == pytest.approx(70 / 90)
    assert [(row["call"], row["share"]) for row in found["steps"]] == [("sort", 0.7), ("add", 0.2)]
    told = suggest_optimization({"regime": found["regime"], "detail": "none", "evidence": found})
    assert told.endswith("Most of it is sort, 70 % of the time.")


def test_where_none_has_most_of_it_the_verdict_stays_and_names_the_calls():
    found = steps.combined(rows(("sort", 50, "COMPUTE_BOUND"), ("add", 40, "MEMORY_BOUND")), 100, OPEN)
    assert found == OPEN | {"steps": found["steps"]}
    told = suggest_optimization({"regime": "UNKNOWN", "detail": "none", "evidence": found})
    assert "sort 50 % (COMPUTE_BOUND), add 40 % (MEMORY_BOUND)" in told


def test_a_call_that_leans_counts_by_its_probability():
    doubtful = rows(("add", 50, "MEMORY_BOUND", 0.7), ("multiply", 50, "MEMORY_BOUND", 0.6))
    assert steps.combined(doubtful, 100, OPEN)["regime"] == "MEMORY_BOUND"
    assert steps.combined(doubtful[:1], 100, OPEN)["regime"] == "UNKNOWN", "the rest of the function is nobody's"
