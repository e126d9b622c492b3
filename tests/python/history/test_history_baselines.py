# SPDX-License-Identifier: Apache-2.0
"""Baselines with their audit log, what names stand for, series with changes of level, one run against its history."""

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest

import regimeter
from regimeter.compare import ChangeType
from regimeter.compare.sources import side_of
from regimeter.history import (
    Baselines,
    Commit,
    HistoryError,
    NoBaselineError,
    judge_against_history,
    open_history,
    resolve_baseline,
)
from regimeter.history.series import all_series, series_of
from regimeter.system.description import describe_machine

MAIN = Commit("a" * 40, "main")
# What is decided from a series is the same wherever the series lies.
on_a_file = pytest.mark.parametrize("history_place", ["sqlite"], indirect=True)


@pytest.fixture
def history(history_place):
    return open_history(history_place)


@pytest.fixture
def baselines(history):
    return Baselines(history, "Ada <ada@example.org>")


def one(seconds=1.0, name="mm"):
    return side_of({name: [[seconds]]}, "run")


@on_a_file
def test_a_recording_that_was_kept_twice_is_one_process(history, baselines, tmp_path):
    for name in ("a.rgm", "b.rgm"):
        with regimeter.GPUProfiler(path=tmp_path / name) as profiler, profiler.profile("mm", device="cpu"):
            pass
    runs = [history.add(side_of(tmp_path / name, "run"), MAIN) for name in ("a.rgm", "a.rgm", "a.rgm", "b.rgm")]
    side = resolve_baseline("a" * 40, history)
    assert len(side.metrics["time"].launches["mm"]) == 2
    again = [f"run {run.id} is of the same process as an earlier one: it counts once" for run in runs[1:3]]
    assert [warning.partition("): ")[2] for warning in side.warnings] == again
    (points,) = (one.points for one in series_of(history, "mm"))
    assert [point.run.id for point in points] == [runs[0].id, runs[3].id]
    (newest,) = all_series(history, limit=2).values()
    assert newest.points == points, "the newest runs without copies"
    twin, other = side_of(tmp_path / "a.rgm", "run"), side_of(tmp_path / "b.rgm", "run")
    for judged, confirm, earlier in ((twin, None, 1), (twin, other, 0)):
        (row,) = judge_against_history(history, judged, confirm=confirm).comparisons
        assert row.baseline_launches == earlier, "the run is not its own history"


def noisy(rng, level=1e-3, spread=0.01, names=("mm",)):
    return side_of({name: [[level * np.exp(rng.normal(0, spread))]] for name in names}, "run")


# --- names --------------------------------------------------------------------------------------------------------


def test_a_name_stands_for_its_newest_run_and_the_log_keeps_all(history, baselines):
    first, second = history.add(one(), MAIN), history.add(one(), MAIN)
    baselines.save("release", first, "1.0")
    baselines.promote("release", second, "1.1")
    assert baselines.find("release").run_id == second.id
    assert [row.run_id for row in baselines.rows()] == [second.id]
    assert baselines.remove("release") == 2
    with pytest.raises(NoBaselineError, match="release"):
        baselines.find("release")
    log = baselines.rows(withdrawn=True)
    assert [(row.action, row.reason, row.run_id) for row in log] == [
        ("save", "1.0", first.id),
        ("promote", "1.1", second.id),
    ]
    for row in log:
        assert row.author == row.withdrawn_by == "Ada <ada@example.org>"
        assert abs(row.created_at - datetime.now(UTC)) < timedelta(minutes=1)
    assert baselines.rows() == []


