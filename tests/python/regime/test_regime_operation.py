# SPDX-License-Identifier: Apache-2.0
"""One operation: what is returned, how often it runs, what is known of its work, and what is never claimed."""

import functools
import math
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from made_up_machine import REGIMES, calibration, measurement

import regimeter
from regimeter import CUDANotAvailableError, GPUProfiler, _core
from regimeter.regime import calls, light, memory, numpy_work, safe_profile, scaling, stopwatch, suggest_optimization
from regimeter.regime.policy import THRESHOLDS, VALUE
from regimeter.regime.work import LOWER_BOUND

KEYS = {
    "runtime_ms", "achieved_flops", "achieved_bandwidth", "flops_utilization", "bandwidth_utilization", "regime",
    "compute_intensity", "memory", "detail", "confidence", "leans_to", "evidence", "calls", "source", "device", "pipe",
    "warnings",
}  # fmt: skip
MEMORY_KEYS = {
    "allocated_mb", "reserved_mb", "peak_allocated_mb", "total_available_mb", "fragmentation_ratio", "oom_risk",
    "headroom_mb", "usage_percentage",
}  # fmt: skip


@pytest.fixture
def profiler(make_profiler, monkeypatch):
    monkeypatch.setattr(GPUProfiler, "_calibration", lambda self, device: calibration())
    return make_profiler()


def count_calls(function):
    @functools.wraps(function)
    def counted(*args, **kwargs):
        counted.calls += 1
        return function(*args, **kwargs)

    counted.calls = 0
    return counted


def test_the_fixed_point_of_the_specification(profiler):
    a = np.arange(9.0).reshape(3, 3)
    result, profile = profiler.profile_with_result(np.matmul, a, a)
    assert np.array_equal(result, a @ a)
    assert profile["regime"] in REGIMES
    assert profile.keys() >= KEYS
    assert profile["memory"].keys() == MEMORY_KEYS
    assert profile["flops"] == 2 * 3**3
    assert profile["bytes"] == 2 * 9 * 8  # one operand, given twice
    assert profile["compute_intensity"] == pytest.approx(54 / 144)


def test_user_code_runs_once_and_in_place_functions_are_safe(profiler):
    values = np.zeros(10)
    profile = profiler.profile_operation(np.add, values, 1.0, values)
    assert values.tolist() == [1.0] * 10
    assert profile["calls"] == 1
    counted = count_calls(lambda: 7)
    assert profiler.profile_with_result(counted)[0] == 7
    assert counted.calls == 1


def test_random_functions_give_the_stream_of_the_program(profiler):
    plain, profiled = np.random.default_rng(5), np.random.default_rng(5)
    expected = [plain.random(4).tolist() for _ in range(3)]
    assert [profiler.profile_with_result(profiled.random, 4)[0].tolist() for _ in range(3)] == expected


def test_repetitions_are_those_asked_for(profiler):
    counted = count_calls(lambda: None)
    profile = profiler.profile_operation(counted, repeat=4)
    assert counted.calls == profile["calls"] == 4
    assert len(profile["evidence"]["times_ms"]) in (3, 4)  # with torch loaded the first is counted, not timed


@pytest.mark.parametrize(("repeat", "median_ns"), [(4, 200), (6, 400)])
def test_from_five_calls_the_first_third_is_not_counted(repeat, median_ns, monkeypatch):
    calls_ns = iter(range(100, 1000, 100))

    def timed(function, device):
        ns = next(calls_ns)
        return function(), (ns, ns, None, ns, ns, *[0] * 7)

    monkeypatch.setattr(stopwatch, "_one", timed)
    counted = stopwatch.measure(lambda: None, repeat)[1]
    assert (counted.wall_ns, len(counted.times_ns)) == (median_ns, repeat)


def test_the_least_disturbed_calls_count_where_the_others_are_too_few():
    least = int(VALUE["least_undisturbed"])
    rows = [(1000, 1000, None, 1000, 1000, stolen_ns) for stolen_ns in (500, *[0] * least, 400)]
    assert stopwatch._undisturbed(rows) == rows[1:-1]
    assert stopwatch._undisturbed(rows[2:]) == rows[2:]


