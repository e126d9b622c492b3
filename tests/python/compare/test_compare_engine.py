# SPDX-License-Identifier: Apache-2.0
"""The engine of comparisons against SciPy, published examples, and cases whose answer is known."""

import math

import numpy as np
import pytest
from scipy import stats

from regimeter import ChangeType, _core, compare_samples

TIGHT = 1e-10


def made(rng, launches, samples, center=1e-3, spread=0.02):
    return [list(center * np.exp(rng.normal(0, spread, samples))) for _ in range(launches)]


def only(comparison):
    assert len(comparison.comparisons) == 1
    return comparison.comparisons[0]


def medians(launches):
    return np.array([np.median(np.log(launch)) for launch in launches])


# --- distributions --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pairs", [5, 10, 31, 101, 1001])
def test_students_tail_is_scipys(pairs):
    """As the p-value of pairs whose differences are spread by hand, so that t is what it should be."""
    spread = np.linspace(-1, 1, pairs)
    spread /= spread.std(ddof=1)
    for t in (-6, -1, -0.01, 1e-3, 0.3, 1, 2, 4, 9, 30):
        differences = 1e-3 * (spread + t / math.sqrt(pairs))
        row = only(compare_samples({"op": [[1.0]] * pairs}, {"op": np.exp(differences)[:, None].tolist()}, paired=True))
        expected = stats.ttest_1samp(np.log(np.exp(differences)), 0)
        assert expected.statistic == pytest.approx(t, rel=1e-6)
        assert row.p == pytest.approx(2 * stats.t.sf(abs(expected.statistic), pairs - 1), rel=1e-7)


@pytest.mark.parametrize("df", [0.5, 1, 2, 9, 30, 1e4, math.inf])
def test_students_quantile_is_scipys(df):
    for p in (1e-9, 0.001, 0.025, 0.3, 0.5, 0.8, 0.975, 0.9999):
        assert _core.t_quantile(p, df) == pytest.approx(stats.t.ppf(p, df), rel=TIGHT, abs=1e-14)


# --- one operation: nothing to borrow, so the plain tests -----------------------------------------------------


@pytest.mark.parametrize("pairs", [5, 6, 10, 40])
def test_pairs_are_compared_by_the_paired_t_test(pairs):
    rng = np.random.default_rng(pairs)
    base, current = made(rng, pairs, 7), made(rng, pairs, 9, 1.01e-3)
    row = only(compare_samples({"op": base}, {"op": current}, paired=True))
    expected = stats.ttest_rel(medians(current), medians(base))
    assert row.tier == "paired"
    assert row.pairs == pairs
    assert row.p == pytest.approx(expected.pvalue, rel=TIGHT)
    interval = expected.confidence_interval(0.95)
    assert row.low_percent == pytest.approx(100 * math.expm1(interval.low), rel=1e-9)
    assert row.high_percent == pytest.approx(100 * math.expm1(interval.high), rel=1e-9)
    assert row.rank_p == pytest.approx(
        stats.wilcoxon(medians(current) - medians(base), method="exact").pvalue, rel=TIGHT
    )
    assert row.baseline == pytest.approx(math.exp(np.mean(medians(base))), rel=TIGHT)


@pytest.mark.parametrize(("before", "after"), [(3, 3), (3, 8), (12, 5)])
def test_launches_are_compared_by_welchs_test(before, after):
    rng = np.random.default_rng(before * 100 + after)
    base, current = made(rng, before, 5), made(rng, after, 11, 1.02e-3, 0.04)
    row = only(compare_samples({"op": base}, {"op": current}))
    expected = stats.ttest_ind(medians(current), medians(base), equal_var=False)
    assert row.tier == "launches"
    assert row.p == pytest.approx(expected.pvalue, rel=TIGHT)
    assert row.rank_p == pytest.approx(stats.mannwhitneyu(medians(base), medians(current)).pvalue, rel=TIGHT)


def test_single_runs_are_compared_by_the_median_of_all_differences():
    rng = np.random.default_rng(5)
    base, current = made(rng, 1, 31), made(rng, 1, 44, 1.2e-3)
    row = only(compare_samples({"op": base}, {"op": current}, run_floor=0.0))
    differences = np.log(current[0])[None, :] - np.log(base[0])[:, None]
    assert row.tier == "single"
    assert row.change_percent == pytest.approx(100 * math.expm1(np.median(differences)), rel=1e-9)
    assert row.rank_p == pytest.approx(stats.mannwhitneyu(base[0], current[0]).pvalue, rel=TIGHT)