def test_what_cannot_be_written_to_the_log(history, baselines):
    row = history.add(one())
    for name in ("last", "db:main", "", "a,b", "a\nb"):
        with pytest.raises(ValueError, match="cannot be the name"):
            baselines.save(name, row)
    with pytest.raises(NoBaselineError):
        baselines.promote("unknown", row, "why")
    with pytest.raises(NoBaselineError):
        baselines.remove("unknown")
    baselines.save("good", row)
    with pytest.raises(ValueError, match="reason"):
        baselines.promote("good", row, " ")
    with pytest.raises(ValueError, match="reason"):
        baselines.accept("mm", "")
    with pytest.raises(HistoryError, match="is the baseline good"):
        history.remove(row)


def test_acceptances_by_pattern_and_until_a_day(baselines):
    today = datetime.now(UTC).date()
    baselines.accept("gemm [gpu]", "exact name")
    baselines.accept("aten::*", "new feature", today + timedelta(days=1))
    baselines.accept("old*", "ran out", today - timedelta(days=1))
    names = ["gemm [gpu]", "gemm g", "aten::mm", "old one", "other"]
    compared = regimeter.compare_samples(
        {name: [[1.0]] * 6 for name in names}, {name: [[2.0 + i / 100] for i in range(6)] for name in names}
    )
    marked = baselines.mark_accepted(compared.comparisons)
    found = {row.operation: row.accepted for row in marked}
    assert found["gemm [gpu]"] == "exact name (Ada <ada@example.org>)"
    assert found["aten::mm"].startswith("new feature (Ada <ada@example.org>, until ")
    assert found["gemm g"] is found["old one"] is found["other"] is None
    baselines.remove("aten::*")
    assert baselines.mark_accepted(compared.comparisons)[names.index("aten::mm")].accepted is None


def test_a_baseline_moves_by_itself_only_after_clean_runs(history, baselines):
    def add(state):
        return history.add(one(), MAIN, state=state)

    add("clean"), add("clean")
    assert baselines.update("main", after=3) is None
    third = add("clean")
    history.add(one(), Commit("b" * 40, "dev"), state="clean")
    row = baselines.update("main", after=3)
    assert (row.run_id, row.action, row.author) == (third.id, "update", "automatic")
    assert row.reason.startswith("3 clean runs in a row on main: ")
    assert baselines.update("main", after=3) is None  # the same runs do not count twice
    add("clean"), add("regressed"), add("clean"), add("clean")
    assert baselines.update("main", after=3) is None
    newest = add("clean")
    assert baselines.update("main", after=3).run_id == newest.id
    assert len(baselines.rows(withdrawn=True)) == 2
    with pytest.raises(ValueError, match="at least 1"):
        baselines.update("main", after=0)


# --- references ---------------------------------------------------------------------------------------------------


def test_what_names_stand_for(history, history_place, baselines):
    first = history.add(one(1.0), Commit("a1" * 20, "main", "v1"))
    again = history.add(one(1.5), Commit("a1" * 20, "main", "v1"))
    second = history.add(one(2.0), Commit("a2" * 20, "main"))
    with pytest.raises(HistoryError, match="2 commits"):
        resolve_baseline("db:commit:a", history)
    history.add(one(9.0), Commit("a3" * 20, "main"), state="regressed")
    dev = history.add(one(3.0), Commit("b1" * 20, "dev"))

    def values(text, **options):
        side = resolve_baseline(text, history, **options)
        return [float(launch[0]) for launch in side.metrics["time"].launches["mm"]]

    assert values("last") == [3.0]
    assert values("db:main") == [2.0]  # the newest is regressed
    assert values("db:tag:v1") == values("db:commit:" + "a1" * 20) == values("a1a1a1a") == [1.0, 1.5]
    assert values("db:commit:b1") == [3.0]
    assert resolve_baseline("db:dev", history_place).label == f"db:dev (run {dev.id})"
    baselines.save("main", first)
    baselines.save("stable", again)
    assert values("db:main") == [1.0]
    assert values("stable") == values("db:stable") == [1.5]
    for missing in ("db:none", "db:tag:v2", "db:commit:ff", "none", "fffffff", "db:"):
        with pytest.raises(NoBaselineError):
            resolve_baseline(missing, history)
    assert values("last", environments=[{}]) == [3.0]
    with pytest.raises(NoBaselineError, match="of the environment"):
        resolve_baseline("last", history, environments=[{"cpu": "another"}])
    assert second.id


