# SPDX-License-Identifier: Apache-2.0
"""Operations of torch on a device for the measurement of regimes, each with what limits it by construction."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

STREAM, PRODUCT, TINY, OPEN = "MEMORY_BOUND", "COMPUTE_BOUND", "OVERHEAD_BOUND", ""
UNARY = ("cos", "exp", "sqrt", "relu", "neg", "clone")
LARGE, HUGE = 1 << 26, 1 << 27


class Operation(NamedTuple):
    """`make(torch)` returns a function and its arguments. label: by construction, "" where that does not tell."""

    name: str
    label: str
    make: Callable[[Any], tuple[Any, tuple[Any, ...]]]


def operations() -> Iterator[Operation]:
    """Yield all of them, small memory first within each kind."""
    yield from elementwise()
    yield from reductions()
    yield from products()
    yield from layers()


def _label_of(elements: int) -> str:
    """A thousandth of the device is busy below, beyond every cache above; between the two it depends on the device."""
    return TINY if elements <= 1 << 14 else STREAM if elements >= LARGE else OPEN


def elementwise() -> Iterator[Operation]:
    for dtype in ("float32", "float16"):
        for elements in (1 << 8, 1 << 14, 1 << 20, LARGE, HUGE):
            for name in UNARY:

                def one(torch: Any, name: str = name, n: int = elements, kind: str = dtype) -> Any:
                    return getattr(torch, name), (torch.ones(n, device="cuda", dtype=getattr(torch, kind)),)

                yield Operation(f"{name} {dtype} {elements}", _label_of(elements), one)
    for name in ("add", "mul", "sub", "maximum"):
        for elements in (1 << 8, 1 << 14, LARGE):

            def two(torch: Any, name: str = name, n: int = elements) -> Any:
                return getattr(torch, name), tuple(torch.ones(n, device="cuda") for _ in range(2))

            yield Operation(f"{name} {elements}", _label_of(elements), two)


def reductions() -> Iterator[Operation]:
    for name in ("sum", "amax", "mean"):
        for elements in (1 << 8, 1 << 14, HUGE):

            def make(torch: Any, name: str = name, n: int = elements) -> Any:
                return getattr(torch, name), (torch.ones(n, device="cuda"),)

            yield Operation(f"{name} {elements}", _label_of(elements), make)
    for rows in (4, 65_536):

        def soft(torch: Any, rows: int = rows) -> Any:
            return torch.softmax, (torch.randn(rows, 1024, device="cuda"), -1)

        yield Operation(f"softmax {rows} x 1024", _label_of(rows * 1024), soft)


def products() -> Iterator[Operation]:
    for dtype in ("float16", "bfloat16", "float32"):
        for size in (32, 64, 2048, 4096, 6144):

            def square(torch: Any, n: int = size, kind: str = dtype) -> Any:
                made = [torch.randn(n, n, device="cuda", dtype=getattr(torch, kind)) for _ in range(2)]
                return torch.matmul, tuple(made)

            yield Operation(f"matmul {dtype} {size}", TINY if size <= 64 else PRODUCT, square)
        for rows in (1, 4):

            def skinny(torch: Any, m: int = rows, kind: str = dtype) -> Any:
                kinds = {"device": "cuda", "dtype": getattr(torch, kind)}
                return torch.matmul, (torch.randn(m, 16_384, **kinds), torch.randn(16_384, 16_384, **kinds))

            yield Operation(f"matmul {dtype} {rows} x 16384 x 16384", STREAM, skinny)
    for batch in (64, 256):

        def batched(torch: Any, b: int = batch) -> Any:
            kinds = {"device": "cuda", "dtype": torch.float16}
            return torch.bmm, (torch.randn(b, 1024, 1024, **kinds), torch.randn(b, 1024, 1024, **kinds))

        yield Operation(f"bmm {batch} x 1024", PRODUCT, batched)


def layers() -> Iterator[Operation]:
    for rows in (2, 32_768):

        def norm(torch: Any, rows: int = rows) -> Any:
            return torch.layer_norm, (torch.randn(rows, 4096, device="cuda"), (4096,))

        yield Operation(f"layer_norm {rows} x 4096", _label_of(rows * 4096), norm)

        def linear(torch: Any, rows: int = rows) -> Any:
            kinds = {"device": "cuda", "dtype": torch.float16}
            weight, bias = torch.randn(4096, 4096, **kinds), torch.randn(4096, **kinds)
            return torch.addmm, (bias, torch.randn(rows, 4096, **kinds), weight)

        yield Operation(f"addmm {rows} x 4096", PRODUCT if rows > 1000 else OPEN, linear)
    for sequence in (128, 4096):

        def attention(torch: Any, s: int = sequence) -> Any:
            made = [torch.randn(8, 16, s, 64, device="cuda", dtype=torch.float16) for _ in range(3)]
            return torch.nn.functional.scaled_dot_product_attention, tuple(made)

        yield Operation(f"attention {sequence}", OPEN, attention)
    for channels in (8, 256):

        def convolution(torch: Any, c: int = channels) -> Any:
            kinds = {"device": "cuda", "dtype": torch.float16}
            return torch.conv2d, (torch.randn(32, c, 56, 56, **kinds), torch.randn(c, c, 3, 3, **kinds))

        yield Operation(f"conv2d {channels} channels", OPEN, convolution)

    def gathered(torch: Any) -> Any:
        picked = torch.randperm(1 << 20, device="cuda")
        return torch.index_select, (torch.ones(1 << 20, 128, device="cuda"), 0, picked)

    yield Operation("index_select of rows", STREAM, gathered)
