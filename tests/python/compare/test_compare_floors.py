# SPDX-License-Identifier: Apache-2.0
"""What a few processes a side may say: which floor holds, what widens it, and what is said below it.

Samples are logarithms around known centers, so that what was done to a side is known.
"""

import math

import numpy as np
import pytest

from regimeter import ChangeType, ProfilerComparison, _core
from regimeter.cli import main
from regimeter.compare.rows import LARGEST_BOUND, least_q
from regimeter.compare.side import Side

HERE = {"host": "here", "cpu": "some"}
VIRTUAL, BARE = HERE | {"virtual": True}, HERE | {"virtual": False}
NAMES = tuple("abcdefg")
POLICY = {name: row["default"] for name, row in _core.compare_policy().items()}


def side(processes, environment=VIRTUAL, metric="time"):
    """A side of processes, each {operation: samples in ms}."""
    found = Side("x", environments=[dict(environment)] * len(processes))
    for process in processes:
        for name, values in process.items():
            found.metric(metric).add(name, np.array(values) * 1e-3)
    return found


def process(seed, factors=None, count=25, spread=0.02, names=NAMES):
    """What one process measured: operations of 1, 2, ... ms, each times its factor; `*` is for all."""
    rng, factors = np.random.default_rng(seed), factors or {}
    return {
        name: (at + 1) * factors.get("*", 1) * factors.get(name, 1) * np.exp(rng.normal(0, spread, count))
        for at, name in enumerate(names)
    }


def compared(base, current, environment=VIRTUAL, **options):
    return ProfilerComparison(side(base, environment), side(current, environment), **options)


def called(comparison):
    return {row.operation: row.change_type for row in comparison.comparisons if row.is_significant}


# --- one process a side ---------------------------------------------------------------------------------------


def test_a_slower_machine_is_no_slower_program():
    """Everything took 1.4 to 1.9 times as long: that is what a busy sibling thread does."""
    factors = dict(zip(NAMES, np.linspace(1.4, 1.9, len(NAMES)), strict=True))
    comparison = compared([process(1)], [process(2, factors)])
    assert called(comparison) == {}
    assert {row.reason for row in comparison.comparisons} == {"machine"}
    assert not any(row.conclusive for row in comparison.comparisons)
    assert (comparison.outcome, comparison.exit_code, comparison.get_exit_code(strict=True)) == ("undecided", 0, 3)
    text = comparison.to_text()
    assert text.startswith("PERF UNDECIDED  0 regressions, 0 improvements")
    assert "one process a side cannot tell the program from the machine" in text
    assert "More data: regimeter ab --base CMD --current CMD --pairs 10" in text


@pytest.mark.parametrize("slower", np.geomspace(1.01, 100, 40))
def test_the_interval_says_what_the_verdict_says(slower):
    """Of a call that nothing stands beside: where its interval is beyond the threshold, it is called slower."""
    (row,) = compared([{"call": [20.0]}], [{"call": [20.0 * slower]}]).comparisons
    assert (row.low_percent > 5) == (row.change_type is ChangeType.REGRESSION)
    assert row.low_percent < row.change_percent < row.high_percent


def test_what_operations_have_in_common_is_no_verdict_either():
    names = tuple("abcdefghijkl")
    comparison = compared([process(1, names=names)], [process(2, {"*": 1.3}, names=names)])
    assert comparison.outcome == "undecided"
    line = next(line for line in comparison.to_text().splitlines() if line.startswith("A call of the median"))
    assert line.endswith("; one process a side cannot tell the program from the machine")


def test_what_stands_out_from_the_others_is_the_program():
    comparison = compared([process(1)], [process(2, {"c": 2.0})])
    assert called(comparison) == {"c": ChangeType.REGRESSION}
    assert comparison.exit_code == 1
    assert called(compared([process(1, {"c": 2.0})], [process(2)])) == {"c": ChangeType.IMPROVEMENT}
    slower = compared([process(1)], [process(2, {"*": 1.3, "c": 2.0})])
    assert called(slower) == {"c": ChangeType.REGRESSION}, "beside a machine that was slower as a whole"