def test_runs_of_two_machines_are_never_one_side(history):
    elsewhere = one(7.0)
    elsewhere.environments = [describe_machine()]
    history.add(one(1.0), MAIN)
    history.add(elsewhere, MAIN)
    assert len(resolve_baseline("db:commit:" + "a" * 40, history).metrics["time"].launches["mm"]) == 1


def test_a_missing_history_is_a_missing_baseline(tmp_path):
    with pytest.raises(NoBaselineError) as caught:
        resolve_baseline("last", tmp_path / "none.db")
    assert caught.value.exit_code == 5
    assert isinstance(caught.value, regimeter.Error)


# --- verdicts -----------------------------------------------------------------------------------------------------


def test_verdicts_are_kept_and_say_what_a_run_is(history, baselines):
    base = {"mm": [[1.0 + i / 1000] for i in range(6)], "add": [[1.0 + i / 1000] for i in range(6)]}
    slow = {**base, "mm": [[1.5 + i / 1000] for i in range(6)]}
    clean, regressed = (history.add(side_of(given, "x"), MAIN) for given in (base, slow))
    history.add_comparison(clean, regimeter.compare_samples(base, base), "db:main")
    compared = regimeter.compare_samples(base, slow)
    history.add_comparison(regressed, compared, "db:main", clean)
    assert [row.state for row in history.runs()] == ["regressed", "clean"]
    points = series_of(history, "mm")[0].points
    assert [point.accepted for point in points] == [True, False]
    assert all(point.accepted for point in series_of(history, "add")[0].points)
    baselines.accept("m*", "wanted", date(2100, 1, 1))
    assert all(point.accepted for point in series_of(history, "mm")[0].points)
    compared.comparisons[:] = baselines.mark_accepted(compared.comparisons)
    assert compared.exit_code == 0
    assert history.counts()["verdict"] == 4


# --- series -------------------------------------------------------------------------------------------------------


def test_a_series_and_the_change_of_its_level(history):
    rng, start = np.random.default_rng(3), datetime(2026, 1, 1, tzinfo=UTC)
    levels = [1e-3] * 20 + [1.2e-3] * 15
    # Written in another order than they were measured in.
    for number in rng.permutation(len(levels)):
        side = side_of({"mm": [[levels[number] * np.exp(rng.normal(0, 0.01)), 1.0, 0.0][:1]] * 2}, "run")
        history.add(side, MAIN, created_at=start + timedelta(days=int(number)))
    history.add(one(5.0), Commit("b" * 40, "dev"))
    history.add(one(5.0), MAIN, state="rejected")
    (series,) = series_of(history, "mm", branch="main")
    assert len(series.points) == 35
    assert [change.at for change in series.changes] == [20]
    assert series.changes[0].percent == pytest.approx(20, abs=2)
    assert len(series.segment) == 15
    assert series.points[0].launches == 2
    assert [point.run for point in series_of(history, "mm", limit=3)[0].points] == history.runs(
        states=("recorded",), limit=None
    )[:3][::-1]
    assert series_of(history, "none") == []


# --- a run against its history ------------------------------------------------------------------------------------


def fill(history, rng, count=20, **options):
    for _ in range(count):
        history.add(noisy(rng, **options), MAIN, state="clean")


