# SPDX-License-Identifier: Apache-2.0
"""What other processes took of the threads of this one."""

import os
import threading
import time

import numpy as np
import pytest

from regimeter.calibration.sampling import Effort, timed
from regimeter.calibration.store import policy
from regimeter.regime import inner_rate, stopwatch
from regimeter.system import scheduling
from regimeter.system.blas import blas_threads

ME = threading.get_native_id()


def test_the_thread_that_lost_most_counts_if_it_worked(monkeypatch):
    monkeypatch.setattr(scheduling, "processors", lambda: 4)
    before = {ME: (100, 10), 2: (50, 0), 3: (50, 0)}
    after = {ME: (1100, 20), 2: (950, 500), 3: (60, 5000)}  # 3 only woke up
    assert scheduling.stolen_ns(before, after, 1000) == 500
    assert scheduling.stolen_ns(before, after, 800) == 800 - 1910 // 4  # the others worked meanwhile
    assert scheduling.stolen_ns(before, after, 300) == 0
    assert scheduling.stolen_ns({}, {}, 1000) == 0
    assert scheduling.cpu_ns(before, after | {4: (7, 0)}) == 1000 + 900 + 10 + 7


@pytest.mark.skipif(not os.path.exists("/proc/self/schedstat"), reason="the system does not tell")
def test_a_worker_that_is_running_is_in_the_processor_time():
    ends = threading.Event()
    numbers = np.ones(2_000_000)

    def work():
        while not ends.is_set():
            np.sqrt(numbers, out=numbers)  # without the interpreter's lock

    worker = threading.Thread(target=work)
    watch = scheduling.Watch()
    worker.start()
    before = watch.read()
    deadline = time.monotonic() + 60
    gained = 0
    while gained < 20_000_000 and time.monotonic() < deadline:
        time.sleep(0.001)
        after = watch.read()
        gained = after[worker.native_id][0] - before.get(worker.native_id, (0, 0))[0]
    ends.set()
    worker.join()
    assert gained >= 20_000_000
    assert scheduling.cpu_ns(before, after) >= gained


def test_undisturbed_calls_make_the_measurement():
    def row(wall, stolen):
        return (wall, wall, None, wall, wall, stolen, 0, 0, 0)

    rows = [row(100, 0), row(900, 800), row(102, 1), row(104, 0), row(50, 40)]
    assert stopwatch._undisturbed(rows) == [rows[0], rows[2], rows[3]]
    assert stopwatch._undisturbed(rows[1:4]) == [rows[3], rows[2], rows[1]]  # too few: the least disturbed
    assert stopwatch._undisturbed(rows[:1]) == rows[:1]


def test_disturbed_samples_count_last():
    def figure(samples, **numbers):
        left = iter([(1.0, 0.0), *samples])
        effort = Effort(True, policy({"batch_quick": 1, **numbers}))
        return timed(effort, "compute_fp64", "it", lambda: next(left), 100.0)

    found = figure([(1.0, 0.5), (10.0, 0.0), (8.0, 0.0)], batches_quick=2)
    assert (found.value, found.samples) == (12.5, 3)
    assert found.spread == pytest.approx(0.1)  # the median of 10 and 12.5
    found = figure([(10.0, 0.5), (5.0, 0.25)], batches_quick=2, tries=1)
    assert found.value == 20.0
    assert found.spread >= 0.25


def test_samples_end_at_the_deadline():
    effort = Effort(True, policy({}), deadline=time.monotonic() - 1)
    found = timed(effort, "compute_fp64", "it", lambda: (1.0, 0.5), 100.0)
    assert (found.value, found.samples, found.spread) == (100.0, 1, 0.5)


def test_threads_of_the_blas_are_as_before():
    with blas_threads(1) as possible:
        if not possible:
            pytest.skip("NumPy's BLAS cannot be asked")
        with blas_threads(2) as two:
            assert two
        with blas_threads(1) as again:
            assert again


def test_values_are_drawn_from_everywhere():
    random = np.random.default_rng(1)
    values = np.arange(100_000.0).reshape(100, 1000)[:, ::2]
    drawn = inner_rate._take_numpy(values, 1024, {}, random)
    assert drawn.shape == (1024,)
    assert set(drawn) <= set(values.ravel())
    assert drawn.min() < 10_000
    assert drawn.max() > 90_000
    assert len(set(drawn)) > 900
    assert inner_rate._take_numpy(np.zeros(0), 8, {}, random) is None
    assert inner_rate._take_numpy(3.0, 8, {}, random) == 3.0


def test_a_rate_that_a_call_beats_is_measured_again(monkeypatch):
    """A rate that was taken in a bad moment does not stand: the fastest of a few is kept, and no more are asked for."""
    found = iter([(30.0, 0.1), (25.0, 0.1), (28.0, 0.1)])
    monkeypatch.setattr(inner_rate, "_known", {})
    monkeypatch.setattr(inner_rate, "_measure", lambda *_: next(found))
    values = (np.linspace(0, 1, 100),)
    assert inner_rate.ns_per_element("numpy", np.cos, values) == (30.0, 0.1)
    assert inner_rate.ns_per_element("numpy", np.cos, values) == (30.0, 0.1)
    assert inner_rate.ns_per_element("numpy", np.cos, values, again=True) == (25.0, 0.1)
    assert inner_rate.ns_per_element("numpy", np.cos, values, again=True) == (25.0, 0.1)
    with pytest.raises(StopIteration):
        inner_rate.ns_per_element("numpy", np.cos, values, again=True)