def test_an_operation_that_stands_still_on_a_slower_machine_is_not_called_faster():
    """Beside the others it got faster; in itself it did not change. Only what holds both ways is said."""
    comparison = compared([process(1)], [process(2, dict.fromkeys(NAMES[1:], 1.8))])
    assert called(comparison) == {}
    row = comparison.comparisons[0]
    assert row.low_percent < 100 * (1 / 1.8 - 1) < 0 < row.high_percent


def test_with_few_operations_the_machine_may_be_slower_as_a_whole():
    names = NAMES[:3]
    for factor, found in ((1.8, {}), (12.0, {"b": ChangeType.REGRESSION})):
        comparison = compared([process(1, names=names)], [process(2, {"b": factor}, names=names)])
        assert called(comparison) == found
    bare = compared([process(1, names=names)], [process(2, {"b": 1.8}, names=names)], BARE)
    assert called(bare) == {"b": ChangeType.REGRESSION}


def test_samples_that_scatter_widen_the_floor():
    """A machine that changed while a process ran may as well have changed between two."""
    steady = compared([process(1)], [process(2, {"c": 2.0})])
    shaken = compared([process(1)], [process(2, {"c": 2.0}, spread=0.3)])
    assert called(steady)
    assert not called(shaken)
    half = [math.log1p(one.comparisons[2].high_percent / 100) for one in (steady, shaken)]
    assert half[1] > half[0]


def test_one_sample_a_side_says_nothing():
    comparison = compared([process(1, count=1)], [process(2, {"c": 2.5}, count=1)])
    assert called(comparison) == {}
    assert "Of 7 rows a side has one sample" in comparison.to_text()
    assert "40 % is taken for it, which is not measured" in comparison.to_text()
    far = compared([process(1, count=1)], [process(2, {"c": 60.0}, count=1)])
    assert called(far) == {"c": ChangeType.REGRESSION}, "beyond anything that the floor allows"


@pytest.mark.parametrize(
    ("environments", "floor", "words"),
    [
        ((VIRTUAL, VIRTUAL), "virtual_floor", "6 % (a default for virtual machines, whose neighbours nobody sees)"),
        ((BARE, BARE), "bare_floor", "3 % (a default for machines that are not virtual)"),
        ((BARE, VIRTUAL), "virtual_floor", "6 % (a default for virtual"),
        ((HERE, HERE), "virtual_floor", "6 % (a default for virtual"),
        (({}, {}), "run_floor", "5 % (a default for files that do not say what they were measured on)"),
    ],
)
def test_the_kind_of_machine_decides_the_default_and_is_said(environments, floor, words):
    sides = [side([process(at)], environment) for at, environment in enumerate(environments)]
    comparison = ProfilerComparison(*sides)
    assert comparison.policy.get("run_floor", POLICY["run_floor"]) == POLICY[floor]
    assert f"taken to differ by {words}" in comparison.to_text()


def test_what_is_given_is_taken_as_it_is():
    comparison = compared([process(1)], [process(2, {"*": 1.2})], run_floor=0.01)
    assert set(called(comparison)) == set(NAMES)
    assert "1 % (as given)" in comparison.to_text()


def test_memory_is_not_widened_by_what_a_machine_does_to_times():
    sides = []
    for at, peak in enumerate((50e6, 80e6)):
        one = side([process(at)])
        one.metric("total_memory").add("peak resident memory", [peak])
        sides.append(one)
    (row,) = ProfilerComparison(*sides).wholes
    assert row.change_type is ChangeType.REGRESSION


# --- a few processes ------------------------------------------------------------------------------------------


