# SPDX-License-Identifier: Apache-2.0
"""Statistics, alerts, sweeps and the report of the workload suite; times are made up, so that every figure is known."""

import json
import subprocess
import sys

import numpy as np
import pytest
from needed import package
from published import check

import regimeter
from regimeter.cli import main
from regimeter.workloads import KernelStats, Sweep, Times, WorkloadReport, profile_kernel, run_sweep, run_workloads
from regimeter.workloads.alerts import alerts_of
from regimeter.workloads.catalog import choose, sizes_for, workloads
from regimeter.workloads.policy import DEFAULTS, THRESHOLDS, thresholds
from regimeter.workloads.python_timing import time_calls


def stats(name="vector_add", call_us=(), kernel_us=(), **more):
    def times(values):
        return Times(tuple(round(value * 1000) for value in values)) if len(values) else None

    return KernelStats(name, "made up", "c", "a processor", times(call_us), times(kernel_us), **more)


# --- statistics -----------------------------------------------------------------------------------------------


def test_figures_are_numpys():
    values = np.random.default_rng(1).integers(100, 99_999, 37)
    one = Times(tuple(int(value) for value in values))
    assert one.mean_ns == pytest.approx(values.mean())
    assert one.stddev_ns == pytest.approx(values.std(ddof=0))
    assert (one.min_ns, one.max_ns) == (values.min(), values.max())
    assert one.p50_ns == np.median(values)
    assert one.p95_ns == pytest.approx(np.percentile(values, 95))
    assert one.cv == pytest.approx(values.std() / values.mean())
    assert one.throughput == pytest.approx(1e9 / values.mean())


def test_documented_fields_are_microseconds_with_their_fractions():
    one = stats(call_us=[1.5, 2.25, 3.001])
    assert one.times_us == pytest.approx([1.5, 2.25, 3.001])
    assert one.mean_us == pytest.approx(2.250333, abs=1e-6)
    assert one.throughput_ops_sec == pytest.approx(1e6 / one.mean_us)
    assert one.iterations == 3
    assert one.stddev_us == pytest.approx(np.std([1.5, 2.25, 3.001]))
    assert (one.min_us, one.max_us) == (1.5, 3.001)


def test_repeats_divide():
    assert Times((2000, 4000), 1000).ns.tolist() == [2.0, 4.0]
    with pytest.raises(ValueError):
        Times(())


def test_host_calls_are_the_basis_and_kernels_stay_apart():
    both = stats(call_us=[10, 10], kernel_us=[1, 1])
    assert (both.basis, both.mean_us, both.kernel.mean_ns) == ("host_call", 10, 1000)
    assert (stats(kernel_us=[1]).basis, stats(kernel_us=[1]).mean_us) == ("kernel", 1)
    with pytest.raises(ValueError, match="nothing was timed"):
        _ = stats().times


@pytest.mark.parametrize("n", [6, 7, 20, 41, 100, 999, 1000, 3000])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_the_interval_of_the_median_is_that_of_the_binomial(n, level):
    binom = package("scipy.stats").binom
    found = Times(tuple(range(1, n + 1))).median_interval(level)
    rank = int(binom.ppf((1 - level) / 2, n, 0.5))
    while 2 * binom.cdf(rank - 1, n, 0.5) > 1 - level:
        rank -= 1
    while 2 * binom.cdf(rank, n, 0.5) <= 1 - level:
        rank += 1
    assert found == ((rank, n + 1 - rank) if rank else None)


def test_few_times_have_no_interval():
    assert Times((1, 2, 3, 4, 5)).median_interval(0.95) is None
    assert Times((1, 2, 3, 4, 5)).cv_interval(0.95, 100) is None


def test_the_interval_of_the_variation_covers_the_truth():
    """Of 200 samples of 30 whose variation is 10 %, about nineteen in twenty have it in their interval."""
    rng, hits = np.random.default_rng(4), 0
    for _ in range(200):
        low, high = Times(tuple(int(v) for v in rng.normal(1e6, 1e5, 30))).cv_interval(0.95, 400)
        hits += low <= 0.1 <= high
    assert 160 <= hits <= 200


# --- alerts ---------------------------------------------------------------------------------------------------


