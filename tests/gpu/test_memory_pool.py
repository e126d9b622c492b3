# SPDX-License-Identifier: Apache-2.0
"""The pool of buffers on a device: a buffer is handed out again only after the device's work on it."""

import pytest

from regimeter import ActiveMemoryPool

from . import hardware

pytestmark = pytest.mark.gpu


def test_device_memory_is_reused_after_the_work_on_it():
    torch = pytest.importorskip("torch")
    pool = ActiveMemoryPool()
    buffer = pool.allocate(64 << 20, 0)
    tensor = torch.as_tensor(buffer, device="cuda:0")
    assert tensor.data_ptr() == buffer.address
    tensor.fill_(7)
    with hardware.claim("the buffer holds what was written to it"):
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
