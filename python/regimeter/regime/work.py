# SPDX-License-Identifier: Apache-2.0
"""The work of a call: floating-point operations and bytes, and where each figure comes from.

One multiply-add is two operations. Bytes are the compulsory traffic: every operand read once and every result
written once, caches aside. What is not known is None, never 0.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from .arguments import Array, arrays_in, distinct_bytes

GIVEN = "given by the caller"
FORMULA = "formula of a known function"
COUNTED = "counted per operator in this call"
LOWER_BOUND = "lower bound: arrays among arguments and result, each once"
UNKNOWN = "unknown"

# Element type -> arithmetic that the processor does it in, as `_core` names its pipes.
PIPES = {
    "float64": "fp64",
    "complex128": "fp64",
    "float32": "fp32",
    "complex64": "fp32",
    "float16": "fp16",
    "bfloat16": "bf16",
    "float8_e4m3fn": "fp8",
    "float8_e5m2": "fp8",
    "int8": "int8",
    "uint8": "int8",
}


@dataclass(frozen=True, slots=True)
class Work:
    """What a call had to do. flops and bytes may be None; operators counts those that a count has seen.

    flops_most: no more operations than these, where flops is not known. elements: of the result of an elementwise
    function, or of an array that is gone over. footprint: bytes that the arrays occupy together, which says
    whether they fit a cache.
    """

    flops: float | None = None
    bytes: float | None = None
    pipe: str | None = None
    flops_source: str = UNKNOWN
    bytes_source: str = UNKNOWN
    footprint: int | None = None
    operators: int | None = None
    elements: int | None = None
    flops_most: float | None = None
    warnings: tuple[str, ...] = ()

    @property
    def intensity(self) -> float | None:
        """Operations per byte, None where one of them is unknown or no byte is moved."""
        if self.flops is None or not self.bytes:
            return None
        return self.flops / self.bytes


def pipe_of(found: list[Array]) -> str | None:
    """Return the pipe of the widest floating type among arrays, else of the first known type."""
    known = [PIPES[array.dtype] for array in found if array.dtype in PIPES]
    floats = [pipe for pipe in ("fp64", "fp32", "bf16", "fp16", "fp8") if pipe in known]
    return floats[0] if floats else known[0] if known else None


def of_call(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], result: Any, counted: Work | None
) -> Work:
    """Return the work of a call that has ended: by formula, by count, or what its arrays alone tell."""
    found = arrays_in(args, kwargs, result, getattr(function, "__self__", None), function)
    footprint = distinct_bytes(found)
    libraries = {array.library for array in found}
    work = counted
    if work is None:
        work = _of_library(libraries, function, args, kwargs, result)
    if work is None:
        work = _lower_bound(found, footprint)
    pipe = work.pipe or pipe_of(found)
    return replace(work, pipe=pipe, footprint=work.footprint or (footprint if found else None))


def _of_library(
    libraries: set[str], function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
) -> Work | None:
    if "torch" in libraries:
        from . import torch_work

        return torch_work.of_plain_call(function, args, kwargs)
    if "numpy" in libraries:
        from . import numpy_work

        return numpy_work.of_call(function, args, kwargs, result)
    if "cupy" in libraries:
        from . import cupy_work

        return cupy_work.of_call(function, args, kwargs, result)
    return None


def _lower_bound(found: list[Array], footprint: int) -> Work:
    if not found:
        reason = (
            "the call has no arrays among its arguments and result, so its work is unknown: arrays that a function "
            "takes from its closure or makes itself are not seen; give flops= and bytes="
        )
        return Work(warnings=(reason,))
    reason = (
        "the function is not a known one: its FLOPs are unknown and its bytes a lower bound; give flops= and bytes="
    )
    return Work(bytes=float(footprint), bytes_source=LOWER_BOUND, warnings=(reason,))


def with_given(work: Work, flops: float | None, bytes: float | None) -> Work:
    """Return the work with what the caller gave in place of what was found."""
    if flops is not None:
        work = replace(work, flops=float(flops), flops_source=GIVEN)
    if bytes is not None:
        work = replace(work, bytes=float(bytes), bytes_source=GIVEN)
    return replace(work, warnings=()) if flops is not None and bytes is not None else work