def kinds(one, **policy):
    return [alert.kind for alert in alerts_of([one], thresholds(policy))]


@pytest.mark.parametrize(
    ("times", "wanted"),
    [
        ([100.0] * 20, []),
        ([4999.0] * 20, ["TARGET MISSED"]),
        ([5000.0] * 20, ["TARGET MISSED"]),
        ([5001.0] * 20, ["SLOW", "TARGET MISSED"]),
        ([10_000.0] * 20, ["SLOW", "TARGET MISSED", "TARGET MISSED"]),
        ([85.0, 115.0] * 10, ["TARGET MISSED"]),
        ([75.0, 125.0] * 10, ["HIGH VARIANCE", "TARGET MISSED"]),
        ([100.0] * 19 + [215.0], ["HIGH VARIANCE", "OUTLIER", "TARGET MISSED"]),
        ([100.0] * 999 + [250.0], ["OUTLIER"]),
    ],
)
def test_documented_alerts(times, wanted):
    assert kinds(stats(call_us=times)) == wanted


def test_thresholds_are_the_users():
    assert kinds(stats(call_us=[100.0] * 20), slow_us=99) == ["SLOW"]
    assert kinds(stats(call_us=[75.0, 125.0] * 10), variance_cv=0.3, target_cv=0.3) == []


def test_throttling_is_an_alert():
    found = alerts_of([stats(call_us=[1.0] * 9, facts={"slowed_by": ["power_cap", "thermal"]})], DEFAULTS)
    assert [(alert.kind, alert.text) for alert in found] == [
        ("THROTTLING", "the device was slowed down: power_cap, thermal")
    ]


def test_thresholds_have_sources_and_bad_ones_are_refused():
    assert all(one.source for one in THRESHOLDS)
    with pytest.raises(ValueError, match="no threshold is called 'slow_ms'; similar: slow_us"):
        thresholds({"slow_ms": 1})
    for value in (-1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="at least 0"):
            thresholds({"slow_us": value})
    with pytest.raises(ValueError, match="confidence"):
        thresholds({"confidence": 1.0})


# --- sizes ----------------------------------------------------------------------------------------------------


def test_sizes_by_name_and_for_one_workload():
    chosen = choose(["vector_add", "dot_product", "conv2d"])
    own = sizes_for(chosen, {"n": 10, "dot_product.n": 20})
    assert (own["vector_add"]["n"], own["dot_product"]["n"], own["conv2d"]["height"]) == (10, 20, 256)
    with pytest.raises(ValueError, match="none of the chosen workloads has a size 'window'"):
        sizes_for(chosen, {"window": 3})
    with pytest.raises(ValueError, match="no workload is called 'vector_ad'; similar: vector_add"):
        choose("vector_ad")
    with pytest.raises(ValueError, match="side is 9; a whole number from 1 to 7"):
        sizes_for(chosen, {"side": 9})


def test_descriptions_are_the_documented_ones():
    known = {name: one.describe(one.sizes()) for name, one in workloads().items()}
    assert known["ar_forecast"] == "1000 points, AR(5), 10 steps ahead"
    assert known["lstm_cell_forward"] == "batch=32, input=64, hidden=128"
    assert known["pixel_entropy"] == "512x512 image, window=16"
    assert known["matrix_multiply"] == "256x256 x 256x256"


# --- running --------------------------------------------------------------------------------------------------


def test_a_function_is_called_exactly_as_often_as_asked():
    calls = []
    one = profile_kernel("mine", "nothing much", 7, lambda: calls.append(1), warmup=2)
    assert len(calls) == 9
    assert one.iterations == 7
    assert one.workload_description == "nothing much"
    assert one.kernel is None
    assert "kernel" in one.unavailable


def test_what_a_function_raises_passes_through():
    with pytest.raises(ZeroDivisionError):
        profile_kernel("mine", "", 3, lambda: 1 / 0)
    for wrong in (0, -1, True, 1.5):
        with pytest.raises(ValueError, match="iterations is a whole number"):
            profile_kernel("mine", "", wrong, lambda: None)


def test_short_calls_are_repeated_and_long_ones_are_not():
    import time

    short, _ = time_calls(lambda: None, 100, 3)  # the shortest call counts, so one that was interrupted does not
    assert short.repeats > 1
    long, _ = time_calls(lambda: time.sleep(0.001), 1, 3)
    assert long.repeats == 1


