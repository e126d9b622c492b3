# SPDX-License-Identifier: Apache-2.0
"""Arrays among the arguments and the result of a call: what they occupy, in which type, on which device.

Nothing is imported: an array can only be there when its library is loaded. Attributes are read of objects of known
libraries alone, so no code of the program runs.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from . import tables
from .caches import LINE_BYTES

MAX_DEPTH = 4  # lists of lists of tensors; deeper nesting is not followed
MAX_ITEMS = 10_000


@dataclass(frozen=True, slots=True)
class Array:
    """One array: where its memory begins, the bytes that its elements occupy, element type and device.

    start is an address, or an id for what has none; bytes counts an element that a broadcast repeats once. value is
    None for a column of a table that is known by its size alone.
    """

    library: str
    start: int
    bytes: int
    count: int
    dtype: str
    device: str
    value: Any = field(compare=False)  # arrays are compared by their elements


def arrays_in(*values: Any) -> list[Array]:
    """Return the arrays in values, in lists, tuples, dictionaries, tables and modules of torch, each object once."""
    seen: set[int] = set()
    return list(_walk(values, 0, seen))


def distinct_bytes(found: list[Array]) -> int:
    """Return the bytes that arrays occupy together; what starts at the same address counts once, at its largest."""
    largest: dict[tuple[str, int], int] = {}
    for array in found:
        key = (array.device, array.start)
        largest[key] = max(largest.get(key, 0), array.bytes)
    return sum(largest.values())


def device_of(found: list[Array]) -> str:
    """Return the device that a call works on: the first that is not the host, "cpu" without one."""
    return next((array.device for array in found if array.device not in ("cpu", "meta")), "cpu")


def _walk(values: Any, depth: int, seen: set[int]) -> Iterator[Array]:
    for value in values:
        if id(value) in seen or len(seen) > MAX_ITEMS:
            continue
        if value is None or isinstance(value, int | float | complex | str | bytes | bool):
            continue
        seen.add(id(value))
        found = describe(value)
        if found is not None:
            yield found
        elif tables.is_table(value):
            yield from _of_table(value)
        elif depth < MAX_DEPTH:
            if isinstance(value, list | tuple | set | frozenset):
                yield from _walk(value, depth + 1, seen)
            elif isinstance(value, dict):
                yield from _walk(value.values(), depth + 1, seen)
            elif _is_module(value):
                yield from _walk([*value.parameters(), *value.buffers()], depth + 1, seen)


def describe(value: Any) -> Array | None:
    """Return what is known of an array of NumPy, torch or CuPy, None for anything else."""
    numpy: Any = sys.modules.get("numpy")
    torch: Any = sys.modules.get("torch")
    cupy: Any = sys.modules.get("cupy")
    if numpy is not None and isinstance(value, numpy.ndarray):
        return _with_strides("numpy", value, value.__array_interface__["data"][0], "cpu")
    if torch is not None and isinstance(value, torch.Tensor):
        return _tensor(value)
    if cupy is not None and isinstance(value, cupy.ndarray):
        return _with_strides("cupy", value, int(value.data.ptr), f"cuda:{int(value.device.id)}")
    return None


def _of_table(value: Any) -> Iterator[Array]:
    for place, (array, size, count, dtype) in enumerate(tables.columns(value)):
        seen = None if array is None else describe(array)
        yield seen or Array(tables.library_of(value), id(value) + place, size, count, dtype, "cpu", None)


def _with_strides(library: str, value: Any, start: int, device: str) -> Array:
    count = _distinct(value.shape, value.strides)
    each = _bytes_each(value.shape, value.strides, value.dtype.itemsize)
    return Array(library, start, count * each, count, str(value.dtype), device, value)


def _tensor(value: Any) -> Array | None:
    dtype = str(value.dtype).removeprefix("torch.")
    try:
        count, each = _distinct(value.shape, value.stride()), value.element_size()
        each = _bytes_each(value.shape, [step * each for step in value.stride()], each)
        start = _meta_start(value) if value.device.type == "meta" else int(value.data_ptr())
    except (RuntimeError, NotImplementedError):  # sparse, nested and other tensors without strides
        count, start, each = int(value.numel()), id(value), value.element_size()
    return Array("torch", start or id(value), count * each, count, dtype, str(value.device), value)


def _meta_start(value: Any) -> int:
    """Tell views of one storage that begin at the same place from others; a meta tensor has no address."""
    return hash((value.untyped_storage()._cdata, value.storage_offset()))


def _distinct(shape: Any, strides: Any) -> int:
    count = 1
    for size, stride in zip(shape, strides, strict=True):
        if size == 0:
            return 0
        if stride != 0:
            count *= int(size)
    return count


def _bytes_each(shape: Any, strides: Any, itemsize: int) -> int:
    """Return the bytes that pass for an element: memory moves whole lines, however little of each is asked for."""
    steps = [abs(int(stride)) for size, stride in zip(shape, strides, strict=True) if size > 1 and stride != 0]
    return int(max(itemsize, min((*steps, LINE_BYTES)) if steps else 0))


def _is_module(value: Any) -> bool:
    nn = sys.modules.get("torch.nn")
    return nn is not None and isinstance(value, getattr(nn, "Module", ()))
