# SPDX-License-Identifier: Apache-2.0
"""The heap of programs whose instructions are counted: blocks are sound, and what one costs has no history."""

import ctypes
import os
import random
import subprocess
import sys

import pytest

from regimeter.system import preload

pytestmark = pytest.mark.skipif(not preload.STEADY.exists(), reason="this build has no heap of its own")
POINTER, SIZE = ctypes.c_void_p, ctypes.c_size_t


@pytest.fixture(scope="module")
def heap():
    """The library by itself: nothing of this process lies in it."""
    library = ctypes.CDLL(str(preload.STEADY), use_errno=True)
    for name, result, *arguments in (
        ("malloc", POINTER, SIZE), ("calloc", POINTER, SIZE, SIZE), ("realloc", POINTER, POINTER, SIZE),
        ("reallocarray", POINTER, POINTER, SIZE, SIZE), ("memalign", POINTER, SIZE, SIZE), ("valloc", POINTER, SIZE),
        ("pvalloc", POINTER, SIZE), ("free", None, POINTER), ("malloc_usable_size", SIZE, POINTER),
        ("posix_memalign", ctypes.c_int, POINTER, SIZE, SIZE),
    ):  # fmt: skip
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def sizes(dice):
    """Sizes about each boundary: of a line, of a class, of what is mapped by itself."""
    return max(0, dice.choice([0, 1, 64, 1024, 1280, 2048, 65536, 131072, 131073, 400_000]) + dice.randrange(-70, 70))


@pytest.mark.parametrize("seed", range(3))
def test_blocks_keep_what_is_written_and_do_not_overlap(heap, seed):
    dice = random.Random(seed)
    kept: dict[int, tuple[int, int]] = {}  # place -> (size, byte)
    for number in range(1000):
        byte, size = number % 251 + 1, sizes(dice)
        way = dice.choice(["malloc", "calloc", "memalign", "realloc", "free", "free"])
        if way in ("realloc", "free"):
            if not kept:
                continue
            old = dice.choice(list(kept))
            had, was = kept.pop(old)
            assert ctypes.string_at(old, had) == bytes([was]) * had
            if way == "free" or size == 0:
                heap.free(old)
                continue
            place = heap.realloc(old, size)
            assert ctypes.string_at(place, min(had, size)) == bytes([was]) * min(had, size)
        elif way == "memalign":
            alignment = 1 << dice.randrange(3, 23)
            place = heap.memalign(alignment, size)
            assert place % alignment == 0
        else:
            place = heap.malloc(size) if way == "malloc" else heap.calloc(1, size)
            if way == "calloc":
                assert ctypes.string_at(place, size) == bytes(size)
        usable = heap.malloc_usable_size(place)
        assert place % 64 == 0
        assert size <= usable <= max(64, 1.25 * size + 4096)
        assert all(place + usable <= other or other + one <= place for other, (one, _) in kept.items())
        ctypes.memset(place, byte, usable)
        kept[place] = usable, byte
    for place in kept:
        heap.free(place)


def test_what_cannot_be_is_refused(heap):
    most = ctypes.c_size_t(-1).value
    for call in (
        lambda: heap.malloc(most), lambda: heap.malloc(most // 2), lambda: heap.calloc(most // 2, 4),
        lambda: heap.reallocarray(None, most // 2, 4), lambda: heap.memalign(48, 10), lambda: heap.pvalloc(most),
        lambda: heap.memalign(1 << 20, most - 4096),
    ):  # fmt: skip
        assert call() is None
    out = POINTER()
    assert heap.posix_memalign(ctypes.addressof(out), 24, 8) == 22
    assert heap.posix_memalign(ctypes.addressof(out), 4096, 8) == 0
    assert out.value % 4096 == 0
    kept = heap.malloc(500_000)
    ctypes.memset(kept, 7, 500_000)
    assert heap.realloc(kept, most // 2) is None
    assert ctypes.string_at(kept, 500_000) == b"\7" * 500_000
    heap.free(kept)
    heap.free(None)


def test_programs_with_threads_and_forks_run_on_it():
    program = """
import ctypes, os, threading
import numpy as np

assert hasattr(ctypes.CDLL(None), "rgm_steady_heap")
kept = []

def work(seed):
    for number in range(300):
        kept.append(np.full(number * seed, seed))
        if number % 3 == 0:
            kept.pop(0)

threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 5)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
child = os.fork()
if child == 0:
    work(6)
    os._exit(0 if all((one == one[0]).all() for one in kept if len(one)) else 1)
assert os.waitpid(child, 0)[1] == 0
print(len(kept))
"""
    environment = {**os.environ, "PYTHONMALLOC": "malloc", **preload.variables({}, preload.STEADY)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "800"), done.stderr
