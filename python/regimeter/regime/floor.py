# SPDX-License-Identifier: Apache-2.0
"""The shortest call of a function, timed as `profile_operation` times a call: what its work cannot be below.

A calibration holds the cost of a call in a loop. A single call is slower, because the caches hold what ran before it;
so its floor is measured through the same stopwatch, with the caches filled by something else where the call was single.
Functions of NumPy and torch are called on one element of the same type, anything else is judged by the smallest call of
its library. Nothing of the program is called.
"""

import functools
import statistics
import sys
from collections.abc import Callable
from typing import Any

from . import memory, numpy_work, stopwatch, torch_work

WARM_CALLS, COLD_CALLS = 25, 9
LEAST_SPREAD, COLD_SPREAD = 0.05, 0.5
EVICT_BYTES = 4 * 2**20

_known: dict[Any, tuple[float, float]] = {}


def shortest_call(
    library: str, function: Any, args: tuple[Any, ...], cold: bool, again: bool = False
) -> tuple[float, float]:
    """Return ns of the smallest call, and its relative half-width; measured once for a function and its types.

    library: "python", "numpy" or "torch". cold: for a time that was measured once. again: measure once more and keep
    the shorter of what is known.
    """
    call, key = _smallest(library, function, args)
    key = (key, cold)
    if again or key not in _known:
        found = _measure(call, cold)
        _known[key] = min(found, _known.get(key, found))
    return _known[key]


def is_own(library: str, function: Any, args: tuple[Any, ...]) -> bool:
    """Say whether the smallest call is one of the function itself, whatever that does inside."""
    return _smallest(library, function, args)[1] not in (NUMPY, TORCH, PYTHON)


def _measure(call: Callable[[], Any], cold: bool) -> tuple[float, float]:
    call()
    times = []
    filler = bytearray(EVICT_BYTES) if cold else None
    for _ in range(COLD_CALLS if cold else WARM_CALLS):
        if filler is not None:
            filler.count(1)  # reads it all, so that the caches hold it
            memory.of_host()  # and so does the system, which profile_operation asks too
        times.append(stopwatch.measure(call, 1)[1].own_ns)
    low, middle, high = statistics.quantiles(times, n=4)
    if cold:
        return high, COLD_SPREAD  # what a call without work often takes
    return middle, max(LEAST_SPREAD, (high - low) / 2 / middle)


@functools.cache
def stopwatch_cpu_ns() -> float:
    """Return the processor time that reading the clocks adds to a call's own."""
    rows = [stopwatch.measure(_nothing, 1)[1] for _ in range(WARM_CALLS)]
    return max(0.0, statistics.median(row.process_cpu_ns - row.wall_ns for row in rows))


NUMPY, TORCH, PYTHON = "numpy", "torch", "python"


def _smallest(library: str, function: Any, args: tuple[Any, ...]) -> tuple[Callable[[], Any], Any]:
    """Return a call, and what it is known by."""
    if library == NUMPY:
        numpy: Any = sys.modules["numpy"]
        found = _of_numpy(numpy, function, args)
        return found or (functools.partial(numpy.negative, numpy.zeros(1)), NUMPY)
    if library == TORCH:
        torch: Any = sys.modules["torch"]
        return _of_torch(torch, function, args) or (functools.partial(torch.neg, torch.zeros(1, device="cpu")), TORCH)
    return functools.partial(_nothing), PYTHON


def _of_numpy(numpy: Any, function: Any, args: tuple[Any, ...]) -> tuple[Callable[[], Any], Any] | None:
    if not numpy_work.is_shrinkable(function):
        return None
    if isinstance(function, numpy.ufunc):
        args = args[: function.nin]
    owner = getattr(function, "__self__", None)
    if isinstance(owner, numpy.ndarray):
        args = (owner, *args)
    shrunk, types = _shrink(args, functools.partial(_one_of_numpy, numpy, isinstance(function, numpy.ufunc)))
    if not types:
        return None
    call = function
    if isinstance(owner, numpy.ndarray):
        call, shrunk = getattr(shrunk[0], function.__name__), shrunk[1:]
    key = (type(function).__name__, function.__name__, types)
    return _runs(functools.partial(call, *shrunk), key, numpy.errstate(all="ignore"))


def _one_of_numpy(numpy: Any, as_number: bool, value: Any) -> Any:
    if type(value) is not numpy.ndarray or value.dtype.kind not in "fciub":
        return None
    index = value.dtype.kind in "iu" and not as_number
    return (numpy.zeros if index else numpy.ones)((1,) * value.ndim, value.dtype)


def _of_torch(torch: Any, function: Any, args: tuple[Any, ...]) -> tuple[Callable[[], Any], Any] | None:
    plain, bound = torch_work.is_plain(function) if function is not None else (None, None)
    if plain is None:
        return None
    shrunk, types = _shrink(args if bound is None else (bound, *args), functools.partial(_one_of_torch, torch))
    key = (str(getattr(plain, "__module__", "")), getattr(plain, "__name__", ""), types)
    if key in _ready:
        return _ready[key], key
    if not types or not torch_work.is_repeatable(plain, shrunk):
        return None
    return _runs(functools.partial(plain, *shrunk), key, torch.no_grad())


def _one_of_torch(torch: Any, value: Any) -> Any:
    if type(value) not in (torch.Tensor, torch.nn.Parameter) or value.device.type != "cpu" or value.is_sparse:
        return None
    dtype = value.dtype
    if dtype.is_floating_point or dtype.is_complex or dtype == torch.bool:
        return torch.ones((1,) * value.dim(), dtype=dtype, device="cpu")
    return torch.zeros((1,) * value.dim(), dtype=dtype, device="cpu")  # as an index it has to exist


def _shrink(values: Any, one: Callable[[Any], Any]) -> tuple[Any, tuple[Any, ...]]:
    """Return the values with arrays of one element, in lists and tuples too, and the types of the arrays; none where
    something of the program would be left among them."""
    types: list[Any] = []
    others: list[Any] = []

    def small(value: Any) -> Any:
        if type(value) in (list, tuple):
            return type(value)(small(item) for item in value)
        found = one(value)
        if found is not None:
            types.append((str(found.dtype), found.ndim))
            return found
        if value is not None and not isinstance(value, int | float | complex | str | slice):
            others.append(value)
        return value

    shrunk = small(tuple(values))
    return (shrunk, tuple(types)) if not others else ((), ())


def _runs(call: Callable[[], Any], key: Any, quietly: Any) -> tuple[Callable[[], Any], Any] | None:
    """Return both where the call can be made."""
    if key in _refused:
        return None
    if key in _ready:
        return _ready[key], key
    try:
        with quietly:
            call()
    except Exception:  # one element is not enough for it
        _refused.add(key)
        return None
    _ready[key] = call
    return call, key


_refused: set[Any] = set()
_ready: dict[Any, Callable[[], Any]] = {}


def _nothing() -> None:
    pass
