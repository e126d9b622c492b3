# SPDX-License-Identifier: Apache-2.0
"""A torch that computes nothing: every operation of a CUDA tensor is one launch on the driver that REGIMETER_LIBCUDA
names, and every tensor has a shape, a type and a size.

Enough for tests/gpu/evidence and for profiles of single operations to run end to end without a device; results of
operations are not there to be looked at.
"""

import contextlib
import sys
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

from . import cuda, tensors, traced
from . import nn as nn
from . import utils as utils
from .tensors import DTYPES, Tensor, operation
from .tensors import device as device

__version__ = "0.stub"
version = SimpleNamespace(cuda="13.0")
globals().update(DTYPES)
OutOfMemoryError = cuda.OutOfMemoryError
Tag = SimpleNamespace(pointwise=tensors.pointwise)
_C = SimpleNamespace(
    _cuda_getCurrentRawStream=lambda number: cuda.current_stream(number).cuda_stream,
    _cuda_getDevice=lambda: cuda.current_device(),
    _autograd=SimpleNamespace(_profiler_enabled=lambda: cuda.traced is not None),
)
ops = SimpleNamespace(
    aten=SimpleNamespace(mv=tensors.operator("mv").overloadpacket, dot=tensors.operator("dot").overloadpacket)
)
backends = SimpleNamespace(cuda=SimpleNamespace(matmul=SimpleNamespace(allow_tf32=False)))
_ops = ModuleType("torch._ops")
_ops.OpOverload, _ops.OpOverloadPacket = tensors.OpOverload, tensors.OpOverloadPacket


def __getattr__(name: str) -> Any:
    """Return a function of torch, the same object each time: an operation, or None where torch has no such name."""
    if name.startswith("_"):
        raise AttributeError(f"the double of torch has no {name}")

    def function(*args: Any, **keywords: Any) -> Any:
        return operation(name, *args, **keywords)

    function.__name__ = function.__qualname__ = name
    globals()[name] = function
    return function


def empty(*size: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """Allocate, launch nothing."""
    place = tensors.device(device or "cpu")
    if place.type == "cuda":
        cuda.init()
    return Tensor(tensors.sizes(size), dtype, place)


def empty_like(like: Tensor) -> Tensor:
    return Tensor(like.shape, like.dtype, like.device)


def as_tensor(values: Any, device: Any = None) -> Tensor:
    """Return a tensor over memory of somebody else's, by its array interface."""
    known = values.__cuda_array_interface__
    made = Tensor(tuple(known["shape"]), DTYPES["uint8"], tensors.device(device))
    made.block = SimpleNamespace(block=known["data"][0], owner=values)
    return made


def _scaled_mm(
    a: Tensor, b: Tensor, *, scale_a: Tensor, scale_b: Tensor, out_dtype: Any, use_fast_accum: bool
) -> Tensor:
    """Multiply 8-bit floats where the device has them; the second matrix has to lie by columns, as t() lays it."""
    if cuda.get_device_capability() < (8, 9):
        raise RuntimeError("torch._scaled_mm is only supported on CUDA devices with compute capability >= 9.0 or 8.9")
    if not a.dtype is b.dtype is DTYPES["float8_e4m3fn"] or b.base is None:
        raise RuntimeError("mat2 must be col_major")
    if not scale_a.dtype is scale_b.dtype is tensors.float32:
        raise RuntimeError("scales have to be of float32")
    return operation("_scaled_mm", a, b, dtype=out_dtype)


def _int_mm(a: Tensor, b: Tensor) -> Tensor:
    if not a.dtype is b.dtype is DTYPES["int8"]:
        raise RuntimeError("expected scalar type Char")
    return operation("_int_mm", a, b, dtype=DTYPES["int32"])


def compile(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that launches one kernel of the name that the compiler of torch gives."""

    def compiled(*args: Any) -> Tensor:
        return operation("triton_poi_fused_0", *args, **({} if args else {"device": "cuda"}))

    return compiled


inference_mode = no_grad = contextlib.nullcontext
get_num_threads = lambda: 1  # noqa: E731
set_num_threads = lambda count: None  # noqa: E731


class _Adam:
    """A kernel a parameter and step."""

    def __init__(self, parameters: Any, lr: float) -> None:
        self.parameters = list(parameters)

    def zero_grad(self, set_to_none: bool = True) -> None:
        pass

    def step(self) -> None:
        for parameter in self.parameters:
            operation("adam_", parameter)


# No Optimizer and no backward: steps and roles cannot be attached to what is here.
optim = SimpleNamespace(Adam=_Adam)
autograd = SimpleNamespace(DeviceType=SimpleNamespace(CPU=0, CUDA=1))


class Generator:
    def manual_seed(self, seed: int) -> "Generator":
        return self


@contextlib.contextmanager
def _record_function(name: str) -> Iterator[None]:
    yield


profiler = SimpleNamespace(
    ProfilerActivity=SimpleNamespace(CPU=0, CUDA=1), profile=traced.profile, record_function=_record_function
)
sys.modules.setdefault("torch.profiler", profiler)  # type: ignore[arg-type]

sys.modules.setdefault("torch.cuda", cuda)