def test_lightweight_runs_once_and_still_classifies(profiler):  # D10
    counted = count_calls(lambda value: value)
    result, profile = profiler.profile_with_result(counted, 3, lightweight=True)
    assert (result, counted.calls, profile["calls"]) == (3, 1, 1)
    assert profile["regime"] in REGIMES
    assert profile["runtime_ms"] > 0
    assert profile["memory"].keys() >= {"oom_risk", "peak_allocated_mb"}


def test_a_lightweight_wait_is_told_where_no_other_thread_works(run_python):
    """In a process of its own: threads that other tests have left would be helpers that it waits for."""
    told = run_python(
        "import time\nfrom regimeter import GPUProfiler\n"
        "waited = GPUProfiler().profile_with_result(time.sleep, 0.02, lightweight=True)[1]\n"
        "print(waited['regime'], waited['detail'], waited['reason'])"
    ).stdout
    assert told.split() == ["OVERHEAD_BOUND", "wait", "cpu_idle"]


def test_lightweight_says_why_and_what_to_do(profiler):
    """Longer than a call without work, and its work is not known; so is a short call that others interrupt."""
    values = np.random.default_rng(1).random(200_000)
    profile = profiler.profile_with_result(lambda: np.sort(values).sum(), lightweight=True)[1]
    assert (profile["regime"], profile["reason"]) == ("UNKNOWN", "no_work")
    assert "flops= and bytes=" in profile["advice"]
    given = profiler.profile_with_result(
        np.sort, np.random.default_rng(1).random(200_000), lightweight=True, flops=1e6, bytes=3e6
    )[1]
    assert given["reason"] in _core.REGIME_REASONS
    assert given["advice"]
    reasons = {profiler.profile_with_result(abs, -1, lightweight=True)[1]["reason"] for _ in range(20)}
    assert "floor" in reasons
    assert reasons <= {"floor", "no_work"}


def test_long_lightweight_calls_are_judged_once_and_seldom_again(monkeypatch):
    judged = []

    def judge(function, args, kwargs, result, wall_ns, cpu_ns):
        judged.append(wall_ns)
        return {"regime": "COMPUTE_BOUND", "reason": "roof"}

    monkeypatch.setattr(light, "_judge_as_full", judge)
    monkeypatch.setattr(light, "_verdicts", {})
    values = np.ones(1000)

    def told(milliseconds, worked=1.0, function=np.sort):
        profile = {"runtime_ms": milliseconds, "regime": "UNKNOWN", "reason": "no_work"}
        light._judge_long(profile, function, (values,), {}, None, milliseconds * 1e6 * worked)
        return profile["regime"], profile["reason"]

    assert told(10.0) == told(12.0) == ("COMPUTE_BOUND", "roof")
    assert judged == [10e6], "twelve is like ten"
    assert told(1e6) == ("COMPUTE_BOUND", "roof")
    assert judged == [10e6, 1e12], "another time, and judging it is little beside the calls"
    assert told(10.0, worked=0.5) == ("UNKNOWN", "load")
    assert told(10.0, function=lambda values: values) == ("UNKNOWN", "no_work"), "nobody knows its work"


@pytest.mark.parametrize(("runnable", "regime", "reason"), [(2, "OVERHEAD_BOUND", "cpu_idle"), (9, "UNKNOWN", "load"),
                                                            (None, "OVERHEAD_BOUND", "cpu_idle")])  # fmt: skip
def test_a_wait_for_helpers_under_load_is_no_wait(runnable, regime, reason, profiler, monkeypatch):
    """The caller waits while another thread of the program works for a part of the time."""
    monkeypatch.setattr(light, "_runnable", lambda: runnable)
    monkeypatch.setattr(light.os, "sched_getaffinity", lambda pid: {0, 1})
    monkeypatch.setattr(light._core, "light_call", lambda *told: (None, {**told[4][3], "runtime_ms": 1.0}))
    told = profiler.profile_with_result(time.sleep, 0, lightweight=True)[1]
    assert (told["regime"], told["reason"]) == (regime, reason)
    assert ("9 threads, 2 processors" in told["advice"]) == (reason == "load")


def test_lightweight_profiles_do_not_share_their_dictionaries(profiler):
    first = profiler.profile_with_result(abs, -1, lightweight=True)[1]
    first["memory"]["oom_risk"] = first["regime"] = "changed"
    second = profiler.profile_with_result(abs, -1, lightweight=True)[1]
    assert second["memory"]["oom_risk"] != "changed" != second["regime"]


