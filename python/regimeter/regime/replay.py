# SPDX-License-Identifier: Apache-2.0
"""The same function on a part of its data that the first caches hold: what a call takes when memory costs nothing.

What a call needs beyond that is the price of where its data lies. Only functions of known libraries are called, on
copies of parts of the arguments; nothing of the program runs, no argument is changed, no random number is drawn.

A function is called on parts of two sizes, so that what each call costs by itself drops out, and the difference is
scaled by the work: proportional to what the result has (or to the largest argument), times the logarithm for sorts and
Fourier transforms (N log N), by the cube for factorizations (LAPACK Users' Guide, operation counts).
"""

import math
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..system import scheduling
from . import numpy_work, plain_data, torch_work
from .arguments import arrays_in, distinct_bytes
from .policy import VALUE

# Modules whose functions compute from their arguments alone. What takes a function of the program is refused.
MODULES = (
    "numpy",
    "numpy.fft",
    "numpy.linalg",
    "numpy.lib",
    "scipy.fft",
    "scipy.linalg",
    "scipy.ndimage",
    "scipy.signal",
    "scipy.special",
    "scipy.interpolate",
    "scipy.spatial",
    "_hashlib",
    "hashlib",
    "zlib",
    "bz2",
    "_bz2",
    "lzma",
    "binascii",
    "base64",
)
OWN = "regimeter.regime.sweep"  # operations of the command
BUILTINS = ("sorted", "sum", "min", "max", "any", "all")
# What reads or writes files, or draws numbers, of these modules.
REFUSED = ("load", "save", "savez", "savetxt", "loadtxt", "genfromtxt", "fromfile", "memmap", "fromregex", "tofile")
MAKERS = ("zeros", "ones", "full", "empty", "arange", "linspace", "eye", "identity", "meshgrid", "seterr")
LOGARITHMIC = ("sort", "argsort", "msort", "unique", "fft", "ifft", "rfft", "irfft", "fft2", "ifft2", "rfft2", "fftn",
               "ifftn", "rfftn", "irfftn", "dct", "idct", "dctn", "sorted", "lexsort", "median", "fftconvolve",
               "hfft", "stft")  # fmt: skip
CUBIC = ("svd", "svdvals", "eig", "eigh", "eigvals", "eigvalsh", "inv", "pinv", "qr", "lu", "lu_factor", "cholesky",
         "solve", "lstsq", "det", "slogdet", "expm", "schur", "linalg_svd", "linalg_eigh", "matrix_rank",
         "matrix_power", "linalg_qr", "linalg_inv", "linalg_solve", "linalg_cholesky")  # fmt: skip
# Each result needs the one before.
CHAINS = ("cumsum", "cumprod", "cummax", "cummin", "accumulate", "lfilter", "logcumsumexp", "nancumsum", "sosfilt")
PASSES, SMALLER = 7, 4
ENOUGH_NS, MOST_CALLS = 20_000, 64  # in a row, so that reading clocks is little of it


@dataclass(frozen=True, slots=True)
class Replay:
    """ns of processor time that the whole call would take with its data in a cache, with its relative half-width;
    whether its operations wait for one another, and whether they are shared out to threads that spin (LAPACK)."""

    ns: float
    spread: float
    chain: bool
    threaded: bool


