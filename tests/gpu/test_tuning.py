# SPDX-License-Identifier: Apache-2.0
"""Monitor and autotuner on a device: what doubles cannot show."""

import pytest

from regimeter import GpuMonitor, KernelAutotuner, _core

from .evidence import doubles

pytestmark = pytest.mark.gpu


def test_the_monitor_reads_the_device():
    monitor = GpuMonitor()
    monitor.record_kernel_execution("a", 0.001, None, True)
    figures = monitor.get_utilization_stats()
    assert figures["utilization_source"] == "device", figures["device_reason"]
    assert 0 <= figures["memory_percentage"] <= 100


@pytest.mark.parametrize("block", [32, 64, 128, 256, 512, 1024])
def test_vector_add_is_right_with_any_block(block):
    wanted = _core.run_workload("vector_add", None)["outputs"]["c"]
    assert _core.run_workload("vector_add", 0, block=block)["outputs"]["c"] == wanted


def test_vector_add_is_tuned(tmp_path):
    tuner = KernelAutotuner(device=0, seed=1)
    size = 1 << (14 if doubles.ON else 24)
    tuner.tune_workload("vector_add", parameters={"n": size})
    print(tuner.result("vector_add", size))
    tuner.save(tmp_path)
    assert KernelAutotuner(device=0).load(tmp_path) == 1