def spread_out(seeds, spread):
    """Processes that differ by so much in each operation."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        yield process(seed, {name: math.exp(rng.normal(0, spread)) for name in NAMES})


def test_a_baseline_of_several_processes_brings_its_own_spread():
    """Five against one: what the five differ by decides where it is more than the default."""
    quiet, shaken = list(spread_out(range(5), 0.01)), list(spread_out(range(5), 0.4))
    new = [process(9, {"c": 2.0})]
    assert called(compared(quiet, new)) == {"c": ChangeType.REGRESSION}
    assert called(compared(shaken, new)) == {}
    text = compared(quiet, new).to_text()
    assert "5 against 1 processes: their own spread (4 degrees of freedom) counts where it is more" in text


def test_two_against_two_are_few_and_said_to_be():
    comparison = compared(list(spread_out((1, 2), 0.2)), list(spread_out((3, 4), 0.2)))
    assert called(comparison) == {}
    assert "2 against 2 processes: their own spread (2 degrees of freedom)" in comparison.to_text()
    assert "2 against 2 processes cannot tell the program from the machine" in comparison.to_text()


def test_the_same_program_is_rarely_called_and_a_doubled_operation_nearly_always():
    """Processes whose machine makes all operations slower by a common factor, and each by one of its own."""

    def on_some_machine(seed, factors=None):
        rng = np.random.default_rng([seed, 5])
        common = math.exp(abs(rng.normal(0, 0.3)))
        own = {name: common * math.exp(rng.normal(0, 0.05)) for name in NAMES}
        return process(seed, {name: value * (factors or {}).get(name, 1) for name, value in own.items()})

    alarms = sum(bool(called(compared([on_some_machine(at)], [on_some_machine(at + 500)]))) for at in range(100))
    found = [
        called(compared([on_some_machine(at)], [on_some_machine(at + 500, {"d": 2.0})])) == {"d": ChangeType.REGRESSION}
        for at in range(100)
    ]
    assert alarms <= 3
    assert sum(found) >= 70


# --- probabilities --------------------------------------------------------------------------------------------


def test_no_probability_is_printed_that_so_few_processes_do_not_support(tmp_path, capsys):
    far = {"c": 5.0}
    alone = compared([process(1)], [process(2, far)])
    assert {row.q for row in alone.comparisons} == {None}
    assert {row.p for row in alone.comparisons} == {None}
    several = compared([process(at) for at in range(3)], [process(at + 5, far) for at in range(3)])
    paired = compared(
        [process(at, spread=1e-4) for at in range(12)], [process(at + 50, far, spread=1e-4) for at in range(12)],
        paired=True,
    )  # fmt: skip
    for comparison, bound in ((several, "< 0.01"), (paired, f"< {2 / 2**12:.0e}")):
        for style in ("text", "markdown", "junit"):
            text = comparison.render(style)
            assert bound.replace("<", "&lt;") in text or bound in text
            assert "e-1" not in text
    assert [least_q("paired", 20, 20, 20), least_q("launches", 0, 10, 10)] == [2 / 2**20, 2 / math.comb(20, 10)]
    assert [least_q("exact", 0, 3, 3), least_q("single", 0, 1, 1)] == [None, LARGEST_BOUND]


# --- recordings say what they were made on --------------------------------------------------------------------


def test_recordings_carry_the_kind_of_their_machine(tmp_path, capsys):
    from regimeter import GPUProfiler, load
    from regimeter.run.environment import Environment
    from regimeter.system.processors import is_virtual

    files = [str(tmp_path / f"{at}.rgm") for at in range(2)]
    for path in files:
        profiler = GPUProfiler(path=path, enable_detailed_metrics=False)
        for _ in range(25):
            for name in NAMES[:4]:
                with profiler.profile(name, device="cpu"):
                    sum(range(300))
        profiler.close()
        assert Environment.of(load(path).environment).virtual == is_virtual()
    load(files[0]).export_json(str(tmp_path / "0.json"))
    for base in (files[0], str(tmp_path / "0.json")):
        main(["compare", base, files[1]])
        text = capsys.readouterr().out
        assert (
            f"taken to differ by {100 * POLICY['bare_floor' if is_virtual() is False else 'virtual_floor']:g} %" in text
        )
