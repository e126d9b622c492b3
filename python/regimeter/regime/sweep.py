# SPDX-License-Identifier: Apache-2.0
"""Measurements for the plots and for the command: operations by name, over sizes, on this machine.

Works with torch on the host or a CUDA device, and with NumPy alone on the host.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from .._core import UnavailableError
from .calls import Question, check_device, profile_call

UNARY = ("cos", "sin", "exp", "sqrt", "copy", "sum", "softmax")
BINARY = ("add", "mul", "matmul")
OPERATIONS = (*UNARY, *BINARY)
PLOTTED = ("add", "cos", "sum", "matmul")
ELEMENTS = tuple(4**power for power in range(3, 13))
DTYPES = ("float32", "float64", "float16", "bfloat16")
REPEAT = 5


@dataclass(frozen=True, slots=True)
class Point:
    """One operation at one size, and its profile."""

    operation: str
    elements: int
    profile: dict[str, Any]


def has_torch() -> bool:
    """Say whether torch is loaded or can be, without loading it."""
    from importlib.util import find_spec

    return "torch" in sys.modules or find_spec("torch") is not None


def make_call(
    operation: str, elements: int, device: str = "cpu", dtype: str = "float32"
) -> tuple[Any, tuple[Any, ...]]:
    """Return a function and its arguments: arrays of about `elements` elements (matmul: square matrices).

    NumPy on the host, torch on a CUDA device and for bfloat16. ValueError for an unknown operation, type or size,
    UnavailableError where torch is needed and missing, CUDANotAvailableError without the device.
    """
    if operation not in OPERATIONS:
        raise ValueError(f"unknown operation {operation!r}; valid are: {', '.join(sorted(OPERATIONS))}")
    if dtype not in DTYPES:
        raise ValueError(f"unknown type {dtype!r}; valid are: {', '.join(DTYPES)}")
    if elements < 1:
        raise ValueError(f"a size is at least 1, got {elements}")
    if device == "cpu" and dtype != "bfloat16":
        return _numpy_call(operation, elements, dtype)
    if not has_torch():
        raise UnavailableError(f"{device} with {dtype} needs torch, which is not installed; NumPy does float32 on cpu")
    return _torch_call(operation, elements, device, dtype)


def _shape(operation: str, elements: int) -> tuple[int, ...]:
    side = max(1, round(elements**0.5))
    return (side, side) if operation in ("matmul", "softmax") else (elements,)


def _numpy_call(operation: str, elements: int, dtype: str) -> tuple[Any, tuple[Any, ...]]:
    import numpy as np

    shape = _shape(operation, elements)
    random = np.random.default_rng(0)
    first = random.random(shape).astype(dtype)
    functions: dict[str, Any] = {"mul": np.multiply, "copy": np.copyto, "softmax": _softmax}
    function = functions.get(operation) or getattr(np, operation)
    if operation == "copy":
        return function, (np.empty_like(first), first)
    if operation in ("sum", "softmax"):
        return function, (first,)
    args = (first, random.random(shape).astype(dtype)) if operation in BINARY else (first,)
    return function, (*args, np.empty_like(first))


def work_of(function: Any, args: tuple[Any, ...]) -> tuple[float | None, float | None]:
    """Return FLOPs and bytes of a call that `make_call` made where no formula of the profiler knows them, else None.

    The softmax of NumPy is four functions and a quotient, each a pass of its own: five operations an element, and five
    arrays read and three written.
    """
    if function is not _softmax:
        return None, None
    (values,) = args
    return 5.0 * values.size, 8.0 * values.nbytes


def _softmax(values: Any) -> Any:
    import numpy as np

    shifted = np.exp(values - values.max(axis=-1, keepdims=True))
    return shifted / shifted.sum(axis=-1, keepdims=True)


def _torch_call(operation: str, elements: int, device: str, dtype: str) -> tuple[Any, tuple[Any, ...]]:
    import torch

    check_device(device)
    shape = _shape(operation, elements)
    kind = getattr(torch, dtype)
    first = torch.rand(shape, device=device).to(kind)
    if operation == "copy":
        return torch.Tensor.copy_, (torch.empty_like(first), first)
    function: Callable[..., Any] = getattr(torch, operation)
    if operation == "softmax":
        return function, (first, -1)
    return function, (first, torch.rand(shape, device=device).to(kind)) if operation in BINARY else (first,)


def run(
    calibration: Callable[[str], Any],
    device: str = "cpu",
    operations: tuple[str, ...] = PLOTTED,
    elements: tuple[int, ...] = ELEMENTS,
    dtype: str = "float32",
) -> Iterator[Point]:
    """Measure each operation at each size, REPEAT calls each, smallest first."""
    for operation in operations:
        for size in elements:
            function, args = make_call(operation, size, device, dtype)
            function(*args)
            _, profile = profile_call(function, args, {}, Question(REPEAT, *work_of(function, args)), calibration)
            yield Point(operation, size, profile)
