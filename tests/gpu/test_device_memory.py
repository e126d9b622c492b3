# SPDX-License-Identifier: Apache-2.0
"""Device memory against torch's real allocator: ``make test-gpu``."""

import pytest

from regimeter import GPUProfiler

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no CUDA device"),
]
MB = 1_000_000  # of what entries say
SEGMENT = 2 << 20  # bytes


@pytest.fixture
def profiler():
    """Track memory on device 0, with the allocator in use and empty."""
    torch.cuda.init()
    torch.cuda.empty_cache()
    with GPUProfiler(track_memory=True) as made:
        yield made


def block(segments: int) -> "torch.Tensor":
    """Allocate device memory in multiples of 2 MiB.

    The allocator asks for large blocks in such multiples and gives a block whose rest would be less than 1 MiB out
    whole, so other sizes are not what it counts as allocated.
    """
    return torch.empty(segments * SEGMENT, dtype=torch.uint8, device="cuda")


def test_the_true_peak_of_nested_scopes(profiler):
    base = torch.cuda.memory_allocated()
    with profiler.profile("outer"):
        first = block(32)
        with profiler.profile("inner"):
            second = block(128)
            del second
        with profiler.profile("small"):
            third = block(4)
        del first
    found = {entry.operation: entry for entry in profiler.get_entries()}
    assert found["outer"].memory_source == "device"
    assert round(found["outer"].memory_peak_mb * MB) == base + (32 + 128) * SEGMENT
    assert round(found["inner"].memory_peak_mb * MB) == base + (32 + 128) * SEGMENT
    assert round(found["small"].memory_peak_mb * MB) == base + (32 + 4) * SEGMENT
    assert round(found["outer"].memory_allocated_mb * MB) == 4 * SEGMENT
    assert round(found["inner"].memory_allocated_mb * MB) == 0
    assert profiler.device_memory_peak() >= base + (32 + 128) * SEGMENT
    del third


def test_a_scope_without_allocation_has_what_was_there_as_its_peak(profiler):
    held = block(16)
    now = torch.cuda.memory_allocated()
    with profiler.profile("idle"):
        pass
    entry = profiler.get_entries()[0]
    assert round(entry.memory_peak_mb * MB) == now
    assert round(entry.memory_allocated_mb * MB) == 0
    del held
