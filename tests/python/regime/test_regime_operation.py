# SPDX-License-Identifier: Apache-2.0
"""One operation: what is returned, how often it runs, what is known of its work, and what is never claimed."""

import functools
import math
import os
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import regimeter
from regimeter import CUDANotAvailableError, GPUProfiler, _core
from regimeter.calibration import Calibration, Ceiling
from regimeter.regime import (
    calls,
    floor,
    inner_rate,
    light,
    memory,
    numpy_work,
    safe_profile,
    scaling,
    suggest_optimization,
)
from regimeter.regime.stopwatch import Measurement
from regimeter.regime.work import LOWER_BOUND

REGIMES = {"OVERHEAD_BOUND", "MEMORY_BOUND", "COMPUTE_BOUND", "AMBIGUOUS", "UNKNOWN"}
KEYS = {
    "runtime_ms", "achieved_flops", "achieved_bandwidth", "flops_utilization", "bandwidth_utilization", "regime",
    "compute_intensity", "memory", "detail", "confidence", "leans_to", "evidence", "calls", "source", "device", "pipe",
    "warnings",
}  # fmt: skip
MEMORY_KEYS = {
    "allocated_mb", "reserved_mb", "peak_allocated_mb", "total_available_mb", "fragmentation_ratio", "oom_risk",
    "headroom_mb", "usage_percentage",
}  # fmt: skip


def calibration(flops=1e11, bandwidth=1e10) -> Calibration:
    """A machine that is made up, so that no test depends on this one."""
    values = {"compute_fp64": flops, "compute_fp32": 2 * flops, "dispatch_python": 50.0, "dispatch_numpy": 400.0}
    values |= dict.fromkeys(("memory_copy", "memory_triad", "cache_l1", "cache_l2", "cache_l3"), bandwidth)
    values["dispatch_torch"] = 1000.0
    units = {name: row["unit"] for name, row in _core.ceilings().items()}
    rows = {name: Ceiling(values.get(name), 0.02 if name in values else None, unit) for name, unit in units.items()}
    return Calibration("cpu", "made up", 1, rows, rows, {}, 0.0, True, 0.0)


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
    """Longer than a call without work, and its work is not known."""
    values = np.random.default_rng(1).random(200_000)
    profile = profiler.profile_with_result(lambda: np.sort(values).sum(), lightweight=True)[1]
    assert (profile["regime"], profile["reason"]) == ("UNKNOWN", "no_work")
    assert "flops= and bytes=" in profile["advice"]
    given = profiler.profile_with_result(
        np.sort, np.random.default_rng(1).random(200_000), lightweight=True, flops=1e6, bytes=3e6
    )[1]
    assert given["reason"] in _core.REGIME_REASONS
    assert given["advice"]
    assert profiler.profile_with_result(abs, -1, lightweight=True)[1]["reason"] == "floor"


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


def test_only_slow_functions_are_judged_by_their_own_rate():
    values = np.ones(10)
    own = {
        function: numpy_work.of_call(function, args, {}, function(*args)).elements
        for function, args in (
            (np.add, (values, values)),
            (np.sqrt, (values,)),
            (np.cos, (values,)),
            (np.sum, (values,)),
            (np.sort, (values,)),
            (np.unique, (values,)),
        )
    }
    assert own == {np.add: None, np.sqrt: 10, np.cos: 10, np.sum: 10, np.sort: 10, np.unique: None}


@pytest.mark.parametrize(("cache", "largest"), [(4 * 2**20, 65_536), (2**20, 65_536), (None, 65_536), (32_768, 4096)])
def test_an_own_rate_is_taken_where_it_is_more_than_the_call(cache, largest, monkeypatch):
    counts = set()

    def each(function, sides):
        counts.add(sides[0][0].size)
        return 2700 + 0.05 * sides[0][0].size

    monkeypatch.setattr(inner_rate, "_each", each)
    monkeypatch.setattr(inner_rate, "cache_sizes", lambda: (32_768, cache, None))
    monkeypatch.setattr(inner_rate, "_known", {})
    rate, spread = inner_rate.ns_per_element("numpy", np.min, (np.ones(100, "f4"),))
    assert (max(counts), min(counts)) == (largest, 8)
    assert rate == pytest.approx(0.05)
    assert spread == inner_rate.LEAST_SPREAD