def of_call(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Replay | None:
    """Return what a call would take with its data in a cache, None where that cannot be told."""
    known = _known(function, args, kwargs)
    if known is None:
        return None
    call, args = known
    name = getattr(call, "__name__", "")
    for axes in _plans(args, kwargs):
        try:
            found = _measure(call, name, args, kwargs, result, axes)
        except Exception:
            continue
        if found is not None:
            return found
    return None


def is_known(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Say whether a function is one of a known library, and its arguments are data."""
    return _known(function, args, kwargs) is not None


# --- which functions ----------------------------------------------------------------------------------------------


def _known(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, tuple[Any, ...]] | None:
    """Return a function of a known library and its arguments, the object of a method first."""
    if not all(_is_harmless(value) for value in (*args, *kwargs.values())):
        return None
    plain, bound = torch_work.is_plain(function)
    if plain is not None:
        return _of_torch(plain, args if bound is None else (bound, *args), kwargs)
    if _is_module_of_torch(function):
        return function, args
    owner = plain_data.owner_of(function)
    if isinstance(owner, bytes | bytearray):
        return getattr(type(owner), function.__name__), (owner, *args)
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None:
        if isinstance(function, numpy.ufunc):
            return (function, args) if "out" not in kwargs else None
        owner = getattr(function, "__self__", None)
        if type(owner) is numpy.ndarray and numpy_work._is_method(function, owner):
            method = getattr(numpy.ndarray, function.__name__)
            return (method, (owner, *args)) if function.__name__ not in REFUSED else None
        if isinstance(owner, numpy.ufunc) and function.__name__ in ("accumulate", "reduce", "outer"):
            return function, args
    return (function, args) if _is_of_library(function) else None


def _is_of_library(function: Any) -> bool:
    module, name = str(getattr(function, "__module__", "")), str(getattr(function, "__name__", ""))
    if module == OWN:
        return True
    if name in REFUSED or name in MAKERS or name.startswith("_"):
        return False
    if module == "builtins":
        return name in BUILTINS
    if not any(module == home or module.startswith(f"{home}.") for home in MODULES) or "random" in module:
        return False
    # scipy keeps functions in private modules below the public ones; the public one has to show the same object.
    public = ".".join(part for part in module.split(".") if not part.startswith("_"))
    homes = (module, public, module.lstrip("_"))
    return any(getattr(sys.modules.get(home), name, None) is function for home in homes)


def _of_torch(plain: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, tuple[Any, ...]] | None:
    if "out" in kwargs or not torch_work.is_seedless(plain, args, kwargs):
        return None
    return plain, args


def _is_module_of_torch(function: Any) -> bool:
    """Say whether it is a module of torch itself, without hooks, that neither keeps nor draws anything when called."""
    nn = getattr(sys.modules.get("torch"), "nn", None)
    if nn is None or not isinstance(function, nn.Module):
        return False
    parts = list(function.modules())
    own = all(type(part).__module__.startswith("torch.nn.modules") for part in parts)
    hooks = any(part._forward_hooks or part._forward_pre_hooks for part in parts)
    changes = function.training and (
        any(True for _ in function.buffers()) or any("Dropout" in type(part).__name__ for part in parts)
    )
    return own and not hooks and not changes


def _is_harmless(value: Any) -> bool:
    """Say whether an argument is data: no function, no object of the program."""
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | bytearray | slice):
        return True
    if isinstance(value, tuple):
        return all(_is_harmless(item) for item in value)
    if isinstance(value, list):
        return {type(item) for item in value} <= {int, float, str, bytes, bool} or all(map(_is_array, value))
    return _is_array(value) or type(value).__module__ in ("numpy", "torch")


def _is_array(value: Any) -> bool:
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None and type(value) is numpy.ndarray:
        return not value.dtype.hasobject
    return torch is not None and type(value) in (torch.Tensor, torch.nn.Parameter) and value.device.type == "cpu"


# --- parts of the data -------------------------------------------------------------------------------------------


def _plans(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[int, ...]]:
    """Yield which axes of the largest array are shortened: those that no argument names, the first, those named."""
    main = _largest(args, kwargs)
    if main is None:
        return
    rank = len(_shape(main))
    named = {value % rank for value in _axes(args, kwargs) if -rank <= value < rank} if rank else set()
    free = tuple(axis for axis in range(rank) if axis not in named)
    seen = []
    for axes in (free, free[:1], (0,), tuple(sorted(named))):
        if axes and axes not in seen:
            seen.append(axes)
            yield axes


def _axes(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[int]:
    for name in ("axis", "dim", "axes"):
        value = kwargs.get(name)
        yield from (value if isinstance(value, tuple) else () if value is None else (value,))
    yield from (value for value in args[1:3] if type(value) is int)


def _largest(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    found = [value for value in _leaves((*args, *kwargs.values())) if _bytes(value)]
    return max(found, key=_bytes, default=None)


def _leaves(values: Any) -> Iterator[Any]:
    for value in values:
        if isinstance(value, tuple) or (isinstance(value, list) and value and _is_array(value[0])):
            yield from _leaves(value)
        else:
            yield value


def _shape(value: Any) -> tuple[int, ...]:
    if isinstance(value, list | bytes | bytearray):
        return (len(value),)
    return tuple(getattr(value, "shape", ()))


def _bytes(value: Any) -> int:
    if isinstance(value, list):
        return 40 * len(value)  # a pointer, and a number that it points to
    if isinstance(value, bytes | bytearray):
        return len(value)
    return distinct_bytes(arrays_in(value)) if _is_array(value) else 0


def occupied(*values: Any) -> int:
    """Return the bytes that the data among values occupies."""
    return sum(_bytes(value) for value in _leaves(values) if not _is_array(value)) + distinct_bytes(arrays_in(*values))


def _lengths(main: Any, axes: tuple[int, ...], most: float, square: bool = False) -> dict[int, int]:
    """Return the shortened lengths of axes, halved in turn, the longest first, until the array has so many bytes.

    square: those that are equal stay so.
    """
    lengths = {axis: _shape(main)[axis] for axis in axes}
    size = float(_bytes(main))
    while size > most and max(lengths.values()) > 1:
        longest = max(lengths.values())
        for axis in [axis for axis in axes if lengths[axis] == longest][: None if square else 1]:
            lengths[axis] //= 2
            size /= 2
    return lengths


@dataclass(frozen=True, slots=True)
class _Part:
    """How arrays are cut: axes of the largest one, and where."""

    shape: tuple[int, ...]
    lengths: dict[int, int]
    offset: float
    most: float

    def of(self, value: Any) -> Any:
        """Return a part of a value as a copy; what is small stays whole."""
        if isinstance(value, tuple) or (isinstance(value, list) and value and _is_array(value[0])):
            return type(value)(self.of(item) for item in value)
        if not _bytes(value):
            return value
        shape = _shape(value)
        cuts = {}
        for axis, length in self.lengths.items():
            at = axis - len(self.shape) + len(shape) if shape != self.shape else axis
            if 0 <= at < len(shape) and shape[at] == self.shape[axis]:
                cuts[at] = length
        if not cuts and shape and _bytes(value) > self.most:
            cuts = _lengths(value, (0,), self.most)
        index = tuple(self._slice(shape[axis], cuts.get(axis)) for axis in range(len(shape)))
        if isinstance(value, list | bytes | bytearray):
            return value[index[0]]
        return self._within(_copy(value, index))

    def _slice(self, whole: int, length: int | None) -> slice:
        if length is None:
            return slice(None)
        begin = int(self.offset * (whole - length))
        return slice(begin, begin + length)

    def _within(self, copy: Any) -> Any:
        """Indices point into what is left of the largest array."""
        kind = str(copy.dtype)
        if "int" not in kind or tuple(copy.shape) == tuple(self.shape) or not self.lengths:
            return copy
        return copy % min(self.lengths.values())


def _copy(value: Any, index: tuple[slice, ...]) -> Any:
    """Return a copy that has its axes in the same order in memory."""
    numpy: Any = sys.modules["numpy"]
    if isinstance(value, numpy.ndarray):
        return numpy.array(value[index], order="K", copy=True)
    part = value.detach()[index]
    order = sorted(range(part.ndim), key=lambda axis: -part.stride(axis))
    back = [order.index(axis) for axis in range(part.ndim)]
    return part.permute(order).contiguous().clone().permute(back)


# --- times ---------------------------------------------------------------------------------------------------------


def _measure(call: Any, name: str, args: Any, kwargs: Any, result: Any, axes: tuple[int, ...]) -> Replay | None:
    main = _largest(args, kwargs)
    shape, most = _shape(main), VALUE["replay_bytes"]
    alone = name in CUBIC or type(main).__module__ == "numpy" or isinstance(main, list | bytes | bytearray)
    clock, enough = (time.thread_time_ns, ENOUGH_NS) if alone else (_cpu_of_all, 10 * ENOUGH_NS)
    sizes = []
    for limit in (most, most / SMALLER):
        lengths = _lengths(main, axes, limit, name in CUBIC)
        if _bytes(main) * math.prod(lengths[a] / shape[a] for a in lengths) > 2 * most:
            return None  # these axes are not long enough
        sizes.append((lengths, limit))
    works, fastest, typical = [], [], []
    for lengths, limit in sizes:
        times, calls = [], 1
        for number in range(PASSES):
            part = _Part(shape, lengths, number / PASSES, limit)
            few = part.of(args), {key: part.of(value) for key, value in kwargs.items()}
            begin = clock()
            for _ in range(calls):
                small = call(*few[0], **few[1])
            times.append((clock() - begin) / calls)
            if number == 0:  # which also makes everything ready
                calls = min(MOST_CALLS, max(1, math.ceil(enough / max(1.0, times[0]))))
        works.append(_work(name, few[0], few[1], small, result))
        fastest.append(min(times[1:]))
        typical.append(statistics.median(times[1:]))
    whole = _work(name, args, kwargs, result, result)
    if not works[0] > works[1] or not whole >= works[0]:
        return None
    rate = (fastest[0] - fastest[1]) / (works[0] - works[1])
    if rate <= 0:
        return None
    scatter = typical[0] / fastest[0] - 1
    return Replay(rate * whole, max(VALUE["replay_spread"], scatter), name in CHAINS, name in CUBIC)


def _cpu_of_all() -> int:
    """Return the processor time of all threads by their own clocks: a library may share out small work too."""
    return sum(cpu for cpu, _ in scheduling.watch().read().values()) or time.thread_time_ns()


def _work(name: str, args: Any, kwargs: Any, result: Any, whole_result: Any) -> float:
    """Return what a call's time is proportional to."""
    main = _largest(args, kwargs)
    shape = _shape(main)
    count = math.prod(shape)
    own = sum(array.count for array in arrays_in(result))
    if name in CUBIC and len(shape) >= 2:
        return count * float(min(shape[-2:]))
    if isinstance(result, list):
        own = len(result)
    if name in LOGARITHMIC:
        length = max(shape) if len(shape) > 1 and "2" not in name and not name.endswith("n") else count
        return count * math.log2(max(2, length))
    large = sum(array.count for array in arrays_in(whole_result)) > 1000 or isinstance(whole_result, list)
    return float(own if large else count)
