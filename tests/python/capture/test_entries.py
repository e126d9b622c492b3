# SPDX-License-Identifier: Apache-2.0
"""ProfileEntry and ProfileSummary as values: copied, pickled, turned into dictionaries, built by position, printed."""

import copy
import dataclasses
import json
import pickle
from concurrent.futures import ProcessPoolExecutor

import pytest

from regimeter import GPUProfiler, ProfileEntry, ProfileSummary


@pytest.fixture
def recorded(profiler):
    with profiler.profile("outer", size=3):
        with profiler.profile("inner", device="cpu"):
            pass
    return profiler


def one_entry() -> ProfileEntry:
    with GPUProfiler(enable_detailed_metrics=False) as profiler:
        with profiler.profile("in a worker"):
            pass
        return profiler.get_entries()[0]


def values(recorded):
    return [*recorded.get_entries(), *recorded.get_summary().values()]


def test_pickled_and_copied(recorded):
    for value in values(recorded):
        for again in (pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy(value)):
            assert again == value
            assert again.unavailable == value.unavailable
            assert again.unavailable


def test_returned_from_a_worker():
    with ProcessPoolExecutor(1) as pool:
        entry = pool.submit(one_entry).result()
    assert entry.operation == "in a worker"
    assert entry.unavailable["gpu_time_ms"]


def test_as_a_dictionary(recorded):
    for value in values(recorded):
        found = dataclasses.asdict(value)
        assert found["operation"] == value.operation
        assert json.loads(json.dumps(found))["unavailable"] == dict(value.unavailable)


def test_reasons_are_shared_and_do_not_change(recorded):
    entry = recorded.get_entries()[0]
    for change in (
        lambda: entry.unavailable.update(x="y"),
        lambda: entry.unavailable.__setitem__("x", "y"),
        lambda: entry.unavailable.pop("gpu_time_ms"),
        lambda: entry.unavailable.clear(),
    ):
        with pytest.raises(TypeError, match="shared"):
            change()
    assert dict(entry.unavailable) | {"x": "y"}


def test_by_position_in_the_order_of_the_specification():
    entry = ProfileEntry("op", 1.0, 1.5, 500.0, "gpu", "torch", 400.0, 50.0, 30.0, 20.0, 1.5, 2.5, 80.0, 12.0)
    assert (entry.gpu_time_ms, entry.overhead_ms, entry.memory_peak_mb) == (400.0, 20.0, 2.5)
    assert (entry.gpu_utilization, entry.memory_bandwidth_gb_s) == (80.0, 12.0)
    summary = ProfileSummary("op", 2, 10.0, 5.0, 4.0, 6.0, 1.0, 8.0, 2.0, 3.0, 70.0)
    assert (summary.std_dev_ms, summary.total_gpu_time_ms, summary.total_cpu_time_ms) == (1.0, 8.0, 2.0)
    assert (summary.avg_memory_mb, summary.avg_gpu_utilization) == (3.0, 70.0)


def test_what_was_not_measured_is_none_and_prints_with_its_reason(recorded):
    outer, inner = recorded.get_entries()
    assert outer.gpu_time_ms is None
    assert outer.text("gpu_time_ms") == f"n/a ({outer.unavailable['gpu_time_ms']})"
    assert inner.text("duration_ms", ".3f") == f"{inner.duration_ms:.3f}"
    assert inner.text("parent", "d") == "0"
    summary = recorded.get_summary()["outer"]
    assert summary.text("avg_gpu_utilization", ".1f").startswith("n/a (")
    assert ProfileEntry("op", 0.0, 1.0, 1.0, "gpu", "cpu").text("gpu_time_ms") == "n/a"


def test_an_operation_of_two_devices_is_asked_for_by_device(profiler):
    for device in ("gpu", "cpu"):
        with profiler.profile("op", device=device):
            pass
    with profiler.profile("other"):
        pass
    found = profiler.get_summary()
    assert set(found) == {"op [gpu]", "op [cpu]", "other"}
    assert found["op [cpu]"].device == "cpu"
    with pytest.raises(KeyError, match=r"several devices.*'op \[cpu\]'"):
        found["op"]
    with pytest.raises(KeyError, match="nothing"):
        found["nothing"]
    assert found.get("op") is None
    assert pickle.loads(pickle.dumps(found)) == found
