# SPDX-License-Identifier: Apache-2.0
"""Pairs of launches: which are rejected, when to look at them, and the floor of noise that launches have."""

import json
import math
from array import array

import numpy as np
import pytest
from scipy import stats

from regimeter import GPUProfiler, _core
from regimeter.cli import main
from regimeter.compare import noise_floor
from regimeter.compare.ab.pairs import Pair, common_mode, judge, most_rejected, sides_of, slowed_by
from regimeter.compare.ab.spending import levels_of, looks_of, spent
from regimeter.compare.side import Side
from regimeter.public.run import Run

# --- pairs -------------------------------------------------------------------------------------------------------


def side(values):
    found = Side("side")
    for name, samples in values.items():
        found.metric("time").add(name, samples)
    return found


def pair(number, base, current, **fields):
    both = side(base), side(current)
    return Pair(number, ("base", "current"), ("", ""), both, common_mode=common_mode(*both), **fields)


def machine(factor, *, slow=1.0, operations=12):
    base = {f"op{i}": [1.0, 1.1, 1.2] for i in range(operations)}
    current = {name: [factor * value for value in samples] for name, samples in base.items()}
    current["op0"] = [slow * value for value in current["op0"]]
    return base, current


def test_the_common_mode_is_the_median_ratio_and_needs_ten_operations():
    assert common_mode(*map(side, machine(1.07, slow=3))) == pytest.approx(math.log(1.07))
    assert common_mode(*map(side, machine(1.07, operations=9))) is None


def test_a_pair_that_the_machine_disturbed_is_rejected():
    pairs = [pair(i, *machine(factor)) for i, factor in enumerate((1.0, 1.02, 1.1, 0.99, 1.0), 1)]
    judge(pairs)
    assert [one.number for one in pairs if one.rejected] == [3]
    assert "+10.0 %" in pairs[2].rejected


def test_a_change_of_the_whole_program_is_no_disturbance():
    pairs = [pair(i, *machine(1.5)) for i in range(1, 6)]
    judge(pairs)
    assert not any(one.rejected for one in pairs)


def test_the_values_of_one_operation_never_reject_a_pair():
    pairs = [pair(i, *machine(1.0, slow=slow)) for i, slow in enumerate((1, 100, 0.01, 1, 5), 1)]
    judge(pairs)
    assert not any(one.rejected for one in pairs)


def test_throttling_and_another_frequency_reject_a_pair():
    pairs = [
        pair(1, *machine(1.0), slowed=("hw_thermal",)),
        pair(2, *machine(1.0), frequencies_khz=(3.0e6, 2.4e6)),
        pair(3, *machine(1.0), frequencies_khz=(3.0e6, 2.99e6)),
    ]
    judge(pairs)
    assert "hw_thermal" in pairs[0].rejected
    assert "3.00 and 2.40 GHz" in pairs[1].rejected
    assert pairs[2].rejected is None


def test_a_fifth_of_the_pairs_may_be_rejected():
    for pairs in range(1, 60):
        most = most_rejected(pairs)
        assert most / (pairs + most) <= 0.2 < (most + 1) / (pairs + most + 1)


def test_throttle_bits_are_read_from_the_telemetry_of_a_run(tmp_path):
    thermal = next(bit for name, (bit, _, slows) in _core.clock_reasons().items() if "thermal" in name and slows)
    strings = ["", "device 0/clock_reasons", "device 0/clock_sm_mhz"]
    counters = {"time_ns": array("q", [1, 2, 3]), "series": array("I", [1, 1, 2]),
                "value": array("d", [0.0, float(1 << thermal), 7.0])}  # fmt: skip
    run = Run._build(strings, {"counters": counters}, "{}", "record", 0, 10, 0, True)
    assert any("thermal" in name for name in slowed_by(run))
    assert slowed_by(Run._build([""], {}, "{}", "record", 0, 10, 0, True)) == ()


