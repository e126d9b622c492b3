# SPDX-License-Identifier: Apache-2.0
"""The verdict on one operation, against ceilings and times that are made up: the least that a call takes, rates of
functions, and the arithmetic of the roofline."""

import os

import numpy as np
import pytest
from made_up_machine import calibration, every_call_takes, measurement, profile_of

from regimeter.regime import floor, inner_rate, numpy_work, suggest_optimization


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
    every_call_takes(monkeypatch, 1000, calls=1)
    monkeypatch.setattr(floor, "stopwatch_cpu_ns", lambda: 100.0)
    told = profile_of(np.add, np.ones(4), np.ones(4), repeat=1, count_work=False)
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
    every_call_takes(monkeypatch, microseconds * 1000, calls=1)
    monkeypatch.setattr(floor, "shortest_call", lambda *told: (500.0, 0.5))
    monkeypatch.setattr(inner_rate, "_known", {(np.cos, ("float64",)): (5.0, 0.2)})
    arrays = [np.ones(count) for _ in range(getattr(function, "nin", 2))]
    assert profile_of(function, *arrays, repeat=1)["regime"] == regime


def verdict_on(monkeypatch, milliseconds, **work):
    every_call_takes(monkeypatch, milliseconds * 1e6)
    monkeypatch.setattr(floor, "_known", {("python", False): (300.0, 0.05)})
    return profile_of(lambda: None, **work)


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
    assert measurement(1e6, process_cpu_ns=9e6).busy_threads == (os.cpu_count() or 1)


def test_time_that_others_took_makes_no_call_faster_than_a_roof(monkeypatch):
    """A pool thread that spun lost it, so the wall clock's time stands: no error of the work, and no UNKNOWN."""
    every_call_takes(monkeypatch, 10e6, thread_cpu_ns=1e6, process_cpu_ns=12e6, stolen_ns=8.5e6)
    monkeypatch.setattr(floor, "_known", {("python", False): (300.0, 0.05)})
    monkeypatch.setattr("regimeter.regime.verdict.measure_again", lambda beaten, part: None)
    told = profile_of(lambda: None, flops=9e8, bytes=1e6)
    assert told["detail"] != "model_error"
    assert told["regime"] in ("COMPUTE_BOUND", "AMBIGUOUS"), "with so much taken the label may be left open"


def test_a_product_that_beats_the_loops_of_the_calibration_is_the_better_measurement(monkeypatch):
    """By a formula its work is known, so the ceiling was low; with work that the user gave it may be the work."""
    a = np.ones((192, 192))
    flops = 2 * 192**3
    every_call_takes(monkeypatch, flops / (1.2 * 1e11) * 1e9)  # a fifth faster than the made-up peak
    monkeypatch.setattr(floor, "shortest_call", lambda *told: (300.0, 0.05))
    monkeypatch.setattr("regimeter.regime.verdict.measure_again", lambda beaten, part: None)
    told = profile_of(np.matmul, a, a)
    assert (told["regime"], told["detail"]) == ("COMPUTE_BOUND", "none")
    given = profile_of(lambda: a, flops=flops, bytes=9e5)
    assert (given["regime"], given["detail"]) == ("UNKNOWN", "model_error")


def test_a_missing_ceiling_is_not_missing_work():
    a = np.ones((64, 64), dtype="float16")
    told = profile_of(np.matmul, a, a, repeat=3)
    if told["evidence"]["reason"] != "floor":
        assert (told["regime"], told["evidence"]["reason"]) == ("UNKNOWN", "no_peak")
        assert "element type" in suggest_optimization(told)


def test_faster_than_a_roof_stays_visible(monkeypatch):  # D3, D5
    profile = verdict_on(monkeypatch, 1, flops=1e9, bytes=1e3)
    assert profile["flops_utilization"] == pytest.approx(10)
    assert (profile["regime"], profile["detail"]) == ("UNKNOWN", "model_error")


def test_stolen_time_is_not_the_program_s():
    taken = measurement(100.0, thread_cpu_ns=40.0, process_cpu_ns=40.0, stolen_ns=60.0, preempted=3, calls=1)
    assert taken.own_ns == 40.0
    assert taken.busy_threads == 1.0