def test_values_of_arrays_of_one_shape_belong_together(monkeypatch):
    seen = []
    monkeypatch.setattr(inner_rate, "_each", lambda function, sides: seen.extend(sides) or sides[0][0].size)
    monkeypatch.setattr(inner_rate, "_known", {})
    values = np.arange(5000.0)
    assert inner_rate.ns_per_element("numpy", np.hypot, (values, -values)) is not None
    assert all(np.array_equal(first, -second) for first, second, _ in seen)
    assert len({id(out) for _, _, out in seen}) < len(seen)  # written to one array of each size


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (np.cos, (np.ones(1000),)),
        (np.sort, (np.ones((50, 20)), 0)),
        (np.stack, ([np.ones(30), np.ones(30)],)),
        (np.linalg.inv, (np.eye(20),)),
        (np.matmul, (np.ones((3, 4, 5)), np.ones((3, 5, 6)))),
        (np.take, (np.ones(10), np.array([3, 4]))),
        (np.ones(30).sum, ()),
        (np.ones(30).fill, (2.0,)),
    ],
)
def test_the_least_of_a_function_is_its_own_call_on_one_element(function, args):
    call, key = floor._smallest("numpy", function, args)
    assert key not in ("numpy", "torch", "python")
    assert floor.is_own("numpy", function, args)
    owner = getattr(call.func, "__self__", None)
    arrays = [value for value in (*call.args, owner) if isinstance(value, np.ndarray)]
    arrays += [item for value in call.args if isinstance(value, list) for item in value]
    assert arrays
    assert all(array.size == 1 for array in arrays)


class Program(np.ndarray):
    """An array of the program: what it does when it is used is not known."""


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (np.add, (np.ones(3).view(Program), np.ones(3))),
        (np.copyto, (np.ones(3), [np.ones(3).view(Program)])),
        (np.zeros, (10**9,)),
        (np.repeat, (np.ones(2), 10**9)),
        (np.save, ("a file", np.ones(2))),
        (np.random.shuffle, (np.ones(3),)),
        (np.cross, (np.ones(3), np.ones(3))),  # does not take one element
        (lambda x: x, (np.ones(3),)),
    ],
)
def test_what_could_touch_the_program_is_not_called_for_a_floor(function, args):
    assert not floor.is_own("numpy", function, args)


def test_a_floor_that_a_call_beats_is_measured_again(monkeypatch):
    times = iter([5000.0, 900.0, 800.0])
    monkeypatch.setattr(floor, "_known", {})
    monkeypatch.setattr(floor, "_measure", lambda call, cold: (next(times), 0.5))
    measured = Measurement(1000, 1000, None, 1000, 1000, 0, 0, 0, 0, 1, None, (1000,))
    monkeypatch.setattr(calls.stopwatch, "measure", lambda call, repeat, *rest: (call(), measured))
    monkeypatch.setattr(floor, "stopwatch_cpu_ns", lambda: 100.0)
    question = calls.Question(1, count_work=False)
    told = calls.profile_call(np.add, (np.ones(4), np.ones(4)), {}, question, lambda device: calibration())[1]
    assert told["evidence"]["floor_share"] == pytest.approx(0.9)
    assert next(times) == 800.0  # and no more often than needed


@pytest.mark.parametrize(("flops", "regime", "part"), [(1.4e9, "COMPUTE_BOUND", ["compute"]), (9e9, "UNKNOWN", [])])
def test_a_ceiling_that_a_call_beats_is_measured_again(flops, regime, part, monkeypatch):
    asked = []

    def measure_again(beaten, part):
        asked.append(part)
        return calibration(flops=1.5e11)

    monkeypatch.setattr("regimeter.regime.verdict.measure_again", measure_again)
    told = verdict_on(monkeypatch, 10, flops=flops, bytes=1e6)
    assert (told["regime"], asked) == (regime, part)  # nine times a ceiling is an error of the work
    assert told["flops_utilization"] == pytest.approx(flops / 10e-3 / (1.5e11 if part else 1e11))