def test_a_report_of_the_suite():
    report = run_workloads(["vector_add", "ar_forecast"], backend="c", iterations=6, warmup=1, sizes={"n": 1000})
    assert [one.name for one in report.stats] == ["vector_add", "ar_forecast"]
    assert report["vector_add"].operations == 1000
    assert report["vector_add"].bytes == 12_000
    assert report["ar_forecast"].iterations == 6
    with pytest.raises(KeyError, match="conv2d: not measured"):
        report["conv2d"]
    document = check(json.loads(report.to_json()))
    assert document["format"] == "regimeter.workloads"
    assert {one["name"] for one in document["kernels"]} == {"vector_add", "ar_forecast"}
    for style in ("text", "markdown", "html"):
        text = report.render(style)
        assert "vector_add" in text
        assert "Host calls, with copies and allocation" in text
    with pytest.raises(ValueError, match="unknown style"):
        report.render("pdf")


def test_what_cannot_run_is_left_out_with_its_reason():
    package("torch")
    report = run_workloads(["ar_forecast", "dot_product"], backend="torch", iterations=2, calls=0, sizes={"n": 100})
    assert [one.name for one in report.stats] == ["dot_product"]
    assert "each step depends on the one before" in report.left_out["ar_forecast"]
    assert report["dot_product"].host_call is None
    assert "calls=0" in report["dot_product"].unavailable["host_call"]
    with pytest.raises(regimeter.UnavailableError, match="each step"):
        run_workloads("ar_forecast", backend="torch")


def test_lists_of_the_slowest_and_the_most_variable():
    made = tuple(stats(f"k{n}", call_us=[n * 10.0, n * 10.0 + n * n]) for n in range(1, 9))
    report = WorkloadReport(made)
    assert [one.name for one in report.slowest] == ["k8", "k7", "k6", "k5", "k4"]
    assert [one.name for one in report.most_variable] == ["k8", "k7", "k6"]
    assert [one.name for one in WorkloadReport(made, policy=thresholds({"slowest": 2})).slowest] == ["k8", "k7"]


def test_names_of_others_steer_neither_terminal_nor_page():
    made = WorkloadReport((stats("<b>\x1b[31m|x", call_us=[1.0, 2.0]),))
    assert "\x1b" not in made.render("text")
    assert "<b>" not in made.render("html")
    assert "<b>" not in made.render("markdown")


def test_importing_the_package_brings_no_torch(run_python):
    code = "import sys, regimeter.workloads; print({'torch', 'sqlalchemy', 'scipy'} & sys.modules.keys())"
    assert run_python(code).stdout == "set()\n"


# --- sweep ----------------------------------------------------------------------------------------------------


def sweep(work, times):
    made = tuple(stats(kernel_us=[t] * 6, operations=float(w)) for w, t in zip(work, times, strict=True))
    return Sweep("vector_add", ("n",), made)


def test_the_exponent_is_that_of_the_times():
    work = np.array([1e3, 1e4, 1e5, 1e6])
    assert sweep(work, 2 * (work / 1e3) ** 1.5).exponent == pytest.approx(1.5, abs=1e-3)
    assert sweep(work, np.full(4, 7.0)).exponent == pytest.approx(0)
    assert sweep(work[:1], [1.0]).exponent is None


def test_twice_the_data_need_not_take_twice_the_time():
    """A constant launch cost below saturation, a constant rate above it: exponents from nearly 0 to nearly 1."""
    work = 2.0 ** np.arange(10, 23, 3)
    found = sweep(work, 5 + work / 1e5)
    assert found.exponents[0] < 0.1
    assert found.exponents[-1] > 0.7
    assert found.saturated_from is None
    assert "no saturation was seen" in found.verdict


def test_saturation_is_where_the_rate_stays():
    work = np.array([1e3, 1e4, 1e5, 1e6, 1e7])
    found = sweep(work, [10, 10, 10, 100, 1000])
    assert found.saturated_from == 2
    assert sweep(work, work / 1e3).saturated_from == 0
    falls = sweep(work, [10, 10, 10, 100, 10_000])
    assert falls.saturated_from is None
    assert "falls again" in falls.verdict


