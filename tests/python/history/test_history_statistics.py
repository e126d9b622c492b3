# SPDX-License-Identifier: Apache-2.0
"""What the core says of histories: prediction intervals and change points, against SciPy and naive versions."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from needed import benchmarks
from scipy import stats

from regimeter import _core

benchmarks("gate")
import change_points as simulation  # noqa: E402

numbers = st.floats(-1e3, 1e3, allow_subnormal=False)


def naive(history, values, alpha):
    """The interval as its header describes it, of SciPy's winsorised and trimmed moments."""
    n, m = len(history), len(values)
    cut = math.ceil(n / 10)
    kept = n - 2 * cut
    ordered = np.sort(history)
    center = ordered[cut : n - cut].mean()
    winsorised = np.asarray(stats.mstats.winsorize(np.array(history), limits=(cut / n, cut / n))).var(ddof=1)
    part = (cut + 0.375) / (n + 0.25)
    z = stats.norm.ppf(1 - part)
    # E[min(max(Z, -z), z)^2], by the moments of the truncated normal distribution
    inside = stats.truncnorm(-z, z)
    of_normal = (1 - 2 * part) * inside.var() + 2 * part * z * z
    error = math.sqrt(winsorised / of_normal / m + winsorised / ((kept / n) ** 2 * n))
    half = error * stats.t.ppf(1 - alpha / 2, kept - 1)
    p = 2 * stats.t.sf(abs(np.mean(values) - center) / error, kept - 1)
    return {"center": center, "low": center - half, "high": center + half, "p": p}


@settings(max_examples=200)
@given(st.integers(4, 60), st.integers(1, 3), st.integers(0, 2**32), st.sampled_from([0.01, 0.05, 0.3]))
def test_prediction_is_that_of_scipy(n, m, seed, alpha):
    rng = np.random.default_rng(seed)
    history, values = rng.normal(-7, 0.02, n), rng.normal(-7, 0.05, m)
    found, expected = _core.predict(history, values, alpha), naive(history, values, alpha)
    for key, value in expected.items():
        assert found[key] == pytest.approx(value, rel=1e-9), key
    assert found["df"] == n - 2 * math.ceil(n / 10) - 1


def test_level_of_the_prediction_holds_for_short_histories():
    rng = np.random.default_rng(11)
    for n in (8, 12, 20):
        outside = sum(
            _core.predict(rng.normal(0, 1, n), rng.normal(0, 1, m), 0.05)["p"] <= 0.05
            for _ in range(4000)
            for m in (1, 2)
        )
        assert 0.035 <= outside / 8000 <= 0.055, n


@settings(max_examples=100)
@given(st.lists(numbers, min_size=11, max_size=30), numbers)
def test_one_bad_run_of_the_history_moves_no_end(history, bad):
    values = np.array([0.5])
    spoiled = np.array([*history, 1e9 + abs(bad)])
    more = np.array([*history, 1e15])
    assert _core.predict(spoiled, values, 0.05) == _core.predict(more, values, 0.05)


def test_history_of_equal_values():
    history = np.full(12, 0.1)
    assert _core.predict(history, np.array([0.1]), 0.05)["p"] == 1
    assert _core.predict(history, np.array([0.1, 0.1]), 0.05)["p"] == 1
    assert _core.predict(history, np.array([0.11]), 0.05)["p"] == 0
    assert _core.predict(history, np.array([0.1]), 0.05)["spread"] == 0


@pytest.mark.parametrize(
    ("history", "values", "alpha"),
    [([1.0] * 3, [1.0], 0.05), ([1.0] * 8, [], 0.05), ([1.0] * 7 + [math.nan], [1.0], 0.05), ([1.0] * 8, [1.0], 0.0)],
)
def test_what_cannot_be_predicted_is_refused(history, values, alpha):
    with pytest.raises(ValueError):
        _core.predict(np.array(history), np.array(values, dtype=float), alpha)


@given(st.lists(st.floats(0, 1), max_size=40))
def test_adjusted_values_are_those_of_scipy(p):
    values = np.array(p, dtype=float)
    for method in ("bh", "by"):
        expected = stats.false_discovery_control(values, method=method) if p else []
        assert _core.adjust(values, method) == pytest.approx(expected, rel=1e-12)
    assert _core.adjust(values, "none") == p
    with pytest.raises(ValueError, match="unknown correction"):
        _core.adjust(values, "holm")


# --- change points ------------------------------------------------------------------------------------------------


def test_few_false_change_points_also_where_neighbours_depend():
    # The promises are 1.5 % and 2.5 %; these bounds are four standard errors wider for 500 series.
    for model, bound in ((simulation.lognormal, 16), (simulation.outliers, 16), (simulation.autoregressive(0.5), 26)):
        assert simulation.measure(model, 0.0, 500, 3, True)[0] <= bound


def test_a_step_twelve_runs_old_is_found():
    for model in (simulation.lognormal, simulation.outliers, simulation.bimodal):
        found, placed = simulation.measure(model, 0.05, 200, 4, True)
        assert found >= 194
        assert placed >= 185


def test_dependence_is_that_of_a_first_order_autoregression():
    rng = np.random.default_rng(8)
    wave = np.array([0.9 * math.sin(i / 4) for i in range(100)]) + rng.normal(0, 0.1, 100)
    assert _core.change_points(wave, 0.01, False)
    assert not _core.change_points(wave, 0.01, True)


def test_items_of_another_size_are_refused():
    with pytest.raises(TypeError):
        _core.predict(np.ones(8, dtype=np.float32), np.ones(1), 0.05)
