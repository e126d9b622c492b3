# SPDX-License-Identifier: Apache-2.0
"""The calibration kernels that are plain CUDA, on a driver whose device is this processor, against NumPy.

Those made of PTX (packed and tensor-core arithmetic) need a device: tests/gpu/test_kernels.py.
"""

import ctypes
from collections.abc import Iterator

import fakes
import numpy as np
import pytest
from device_driver import Device

GRID, BLOCK = 5, 64


@pytest.fixture
def device() -> Iterator[Device]:
    made = Device(str(fakes.library("cuda_host")), lambda entry: b"// PTX")
    yield made
    made.close()


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def size(n: int) -> ctypes.c_ulonglong:
    return ctypes.c_ulonglong(n)


# Less than a round of the grid, a whole number of rounds, and remainders of every kind.
UNITS = [1, 63, 4 * GRID * BLOCK, 4 * GRID * BLOCK + 1, 3 * GRID * BLOCK - 1, 7000]


@pytest.mark.parametrize("n", UNITS)
def test_copy(device, rng, n):
    source = rng.integers(0, 2**32, 4 * n, np.uint32)
    target = np.zeros_like(source)
    device.launch("rgm_copy", target, source, size(n))
    np.testing.assert_array_equal(target, source)


@pytest.mark.parametrize("n", UNITS)
def test_triad(device, rng, n):
    a, b, c = (rng.standard_normal(4 * n).astype(np.float32) for _ in range(3))
    wanted = b.astype(float) + 0.4 * c.astype(float)
    device.launch("rgm_triad", a, b, c, ctypes.c_float(0.4), size(n))
    np.testing.assert_allclose(a, wanted, atol=1e-6)


@pytest.mark.parametrize("n", UNITS)
def test_read_adds_all_words(device, rng, n):
    source = rng.integers(0, 2**32, 4 * n, np.uint32)
    total = np.array([7, 0, 0, 0], np.uint32)
    device.launch("rgm_read", total, source, size(n))
    assert int(total[0]) == (7 + int(source.astype(np.uint64).sum())) % 2**32


@pytest.mark.parametrize("n", UNITS)
def test_read_of_the_second_level_cache_adds_every_pass(device, rng, n):
    source = rng.integers(0, 2**32, 4 * n, np.uint32)
    total = np.zeros(4, np.uint32)
    device.launch("rgm_read_l2", total, source, size(n), ctypes.c_int(3))
    assert int(total[0]) == 3 * int(source.astype(np.uint64).sum()) % 2**32


@pytest.mark.parametrize("n", UNITS)
def test_fill(device, n):
    target = np.zeros(4 * n, np.uint32)
    device.launch("rgm_fill", target, ctypes.c_uint(0xDEADBEEF), size(n))
    assert (target == 0xDEADBEEF).all()


@pytest.mark.parametrize(("name", "kind", "dtype"), [
    ("rgm_fma_fp32", ctypes.c_float, np.float32),
    ("rgm_fma_fp64", ctypes.c_double, np.float64),
])  # fmt: skip
def test_multiply_adds_are_as_many_as_promised(device, name, kind, dtype):
    """x = x f + t, sixteen times a round: with f = 1 every one of them adds exactly t."""
    rounds, term = 5, 0.25
    out = np.zeros(GRID * BLOCK, dtype)
    device.launch(name, out, kind(1.0), kind(term), ctypes.c_int(rounds))
    thread = np.arange(GRID * BLOCK)
    wanted = 8 * (thread % 64) + sum(chain / 8 for chain in range(8)) + 8 * 16 * rounds * term
    np.testing.assert_array_equal(out, wanted.astype(dtype))


def test_chase_follows_the_chain(device, rng):
    n, steps = 1000, 777
    order = rng.permutation(n)
    following = np.empty(n, np.uint32)
    following[order] = np.roll(order, -1)  # one cycle through all
    last, cycles = np.zeros(4, np.uint32), np.zeros(2, np.int64)
    arguments = (following, ctypes.c_uint(int(order[0])), ctypes.c_int(steps), last, cycles)
    device.launch("rgm_chase", *arguments, grid=1, block=1)
    assert last[0] == order[steps]
    assert cycles[0] > 0


def test_timestamps_advance(device):
    out = np.zeros((2, 2), np.int64)
    for row in out:
        device.launch("rgm_timestamp", row, grid=1, block=1)
    assert out[1, 0] > out[0, 0] > 0
    assert out[1, 1] >= out[0, 1]


@pytest.mark.parametrize(("released", "gave_up"), [(1, 0), (0, 1)])
def test_hold_ends_by_the_flag_or_by_the_time(device, released, gave_up):
    flag, answer = np.full(4, released, np.int32), np.full(4, 9, np.int32)
    device.launch("rgm_hold", flag, answer, size(1_000_000), grid=1, block=1)
    assert answer[0] == gave_up


def test_empty(device):
    device.launch("rgm_empty", grid=3, block=256)
