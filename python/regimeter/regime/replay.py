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
from dataclasses import dataclass
from typing import Any

from ..system import scheduling
from . import draws, numpy_work, operators, parts, tables, torch_work
from .arguments import arrays_in
from .caches import cache_sizes
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
    "pyarrow.compute",
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
# What they do is done once for each index.
SCATTERS = ("setitem", "put", "put_along_axis", "index_add_", "index_copy_", "index_put_", "scatter_", "scatter_add_")
# The numbers that they are given are places in a result that is as long as the largest of them.
PLACES = ("bincount",)
ITEMS = ("getitem", "setitem")
SORTED_IN_PLACE = ("sort", "partition", "shuffle")
PLAIN = {int, float, str, bytes, bool}
PASSES, SMALLER = 7, 4
ENOUGH_MORE = 1.5  # times as long with four times the data, or more of it is taken, as far as the second cache goes
FRESH = 8  # calls in a row of what changes its data, each on a copy of its own
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
    drawn = draws.of_call(function, args, kwargs, result)
    known = _known(function, args, kwargs) if drawn is None else drawn[:2]
    if known is None or not all(_is_harmless(value) for value in known[1]):
        return None
    call, args = known
    kwargs = kwargs if drawn is None else drawn[2]
    name = getattr(call, "__name__", "")
    for axes in parts.plans(args, kwargs):
        try:
            found = _measure(call, name, args, kwargs, result, axes)
        except Exception:
            continue
        if found is not None:
            return found
    return None


def is_in_proportion(function: Any) -> bool:
    """Say whether a function takes as long for an element of many as for one of few."""
    return getattr(function, "__name__", "") not in (*LOGARITHMIC, *CUBIC)


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
    owner = getattr(function, "__self__", None)
    if type(owner) in (bytes, bytearray, str):
        return getattr(type(owner), function.__name__), (owner, *args)
    if tables.is_method(function) and _is_harmless(owner):
        return getattr(type(owner), function.__name__), (owner, *args)
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None:
        if isinstance(function, numpy.ufunc):
            return function, args
        if type(owner) is numpy.ndarray and numpy_work._is_method(function, owner):
            method = getattr(numpy.ndarray, function.__name__)
            return (method, (owner, *args)) if function.__name__ not in REFUSED else None
        if isinstance(owner, numpy.ufunc) and function.__name__ in ("accumulate", "reduce", "outer"):
            return function, args
    return (function, args) if _is_of_library(function) else None


def _is_of_library(function: Any) -> bool:
    module, name = str(getattr(function, "__module__", "")), str(getattr(function, "__name__", ""))
    if module == OWN or (module == operators.INTERNAL and (name in operators.NAMES or name in ITEMS)):
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
    return (plain, args) if torch_work.is_seedless(plain, args, kwargs) else None


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
        return {type(item) for item in value} <= PLAIN or all(map(parts.is_array, value))
    if tables.is_table(value):
        return tables.is_plain(value)
    if isinstance(value, type):  # of elements
        return value in (bool, int, float, complex) or value.__module__ == "numpy"
    return parts.is_array(value) or type(value).__module__ in ("numpy", "torch")


# --- times ---------------------------------------------------------------------------------------------------------


def _measure(call: Any, name: str, args: Any, kwargs: Any, result: Any, axes: tuple[int, ...]) -> Replay | None:
    largest = max(VALUE["replay_bytes"], (cache_sizes()[1] or 0) / 2)
    most = VALUE["replay_bytes"]
    while (sizes := _both(call, name, args, kwargs, result, axes, most)) is not None:
        if most * SMALLER > largest or sizes[0][1] > ENOUGH_MORE * sizes[1][1]:
            break
        most *= SMALLER  # the call itself is most of such a short one
    if sizes is None:
        return None
    (large, fastest, typical), (small, fewer, usual) = sizes
    whole = _work(name, args, kwargs, result, result)
    if not large > small or not whole >= large or fastest <= fewer:
        return None
    rate = (fastest - fewer) / (large - small)
    scatter = (typical - fastest + usual - fewer) / (fastest - fewer)
    return Replay(rate * whole, max(VALUE["replay_spread"], scatter), name in CHAINS, name in CUBIC)


