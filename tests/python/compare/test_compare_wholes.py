# SPDX-License-Identifier: Apache-2.0
"""The single tests beside the family: total time and peak memory of a program, against SciPy and by hand."""

import json
import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from runs import build_run, span
from scipy import stats

from regimeter import ChangeType, ProfilerComparison, _core
from regimeter.cli import main
from regimeter.compare.ab.pairs import two_sides
from regimeter.compare.sources import side_of
from regimeter.compare.wholes import PEAK, RESIDENT, ROUND, STEP, TOTAL

MS, MB = 1_000_000, 1_000_000
SAMPLE, ALLOC = (_core.MEMORY_ACTIONS.index(action) for action in ("sample", "alloc"))
TIGHT = 1e-10


def scopes(lengths, names=("a", "b"), gap=10_000, children=()):
    """Return the spans of root scopes, called in turn, each with children of the given lengths."""
    rows, now = [], 0
    for turn in lengths:
        for name, length in zip(names, turn, strict=False):
            rows.append(span("scope", name, 0, now, length))
            begin = now
            for child in children:
                rows.append(span("scope", "inner", 0, begin, child))
                begin += child
            now += length + gap
    return rows


def run_of(lengths, memory=(), **more):
    return build_run(scopes(lengths, **more), parents=True, memory=list(memory))


def resident(*sizes):
    return [{"time_ns": at, "device": -1, "action": SAMPLE, "bytes": size} for at, size in enumerate(sizes)]


def allocated(*sizes):
    return [
        {"time_ns": at, "device": 0, "action": ALLOC, "bytes": 1, "allocated": size} for at, size in enumerate(sizes)
    ]


def noisy(rng, rounds=6, factor=1.0, spread=0.05, **more):
    """Return the run of a process whose rounds share an offset of their own."""
    offset = factor * math.exp(rng.normal(0, spread))
    lengths = np.rint(2 * MS * offset * np.exp(rng.normal(0, 0.01, (rounds, 2)))).astype(int)
    return run_of(lengths.tolist(), **more)


def by_metric(comparison):
    return {row.metric: row for row in comparison.wholes}


def per_round(run):
    """Seconds of a round: all root scopes by all rounds, from the spans alone."""
    spans = run.spans
    lengths = [int(d) for d, p in zip(spans.duration_ns, spans.parent, strict=True) if p < 0]
    return sum(lengths) * 1e-9 / (len(lengths) / 2)


# --- what stands for the whole --------------------------------------------------------------------------------