def test_a_slow_run_is_a_regression_only_when_confirmed(history):
    rng = np.random.default_rng(5)
    fill(history, rng, names=("mm", "add"))
    slow = side_of({"mm": [[1.10e-3]], "add": [[1e-3]]}, "new")
    judged = judge_against_history(history, slow, branch="main")
    assert (judged.suspected, judged.exit_code, judged.failures) == (("mm",), 3, [])
    assert "confirming run" in judged.rule
    lucky = judge_against_history(history, slow, confirm=side_of({"mm": [[1e-3]], "add": [[1e-3]]}, "again"))
    assert (lucky.suspected, lucky.exit_code) == ((), 0)
    sure = judge_against_history(history, slow, confirm=side_of({"mm": [[1.09e-3]], "add": [[1e-3]]}, "again"))
    row = sure.comparisons[0]
    assert (row.change_type, sure.exit_code) == (ChangeType.REGRESSION, 1)
    assert row.low_percent < row.change_percent < row.high_percent
    assert row.change_percent == pytest.approx(9.5, abs=1.5)
    assert 1 < row.detectable_percent < 5
    assert row.tier == "history"
    assert sure.comparisons[1].conclusive
    fast = side_of({"mm": [[0.9e-3]]}, "x")
    assert judge_against_history(history, fast, confirm=fast).comparisons[0].change_type is ChangeType.IMPROVEMENT
    assert judge_against_history(history, fast).exit_code == 0
    Baselines(history, "Ada").accept("mm", "wanted")
    assert judge_against_history(history, slow, confirm=slow).exit_code == 0


@on_a_file
def test_a_real_change_below_the_threshold_is_none(history):
    rng = np.random.default_rng(6)
    fill(history, rng, spread=0.001)
    judged = judge_against_history(history, one(1.02e-3), confirm=one(1.02e-3))
    assert judged.comparisons[0].reason == "below_threshold"
    assert judged.exit_code == 0
    strict = judge_against_history(history, one(1.02e-3), confirm=one(1.02e-3), significance_threshold=1.0)
    assert strict.exit_code == 1
    for decision, code in (("catch", 1), ("estimate", 0), ("prove", 0)):
        options = {"significance_threshold": 2.03, "decision": decision}
        assert judge_against_history(history, one(1.02e-3), confirm=one(1.02e-3), **options).exit_code == code


@on_a_file
def test_an_old_step_does_not_blind_the_history(history):
    rng = np.random.default_rng(7)
    fill(history, rng, level=2e-3)
    fill(history, rng, level=1e-3, count=12)
    judged = judge_against_history(history, one(1.1e-3), confirm=one(1.1e-3))
    assert judged.exit_code == 1
    assert judged.comparisons[0].baseline_launches == 12


@on_a_file
def test_a_level_that_rose_is_found_by_the_runs_that_stay_there(history, capsys):
    """Each run alone lies within what runs differ by, 3 %; six in a row do not."""
    rng = np.random.default_rng(21)
    fill(history, rng, count=40, spread=0.03)
    fill(history, rng, count=6, spread=0.03, level=1.07e-3)
    judged = judge_against_history(history, one(1.07e-3))
    (row,) = judged.comparisons
    assert (judged.raised, judged.suspected, judged.exit_code) == (("mm",), (), 1)
    assert row.change_percent == pytest.approx(7, abs=3)
    assert (row.baseline_launches, row.current_launches) == (40, 7)
    assert row.p <= 0.01
    assert "rose within the last runs" in judged.rule
    # Back at the old level, and after a higher threshold, there is nothing to tell.
    assert judge_against_history(history, one(0.99e-3)).raised == ()
    assert judge_against_history(history, one(1.07e-3), significance_threshold=20).raised == ()
    Baselines(history, "Ada").accept("mm", "does more now")
    assert judge_against_history(history, one(1.07e-3)).exit_code == 0


@on_a_file
def test_a_level_that_rose_long_ago_is_the_present_one(history):
    rng = np.random.default_rng(22)
    fill(history, rng, count=20)
    fill(history, rng, count=13, level=1.3e-3)
    judged = judge_against_history(history, one(1.3e-3))
    assert (judged.raised, judged.exit_code, judged.comparisons[0].baseline_launches) == ((), 0, 13)