def _both(
    call: Any, name: str, args: Any, kwargs: Any, result: Any, axes: tuple[int, ...], most: float
) -> list[tuple[float, float, float]] | None:
    """Return work, shortest and usual time of calls on parts of two sizes; None where these axes are too short."""
    main = parts.largest(args, kwargs)
    shape = parts.shape_of(main)
    sizes = []
    for limit in (most, most / SMALLER):
        lengths = parts.lengths_of(main, axes, limit, name in CUBIC)
        if parts.bytes_of(main) * math.prod(lengths[a] / shape[a] for a in lengths) > 2 * most:
            return None
        sizes.append(_timed(call, name, args, kwargs, result, (shape, lengths, limit)))
    return sizes


def _timed(call: Any, name: str, args: Any, kwargs: Any, result: Any, cut: Any) -> tuple[float, float, float]:
    main = parts.largest(args, kwargs)
    clock, enough = (time.thread_time_ns, ENOUGH_NS) if _is_alone(name, main) else (_cpu_of_all, 10 * ENOUGH_NS)
    anew = _changes(name, args, kwargs)
    times, calls = [], 1
    for number in range(PASSES):
        few = [_cut(cut, name, number, args, kwargs) for _ in range(calls if anew else 1)]
        begin = clock()
        for place in range(calls):
            at, named = few[place if anew else 0]
            small = call(*at, **named)
        times.append((clock() - begin) / calls)
        if number == 0:  # which also makes everything ready
            calls = min(FRESH if anew else MOST_CALLS, max(1, math.ceil(enough / max(1.0, times[0]))))
    return _work(name, *few[-1], small, result), min(times[1:]), statistics.median(times[1:])


def _cut(cut: Any, name: str, number: int, args: Any, kwargs: Any) -> tuple[Any, dict[str, Any]]:
    shape, lengths, most = cut
    part = parts.Part(shape, lengths, number / PASSES, most)
    if name in PLACES:
        own = part.of(args)
        return (own[0] % own[0].size, *own[1:]), {}
    return part.of(args), {key: part.of(value) for key, value in kwargs.items()}


def _is_alone(name: str, main: Any) -> bool:
    """Say whether the calling thread does all of the work."""
    alone = type(main).__module__ == "numpy" or isinstance(main, list | str | bytes | bytearray)
    return name in CUBIC or alone or tables.library_of(main) in ("pandas", "scipy")


def _changes(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Say whether what a call takes depends on whether it was made before: it changes what it reads."""
    out = {array.start for array in arrays_in(kwargs.get("out"))}
    given = {array.start for array in arrays_in(args)}
    return name in SORTED_IN_PLACE or bool(out & given) or (name.endswith("_") and name not in torch_work.WRITE_ONLY)


def _cpu_of_all() -> int:
    """Return the processor time of all threads by their own clocks: a library may share out small work too."""
    return sum(cpu for cpu, _ in scheduling.watch().read().values()) or time.thread_time_ns()


def _work(name: str, args: Any, kwargs: Any, result: Any, whole_result: Any) -> float:
    """Return what a call's time is proportional to."""
    main = parts.largest(args, kwargs)
    shape = parts.shape_of(main)
    count = math.prod(shape)
    own = sum(array.count for array in arrays_in(result))
    if tables.is_table(main) and type(result) is type(main):
        own = tables.length_of(result)
    if name in PLACES:
        return float(count)
    if name in SCATTERS:
        return float(max((array.count for array in arrays_in(args[1:], kwargs) if "int" in array.dtype), default=count))
    if name in CUBIC and len(shape) >= 2:
        return count * float(min(shape[-2:]))
    if isinstance(result, list):
        own = len(result)
    if name in LOGARITHMIC:
        length = max(shape) if len(shape) > 1 and "2" not in name and not name.endswith("n") else count
        return count * math.log2(max(2, length))
    large = sum(array.count for array in arrays_in(whole_result)) > 1000 or isinstance(whole_result, list)
    return float(own if large else count)
