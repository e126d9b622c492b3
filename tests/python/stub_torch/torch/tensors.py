# SPDX-License-Identifier: Apache-2.0
"""Tensors with a shape, a type, a device and a size, and operations that know the shape of their result.

An operation on a CUDA tensor is one launch on the double of the driver, named after the operation (products also after
their type); on the host and on ``meta`` it is nothing at all. A dispatch mode sees every operation, as torch's do.
"""

import functools
import itertools
import math
from concurrent.futures import ThreadPoolExecutor
from types import MethodType, SimpleNamespace
from typing import Any

from . import cuda

PRODUCTS = ("mm", "matmul", "_scaled_mm", "_int_mm")
VIEWS = ("t", "transpose", "view", "reshape", "as_strided", "detach", "expand", "unsqueeze", "squeeze")
ELEMENTWISE = ("add", "sub", "mul", "div", "neg", "cos", "sin", "exp", "sqrt", "relu", "sigmoid", "rsqrt", "tanh")
RATES = {  # operations a ns, by the type that is multiplied
    "float16": 700_000.0, "bfloat16": 700_000.0, "float8_e4m3fn": 1_400_000.0, "int8": 1_400_000.0, "float64": 30_000.0,
}  # fmt: skip
REDUCTIONS = ("sum", "mean", "amax", "amin", "max", "min")


class dtype:
    def __init__(self, name: str, itemsize: int) -> None:
        self.name, self.itemsize = name, itemsize

    def __repr__(self) -> str:
        return f"torch.{self.name}"


DTYPES = {name: dtype(name, size) for name, size in (
    ("float64", 8), ("float32", 4), ("float16", 2), ("bfloat16", 2), ("float8_e4m3fn", 1), ("int64", 8), ("int32", 4),
    ("int8", 1), ("uint8", 1), ("bool", 1),
)}  # fmt: skip
float32 = DTYPES["float32"]


class device:
    def __init__(self, kind: Any, index: int | None = None) -> None:
        kind, _, number = str(kind).partition(":")
        if index is None and kind == "cuda":
            index = int(number) if number else cuda.current_device()
        self.type, self.index = kind, index

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


# --- operators -------------------------------------------------------------------------------------------------

pointwise = SimpleNamespace(name="pointwise")


class OpOverloadPacket:
    def __init__(self, name: str) -> None:
        self.__name__ = name


class OpOverload:
    """An operator as the dispatcher hands it to a mode; calling it runs it."""

    def __init__(self, name: str) -> None:
        self.overloadpacket = OpOverloadPacket(name)
        self.is_view = name in VIEWS
        self.tags = (pointwise,) if name.removesuffix("_") in ELEMENTWISE else ()
        self._schema = SimpleNamespace(is_mutable=name.endswith("_"), arguments=())

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return _run(self.overloadpacket.__name__, args, keywords)


operators: dict[str, OpOverload] = {}
modes: list[Any] = []


def operator(name: str) -> OpOverload:
    return operators.setdefault(name, OpOverload(name))


def operation(name: str, *args: Any, **keywords: Any) -> Any:
    """Run an operator through the innermost dispatch mode, which is off meanwhile, or at once."""
    if not modes:
        return _run(name, args, keywords)
    mode = modes.pop()
    try:
        return mode.__torch_dispatch__(operator(name), (), args, keywords)
    finally:
        modes.append(mode)


