# SPDX-License-Identifier: Apache-2.0
"""A torch that computes nothing: every operation of a tensor is one launch on the driver that REGIMETER_LIBCUDA names.

Enough for tests/gpu/evidence to run end to end without a device; results of operations are not there to be looked at.
"""

import sys
from types import SimpleNamespace
from typing import Any

from . import cuda

__version__ = "0.stub"
version = SimpleNamespace(cuda="13.0")
float16 = float32 = uint8 = None
_C = SimpleNamespace(
    _cuda_getCurrentRawStream=lambda device: cuda.current_stream().cuda_stream, _cuda_getDevice=lambda: 0
)


class Tensor:
    """Any method is an operation."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **keywords: operation(name)

    def _operate(self, *others: Any) -> "Tensor":
        return operation("binary")

    __add__ = __mul__ = __matmul__ = __rmul__ = __radd__ = _operate


def operation(name: str) -> Tensor:
    cuda.launch(name)
    return Tensor()


def __getattr__(name: str) -> Any:
    if name.startswith("_") or name in ("nn", "optim", "profiler", "compile", "utils", "autograd"):
        raise AttributeError(f"the double of torch has no {name}")
    return lambda *args, **keywords: operation(name)


sys.modules.setdefault("torch.cuda", cuda)
