# SPDX-License-Identifier: Apache-2.0
"""Hardware counters of a real device: ``make test-gpu``. Skipped, with the reason, where the user may not read them."""

import time

import numpy as np
import pytest

from regimeter import UnavailableError
from regimeter.capture import counters

from . import hardware

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no CUDA device"),
]
MIB = 1 << 20


def started(make):
    """Start a measurement in a context that is in use, or skip."""
    torch.cuda.init()
    torch.zeros(1, device="cuda").add_(1).item()
    try:
        return make()
    except UnavailableError as error:
        pytest.skip(str(error))


def busy(work, seconds: float) -> tuple[int, int]:
    """Repeat `work` for about that long; return when the device was busy, well inside both ends."""
    work()
    torch.cuda.synchronize()
    begin = time.monotonic_ns()
    while time.monotonic_ns() - begin < seconds * 1e9:
        for _ in range(4):
            work()
        torch.cuda.synchronize()
    end = time.monotonic_ns()
    margin = (end - begin) // 5
    return begin + margin, end - margin


def inside(series, interval) -> np.ndarray:
    times, values = series
    found = values[(times >= interval[0]) & (times < interval[1])]
    assert len(found), f"no sample between {interval}; they are from {times[:1]} to {times[-1:]}"
    return found


def copying():
    """Return a copy that is far larger than any cache."""
    source = torch.empty(1024 * MIB, dtype=torch.uint8, device="cuda").fill_(1)
    target = torch.empty_like(source)
    return lambda: target.copy_(source)


def test_samples_of_a_copy_lie_near_the_peak_of_memory():
    copy = copying()
    with started(lambda: counters.sample(source="pm")) as measurement:
        interval = busy(copy, 0.5)
    found = measurement.result
    throughput = inside(found.series("dram_throughput"), interval)
    with hardware.claim("a copy is near the peak of memory"):
        assert 60 <= np.median(throughput) <= 105
    # One sample a millisecond, and those that are missing are said to be.
    expected = (interval[1] - interval[0]) / 1e6
    assert 0.8 * expected - found.counts["dropped"] <= len(throughput) <= 1.2 * expected
    read, written = (np.median(inside(found.series(role), interval)) for role in ("dram_read", "dram_write"))
    with hardware.claim("a copy reads what it writes"):
        assert read == pytest.approx(written, rel=0.3)


def test_samples_are_on_the_clock_of_scopes():
    copy = copying()
    copy()
    torch.cuda.synchronize()
    with started(lambda: counters.sample(source="pm")) as measurement:
        time.sleep(0.3)
        interval = busy(copy, 0.3)
        torch.cuda.synchronize()
        time.sleep(0.3)
        quiet = time.monotonic_ns() - 200_000_000, time.monotonic_ns() - 50_000_000
    found = measurement.result
    active, idle = (np.median(inside(found.series("sm_active"), when)) for when in (interval, quiet))
    with hardware.claim("the samples show work when there was work, and none when there was none"):
        assert active > 30
        assert idle < 10
    assert found.counts["times_guessed"] is False


def test_samples_of_a_matrix_product_show_the_tensor_pipes():
    left = torch.randn(8192, 8192, device="cuda", dtype=torch.float16)
    with started(lambda: counters.sample(source="pm")) as measurement:
        interval = busy(lambda: left @ left, 0.5)
    found = measurement.result
    roles = ("tensor_active", "dram_throughput", "sm_clock")
    tensor, memory, clock = (np.median(inside(found.series(role), interval)) for role in roles)
    with hardware.claim("a product keeps the tensor pipes busy and memory not"):
        assert 20 <= tensor <= 105
        assert memory < 60
    with hardware.claim("the clock of the multiprocessors is one that a device has"):
        assert 2e8 < clock < 4e9


def test_counted_additions_are_those_that_were_made():
    size = 1 << 24
    left, right = (torch.randn(size, device="cuda") for _ in range(2))
    out = torch.empty_like(left)
    torch.add(left, right, out=out)
    torch.cuda.synchronize()
    with started(lambda: counters.count("fp")) as measurement:
        for name in ("add", "nothing", "add"):
            measurement.push(name)
            if name == "add":
                torch.add(left, right, out=out)
            torch.cuda.synchronize()
            measurement.pop()
    found = measurement.result
    assert [row[0] for row in found.ranges] == ["add", "nothing", "add"]
    # torch adds alpha times the second operand: an addition or a multiply-add per element.
    made = found.series("fadd")[1] + found.series("ffma")[1]
    with hardware.claim("as many additions are counted as were made"):
        assert made == pytest.approx([size, 0, size], rel=0.01, abs=1000)
    assert found.counts["failures"] == 0


def test_a_range_of_copies_is_bound_by_memory():
    copy = copying()
    copy()
    torch.cuda.synchronize()
    with started(lambda: counters.count("regime")) as measurement:
        measurement.push("copy")
        for _ in range(20):
            copy()
        torch.cuda.synchronize()
        measurement.pop()
    found = measurement.result
    memory, tensor = (found.series(role)[1][0] for role in ("dram_throughput", "tensor_active"))
    with hardware.claim("a range of copies is bound by memory"):
        assert 50 <= memory <= 105
        assert tensor < 5


def test_what_the_device_offers_is_what_was_planned_without_it():
    with started(lambda: counters.sample(source="pm")) as measurement:
        pass
    made = measurement.result.plan
    planned = counters.plan(made["chip"], "pm")
    assert [row[1] for row in made["rows"]] == [counter.metric or "" for counter in planned.counters]
