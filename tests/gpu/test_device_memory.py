# SPDX-License-Identifier: Apache-2.0
"""Device memory against torch's real allocator: ``make test-gpu``."""

import pytest

from regimeter import GPUProfiler

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no CUDA device"),
]
MB = 1_000_000


@pytest.fixture
def profiler():
    """Track memory on device 0, with the allocator in use and empty."""
    torch.cuda.init()
    torch.cuda.empty_cache()
    with GPUProfiler(track_memory=True) as made:
        yield made


def block(megabytes: int) -> "torch.Tensor":
    """Allocate device memory; sizes are multiples of the allocator's rounding of 512 bytes."""
    return torch.empty(megabytes * MB // 512 * 512, dtype=torch.uint8, device="cuda")


def test_the_true_peak_of_nested_scopes(profiler):
    base = torch.cuda.memory_allocated()
    with profiler.profile("outer"):
        first = block(64)
        with profiler.profile("inner"):
            second = block(256)
            del second
        with profiler.profile("small"):
            third = block(8)
        del first
    found = {entry.operation: entry for entry in profiler.get_entries()}
    size = {name: megabytes * MB // 512 * 512 for name, megabytes in (("64", 64), ("256", 256), ("8", 8))}
    assert found["outer"].memory_source == "device"
    assert round(found["outer"].memory_peak_mb * MB) == base + size["64"] + size["256"]
    assert round(found["inner"].memory_peak_mb * MB) == base + size["64"] + size["256"]
    assert round(found["small"].memory_peak_mb * MB) == base + size["64"] + size["8"]
    assert round(found["outer"].memory_allocated_mb * MB) == size["8"]
    assert round(found["inner"].memory_allocated_mb * MB) == 0
    assert profiler.device_memory_peak() >= base + size["64"] + size["256"]
    del third


def test_a_scope_without_allocation_has_what_was_there_as_its_peak(profiler):
    held = block(32)
    now = torch.cuda.memory_allocated()
    with profiler.profile("idle"):
        pass
    entry = profiler.get_entries()[0]
    assert round(entry.memory_peak_mb * MB) == now
    assert round(entry.memory_allocated_mb * MB) == 0
    del held