@pytest.mark.parametrize("options", [{}, {"lightweight": True}, {"repeat": 3}])
def test_what_the_function_raises_is_raised(profiler, options):
    def fails():
        fails.calls += 1
        raise KeyError("its own")

    fails.calls = 0
    with pytest.raises(KeyError, match="its own"):
        profiler.profile_with_result(fails, **options)
    assert fails.calls == 1


def test_keyword_only_calls_and_methods_and_lambdas(profiler):  # D1
    def keyword(*, left, right):
        return left + right

    assert profiler.profile_with_result(keyword, left=1, right=2)[0] == 3
    assert profiler.profile_with_result(lambda: 5)[0] == 5
    array = np.arange(6.0)
    result, profile = profiler.profile_with_result(array.sum)
    assert (result, profile["flops"], profile["bytes"]) == (15.0, 6.0, 6 * 8)


def test_what_is_not_known_is_none_and_said(profiler):
    hidden = np.ones(100)
    profile = profiler.profile_operation(lambda: (hidden + hidden) * hidden, repeat=3)
    assert profile["flops"] is profile["achieved_flops"] is profile["flops_utilization"] is None
    assert profile["source"]["bytes"] == LOWER_BOUND  # the result alone
    nothing = profiler.profile_operation(lambda: None)
    assert nothing["bytes"] is nothing["achieved_bandwidth"] is nothing["compute_intensity"] is None
    assert any("closure" in text for text in nothing["warnings"])


def test_work_is_known_by_identity_not_by_name(profiler):  # D1, D5
    def matmul(a, b):
        return a

    a = np.ones((4, 4))
    assert profiler.profile_operation(matmul, a, a)["flops"] is None
    alias = np.matmul
    assert profiler.profile_operation(alias, a, a)["flops"] == 2 * 4**3


@pytest.mark.parametrize(
    ("function", "args", "flops", "moved"),
    [
        (np.add, (np.ones(10), np.ones(10)), 10, 240),
        (np.add, (np.ones((5, 1)), np.ones(7)), 35, 8 * (5 + 7 + 35)),
        (np.add, (np.broadcast_to(np.ones(1), (50,)), np.ones(50)), 50, 8 * (1 + 50 + 50)),
        (np.multiply, (np.ones(4, complex), np.ones(4, complex)), 24, 16 * 12),
        (np.cos, (np.ones(10),), None, 160),
        (np.add, (np.ones(10, "i8"), np.ones(10, "i8")), 0, 240),
        (np.power, (np.ones(10, "i8"), np.ones(10, "i8")), None, 240),
        (np.dot, (np.ones((2, 3)), np.ones((3, 4))), 48, 8 * (6 + 12 + 8)),
        (np.matmul, (np.ones((5, 2, 3)), np.ones((3, 4))), 5 * 48, 8 * (30 + 12 + 40)),
        (np.outer, (np.ones(3), np.ones(4)), 12, 8 * (3 + 4 + 12)),
        (np.einsum, ("ij,jk->ik", np.ones((2, 3)), np.ones((3, 4))), 48, 8 * (6 + 12 + 8)),
        (np.tensordot, (np.ones((2, 3)), np.ones((3, 4)), 1), 48, 8 * (6 + 12 + 8)),
        (np.sum, (np.ones(10, "f4"),), 10, 40),
        (np.copy, (np.ones(10),), 0, 160),
        (np.copy, (np.ones(10, "i2"),), 0, 40),
        (np.sort, (np.ones(10),), None, 160),
        (np.linalg.det, (np.eye(3),), 18, 72),
        (np.linalg.cholesky, (np.eye(3),), 9, 144),
        (np.linalg.qr, (np.ones((6, 3)),), 2 * (2 * 6 * 9 - 18), 8 * (18 + 18 + 9)),
    ],
)
def test_formulas_of_numpy(function, args, flops, moved):
    """Counted by hand: each distinct element read once and each result written once, a multiply-add is two."""
    found = numpy_work.of_call(function, args, {}, function(*args))
    assert found.flops == flops
    assert found.bytes in (moved, moved + 4, moved + 8)  # a scalar result is no array


def test_zero_sizes_are_overhead(profiler):
    profile = profiler.profile_operation(np.add, np.ones(0), np.ones(0))
    assert (profile["flops"], profile["bytes"], profile["regime"]) == (0.0, 0.0, "OVERHEAD_BOUND")
    assert profile["compute_intensity"] is None