def test_the_floor_widens_single_runs_in_quadrature():
    rng = np.random.default_rng(6)
    base, current = {"op": made(rng, 1, 50)}, {"op": made(rng, 1, 50)}
    narrow = only(compare_samples(base, current, run_floor=0.0))
    wide = only(compare_samples(base, current, run_floor=0.03))
    half = [math.log1p(row.high_percent / 100) - math.log1p(row.change_percent / 100) for row in (narrow, wide)]
    z = stats.norm.ppf(0.975)
    assert half[1] ** 2 == pytest.approx(half[0] ** 2 + 2 * (0.03 * z) ** 2, rel=1e-9)


def test_the_interval_of_single_runs_covers_what_it_says():
    """Inverting the rank test: in 400 draws 95 % intervals miss the true shift 20 times, give or take 4.4."""
    rng = np.random.default_rng(7)
    missed = 0
    for _ in range(400):
        base, current = made(rng, 1, 25), made(rng, 1, 25, 1.1e-3)
        row = only(compare_samples({"op": base}, {"op": current}, run_floor=0.0))
        missed += not row.low_percent <= 10.0 <= row.high_percent
    assert 5 <= missed <= 38


def test_a_published_paired_example():
    """Student's sleep data (Cushny & Peebles 1905): t = -4.0621, p = 0.002833 for the paired difference."""
    first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    base, current = ({"drug": [[math.exp(hours)] for hours in group]} for group in (first, second))
    row = only(compare_samples(base, current, paired=True))
    assert row.p == pytest.approx(0.002833, abs=5e-7)
    assert math.log1p(row.change_percent / 100) == pytest.approx(1.58, abs=1e-9)
    assert math.log1p(row.low_percent / 100) == pytest.approx(0.7001142, abs=5e-8)
    assert math.log1p(row.high_percent / 100) == pytest.approx(2.4598858, abs=5e-8)


# --- many operations ------------------------------------------------------------------------------------------


def many(rng, operations, launches, samples, changes=None):
    changes = changes or {}
    sides = []
    for side in range(2):
        factor = {name: changes.get(name, 1.0) if side else 1.0 for name in map(str, range(operations))}
        sides.append({name: made(rng, launches, samples, 1e-3 * factor[name]) for name in factor})
    return sides


@pytest.mark.parametrize(("fdr", "method"), [("bh", "bh"), ("by", "by")])
def test_q_is_scipys(fdr, method):
    rng = np.random.default_rng(8)
    base, current = many(rng, 60, 6, 5, {"3": 1.03, "9": 0.97, "20": 1.01})
    rows = compare_samples(base, current, paired=True, fdr=fdr).comparisons
    q = stats.false_discovery_control([row.p for row in rows], method=method)
    assert [row.q for row in rows] == pytest.approx(list(q), rel=TIGHT)
    plain = compare_samples(base, current, paired=True, fdr="none").comparisons
    assert [row.q for row in plain] == [row.p for row in plain]


def naive_prior(variances, df):
    """Fit of the scaled F distribution by moments of log variances (Smyth 2004), with SciPy's functions."""
    from scipy.optimize import brentq
    from scipy.special import digamma, polygamma

    half = np.array(df) / 2
    e = np.log(variances) - digamma(half) + np.log(half)
    excess = e.var(ddof=1) - polygamma(1, half).mean()
    if excess <= 0:
        return math.inf, math.exp(e.mean())
    d = brentq(lambda x: polygamma(1, x) - excess, 1e-8, 1e8, xtol=1e-13, rtol=1e-14)
    return 2 * d, math.exp(e.mean() + digamma(d) - math.log(d))


def test_variances_are_moderated():
    rng = np.random.default_rng(9)
    base, current = many(rng, 80, 5, 4)
    for name in list(base)[::3]:  # some are noisier than others
        base[name] = [[1e-3 * (value / 1e-3) ** 4 for value in launch] for launch in base[name]]
    comparison = compare_samples(base, current, paired=True)
    differences = {name: medians(current[name]) - medians(base[name]) for name in base}
    variances = [d.var(ddof=1) for d in differences.values()]
    df, scale = naive_prior(variances, [4] * len(variances))
    assert 0 < df < math.inf
    assert comparison.facts["prior_df"] == pytest.approx(df, rel=1e-8)
    for row in comparison.comparisons:
        d = differences[row.operation]
        error = math.sqrt((df * scale + 4 * d.var(ddof=1)) / (df + 4) / 5)
        assert row.p == pytest.approx(2 * stats.t.sf(abs(d.mean()) / error, df + 4), rel=1e-7)


