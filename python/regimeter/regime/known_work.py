# SPDX-License-Identifier: Apache-2.0
"""The work of a call: by the formulas of the library whose arrays it takes, else a lower bound."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from . import plain_data, tables
from .arguments import Array, arrays_in, distinct_bytes
from .work import FORMULA, LOWER_BOUND, Work, pipe_of


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
        work = _of_tables(function, args, result)
    if work is None and not found and not kwargs:
        work = plain_data.of_call(function, args)
    if work is None:
        work = _lower_bound(found, footprint)
    pipe = work.pipe or pipe_of(found)
    return replace(work, pipe=pipe, footprint=work.footprint or (footprint if found else None))


def _of_tables(function: Callable[..., Any], args: tuple[Any, ...], result: Any) -> Work | None:
    told = tables.of_call(function, args, result)
    if told is None:
        return None
    return Work(told[0], float(told[1]), flops_source=FORMULA, bytes_source=FORMULA)


def _of_library(
    libraries: set[str], function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
) -> Work | None:
    if "torch" in libraries:  # what knows the calls of a library is imported with it
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
