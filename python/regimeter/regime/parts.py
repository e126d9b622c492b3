# SPDX-License-Identifier: Apache-2.0
"""Parts of the data of a call, as copies: which axes are cut, where, and what belongs together.

Arrays are cut along axes, lists, text and bytes in length, tables in rows. What is one object among the arguments is
one in the part. Numbers and texts of a list are made anew: a part that points to the old ones would still be all over
the memory.
"""

import pickle
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from . import tables
from .arguments import arrays_in, distinct_bytes

TEXTS = (str, bytes, bytearray)
OBJECT_BYTES = 40  # a pointer, and a number that it points to
WIDTH_BYTES = 8  # of an element of what a matrix is multiplied by


def is_array(value: Any) -> bool:
    """Say whether it is an array of NumPy or torch on the host that holds numbers."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None and type(value) is numpy.ndarray:
        return not value.dtype.hasobject
    return torch is not None and type(value) in (torch.Tensor, torch.nn.Parameter) and value.device.type == "cpu"


def plans(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[int, ...]]:
    """Yield which axes of the largest array are shortened: those that no argument names, the first, those named."""
    main = largest(args, kwargs)
    if main is None:
        return
    rank = len(shape_of(main))
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


def largest(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    found = [value for value in _leaves((*args, *kwargs.values())) if bytes_of(value)]
    return max(found, key=bytes_of, default=None)


def _leaves(values: Any) -> Iterator[Any]:
    for value in values:
        if isinstance(value, tuple) or (isinstance(value, list) and value and is_array(value[0])):
            yield from _leaves(value)
        else:
            yield value


def shape_of(value: Any) -> tuple[int, ...]:
    """Return the lengths along which a value is cut: of a table its rows."""
    if isinstance(value, list | str | bytes | bytearray):
        return (len(value),)
    if tables.is_table(value):
        return (tables.length_of(value),)
    return tuple(getattr(value, "shape", ()))


def bytes_of(value: Any) -> int:
    """Return the bytes that a list, text, array or table occupies, 0 for anything else."""
    if isinstance(value, list):
        return OBJECT_BYTES * len(value)
    if isinstance(value, TEXTS):
        return len(value)
    if tables.is_table(value):
        return tables.bytes_of(value)
    return distinct_bytes(arrays_in(value)) if is_array(value) else 0


def occupied(*values: Any) -> int:
    """Return the bytes that the data among values occupies."""
    others = [value for value in _leaves(values) if isinstance(value, list | bytes | str | bytearray)]
    return sum(map(bytes_of, others)) + distinct_bytes(arrays_in(*values))


def lengths_of(main: Any, axes: tuple[int, ...], most: float, square: bool = False) -> dict[int, int]:
    """Return the shortened lengths of axes, halved in turn, the longest first, until the array has so many bytes.

    square: those that are equal stay so.
    """
    lengths = {axis: shape_of(main)[axis] for axis in axes}
    size = float(bytes_of(main))
    while size > most and max(lengths.values()) > 1:
        longest = max(lengths.values())
        for axis in [axis for axis in axes if lengths[axis] == longest][: None if square else 1]:
            lengths[axis] //= 2
            size /= 2
    return lengths


@dataclass(frozen=True, slots=True)
class Part:
    """How data is cut: axes of the largest array, and where.

    made: what has been cut, by the object that it is of. cut: other lengths that were shortened, so that what is as
    long stays as long.
    """

    shape: tuple[int, ...]
    lengths: dict[int, int]
    offset: float
    most: float
    made: dict[int, Any] = field(default_factory=dict)
    cut: dict[int, int] = field(default_factory=dict)

    def of(self, value: Any) -> Any:
        """Return a part of a value as a copy; what is small stays whole."""
        if isinstance(value, tuple) or (isinstance(value, list) and value and is_array(value[0])):
            return type(value)(self.of(item) for item in value)
        if not bytes_of(value):
            return value
        if id(value) not in self.made:
            self.made[id(value)] = self._of(value)
        return self.made[id(value)]

    def _of(self, value: Any) -> Any:
        shape = shape_of(value)
        cuts = {}
        for axis, length in self.lengths.items():
            at = axis - len(self.shape) + len(shape) if shape != self.shape else axis
            if 0 <= at < len(shape) and shape[at] == self.shape[axis] and length < shape[at]:
                cuts[at] = length
        if not cuts and shape:
            cuts = {0: self._shortened(shape[0], bytes_of(value))}
        index = tuple(self._slice(shape[axis], cuts.get(axis)) for axis in range(len(shape)))
        if isinstance(value, TEXTS):
            return value[index[0]]
        if isinstance(value, list):
            return pickle.loads(pickle.dumps(value[index[0]], pickle.HIGHEST_PROTOCOL))
        if tables.is_table(value):
            wide = tables.library_of(value) == "scipy"
            width = self._shortened(value.shape[1], WIDTH_BYTES * value.shape[1]) if wide else None
            begin, end = index[0].indices(shape[0])[:2]
            return tables.part(value, begin, end - begin, width)
        return self._within(_copy(value, index))

    def _shortened(self, length: int, size: int) -> int:
        """Return what is left of something so long that has so many bytes."""
        for axis, left in self.lengths.items():
            if length == self.shape[axis]:
                return left
        if length not in self.cut:
            left = length
            while size > self.most and left > 1:
                left //= 2
                size //= 2
            self.cut[length] = left
        return self.cut[length]

    def _slice(self, whole: int, length: int | None) -> slice:
        if length is None or length == whole:
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