def test_a_sweep_scales_the_sizes_that_belong_together():
    found = run_sweep("matrix_multiply", factors=[0.125, 0.0625], backend="c", iterations=1, warmup=1)
    assert [one.parameters for one in found.stats] == [{"m": n, "n": n, "k": n} for n in (16.0, 32.0)]
    assert [one.operations for one in found.stats] == [2 * 16**3, 2 * 32**3]
    other = run_sweep("matrix_multiply", over=["k"], factors=[0.125], backend="c", iterations=1)
    assert other.stats[0].parameters == {"m": 256, "n": 256, "k": 32}
    with pytest.raises(ValueError, match="has no parameter 'depth'"):
        run_sweep("matrix_multiply", over=["depth"])
    with pytest.raises(ValueError, match="above 0"):
        run_sweep("matrix_multiply", factors=[-1])


# --- the command ----------------------------------------------------------------------------------------------


def test_list_names_everything(capsys):
    assert main(["workloads", "list", "--json"]) == 0
    document = check(json.loads(capsys.readouterr().out))
    assert len(document["workloads"]) == 9
    assert {row["name"] for row in document["thresholds"]} == set(DEFAULTS)
    assert main(["workloads", "list"]) == 0
    assert "pixel_entropy" in capsys.readouterr().out


def test_run_as_json_and_as_a_page(capsys, tmp_path):
    words = ["workloads", "run", "--kernel", "vector_add", "dot_product", "--size", "n=500", "--backend", "portable"]
    assert main([*words, "--iterations", "6", "--json"]) == 0
    document = check(json.loads(capsys.readouterr().out))
    assert [one["parameters"] for one in document["kernels"]] == [{"n": 500.0}] * 2
    assert all(one["facts"]["set"] == "portable" for one in document["kernels"])
    page = tmp_path / "page.html"
    assert main([*words, "--iterations", "2", "--format", "html", "-o", str(page)]) == 0
    assert "Content-Security-Policy" in page.read_text()


def test_sweep_of_the_command(capsys):
    words = ["workloads", "sweep", "dot_product", "--factors", "0.01,0.02", "--iterations", "2", "--backend", "c"]
    assert main([*words, "--json"]) == 0
    document = check(json.loads(capsys.readouterr().out))
    assert document["format"] == "regimeter.workload_sweep"
    assert [one["parameters"]["n"] for one in document["kernels"]] == [1000, 2000]
    assert main(words) == 0
    assert "exponent from the size before" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "--kernel", "nothing"], "no workload is called 'nothing'"),
        (["run", "--size", "n"], "expected NAME=NUMBER"),
        (["run", "--size", "nothing=1"], "has a size 'nothing'"),
        (["run", "--backend", "abacus"], "no backend is called 'abacus'"),
        (["run", "--policy", "slow=1"], "no threshold is called 'slow'"),
        (["run", "--iterations", "0"], "at least 1"),
        (["sweep", "conv2d", "--factors", "a,b"], "expected numbers"),
        (["watch", "--every", "0s"], "a time above 0"),
        (["ab", "conv2d", "--base", "c:height", "--current", "c"], "expected BACKEND"),
        ([], "SUBJECT"),
    ],
)
def test_wrong_usage_is_one_line(words, message, refused):
    refused(["workloads", *words], message)


# --- the steady state -----------------------------------------------------------------------------------------

ALONE = """
import json, sys
import regimeter
report = regimeter.run_workloads(sys.argv[2].split(","), backend=sys.argv[1], iterations=20, threads=1)
found = report["vector_add"]
print(json.dumps([found.host_call.faults_per_run, found.kernel.faults_per_run]))
"""


@pytest.mark.parametrize("backend", ["c", "numpy"])
@pytest.mark.parametrize("company", ["vector_add", "pixel_entropy,vector_add"])
def test_a_host_call_touches_no_new_pages_alone_or_after_others(backend, company):
    """Three arrays of 400 kB are some 300 pages a call; what the allocator kept from other work must not matter."""
    made = subprocess.run(
        [sys.executable, "-c", ALONE, backend, company], check=True, capture_output=True, text=True, timeout=300
    )
    host_call, kernel = json.loads(made.stdout)
    assert host_call < 10
    assert kernel < 10


