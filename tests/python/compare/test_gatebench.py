# SPDX-License-Identifier: Apache-2.0
"""The bench of the gate: peers' rules on cases made by hand, and noise models that are what they say."""

import numpy as np
import pytest
from needed import benchmarks
from scipy import stats

benchmarks("gate")

import engine  # noqa: E402
import models  # noqa: E402
import peers  # noqa: E402
import suites  # noqa: E402

EVEN = np.linspace(1.0, 1.01, 20)[None, :]


def called(rule, before, after):
    return bool(rule(np.asarray(before), np.asarray(after))[0])


# --- peers ----------------------------------------------------------------------------------------------------


def test_fixed_thresholds_call_what_is_beyond_them():
    for rule in (peers.mean_5_percent, peers.pytest_benchmark):
        assert not called(rule, EVEN, EVEN * 1.049)
        assert called(rule, EVEN, EVEN * 1.051)
        assert called(rule, EVEN, EVEN * 0.949)


def test_pytest_benchmarks_median_does_not_see_an_outlier_and_the_mean_does():
    far = EVEN.copy()
    far[0, -1] = 100.0
    assert not called(peers.pytest_benchmark, EVEN, far)
    assert called(peers.mean_5_percent, EVEN, far)


def test_mann_whitney_is_scipys():
    rng = np.random.default_rng(1)
    before, after = rng.normal(size=(30, 40)), rng.normal(0.3, 1, size=(30, 25))
    expected = stats.mannwhitneyu(before, after, axis=1, method="asymptotic").pvalue
    assert peers.mann_whitney_p(before, after) == pytest.approx(expected, rel=1e-10)


def test_benchstat_calls_what_asv_lets_pass_below_its_factor():
    assert called(peers.benchstat, EVEN, EVEN * 1.05)
    assert not called(peers.asv, EVEN, EVEN * 1.05)
    assert called(peers.asv, EVEN, EVEN * 1.12)
    assert not called(peers.benchstat, EVEN, EVEN)


def test_criterion_needs_significance_and_more_than_its_noise_threshold():
    assert not called(peers.criterion, EVEN, EVEN * 1.005)
    assert called(peers.criterion, EVEN, EVEN * 1.05)
    wide = np.linspace(0.5, 1.5, 20)[None, :]
    assert not called(peers.criterion, wide, wide * 1.05)


def test_nvbenchs_legacy_band_is_the_smaller_relative_deviation():
    noise = EVEN.std(ddof=1) / EVEN.mean()
    wide = np.linspace(0.8, 1.2, 20)[None, :] * EVEN.mean()
    assert not called(peers.nvbench_legacy, EVEN, wide * (1 + 0.9 * noise))
    assert called(peers.nvbench_legacy, EVEN, wide * (1 + 1.1 * noise))


def test_nvbenchs_robust_rule_needs_a_gap_between_intervals():
    top = float(np.quantile(EVEN, 0.75))
    assert not called(peers.nvbench_robust, EVEN, EVEN * top * 1.004)
    assert called(peers.nvbench_robust, EVEN, EVEN * top * 1.006)
    assert called(peers.nvbench_robust, EVEN * top * 1.006, EVEN)


# --- noise ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", models.SINGLE)
def test_models_give_both_sides_the_same_distribution(model):
    first, second = (np.median(model(np.random.default_rng(seed), 2000, 20), axis=1) for seed in (1, 2))
    assert stats.ks_2samp(first, second).pvalue > 1e-3


def test_launches_of_a_pair_share_the_state_and_sequences_do_not():
    still = models.Machine("still", state=0.05, launch=0, sample=0, outliers=0, modes=0, spread=0)
    rng = np.random.default_rng(3)
    within, between = [], []
    for _ in range(200):
        logs = models.launches(rng, still, 1, 10, 1)[:, 0, :, 0]
        within.append(np.var(logs[1] - logs[0]))
        logs = models.launches(rng, still, 1, 10, 1, randomised=False)[:, 0, :, 0]
        between.append((logs[1].mean() - logs[0].mean()) ** 2)
    # Neighbours of an AR(1) of correlation .98 differ by 2 (1 - .98) of its variance.
    assert np.mean(within) == pytest.approx(0.05**2 * 2 * 0.02, rel=0.15)
    assert np.mean(between) > 5 * np.mean(within)


def test_wilsons_interval_is_scipys():
    for successes, trials in ((0, 20), (3, 60), (60, 60), (500, 1000)):
        expected = stats.binomtest(successes, trials).proportion_ci(method="wilson")
        assert suites.wilson(successes, trials) == pytest.approx((expected.low, expected.high), abs=1e-12)


# --- ours -----------------------------------------------------------------------------------------------------


def test_the_engine_on_arrays_says_what_it_says_on_lists():
    from regimeter import compare_samples

    rng = np.random.default_rng(5)
    base, current = (1e-3 * np.exp(rng.normal(0, 0.02, (12, 6, 5))) for _ in range(2))
    names = [f"op{i}" for i in range(12)]
    listed = compare_samples(
        dict(zip(names, base.tolist(), strict=True)), dict(zip(names, current.tolist(), strict=True)), paired=True
    )
    report = engine.compare(base, current, paired=True)
    assert report.p == pytest.approx([row.p for row in listed.comparisons], rel=1e-12)
    assert 100 * report.detectable == pytest.approx([row.detectable_percent for row in listed.comparisons], rel=1e-12)


def test_noise_that_all_operations_share_does_not_make_them_surer():
    """All operations of a pair shift together: they are one witness, not two hundred.

    In 5 % of the reports all is false then, not in more: in 300 reports 15, give or take 4. Without the limit on what
    operations lend one another it is the normal distribution's tail of Student's t with 4 degrees: 12 %, 36 reports.
    """
    rng = np.random.default_rng(6)
    alarms = 0
    for _ in range(300):
        shift = rng.normal(0, 0.05, (1, 5, 1))
        base = np.exp(rng.normal(0, 0.001, (200, 5, 3)))
        current = np.exp(rng.normal(0, 0.001, (200, 5, 3)) + shift)
        alarms += bool((engine.compare(base, current, paired=True).p < 0.05).mean() > 0.5)
    assert alarms <= 15 + 2.5 * 4


def test_what_is_called_detectable_is_detected():
    """In a report of many operations: 80 % at the effect that it states."""
    rng = np.random.default_rng(7)
    found = []
    for _ in range(60):
        logs = rng.normal(0, 0.01, (2, 200, 10, 1))
        null = engine.compare(np.exp(logs[0]), np.exp(logs[1]), paired=True)
        logs[1, 0] += np.log1p(null.detectable[0])
        found.append(engine.compare(np.exp(logs[0]), np.exp(logs[1]), paired=True).q[0] < 0.05)
    assert 0.8 - 2.5 * np.sqrt(0.16 / 60) <= np.mean(found) <= 1.0


def test_one_process_a_side_is_not_called_changed_below_what_it_can_detect():
    rng = np.random.default_rng(8)
    logs = rng.normal(0, 0.005, (2, 400, 1, 50)) + rng.normal(0, 0.012, (2, 400, 1, 1))
    logs[1] += 0.03
    report = engine.compare(np.exp(logs[0]), np.exp(logs[1]), paired=False, fdr="none", run_floor=0.01)
    size = np.expm1(np.abs(np.log1p(report.change)))
    assert report.changed.any()
    assert (size[report.changed] >= report.detectable[report.changed]).all()
    assert ((report.p < 0.05) & ~report.changed).any()