@pytest.mark.parametrize(
    ("function", "count", "microseconds", "regime"),
    [
        (np.add, 4, 30, "OVERHEAD_BOUND"),  # 80 ns of operations and 300 ns of cache lines at most
        (np.cos, 4, 30, "OVERHEAD_BOUND"),
        (np.add, 2000, 30, "AMBIGUOUS"),
        (lambda a, b: a, 4, 30, "UNKNOWN"),
        (np.cross, 3, 30, "OVERHEAD_BOUND"),  # written in Python, on three numbers
        (np.cross, 3, 3000, "UNKNOWN"),
    ],
)
def test_a_cold_call_on_a_few_elements_is_overhead(function, count, microseconds, regime, monkeypatch):
    ns = microseconds * 1000
    measured = Measurement(ns, ns, None, ns, ns, 0, 0, 0, 0, 1, None, (ns,))
    monkeypatch.setattr(floor, "shortest_call", lambda *told: (500.0, 0.5))
    monkeypatch.setattr(inner_rate, "_known", {(np.cos, ("float64",)): (5.0, 0.2)})
    monkeypatch.setattr(calls.stopwatch, "measure", lambda call, repeat, *rest: (call(), measured))
    arrays = tuple(np.ones(count) for _ in range(getattr(function, "nin", 2)))
    told = calls.profile_call(function, arrays, {}, calls.Question(1), lambda device: calibration())[1]
    assert told["regime"] == regime


def test_zero_sizes_are_overhead(profiler):
    profile = profiler.profile_operation(np.add, np.ones(0), np.ones(0))
    assert (profile["flops"], profile["bytes"], profile["regime"]) == (0.0, 0.0, "OVERHEAD_BOUND")
    assert profile["compute_intensity"] is None


def test_a_wait_is_not_work(profiler):
    profile = profiler.profile_operation(time.sleep, 0.2)  # long beside the delay with which a busy machine wakes it
    assert (profile["regime"], profile["detail"]) == ("OVERHEAD_BOUND", "wait")


# The verdict on measurements that are made up, against ceilings that are: only the arithmetic of the roofline is used.


def verdict_on(monkeypatch, milliseconds, **work):
    measured = Measurement(milliseconds * 1e6, milliseconds * 1e6, None, milliseconds * 1e6, milliseconds * 1e6,
                           0, 0, 0, 0, 5, 0.01, (int(milliseconds * 1e6),) * 5)  # fmt: skip
    monkeypatch.setattr(calls.stopwatch, "measure", lambda call, repeat, *rest: (call(), measured))
    monkeypatch.setattr(floor, "_known", {("python", False): (300.0, 0.05)})
    return calls.profile_call(lambda: None, (), {}, calls.Question(5, **work), lambda device: calibration())[1]


def test_the_roofline_decides(monkeypatch):
    near_compute = verdict_on(monkeypatch, 10, flops=9e8, bytes=1e6)
    assert (near_compute["regime"], near_compute["pipe"]) == ("COMPUTE_BOUND", "fp64")
    assert near_compute["flops_utilization"] == pytest.approx(0.9)
    assert near_compute["achieved_flops"] == pytest.approx(9e10)
    assert near_compute["advice"] == suggest_optimization(near_compute)
    near_memory = verdict_on(monkeypatch, 10, flops=1e6, bytes=8e7)
    assert near_memory["regime"] == "MEMORY_BOUND"
    assert near_memory["bandwidth_utilization"] == pytest.approx(0.8)


def test_what_is_far_from_both_roofs_is_not_called_overhead(monkeypatch):  # D6
    assert verdict_on(monkeypatch, 10, flops=1e7, bytes=1e6)["regime"] == "AMBIGUOUS"


def test_more_threads_than_processors_never_worked():
    spun = Measurement(1e6, 1e6, None, 1e6, 9e6, 0, 0, 0, 0, 1, None, (1_000_000,))
    assert spun.busy_threads == (os.cpu_count() or 1)