def test_sides_keep_pairs_together_where_a_launch_lacks_an_operation():
    pairs = [
        Pair(1, ("base", "current"), ("", ""), (side({"a": [1], "b": [10]}), side({"a": [2], "b": [20]}))),
        Pair(2, ("base", "current"), ("", ""), (side({"a": [3]}), side({"a": [4], "b": [99]}))),
        Pair(3, ("base", "current"), ("", ""), (side({"a": [5], "b": [30]}), side({"a": [6], "b": [40], "new": [1]}))),
    ]
    base, current = sides_of(pairs)
    get = lambda one, name: [launch.tolist() for launch in one.metric("time").launches.get(name, ())]  # noqa: E731
    assert get(base, "a") == [[1], [3], [5]]
    assert get(current, "b") == [[20], [40]]
    assert get(base, "b") == [[10], [30]]
    assert get(base, "new") == []
    assert get(current, "new") == [[1]]
    assert "2 of 3 pairs" in base.warnings[0]
    assert set(sides_of(pairs, ["n*"])[1].metric("time").launches) == {"new"}


# --- looks -------------------------------------------------------------------------------------------------------


def test_the_spending_function_is_the_published_one():
    """Lan & DeMets 1983: O'Brien-Fleming type, two-sided .05 at a half spends .0056 (.00305 one-sided .025 doubled)."""
    assert spent(0.05, 0.5) == pytest.approx(0.00557, abs=1e-5)
    assert spent(0.05, 1.0) == pytest.approx(0.05)
    assert spent(0.05, 0.0) == 0


@pytest.mark.parametrize("pairs", [1, 4, 5, 6, 7, 10, 33, 1000])
def test_the_looks_spend_alpha_and_no_more(pairs):
    looks = looks_of(pairs)
    levels = levels_of(0.05, looks)
    assert looks[-1] == pairs
    assert all(look >= 5 for look in looks[:-1])
    assert sum(levels) == pytest.approx(0.05)
    assert all(level > 0 for level in levels)
    assert looks_of(pairs, early=False) == (pairs,)


def test_looking_again_and_again_does_not_alarm_more_often():
    """Normal differences without an effect; .05 may be erred with: in 2000 experiments 100, give or take 10."""
    rng = np.random.default_rng(4)
    differences = rng.normal(0, 1, (2000, 10))
    looks = looks_of(10)
    alarms = np.zeros(2000, dtype=bool)
    for look, level in zip(looks, levels_of(0.05, looks), strict=True):
        alarms |= stats.ttest_1samp(differences[:, :look], 0, axis=1).pvalue < level
    assert alarms.mean() <= 0.05 + 0.01


# --- noise -------------------------------------------------------------------------------------------------------


def launches(rng, count, spread):
    return [side({f"op{i}": np.exp(rng.normal(0, spread)) * np.ones(3) for i in range(12)}) for _ in range(count)]


def test_the_floor_is_the_spread_of_launches():
    rng = np.random.default_rng(1)
    floor = noise_floor.learn(launches(rng, 400, 0.02), {})
    assert floor.overall == pytest.approx(0.02, rel=0.1)
    assert np.median(list(floor.paired.values())) == pytest.approx(0.02 * math.sqrt(2), rel=0.1)
    with pytest.raises(ValueError, match="at least 3"):
        noise_floor.learn(launches(rng, 2, 0.02), {})


def test_detectable_effects_are_those_of_the_t_test():
    """Chow et al.: with sd 1 and n = 10 pairs, 80 % power at .05 needs a mean of about .996."""
    effect = math.log1p(noise_floor.detectable(0.01, 10))
    shifted = stats.nct(9, effect / 0.01 * math.sqrt(10))
    assert shifted.sf(stats.t.ppf(0.975, 9)) == pytest.approx(0.8, abs=0.02)


def test_compare_uses_the_kept_floor_unless_told_another(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("REGIMETER_CACHE", str(tmp_path))
    with GPUProfiler(enable_detailed_metrics=False) as profiler:
        with profiler.profile("op", device="cpu"):
            pass
        here = profiler.run().environment
    for name, factor in (("base", 1.0), ("current", 1.6)):
        entries = [
            {"operation": f"op{at}", "duration_ms": (1 if at else factor) * (10 + 0.01 * i)}
            for i in range(20)
            for at in range(4)
        ]
        (tmp_path / f"{name}.json").write_text(json.dumps({"entries": entries, "environment": here}))
    words = ["compare", str(tmp_path / "base.json"), str(tmp_path / "current.json")]
    assert main(words) == 1
    noise_floor.keep(noise_floor.NoiseFloor({"op0": 0.3}, {"op0": 0.3}, 20, here))
    assert main(words) == 0
    assert main([*words, "--run-floor", "1%"]) == 1
    capsys.readouterr()