def test_warm_up_goes_on_until_no_page_is_new(monkeypatch):
    from regimeter.workloads import python_timing

    left, total, calls = [12], [0], []

    def faults():
        return total[0]

    def call():
        calls.append(1)
        if left[0]:
            left[0] -= 1
            total[0] += 100

    monkeypatch.setattr(python_timing, "page_faults", faults)
    times, _ = time_calls(call, 3, 5, repeat=True)
    assert times.faults == 0
    assert len(calls) == 13 + 5 * times.repeats, "twelve with new pages and one without, then the times"
    left[0], calls[:] = 10**6, []
    times, _ = time_calls(call, 3, 5, repeat=True)
    assert len(calls) == 3 + python_timing.MORE_WARMUP + 5 * times.repeats, "what never stops is not waited for"
    assert times.faults_per_run == 100
    left[0], calls[:] = 10**6, []
    time_calls(call, 3, 5, repeat=False)
    assert len(calls) == 8, "a function of the user's runs as often as asked"


def test_what_was_done_and_page_faults_are_in_the_report(capsys):
    report = run_workloads("vector_add", backend="c", iterations=6)
    text = report.render()
    assert "steady state: freed memory is kept" in text
    assert "page faults" in text
    assert report.to_dict()["kernels"][0]["host_call"]["page_faults_per_run"] is not None


# --- what to try ----------------------------------------------------------------------------------------------


def advice(*kernels):
    report = WorkloadReport(kernels)
    return {(one.kernel, one.command or one.text) for one in report.recommendations}


def test_advice_follows_from_what_was_measured():
    varying = stats(call_us=[100, 100, 300, 100, 100, 400])
    assert advice(varying) == {
        ("vector_add", "taskset -c 0,1 regimeter workloads run --kernel vector_add --backend c --iterations 100")
    }
    calm = stats(call_us=[100] * 6, kernel_us=[95] * 6)
    assert advice(calm) == set()
    ((_, text),) = advice(stats(call_us=[100] * 6, kernel_us=[50] * 6))
    assert "use buffers again" in text
    slow = stats("pixel_entropy", kernel_us=[6000] * 6)
    assert advice(slow) == {("pixel_entropy", "regimeter workloads sweep pixel_entropy --backend c --over window")}
    device = KernelStats(
        "conv2d", "", "device", "a GPU", kernel=Times((10_000, 90_000) * 4), facts={"slowed_by": ["hw_thermal"]}
    )
    commands = {command for _, command in advice(device)}
    assert {"nvidia-smi", "nvidia-smi -q -d TEMPERATURE,CLOCK,PERFORMANCE", "nvidia-smi -q -d PERFORMANCE"} <= commands
    assert any(command.startswith("nsys profile --stats=true regimeter workloads run") for command in commands)


def test_advice_stands_in_text_json_and_page(capsys, tmp_path):
    words = ["workloads", "run", "--kernel", "pixel_entropy", "--backend", "c", "--iterations", "3"]
    words += ["--policy", "slow_us=0"]
    assert main(words) == 0
    command = "regimeter workloads sweep pixel_entropy --backend c --over window"
    said = capsys.readouterr().out
    assert "What to try" in said
    assert command in said
    assert main([*words, "--json"]) == 0
    assert command in [row["command"] for row in json.loads(capsys.readouterr().out)["recommendations"]]
    assert main([*words, "--format", "html", "-o", str(tmp_path / "r.html")]) == 0
    assert command in (tmp_path / "r.html").read_text()
    sweep = [*command.split()[1:], "--iterations", "2", "--factors", "0.5,1", "--size", "height=32", "width=32"]
    assert main(sweep) == 0, "the command that is printed works"


def test_a_monitor_of_the_program_has_the_times_too(run_python):
    said = run_python(
        "import regimeter\n"
        "regimeter.run_workloads('ar_forecast', backend='c', iterations=4)\n"
        "monitor = regimeter.get_global_monitor()\n"
        "assert 'ar_forecast' not in monitor.get_report()\n"
        "regimeter.run_workloads('ar_forecast', backend='c', iterations=4)\n"
        "print(monitor.get_report())\n"
    ).stdout
    assert "ar_forecast" in said
    assert "4 calls" in said