def test_a_shift_of_everything_is_reported_and_taken_out():
    rng = np.random.default_rng(10)
    base, current = many(rng, 100, 8, 5, {str(i): 1.06 for i in range(100)} | {"7": 1.06 * 1.2})
    comparison = compare_samples(base, current)
    assert comparison.common_mode_percent == pytest.approx(6.0, abs=0.3)
    assert comparison.facts["common_low"] < 0.06 < comparison.facts["common_high"]
    assert comparison.facts["common_removed"]
    assert [row.operation for row in comparison.get_regressions()] == ["7"]


def test_pairs_keep_a_shift_of_everything():
    rng = np.random.default_rng(11)
    base, current = many(rng, 30, 8, 5, {str(i): 1.10 for i in range(30)})
    comparison = compare_samples(base, current, paired=True)
    assert not comparison.facts["common_removed"]
    assert len(comparison.get_regressions()) == 30


# --- verdicts -------------------------------------------------------------------------------------------------


def test_the_three_decisions():
    rng = np.random.default_rng(12)
    base, current = {"op": made(rng, 10, 20)}, {"op": made(rng, 10, 20, 1.047e-3)}
    rows = {
        mode: only(compare_samples(base, current, paired=True, decision=mode))
        for mode in ("catch", "estimate", "prove")
    }
    low, estimate, high = rows["catch"].low_percent, rows["catch"].change_percent, rows["catch"].high_percent
    assert low < estimate < 5.0 < high
    assert rows["catch"].change_type is ChangeType.REGRESSION
    assert rows["estimate"].change_type is ChangeType.NO_CHANGE
    assert rows["prove"].change_type is ChangeType.NO_CHANGE
    assert not rows["prove"].conclusive


def test_a_small_real_change_is_shown_and_passes():
    rng = np.random.default_rng(13)
    base, current = {"op": made(rng, 12, 50, spread=0.002)}, {"op": made(rng, 12, 50, 1.018e-3, 0.002)}
    comparison = compare_samples(base, current, paired=True)
    row = only(comparison)
    assert row.q < 1e-6
    assert row.change_type is ChangeType.NO_CHANGE
    assert row.conclusive
    assert row.reason == "below_threshold"
    assert comparison.exit_code == 0


def test_too_little_data_is_not_called_unchanged():
    rng = np.random.default_rng(14)
    base, current = {"op": made(rng, 5, 3, spread=0.3)}, {"op": made(rng, 5, 3, spread=0.3)}
    comparison = compare_samples(base, current, paired=True)
    row = only(comparison)
    assert row.change_type is ChangeType.NO_CHANGE
    assert not row.conclusive
    assert row.needed > 5
    assert row.detectable_percent > 20
    assert comparison.get_exit_code() == 0
    assert comparison.get_exit_code(strict=True) == 3


def test_speedups_mirror_slowdowns():
    rng = np.random.default_rng(15)
    base, current = many(rng, 40, 6, 6, {"1": 1.2, "2": 1 / 1.2, "3": 1.05})
    forth = compare_samples(base, current, paired=True).comparisons
    back = compare_samples(current, base, paired=True).comparisons
    mirror = {ChangeType.REGRESSION: ChangeType.IMPROVEMENT, ChangeType.IMPROVEMENT: ChangeType.REGRESSION}
    for a, b in zip(forth, back, strict=True):
        assert b.change_type is mirror.get(a.change_type, a.change_type)
        assert b.p == pytest.approx(a.p, rel=1e-9)
        assert 1 + b.change_percent / 100 == pytest.approx(1 / (1 + a.change_percent / 100), rel=1e-12)


def test_two_modes_are_reported_and_a_shift_is_not_two_modes():
    rng = np.random.default_rng(16)

    def mixed(slow):
        return [[(1.4e-3 if rng.random() < slow else 1e-3) * math.exp(rng.normal(0, 0.01)) for _ in range(100)]]

    row = only(compare_samples({"op": mixed(0.12)}, {"op": mixed(0.31)}))
    assert row.baseline_slow == pytest.approx(0.12, abs=0.1)
    assert row.current_slow == pytest.approx(0.31, abs=0.15)
    row = only(compare_samples({"op": made(rng, 1, 100)}, {"op": made(rng, 1, 100, 2e-3)}))
    assert row.baseline_slow is None