def test_a_wait_is_not_work(profiler):
    profile = profiler.profile_operation(time.sleep, 0.2)  # long beside the delay with which a busy machine wakes it
    assert (profile["regime"], profile["detail"]) == ("OVERHEAD_BOUND", "wait")


@pytest.mark.parametrize(
    ("options", "text"),
    [({"repeat": 0}, "repeat"), ({"repeat": 1.5}, "repeat"), ({"flops": -1}, "flops"), ({"bytes": math.inf}, "bytes")],
)
def test_bad_options_are_one_clear_error(profiler, options, text):
    counted = count_calls(lambda: None)
    with pytest.raises(ValueError, match=text):
        profiler.profile_operation(counted, **options)
    assert counted.calls == 0
    with pytest.raises(TypeError, match="function"):
        profiler.profile_operation(3)


def test_errors_name_methods_that_exist(profiler):  # D11
    assert issubclass(CUDANotAvailableError, regimeter.UnavailableError)
    with pytest.raises(CUDANotAvailableError, match="cuda:0"):
        calls.check_device("cuda:0")
    with pytest.raises(ValueError, match="valid are"):
        calls.check_device("tpu")
    for error in ("ProfilingError", "OperationTooFastError", "OOMError", "MultiGPUError"):
        assert issubclass(getattr(regimeter, error), regimeter.Error)


def test_safe_profile_returns_what_failed(profiler):
    def fails():
        raise MemoryError("none left")

    assert safe_profile(profiler, fails) == {"error": "OOMError: none left", "regime": "UNKNOWN", "runtime_ms": None}
    assert safe_profile(profiler, lambda: 1)["calls"] == 1


def test_short_operations_are_classified_not_refused(profiler):  # D7
    assert profiler.profile_operation(lambda: None, repeat=25)["regime"] == "OVERHEAD_BOUND"


# --- memory -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headroom", "usage", "risk"),
    [
        (2**29, 0.1, "HIGH"),
        (2**35, 0.95, "HIGH"),
        (2**31, 0.1, "MEDIUM"),
        (2**35, 0.75, "MEDIUM"),
        (2**35, 0.1, "LOW"),
        (None, None, "UNKNOWN"),
        (None, 0.95, "HIGH"),
    ],
)
def test_levels_of_risk(headroom, usage, risk):
    assert memory.oom_risk(headroom, usage) == risk


def test_analyze_memory_runs_once():
    counted = count_calls(lambda size: bytearray(size))
    analysis = regimeter.analyze_memory(counted, 10_000_000)
    assert counted.calls == 1
    assert analysis.allocated_mb > 1
    assert analysis.fragmentation_ratio is None
    assert analysis.oom_risk in {"LOW", "MEDIUM", "HIGH"}
    assert "headroom" in regimeter.get_memory_summary(analysis)
    assert "unavailable" in regimeter.get_memory_summary(memory.MemoryAnalysis())


# --- by size ----------------------------------------------------------------------------------------------------


def test_overhead_test_compares_sizes(monkeypatch):
    def measured(call, repeat):
        return None, measurement(1e6 * (call.args[0] if slope else 1), calls=1)

    monkeypatch.setattr(scaling.stopwatch, "measure", measured)
    slope = False
    assert regimeter.overhead_test(lambda size: None, 10) is True
    slope = True
    assert regimeter.overhead_test(lambda size: None, 10) is False
    for bad in (0, -1, "a", True):
        with pytest.raises(ValueError, match="base_size"):
            regimeter.overhead_test(lambda size: None, bad)


def test_suggestions_promise_no_factor():  # D9
    for regime in REGIMES:
        text = suggest_optimization({"regime": regime, "detail": "none"})
        assert text
        assert not any(character.isdigit() for character in text)


def test_every_threshold_says_where_it_comes_from():
    assert len({row.name for row in THRESHOLDS}) == len(THRESHOLDS)
    assert all(row.unit and row.source for row in THRESHOLDS)


def test_nothing_heavy_is_imported():
    code = """
        import sys, regimeter
        regimeter.GPUProfiler().profile_with_result(abs, -1, lightweight=True)
        assert not {"torch", "matplotlib", "cupy"} & sys.modules.keys(), sys.modules.keys()
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)
