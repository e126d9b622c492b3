# SPDX-License-Identifier: Apache-2.0
"""How long an elementwise function takes for its arithmetic alone: the same function on a few values in a cache.

This is the compute roof of functions without a FLOP formula (cos, exp, power, integer arithmetic). Only functions of
NumPy and torch themselves are run, on copies of values; nothing of the program is called.

The values are drawn by chance from all over the arrays, because what many functions take depends on them, those of
arrays of one shape from the same places, as what two values take together does too. Each call of a batch has others: a
processor learns the branches that a few values take, and would be faster than the program. NumPy writes into one
array of ours: it keeps small blocks at hand and not large ones, so that an allocation would be in the difference.
"""

import statistics
import sys
import time
from typing import Any

from . import numpy_work
from .arguments import arrays_in, distinct_bytes
from .caches import cache_sizes

# Elements: three arrays of 1,024 doubles fit a first-level cache of 32 KiB. The small ones are the call and little
# else: of more values a processor would learn the branches, and what they take would be missing from the difference.
SMALL, LARGE = 8, 1024
BATCH, BATCHES, REPEATS = 16, 5, 7  # 16 blocks of 1,024 values: more branches than are learned
# Where 1,024 values take little more than the call, more are taken, as far as the first-level cache goes; where even
# these cannot be told from the call, up to half of a second-level cache.
MORE, ENOUGH, LEAST = 4, 2.5, 1.25
USUAL_CACHES = 32 * 2**10, 512 * 2**10
PAGE = 4096
TORCH_MOST = 2**15 - 1  # from 32,768 on torch shares elements out to threads (at::internal::GRAIN_SIZE)
SEED = 5
LEAST_SPREAD = 0.2  # clocks and neighbours change between this and the call; what repeated ones scatter by here

_known: dict[tuple[Any, ...], tuple[float, float]] = {}


def ns_per_element(
    library: str, function: Any, args: tuple[Any, ...], again: bool = False
) -> tuple[float, float] | None:
    """Return ns of an element on one thread and the relative half-width, None where it cannot be told.

    again: measure once more and keep the faster of what is known, as what disturbs only makes slower.

    function: of NumPy a ufunc without a signature and with one output, or what goes over one array;
    of torch a plain one, which the caller knows to
    be elementwise. Arrays of objects and too few values give None.
    """
    if library == "numpy":
        numpy: Any = sys.modules["numpy"]
        if numpy_work.takes_one_array(function):
            args = args[:1]
        elif not isinstance(function, numpy.ufunc) or function.signature is not None or function.nout != 1:
            return None
        else:
            args = args[: function.nin]
        if len(args) != getattr(function, "nin", 1) or any(
            getattr(getattr(x, "dtype", None), "hasobject", False) for x in args
        ):
            return None
    key = (function, tuple(str(getattr(x, "dtype", type(x).__name__)) for x in args))
    if again or key not in _known:
        found = _measure(library, function, args)
        if found is None:
            return None
        _known[key] = min(found, _known.get(key, found))
    return _known[key]


def _measure(library: str, function: Any, inputs: tuple[Any, ...]) -> tuple[float, float] | None:
    random = sys.modules["numpy"].random.default_rng(SEED)
    take = _take_numpy if library == "numpy" else _take_torch
    first, second = (size or usual for size, usual in zip(cache_sizes()[:2], USUAL_CACHES, strict=True))
    with sys.modules["numpy"].errstate(all="ignore"):
        small = _batch_of(take, function, inputs, SMALL, BATCH, random)
        large = _batch_of(take, function, inputs, LARGE, BATCH, random)
        if small is None or large is None:
            return None
        counts = SMALL, LARGE
        while (ratio := _each(function, large) / _each(function, small)) < ENOUGH:
            fewer = max(1, len(large) // MORE)
            bytes_of_one = distinct_bytes(arrays_in(large[:1])) * MORE
            if bytes_of_one > first and (ratio >= LEAST or fewer * bytes_of_one > second / 2):
                break
            if library == "torch" and counts[1] * MORE > TORCH_MOST:
                break
            counts = counts[1], counts[1] * MORE  # what is made ready once for many values is in both, too
            small, large = large, _batch_of(take, function, inputs, counts[1], fewer, random) or large
        times = [(_each(function, small), _each(function, large)) for _ in range(REPEATS)]
    # What disturbs a batch only makes it slower, so the fastest are the rate, as they are of a ceiling.
    fastest = [min(column) for column in zip(*times, strict=True)]
    typical = [statistics.median(column) for column in zip(*times, strict=True)]
    rate = (fastest[1] - fastest[0]) / (counts[1] - counts[0])
    return (rate, max(LEAST_SPREAD, typical[1] / fastest[1] - 1)) if rate > 0 else None


def _batch_of(
    take: Any, function: Any, inputs: tuple[Any, ...], count: int, blocks: int, random: Any
) -> list[list[Any]] | None:
    """Return the arguments of so many calls on `count` values each; None where an array has no values."""
    numpy: Any = sys.modules["numpy"]
    sides: list[list[Any]] = []
    for _ in range(blocks):
        places: dict[tuple[int, ...], Any] = {}
        sides.append([take(value, count, places, random) for value in inputs])
    if any(value is None for side in sides for value in side):
        return None
    if isinstance(function, numpy.ufunc):
        out = _on_a_page(numpy, function(*sides[0]))
        for side in sides:
            side.append(out)
    return sides


def _places(shape: tuple[int, ...], size: int, count: int, places: dict[tuple[int, ...], Any], random: Any) -> Any:
    if shape not in places:
        places[shape] = random.integers(0, size, count)
    return places[shape]


def _take_numpy(value: Any, count: int, places: dict[tuple[int, ...], Any], random: Any) -> Any:
    numpy: Any = sys.modules["numpy"]
    if not isinstance(value, numpy.ndarray) or value.ndim == 0:
        return value
    if value.size == 0:
        return None
    return _on_a_page(numpy, value.flat[_places(value.shape, value.size, count, places, random)])


def _on_a_page(numpy: Any, values: Any) -> Any:
    """Return a copy that begins where a page does, as large arrays do.

    Processors that look at twelve bits of addresses first take what is a few bytes behind what is written, but for
    whole pages, for the same.
    """
    values = numpy.asarray(values)
    block = numpy.empty(values.nbytes + PAGE, numpy.uint8)
    begin = -block.ctypes.data % PAGE
    copy = block[begin : begin + values.nbytes].view(values.dtype)
    copy[:] = values
    return copy


def _take_torch(value: Any, count: int, places: dict[tuple[int, ...], Any], random: Any) -> Any:
    torch: Any = sys.modules["torch"]
    if not isinstance(value, torch.Tensor) or value.ndim == 0:
        return value
    if value.numel() == 0:
        return None
    found = _places(tuple(value.shape), value.numel(), count, places, random)
    return torch.take(value.detach(), torch.from_numpy(found).to(value.device))


def _each(function: Any, sides: list[list[Any]]) -> float:
    """Return ns of a call in the shortest of a few batches, by this thread's clock: what interrupts a batch is not the
    function's."""
    times = []
    sides = sides * (BATCH // len(sides))  # so that reading the clock is the same part of each
    for _ in range(BATCHES):
        begin = time.thread_time_ns()
        for side in sides:
            function(*side)
        times.append(time.thread_time_ns() - begin)
    return min(times) / len(sides)