def test_small_operations_do_not_gate():
    rng = np.random.default_rng(17)
    base = {"large": made(rng, 6, 20, 1.0), "small": made(rng, 6, 20, 1e-6)}
    current = {"large": made(rng, 6, 20, 1.0), "small": made(rng, 6, 20, 1.5e-6)}
    comparison = compare_samples(base, current, paired=True)
    small = comparison.comparisons[1]
    assert small.change_type is ChangeType.REGRESSION
    assert not small.gates
    assert comparison.exit_code == 0


def test_the_order_of_operations_and_repetition_change_nothing():
    rng = np.random.default_rng(18)
    base, current = many(rng, 30, 5, 5, {"4": 1.1})
    first = compare_samples(base, current).to_dict()
    assert compare_samples(base, current).to_dict() == first
    turned = compare_samples(dict(reversed(base.items())), dict(reversed(current.items())))
    by_name = {row.operation: row for row in turned.comparisons}
    for row in first["comparisons"]:
        assert by_name[row["operation"]].p == pytest.approx(row["p"], rel=1e-9)
        assert by_name[row["operation"]].change_type.value == row["change_type"]


# --- odd input ------------------------------------------------------------------------------------------------


def test_operations_of_one_side():
    comparison = compare_samples({"a": [[1.0, 1.1]], "old": [[1.0]]}, {"a": [[1.0, 1.1]], "fresh": [[1.0]]})
    found = {row.operation: row.change_type for row in comparison.comparisons}
    assert found["old"] is ChangeType.REMOVED_OPERATION is ChangeType.REMOVED
    assert found["fresh"] is ChangeType.NEW_OPERATION is ChangeType.NEW
    assert comparison.get_summary().new_operations_count == 1


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_times_that_are_no_times_make_the_operation_invalid(bad):
    comparison = compare_samples({"a": [[1.0, bad]], "b": [[1.0]]}, {"a": [[1.0, 1.1]], "b": [[1.0]]})
    row = comparison.comparisons[0]
    assert row.change_type is ChangeType.INVALID
    assert row.reason == "not_positive"
    assert comparison.comparisons[1].change_type is ChangeType.NO_CHANGE
    assert '"a"' in comparison.to_json()


def test_nothing_at_all():
    comparison = compare_samples({}, {})
    assert comparison.comparisons == []
    assert comparison.exit_code == 4
    row = only(compare_samples({"a": [[]]}, {"a": [[1.0]]}))
    assert row.change_type is ChangeType.INVALID
    assert row.reason == "no_samples"


def test_equal_samples():
    row = only(compare_samples({"a": [[2.0] * 5] * 6}, {"a": [[2.0] * 5] * 6}, paired=True))
    assert row.reason == "equal"
    assert row.change_type is ChangeType.NO_CHANGE
    assert row.p == 1.0
    row = only(compare_samples({"a": [[2.0] * 5] * 6}, {"a": [[3.0] * 5] * 6}, paired=True))
    assert row.change_type is ChangeType.REGRESSION


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"significance_threshold": -1}, "at least 0"),
        ({"significance_threshold": math.nan}, "at least 0"),
        ({"fdr": "holm"}, "unknown correction"),
        ({"decision": "guess"}, "unknown decision"),
        ({"metrics": ("speed",)}, "unknown metric"),
        ({"alpha": 0}, "between 0 and 1"),
        ({"policy": {"nonsense": 1}}, "no threshold"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        compare_samples({"a": [[1.0]]}, {"a": [[1.0]]}, **options)


# --- change points --------------------------------------------------------------------------------------------


def test_a_step_is_found_where_it_is():
    rng = np.random.default_rng(19)
    values = np.concatenate([rng.normal(0, 0.02, 60), rng.normal(0.08, 0.02, 40)])
    points = _core.change_points(values, 0.01, False)
    assert len(points) == 1
    at, p, before, after = points[0]
    assert abs(at - 60) <= 1
    assert p <= 0.001
    assert before == pytest.approx(np.median(values[:at]))
    assert after == pytest.approx(np.median(values[at:]))


def test_two_steps_and_none():
    rng = np.random.default_rng(20)
    steps = np.concatenate([rng.normal(m, 0.02, 40) for m in (0, 0.1, -0.05)])
    assert [point[0] for point in _core.change_points(steps, 0.01, False)] == [40, 80]
    assert _core.change_points(np.full(50, 3.0), 0.01, False) == []
    assert _core.change_points(np.array([1.0, 2.0, 3.0]), 0.01, True) == []