def test_time_that_others_took_makes_no_call_faster_than_a_roof(monkeypatch):
    """A pool thread that spun lost it, so the wall clock's time stands: no error of the work, and no UNKNOWN."""
    measured = Measurement(10e6, 10e6, None, 1e6, 12e6, 8.5e6, 0, 0, 0, 5, 0.01, (10_000_000,) * 5)
    monkeypatch.setattr(calls.stopwatch, "measure", lambda call, repeat, *rest: (call(), measured))
    monkeypatch.setattr(floor, "_known", {("python", False): (300.0, 0.05)})
    monkeypatch.setattr("regimeter.regime.verdict.measure_again", lambda beaten, part: None)
    question = calls.Question(5, flops=9e8, bytes=1e6)
    told = calls.profile_call(lambda: None, (), {}, question, lambda device: calibration())[1]
    assert told["detail"] != "model_error"
    assert told["regime"] in ("COMPUTE_BOUND", "AMBIGUOUS"), "with so much taken the label may be left open"


def test_a_product_that_beats_the_loops_of_the_calibration_is_the_better_measurement(monkeypatch):
    """By a formula its work is known, so the ceiling was low; with work that the user gave it may be the work."""
    a = np.ones((192, 192))
    flops = 2 * 192**3
    ns = flops / (1.2 * 1e11) * 1e9  # a fifth faster than the made-up peak
    measured = Measurement(ns, ns, None, ns, ns, 0, 0, 0, 0, 5, 0.01, (round(ns),) * 5)
    monkeypatch.setattr(calls.stopwatch, "measure", lambda call, repeat, *rest: (call(), measured))
    monkeypatch.setattr(floor, "shortest_call", lambda *told: (300.0, 0.05))
    monkeypatch.setattr("regimeter.regime.verdict.measure_again", lambda beaten, part: None)
    told = calls.profile_call(np.matmul, (a, a), {}, calls.Question(5), lambda device: calibration())[1]
    assert (told["regime"], told["detail"]) == ("COMPUTE_BOUND", "none")
    given = calls.profile_call(lambda: a, (), {}, calls.Question(5, flops=flops, bytes=9e5), lambda d: calibration())[1]
    assert (given["regime"], given["detail"]) == ("UNKNOWN", "model_error")


def test_a_missing_ceiling_is_not_missing_work(monkeypatch):
    a = np.ones((64, 64), dtype="float16")
    told = calls.profile_call(np.matmul, (a, a), {}, calls.Question(3), lambda device: calibration())[1]
    if told["evidence"]["reason"] != "floor":
        assert (told["regime"], told["evidence"]["reason"]) == ("UNKNOWN", "no_peak")
        assert "element type" in suggest_optimization(told)


def test_faster_than_a_roof_stays_visible(monkeypatch):  # D3, D5
    profile = verdict_on(monkeypatch, 1, flops=1e9, bytes=1e3)
    assert profile["flops_utilization"] == pytest.approx(10)
    assert (profile["regime"], profile["detail"]) == ("UNKNOWN", "model_error")


def test_stolen_time_is_not_the_program_s():
    taken = Measurement(100.0, 100.0, None, 40.0, 40.0, 60.0, 0, 0, 3, 1, None, (100,))
    assert taken.own_ns == 40.0
    assert taken.busy_threads == 1.0


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
        ns = 1e6 * (call.args[0] if slope else 1)
        return None, Measurement(ns, ns, None, ns, ns, 0, 0, 0, 0, 1, None, (int(ns),))

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
    from regimeter.regime.policy import THRESHOLDS

    assert len({row.name for row in THRESHOLDS}) == len(THRESHOLDS)
    assert all(row.unit and row.source for row in THRESHOLDS)


def test_nothing_heavy_is_imported():
    code = """
        import sys, regimeter
        regimeter.GPUProfiler().profile_with_result(abs, -1, lightweight=True)
        assert not {"torch", "matplotlib", "cupy"} & sys.modules.keys(), sys.modules.keys()
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)