@on_a_file
def test_operations_that_are_small_fail_nothing(history):
    rng = np.random.default_rng(23)
    for _ in range(20):
        names = {"mm": 1e-3, "tiny": 1e-6}
        levels = {name: [(level * np.exp(rng.normal(0, 0.01, 5))).tolist()] for name, level in names.items()}
        history.add(side_of(levels, "run"), MAIN, state="clean")
    slow = side_of({"mm": [[1e-3]], "tiny": [[1.5e-6]]}, "new")  # .15 % of the whole, by half a microsecond
    judged = judge_against_history(history, slow, confirm=slow)
    tiny = judged.comparisons[1]
    assert (tiny.change_type, tiny.gates) == (ChangeType.REGRESSION, False)  # told
    assert (judged.suspected, judged.failures, judged.exit_code) == ((), [], 0)
    assert judge_against_history(history, slow, confirm=slow, min_share=0.0).exit_code == 1
    slower = side_of({"mm": [[1e-3]], "tiny": [[2.5e-6]]}, "new")  # by more than a microsecond
    assert judge_against_history(history, slower, confirm=slower).exit_code == 1


@on_a_file
def test_too_few_runs_are_said_and_fail_nothing(history):
    rng = np.random.default_rng(8)
    fill(history, rng, count=7)
    judged = judge_against_history(history, side_of({"mm": [[9.0]], "new": [[1.0]]}, "x"))
    assert judged.too_few == ("mm", "new")
    assert [row.change_type for row in judged.comparisons] == [ChangeType.NO_CHANGE, ChangeType.NEW_OPERATION]
    assert [row.conclusive for row in judged.comparisons] == [False, True]
    assert judged.exit_code == 0
    fill(history, rng, count=1)
    assert judge_against_history(history, one(9.0)).exit_code == 3


def test_regressions_that_nobody_accepted_are_no_part_of_the_history(history, baselines):
    rng = np.random.default_rng(9)
    fill(history, rng, count=8)
    base, slow = {"mm": [[1e-3 + i * 1e-7] for i in range(6)]}, {"mm": [[1.5e-3 + i * 1e-7] for i in range(6)]}
    for _ in range(6):
        row = history.add(side_of(slow, "x"), MAIN)
        history.add_comparison(row, regimeter.compare_samples(base, slow), "db:main")
    judged = judge_against_history(history, one(1.5e-3), confirm=one(1.5e-3))
    assert (judged.exit_code, judged.comparisons[0].baseline_launches) == (1, 8)


def test_other_machines_and_the_run_itself_are_no_history(history):
    rng = np.random.default_rng(10)
    fill(history, rng, count=8)
    row = history.runs(limit=1)[0]
    assert judge_against_history(history, one(1e-3), before=row).too_few == ("mm",)
    elsewhere = one(9.0)
    elsewhere.environments = [{"cpu": "another"}]
    unknown = judge_against_history(history, elsewhere)
    assert (unknown.comparisons[0].change_type, unknown.exit_code) == (ChangeType.NEW_OPERATION, 4)
    assert "no run of these operations in this environment" in unknown.rule
    with pytest.raises(ValueError, match="another environment"):
        judge_against_history(history, one(), confirm=elsewhere)
    with pytest.raises(ValueError, match="unknown metric"):
        judge_against_history(history, one(), metric="speed")


@on_a_file
def test_values_without_a_logarithm_are_not_judged(history):
    rng = np.random.default_rng(11)
    fill(history, rng, count=9)
    judged = judge_against_history(history, side_of({"mm": [[0.0]]}, "x"))
    assert judged.exit_code == 4
    assert judged.comparisons[0].change_type is ChangeType.INVALID
    assert not judged.comparisons[0].conclusive
    nothing = judge_against_history(history, side_of({"mm": [[float("nan")]]}, "x"))
    assert nothing.comparisons[0].change_type is ChangeType.INVALID