def _run(name: str, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    given = [value for value in args if isinstance(value, Tensor)]
    place = given[0].device if given else device(keywords.get("device") or "cpu")
    kind = keywords.get("dtype") or (given[0].dtype if given else float32)
    if name in VIEWS:
        return Tensor(_viewed(name, args), kind, place, given[0])
    out = keywords.get("out")
    if out is None:
        inside = given and name.endswith("_")
        out = given[0] if inside else Tensor(_shape(name, args, keywords, given), kind, place)
    if place.type == "cuda":
        label = f"{name}_{kind.name}" if name in PRODUCTS else name
        cuda.launch(label, place.index, duration(name, given, out))
    out.depth = max((tensor.depth for tensor in given), default=0) + 1
    return out


def duration(name: str, given: list["Tensor"], out: "Tensor") -> float | None:
    """Return the nanoseconds of the kernel of an operation: its bytes or its multiply-adds, whichever takes longer."""
    moved = sum(tensor.numel() * tensor.dtype.itemsize for tensor in (*given, out))
    operations = 2 * out.numel() * given[0].shape[-1] if name in PRODUCTS and given else out.numel()
    kind = given[0].dtype if given else out.dtype
    return cuda.by_size(moved, operations, RATES.get(kind.name, 50_000.0))


def _viewed(name: str, args: tuple[Any, ...]) -> tuple[int, ...]:
    shape = args[0].shape
    if name == "t":
        return tuple(reversed(shape))
    if name == "transpose":
        order = list(shape)
        first, second = args[1:3]
        order[first], order[second] = order[second], order[first]
        return tuple(order)
    return tuple(args[1]) if name == "as_strided" else shape


def _shape(name: str, args: Any, keywords: Any, given: list["Tensor"]) -> tuple[int, ...]:
    if not given:
        return sizes(args)
    if name in PRODUCTS:
        return (*given[0].shape[:-1], given[1].shape[-1])
    if name == "index_select":
        return (*given[1].shape, *given[0].shape[1:])
    if name in REDUCTIONS:
        if len(args) == 1:
            return ()
        return (*given[0].shape[:-1], 1) if keywords.get("keepdim") else given[0].shape[:-1]
    shapes = [tensor.shape[::-1] for tensor in given]
    return tuple(max(column) for column in itertools.zip_longest(*shapes, fillvalue=1))[::-1]


def sizes(args: Any) -> tuple[int, ...]:
    """Return the shape that a factory was asked for."""
    first = args[0] if args and isinstance(args[0], list | tuple) else args
    return tuple(value for value in first if isinstance(value, int))


autograd = ThreadPoolExecutor(1, thread_name_prefix="pt_autograd")


def _backward(depth: int, index: int | None) -> None:
    for number in range(2 * depth):
        cuda.launch(f"backward_{number % 2}", index, cuda.by_size(1 << 20, 1 << 20, 50_000.0))


# --- tensors ---------------------------------------------------------------------------------------------------


class Tensor:
    """Any method that is not here is an operation."""

    def __init__(self, shape: tuple[int, ...], kind: dtype, place: device, base: "Tensor | None" = None) -> None:
        self.shape, self.dtype, self.device = shape, kind or float32, place
        self.base, self.depth = base, 0
        if base is None and place.type == "cuda":
            self.block: Any = cuda.Block(self.numel() * self.dtype.itemsize, place.index)

    is_cuda = property(lambda self: self.device.type == "cuda")
    ndim = property(lambda self: len(self.shape))

    def numel(self) -> int:
        return math.prod(self.shape)

    def element_size(self) -> int:
        return self.dtype.itemsize

    def size(self) -> tuple[int, ...]:
        return self.shape

    def stride(self) -> tuple[int, ...]:
        return tuple(math.prod(self.shape[at + 1 :]) for at in range(len(self.shape)))

    def storage_offset(self) -> int:
        return 0

    def data_ptr(self) -> int:
        if self.base is not None:
            return self.base.data_ptr()
        return int(self.block.block) if self.is_cuda else id(self)

    def untyped_storage(self) -> Any:
        size = self.numel() * self.dtype.itemsize
        return SimpleNamespace(_cdata=self.data_ptr(), nbytes=lambda: size)

    def to(self, *args: Any, **keywords: Any) -> "Tensor":
        kind = next((value for value in args if isinstance(value, dtype)), self.dtype)
        place = next((device(value) for value in args if isinstance(value, str | device)), self.device)
        if kind is self.dtype and place == self.device:
            return self
        return operation("_to_copy", self, dtype=kind) if place == self.device else Tensor(self.shape, kind, place)

    def copy_(self, source: "Tensor") -> "Tensor":
        return operation("copy_", self, source)

    def backward(self) -> None:
        """Launch two kernels for each operation on the way here, on a thread that holds no scope, as torch does."""
        autograd.submit(_backward, self.depth, self.device.index).result()

    def item(self) -> float:
        if self.is_cuda:
            cuda.synchronize(self.device)
        return 0.0

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("block", "base"):
            raise AttributeError(name)
        return MethodType(functools.partial(operation, name), self)

    def __getitem__(self, where: Any) -> "Tensor":
        return operation("view", self)

    def __matmul__(self, other: Any) -> "Tensor":
        return operation("matmul", self, other)

    def __add__(self, other: Any) -> "Tensor":
        return operation("add", self, other)

    def __mul__(self, other: Any) -> "Tensor":
        return operation("mul", self, other)

    def __int__(self) -> int:
        return int(self.item())

    __radd__, __rmul__ = __add__, __mul__