def test_root_scopes_that_are_called_equally_often_are_rounds():
    side = side_of(run_of([[3 * MS, MS], [5 * MS, MS]], children=(MS // 2,)), "x")
    times = side.metrics["total_time"].launches
    assert times[ROUND][0].tolist() == pytest.approx([0.004, 0.006])  # children do not count again
    assert times[TOTAL][0].tolist() == pytest.approx([0.010])


def test_scopes_that_overlap_count_once_and_make_no_rounds():
    rows = [span("scope", "a", lane, start * MS, 4 * MS) for lane, start in ((0, 0), (1, 2), (0, 10), (1, 11))]
    times = side_of(build_run(rows, ({"process": 0}, {"process": 0, "thread": 1})), "x").metrics["total_time"].launches
    assert list(times) == [TOTAL]
    assert times[TOTAL][0].tolist() == pytest.approx([0.011])  # 0 to 6 ms and 10 to 15 ms


def test_calls_that_differ_make_a_total_in_which_calls_count():
    once, twice = run_of([[2 * MS, MS], [2 * MS]]), run_of([[2 * MS, MS]] * 2)
    (row,) = ProfilerComparison([once] * 3, [twice] * 3).wholes
    assert row.operation == TOTAL
    assert (row.baseline, row.current) == (pytest.approx(0.005), pytest.approx(0.006))
    # Operations by call are as they were; there is more to do, and that is no slower program.
    comparison = ProfilerComparison([once] * 3, [twice] * 3)
    assert (row.gates, row.is_significant, row.p) == (False, False, None)
    assert comparison.failures == comparison.whole_failures == []
    assert comparison.exit_code == 0
    assert "Calls a process: b 1 → 2" in comparison.to_text()


@pytest.mark.parametrize("role", ["gc", "backward"])
def test_what_the_program_does_not_decide_makes_no_other_calls(role):
    """A collection of garbage more, or a backward pass more that the recorder took apart, is no other work."""

    def made(often):
        rows = [span("scope", "pass", 0, 0, 10 * MS, parent=-1, category=role)]
        rows += [span("scope", "part", 0, (n + 1) * MS, MS // 2, parent=0, category=role) for n in range(often)]
        return build_run(rows)

    comparison = ProfilerComparison([made(2)] * 3, [made(3)] * 3)
    (row,) = comparison.wholes
    assert (row.operation, row.reason == "calls") == (TOTAL, False)
    assert comparison.comparisons[1].calls == (2, 3)
    assert "Calls a process" not in comparison.to_text()


def test_a_collection_of_garbage_between_rounds_leaves_them_rounds():
    def made(at):
        rows = scopes([[2 * MS, MS]] * 4)
        return build_run([*rows, span("scope", "gc generation 1", 0, rows[at]["start_ns"] - 8000, 5000, category="gc")])

    sides = [[made(2)] * 3, [build_run(scopes([[2 * MS, MS]] * 4))] * 3]
    (row,) = ProfilerComparison(*sides).wholes
    assert (row.operation, row.change_percent) == (ROUND, pytest.approx(0))


def test_a_side_without_collections_does_not_make_those_of_the_other_calls():
    """As that of a history, which does not keep what is decided by chance."""
    rows = [*scopes([[2 * MS, MS], [2 * MS]]), span("scope", "gc generation 1", 0, 9 * MS, 5000, category="gc")]
    kept, new = (side_of(build_run(rows), "x") for _ in range(2))
    kept.not_counted.clear()
    kept.metrics["time"].launches["gc generation 1"] = [np.array([5e-6, 5e-6])]
    (row,) = ProfilerComparison(kept, new).wholes
    assert (row.operation, row.reason == "calls") == (TOTAL, False)


def test_a_longer_recording_is_no_slower_program():
    comparison = ProfilerComparison([run_of([[MS, MS]] * 4)] * 3, [run_of([[MS, MS]] * 9)] * 3)
    (row,) = comparison.wholes
    assert (row.operation, row.change_percent, row.change_type) == (ROUND, 0.0, ChangeType.NO_CHANGE)


def test_steps_of_a_trace_are_its_rounds():
    rows = [span("annotation", f"ProfilerStep#{n}", 0, n * 10 * MS, (5 + n) * MS, step=n) for n in range(3)]
    side = side_of(build_run(rows), "x")
    assert side.metrics["total_time"].launches[STEP][0].tolist() == pytest.approx([0.005, 0.006, 0.007])


def test_the_allocators_peak_goes_before_the_resident_set():
    both = side_of(run_of([[MS, MS]], memory=resident(9 * MB, 11 * MB) + allocated(3 * MB, 7 * MB, 2 * MB)), "x")
    assert both.metrics["total_memory"].launches == {PEAK: [np.array([7.0 * MB])]}
    host = side_of(run_of([[MS, MS]], memory=resident(9 * MB, 11 * MB, 10 * MB)), "x")
    assert host.metrics["total_memory"].launches == {RESIDENT: [np.array([11.0 * MB])]}
    assert "total_memory" not in side_of(run_of([[MS, MS]]), "x").metrics


def test_samples_without_a_run_have_no_whole():
    assert ProfilerComparison({"a": [[1.0]]}, {"a": [[2.0]]}).wholes == []


# --- the tests ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("before", "after"), [(3, 3), (4, 9), (10, 10)])
def test_processes_are_compared_by_welchs_test_on_their_totals(before, after):
    rng = np.random.default_rng([before, after])
    sides = [noisy(rng) for _ in range(before)], [noisy(rng, factor=1.03) for _ in range(after)]
    row = by_metric(ProfilerComparison(*sides))["total_time"]
    base, current = ([math.log(per_round(run)) for run in side] for side in sides)
    expected = stats.ttest_ind(current, base, equal_var=False)
    ends = expected.confidence_interval(0.95)
    assert row.tier == "launches"
    assert row.p == row.q == pytest.approx(expected.pvalue, rel=TIGHT)
    assert row.low_percent == pytest.approx(100 * math.expm1(ends.low), rel=1e-8)
    assert row.high_percent == pytest.approx(100 * math.expm1(ends.high), rel=1e-8)
    # What this test detects in four of five cases, from the same quantiles.
    error = abs(expected.statistic and (np.mean(current) - np.mean(base)) / expected.statistic)
    quantiles = stats.t.ppf(0.975, expected.df) + stats.t.ppf(0.8, expected.df)
    assert row.detectable_percent == pytest.approx(100 * math.expm1(error * quantiles), rel=1e-8)


def test_pairs_are_compared_by_the_paired_t_test_on_their_totals():
    rng = np.random.default_rng(8)
    sides = [noisy(rng) for _ in range(7)], [noisy(rng) for _ in range(7)]
    row = by_metric(ProfilerComparison(*sides, paired=True))["total_time"]
    base, current = ([math.log(per_round(run)) for run in side] for side in sides)
    assert (row.tier, row.pairs) == ("paired", 7)
    assert row.p == pytest.approx(stats.ttest_rel(current, base).pvalue, rel=TIGHT)


def test_resident_memory_is_tested_by_processes_and_not_adjusted_with_the_operations():
    rng = np.random.default_rng(9)
    sizes = [np.rint(100e6 * factor * np.exp(rng.normal(0, 0.01, 5))).astype(int) for factor in (1.0, 1.2)]
    sides = [[noisy(rng, memory=resident(int(size))) for size in side] for side in sizes]
    comparison = ProfilerComparison(*sides)
    row = by_metric(comparison)["total_memory"]
    expected = stats.ttest_ind(np.log(sizes[1]), np.log(sizes[0]), equal_var=False)
    assert row.p == row.q == pytest.approx(expected.pvalue, rel=TIGHT)
    assert row.change_type is ChangeType.REGRESSION
    assert (comparison.failures, comparison.whole_failures, comparison.exit_code) == ([], [row], 1)


def test_one_process_a_side_is_judged_by_its_rounds_and_the_floor():
    rng = np.random.default_rng(10)
    base, current = noisy(rng, rounds=40, spread=0), noisy(rng, rounds=40, spread=0, factor=1.4)
    row = by_metric(ProfilerComparison(base, current))["total_time"]
    assert (row.tier, row.baseline_samples, row.change_type) == ("single", 40, ChangeType.REGRESSION)
    assert row.detectable_percent > 100 * math.expm1(2.8 * math.sqrt(2) * 0.05)  # what nothing is known of
    little = by_metric(ProfilerComparison(base, noisy(rng, rounds=40, spread=0, factor=1.15)))["total_time"]
    assert (little.change_type, little.reason) == (ChangeType.NO_CHANGE, "machine")


@pytest.mark.parametrize(
    ("after", "change", "reason"),
    [
        (70.0, ChangeType.NO_CHANGE, "equal"),
        (70.6, ChangeType.NO_CHANGE, "below_threshold"),  # within 1 %
        (70.8, ChangeType.REGRESSION, "exact_difference"),
        (69.0, ChangeType.IMPROVEMENT, "exact_difference"),
    ],
)
def test_exact_peaks_are_compared_exactly_beyond_their_tolerance(after, change, reason):
    sides = [[run_of([[MS, MS]] * 3, memory=allocated(int(peak * MB)))] * 3 for peak in (70, after)]
    comparison = ProfilerComparison(*sides)
    row = by_metric(comparison)["total_memory"]
    assert (row.tier, row.change_type, row.reason, row.p) == ("exact", change, reason, None)
    assert comparison.exit_code == (1 if change is ChangeType.REGRESSION else 0)
    strict = by_metric(ProfilerComparison(*sides, policy={"peak_tolerance": 0.0}))["total_memory"]
    assert strict.is_significant == (after != 70.0)


def test_allocator_peaks_that_vary_are_compared_statistically():
    peaks = [70, 71, 70, 72], [90, 91, 93, 90]
    sides = [[run_of([[MS, MS]] * 3, memory=allocated(peak * MB)) for peak in side] for side in peaks]
    row = by_metric(ProfilerComparison(*sides))["total_memory"]
    expected = stats.ttest_ind(np.log(peaks[1]), np.log(peaks[0]), equal_var=False)
    assert (row.tier, row.p) == ("launches", pytest.approx(expected.pvalue, rel=TIGHT))


def test_a_single_test_does_not_err_more_often_than_its_level():
    """40 comparisons of nothing: 2 with p < .05 expected, give or take 1.4; none may be called changed with sd 5 % and
    threshold 30 %."""
    rng = np.random.default_rng(11)
    small = 0
    for _ in range(40):
        sides = [[noisy(rng, rounds=2) for _ in range(5)] for _ in range(2)]
        (row,) = ProfilerComparison(*sides, 30.0, paired=True).wholes
        small += row.p < 0.05
        assert row.change_type is ChangeType.NO_CHANGE
    assert 1 <= small <= 7


def test_wholes_can_be_left_out_and_accepted():
    sides = [run_of([[MS, MS]] * 5, memory=allocated(peak * MB)) for peak in (50, 60)]
    assert [row.metric for row in ProfilerComparison(*sides, wholes=("total_time",)).wholes] == ["total_time"]
    assert ProfilerComparison(*sides, wholes=()).exit_code == 0
    with pytest.raises(ValueError, match="unknown whole 'x'"):
        ProfilerComparison(*sides, wholes=("x",))


# --- reports --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def grown():
    """Three processes a side; the whole is 20 % slower, its peak memory 10 % larger."""
    rng = np.random.default_rng(12)
    sides = [
        [noisy(rng, spread=0.005, factor=factor, memory=allocated(peak * MB)) for _ in range(3)]
        for factor, peak in ((1.0, 50), (1.2, 55))
    ]
    return ProfilerComparison(*sides)


def test_every_format_tells_the_single_tests(grown):
    text = grown.to_text().splitlines()
    assert text[0].startswith("PERF FAILED")
    assert re.match(r"Total time of a round is \d+\.\d % slower \(", text[1]), "first what it comes to, in a sentence"
    assert text[2].startswith("Total time of a round: SLOWER, fails the gate, ")
    assert "could have missed: below" in text[2]
    assert text[3] == "Peak memory: LARGER, fails the gate, 50 MB → 55 MB, +10.0 %, exact"
    document = json.loads(grown.to_json())
    assert [(row["operation"], row["metric"], row["change_type"]) for row in document["wholes"]] == [
        (ROUND, "total_time", "regression"),
        (PEAK, "total_memory", "regression"),
    ]
    assert document["exit_code"] == 1
    cases = {case.get("classname"): case for case in ElementTree.fromstring(grown.to_junit()).iter("testcase")}
    for metric in ("total_time", "total_memory"):
        assert cases[f"regimeter.compare.{metric}"].find("failure") is not None
    assert "- Total time of a round: SLOWER" in grown.to_markdown()
    assert "::error title=Peak memory grew::Peak memory: LARGER" in grown.render("github")
    assert "Total time of a round: SLOWER, fails the gate" in grown.to_html()
    assert [line.split(",")[0] for line in grown.to_csv().splitlines()[1:3]] == [ROUND, PEAK]


def test_the_commands_gate_on_the_whole(tmp_path, capsys):
    files = []
    for name, peak in (("base", 50), ("now", 60)):
        files.append(str(tmp_path / f"{name}.rgm"))
        run_of([[MS, MS]] * 5, memory=allocated(peak * MB)).save(files[-1])
    assert main(["compare", *files]) == 1
    assert "Peak memory: LARGER, fails the gate" in capsys.readouterr().out
    assert main(["compare", *files, "--no-whole", "total_memory"]) == 0
    assert main(["compare", *files, "--fail-on", "never"]) == 0


# --- pairs ----------------------------------------------------------------------------------------------------


def test_pairs_of_files_stay_pairs_where_one_process_lacks_an_operation(tmp_path, capsys):
    """Process i of both sides shares an offset. Without the second pair the pairs agree to the last bit; taken by
    their places, one side's third value would stand beside the other's second."""
    offsets = (1.0, 1.5, 0.7, 2.0, 0.5, 3.0, 1.2)
    lists = [], []
    for side, factor in enumerate((1.0, 1.1)):
        for number, offset in enumerate(offsets):
            names = ("a",) if (side, number) == (0, 1) else ("a", "b")
            path = tmp_path / f"{side}-{number}.rgm"
            run_of([[round(10 * MS * offset * factor)] * 2] * 3, names=names).save(str(path))
            lists[side].append(str(path))
    comparison = ProfilerComparison(*lists, paired=True)
    rows = {row.operation: row for row in comparison.comparisons}
    assert (rows["a"].pairs, rows["b"].pairs) == (7, 6)
    assert rows["b"].change_percent == pytest.approx(10.0, abs=1e-4)
    assert rows["b"].high_percent - rows["b"].low_percent < 1e-3  # the offsets cancel, so pairs are true pairs
    assert "'b' is in both launches of 6 of 7 pairs only" in comparison.warnings
    # The command has the same way.
    assert main(["compare", ",".join(lists[0]), ",".join(lists[1]), "--paired", "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert {row["operation"]: row["pairs"] for row in document["comparisons"]} == {"a": 7, "b": 6}


def test_pairs_need_as_many_inputs_on_both_sides():
    run = run_of([[MS, MS]] * 3)
    with pytest.raises(ValueError, match="pairs need as many inputs on both sides, not 2 and 3"):
        two_sides([run] * 2, [run] * 3, paired=True)
