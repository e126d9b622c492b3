# SPDX-License-Identifier: Apache-2.0
"""Pool, monitor and autotuner on a device: what doubles cannot show."""

import pytest

from regimeter import ActiveMemoryPool, GpuMonitor, KernelAutotuner, _core

pytestmark = pytest.mark.gpu


def test_device_memory_is_reused_after_the_work_on_it():
    torch = pytest.importorskip("torch")
    pool = ActiveMemoryPool()
    buffer = pool.allocate(64 << 20, 0)
    tensor = torch.as_tensor(buffer, device="cuda:0")
    assert tensor.data_ptr() == buffer.address
    tensor.fill_(7)
    assert int(tensor[-1]) == 7
    address = buffer.address
    del tensor
    pool.free(buffer)
    torch.cuda.synchronize()
    again = pool.allocate(64 << 20, 0)
    assert again.address == address
    pool.free(again)
    assert pool.close() == ()


def test_a_buffer_in_use_by_the_device_is_not_handed_out():
    torch = pytest.importorskip("torch")
    pool = ActiveMemoryPool()
    buffer = pool.allocate(1 << 20, 0)
    torch.cuda._sleep(200_000_000)  # some 0.1 s of the default stream
    pool.free(buffer)
    assert not pool.allocate(1 << 20, 0).reused
    assert pool.get_stats().total("busy_skips") == 1
    torch.cuda.synchronize()


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
    tuner.tune_workload("vector_add", parameters={"n": 1 << 24})
    print(tuner.result("vector_add", 1 << 24))
    tuner.save(tmp_path)
    assert KernelAutotuner(device=0).load(tmp_path) == 1
