# SPDX-License-Identifier: Apache-2.0
"""A/B of variants, runs in the history, trends, and the scheduled mode."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from needed import package
from page_data import page_of
from published import check

from regimeter.cli import main
from regimeter.compare import ChangeType
from regimeter.workloads import KernelStats, Times, WorkloadReport, keep, run_versus, trend_of
from regimeter.workloads.catalog import workloads
from regimeter.workloads.versus import Variant
from regimeter.workloads.watch import Stop, repeat

ADD = workloads()["vector_add"]


# --- A/B ------------------------------------------------------------------------------------------------------


def test_two_functions_run_as_often_as_asked_in_an_order_that_the_seed_gives():
    def order(seed):
        calls = []
        run_versus("mine", lambda: calls.append("a"), lambda: calls.append("b"), pairs=6, burst=2, warmup=1, seed=seed)
        return "".join(calls)

    first = order(3)
    assert first == order(3)
    assert first.count("a") == first.count("b") == 3 * 7
    assert len({order(seed) for seed in range(6)}) > 1
    pairs = [first[at : at + 6] for at in range(6, len(first), 6)]
    assert set(pairs) == {"aaabbb", "bbbaaa"}


def test_a_function_that_does_more_work_is_slower():
    small, large = np.ones((40, 40)), np.ones((400, 400))
    found = run_versus("product", lambda: small @ small, lambda: large @ large, pairs=8, burst=3, seed=1)
    (row,) = found.comparison.comparisons
    assert row.change_type is ChangeType.REGRESSION
    assert row.operation == "product host call"
    assert found.comparison.paired
    assert "shared one process" in found.cannot_see


def test_two_sizes_of_a_backend_are_compared_for_kernels_and_host_calls(capsys):
    found = run_versus("dot_product", Variant("c", {"n": 100}), Variant("c", {"n": 1_000_000}), pairs=6, seed=1)
    rows = {row.operation: row for row in found.comparison.comparisons}
    assert set(rows) == {"dot_product kernel", "dot_product host call"}
    assert rows["dot_product kernel"].change_type is ChangeType.REGRESSION
    words = ["workloads", "ab", "dot_product", "--base", "c:n=1000000", "--current", "c:n=100", "--pairs", "6"]
    assert main([*words, "--json"]) == 0
    document = check(json.loads(capsys.readouterr().out))
    assert document["base"] == "c:n=1e+06"
    assert document["comparison"]["summary"]["improvements"] == 2
    words = ["workloads", "ab", "dot_product", "--base", "c:n=100", "--current", "c:n=1000000", "--pairs", "6"]
    assert main([*words, "-q"]) == 1
    assert main([*words, "-q", "--fail-on", "never"]) == 0


def words_after(text, lead):
    (line,) = [line for line in text.splitlines() if line.strip().startswith(lead)]
    return shlex.split(line.partition(lead)[2])


def test_an_ab_says_what_was_compared_and_its_next_command_works(tmp_path, capsys, monkeypatch):
    """Two equal variants that vary are undecided after six pairs; the command for more data is run as it is printed."""
    noise = np.random.default_rng(7)

    def measure(backend, workload, sizes, request):
        values = [Times(tuple(noise.integers(80_000, 120_000, request.calls).tolist())) for _ in range(2)]
        return KernelStats(workload.name, "", "c", "EPYC", *values)

    monkeypatch.setattr("regimeter.workloads.versus.measure", measure)
    monkeypatch.setattr("regimeter.report.comparison_text.MOST_PAIRS", 10**9)  # each takes no time here
    words = ["workloads", "ab", "dot_product", "--base", "c:n=1000", "--current", "c:n=1003", "--pairs", "6",
             "--burst", "3"]  # fmt: skip
    assert main([*words, "--fail-on", "never", "--policy", "ab_threshold=0.01"]) == 0
    said = capsys.readouterr().out
    assert "pairs of bursts, compared within each pair" in said
    assert "All ran in one process" in said
    assert "pairs of processes" not in said
    assert "regimeter baseline" not in said
    command = words_after(said, "More data:")
    assert command[:4] == ["regimeter", "workloads", "ab", "dot_product"]
    pairs = int(command[command.index("--pairs") + 1])
    notes = [int(found) for found in re.findall(r"about (\d+) pairs would tell", said)]
    assert pairs == max(10, *notes), "one number, not two that differ"
    assert notes
    command[command.index("--pairs") + 1] = "7"
    assert main([*command[1:], "--fail-on", "never"]) == 0
    assert "7 pairs × 3" in capsys.readouterr().out
    page = tmp_path / "ab.html"
    assert main([*words, "--fail-on", "never", "--format", "html", "-o", str(page)]) == 0
    assert '["burst","bursts"]' in page.read_text().replace(" ", "")
    markdown = tmp_path / "ab.md"
    assert main([*words, "--fail-on", "never", "--format", "markdown", "-o", str(markdown)]) == 0
    assert "processes" not in markdown.read_text().replace("process to process", "")


def test_a_slower_variant_has_nothing_to_accept(capsys):
    words = ["workloads", "ab", "dot_product", "--base", "c:n=100", "--current", "c:n=1000000", "--pairs", "6"]
    assert main(words) == 1
    assert "Accept" not in capsys.readouterr().out


# --- history --------------------------------------------------------------------------------------------------


def report(us, environment=None):
    rng = np.random.default_rng(round(us * 1000))
    times = Times(tuple(int(value) for value in us * 1000 * rng.normal(1, 0.001, 20)))
    one = KernelStats("vector_add", "", "c", "EPYC", times, times, ADD.sizes())
    return WorkloadReport((one,), environment={"cpu": "EPYC"} if environment is None else environment)


@pytest.fixture
def history(tmp_path):
    package("sqlalchemy")
    from regimeter.history import open_history

    return open_history(tmp_path / "history.db")


def fill(history, values):
    for value in values:
        keep(history, report(value), branch="main")


def test_a_kept_run_is_a_run_of_the_history(history):
    fill(history, [100.0])
    (row,) = history.runs()
    assert (row.label, row.branch) == ("workloads", "main")
    assert history.operations() == ["vector_add [c] host call", "vector_add [c] kernel"]
    side = history.side(row)
    np.testing.assert_allclose(np.median(side.metrics["time"].launches["vector_add [c] kernel"][0]), 1e-4, rtol=1e-3)


def test_the_documented_rule_is_half_as_much_again(history):
    fill(history, [100.0, 101.0, 99.0, 149.0])
    assert [one.degraded for one in trend_of(history, "vector_add")] == [False, False]
    fill(history, [200.0])
    found = trend_of(history, "vector_add")
    assert [(one.judged, one.degraded) for one in found] == [(True, True), (False, False)], "the kernel alone is judged"
    assert found[0].alerts[0].startswith("DEGRADED: vector_add [c] kernel: ")
    assert found[1].alerts == []
    calls = trend_of(history, "vector_add", of="host_call")
    assert calls[0].alerts[0].startswith("DEGRADED: vector_add [c] host call: 2")
    assert [one.degraded for one in calls] == [True, False]
    with pytest.raises(ValueError, match="'kernel' or 'host_call', not 'host'"):
        trend_of(history, "vector_add", of="host")
    assert [one.degraded for one in trend_of(history, "vector_add", policy={"degraded_factor": 3})] == [False, False]


def test_a_given_baseline_stands_for_the_runs_before(history):
    fill(history, [100.0])
    (one, _) = trend_of(history, "vector_add")
    assert (one.baseline, one.degraded, one.percent) == (None, False, None)
    (one, other) = trend_of(history, "vector_add", baseline_us=one.value * 1e6 / 2)
    assert other.baseline_source != "given", "one number is not for kernel and host call alike"
    assert one.baseline_source == "given"
    assert one.degraded
    assert one.percent == pytest.approx(100, abs=1)


def test_the_rule_of_the_history_needs_eight_runs_and_sees_less(history):
    fill(history, [100 + n / 10 for n in range(5)])
    (one, _) = trend_of(history, "vector_add")
    assert one.suspected is None
    assert "fewer than 8" in one.reasons[0]
    fill(history, [100 + n / 10 for n in range(6)])
    (one, _) = trend_of(history, "vector_add")
    assert one.suspected is False
    fill(history, [115.0])
    (one, _) = trend_of(history, "vector_add")
    assert one.suspected is True
    assert not one.degraded
    fill(history, [80.0])
    assert not trend_of(history, "vector_add")[0].suspected


def test_environments_are_not_mixed(history):
    fill(history, [100.0])
    keep(history, report(900.0, {"cpu": "another"}))
    found = trend_of(history, "vector_add")
    assert len(found) == 4
    assert not any(one.degraded for one in found)


def test_runs_on_different_devices_are_different_environments(history):
    made = report(100.0)
    keep(history, made)
    keep(history, WorkloadReport((replace(made.stats[0], device="another"),), environment={"cpu": "EPYC"}))
    assert len({row.environment for row in history.runs()}) == 2


def test_trend_of_the_command(history, tmp_path, capsys):
    fill(history, [100.0, 100.0, 300.0])
    words = ["workloads", "trend", "vector_add", "--db", str(tmp_path / "history.db")]
    assert main([*words, "--json"]) == 1
    document = check(json.loads(capsys.readouterr().out))
    assert [(one["judged"], one["degraded"]) for one in document["trends"]] == [(True, True), (False, False)]
    assert main([*words, "--of", "host_call", "--baseline", "1"]) == 1
    assert "baseline 1.00 µs (given)" in capsys.readouterr().out
    assert main([*words, "--format", "html", "-o", str(tmp_path / "trend.html")]) == 1
    charts = page_of((tmp_path / "trend.html").read_text())["sections"]
    assert [one["form"] for one in charts] == ["trend", "trend"]
    medians = [next(row["values"] for row in one["runs"]["columns"] if row["heading"] == "median") for one in charts]
    assert [len(values) for values in medians] == [3, 3]
    limits = [[level["value"] for level in one["levels"] if level["label"] == "limit"] for one in charts]
    assert [len(found) for found in limits] == [1, 0], "the kernel has a limit; the host call has none"
    assert [value / 1e9 > limits[0][0] for value in medians[0]] == [False, False, True]
    assert main([*words, "--policy", "degraded_factor=4"]) == 0
    assert "no alert" in capsys.readouterr().out
    assert main(["workloads", "trend", "conv2d", "--db", str(tmp_path / "history.db")]) == 5
    assert "no run of conv2d" in capsys.readouterr().err


def test_run_keeps_when_asked(tmp_path, capsys):
    package("sqlalchemy")
    words = ["workloads", "run", "--kernel", "ar_forecast", "--backend", "c", "--iterations", "6"]
    assert main([*words, "--keep", "--db", str(tmp_path / "h.db")]) == 0
    assert "kept as run 1" in capsys.readouterr().err
    assert main(["workloads", "trend", "ar_forecast", "--db", str(tmp_path / "h.db")]) == 0


# --- watch ----------------------------------------------------------------------------------------------------


class Clock:
    """Time that passes by what the action takes and what the waiting waits."""

    def __init__(self):
        self.now, self.waits = 100.0, []

    def __call__(self):
        return self.now

    def wait(self, seconds):
        self.waits.append(round(seconds, 6))
        self.now += seconds
        return False


def test_runs_stand_on_a_grid_and_late_ones_leave_times_out():
    clock, begins = Clock(), []
    lengths = iter([1.0, 25.0, 2.0, 0.0])

    def action(number):
        begins.append(clock.now - 100)
        clock.now += next(lengths)

    stop = Stop()
    stop.wait = clock.wait
    assert repeat(action, 10.0, 4, stop, clock) == 4
    assert begins == [0, 10, 40, 50]
    assert clock.waits == [9, 5, 8]


def test_a_stop_ends_the_loop_and_handlers_come_back():
    before = signal.getsignal(signal.SIGTERM)
    seen = []

    def action(number):
        seen.append(number)
        if number == 1:
            os.kill(os.getpid(), signal.SIGTERM)

    with Stop() as stop:
        assert repeat(action, 0.01, None, stop) == 2
    assert stop.signal == signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) is before


WATCH = ["workloads", "watch", "--kernel", "ar_forecast", "--backend", "c", "--iterations", "6"]


def test_watch_prints_a_line_and_keeps_a_run_each_time(tmp_path, capsys):
    package("sqlalchemy")
    words = [*WATCH, "--every", "0.01s", "--count", "3", "--db", str(tmp_path / "h.db"), "--json"]
    assert main(words) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["run"] for line in lines] == [1, 2, 3]
    assert all(set(line["mean_us"]) == {"ar_forecast"} for line in lines)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_watch_ends_cleanly_on_a_signal(number, tmp_path):
    package("sqlalchemy")
    command = [sys.executable, "-m", "regimeter", *WATCH, "--every", "1h", "--db", str(tmp_path / "h.db")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline()
        time.sleep(0.1)
        process.send_signal(number)
        rest, errors = process.communicate(timeout=300)
    assert "run 1 c us: ar_forecast=" in line
    assert (process.returncode, rest, errors) == (0, "", "")


def test_watch_names_the_kernel_of_an_alert(tmp_path, capsys):
    pytest.importorskip("sqlalchemy")
    words = ["workloads", "watch", "--kernel", "ar_forecast", "vector_add", "--backend", "c", "--every", "1s"]
    words += ["--count", "1", "--iterations", "6", "--db", str(tmp_path / "h.db")]
    words += ["--policy", "slow_us=0", "variance_cv=0"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "HIGH VARIANCE: vector_add: host call varies" in said
    assert "SLOW: ar_forecast: mean host call" in said
    assert main([*words, "--json"]) == 0
    alerts = json.loads(capsys.readouterr().out)["alerts"]
    assert all("ar_forecast" in alert or "vector_add" in alert for alert in alerts)
