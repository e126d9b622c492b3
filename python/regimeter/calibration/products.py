# SPDX-License-Identifier: Apache-2.0
"""Matrix products of the installed libraries: what they reach may be more than what loops of ours reach."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ..system.blas import blas_threads
from ..system.processors import cpu_facts
from .ceiling import Ceiling
from .sampling import Effort, Timer, better, clock, timed

# torch's name of a type -> the flags of processors that compute in it; the others would only be imitated.
NARROW = {"bfloat16": ("amx_bf16", "avx512_bf16"), "float16": ("amx_fp16", "avx512_fp16")}
PIPES = {"float64": "fp64", "float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}
# Ceiling, torch's function, its type, whether single precision may become tf32.
DEVICE_PRODUCTS = (
    ("compute_fp64", "mm", "float64", False),
    ("compute_fp32", "mm", "float32", False),
    ("compute_tf32", "mm", "float32", True),
    ("compute_fp16", "mm", "float16", False),
    ("compute_bf16", "mm", "bfloat16", False),
    ("compute_fp8", "_scaled_mm", "float8_e4m3fn", False),
    ("compute_int8", "_int_mm", "int8", False),
)
SEED = 1


def numpy_products(effort: Effort, threads: int | None = None) -> dict[str, Ceiling]:
    """Return what numpy.matmul reaches in float32 and float64.

    threads: None for as many as its BLAS takes; {} where it cannot be asked for so many.
    """
    if threads is None:
        return _numpy_products(effort)
    with blas_threads(threads) as possible:
        return _numpy_products(effort) if possible else {}


def _numpy_products(effort: Effort) -> dict[str, Ceiling]:
    import numpy as np

    random = np.random.default_rng(SEED)
    found: dict[str, Ceiling] = {}
    for size in _sizes(effort):
        for dtype in ("float64", "float32"):
            a, b = (random.standard_normal((size, size)).astype(dtype) for _ in range(2))
            product = clock(partial(np.matmul, a, b, out=np.empty_like(a)))
            _keep_better(found, effort, f"compute_{PIPES[dtype]}", f"numpy.matmul {size} x {size}", product, size)
    return found


def _sizes(effort: Effort) -> tuple[int, int]:
    """Small ones are short, which a busy machine leaves undisturbed; many threads need large ones."""
    return int(effort.value("product_least_size")), int(effort.value("product_size"))


def _keep_better(found: dict[str, Ceiling], effort: Effort, token: str, source: str, product: Timer, size: int) -> None:
    if effort.late and token in found:
        return
    made = timed(effort, token, source, product, _work(size))
    found[token] = better(found.get(token), made) or made


def torch_products(effort: Effort, threads: int) -> dict[str, Ceiling]:
    """Return what torch.mm reaches on the host, {} where the program has not imported torch."""
    torch: Any = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "mm"):
        return {}
    flags = set(cpu_facts().get("flags", "").split())
    found: dict[str, Ceiling] = {}
    with _torch_threads(torch, threads):
        for size in _sizes(effort):
            for dtype, pipe in PIPES.items():
                if dtype in NARROW and not flags & set(NARROW[dtype]):
                    continue
                generator = torch.Generator().manual_seed(SEED)
                a, b = (torch.randn(size, size, generator=generator).to(getattr(torch, dtype)) for _ in range(2))
                product = clock(partial(torch.mm, a, b, out=torch.empty_like(a)))
                _keep_better(found, effort, f"compute_{pipe}", f"torch.mm {size} x {size}", product, size)
    return found


def device_products(effort: Effort, ordinal: int) -> dict[str, Ceiling]:
    """Return what torch's products (cuBLAS) reach on a CUDA device, timed by events, in each type that they take."""
    torch: Any = sys.modules["torch"]
    size = int(effort.value("device_product_size"))
    device = torch.device("cuda", ordinal)
    found = {}
    before = torch.backends.cuda.matmul.allow_tf32
    try:
        with torch.inference_mode():
            for token, function, dtype, tf32 in DEVICE_PRODUCTS:
                torch.backends.cuda.matmul.allow_tf32 = tf32
                product = _device_product(torch, device, function, dtype, size)
                if product is not None:
                    source = f"torch.{function} {size} x {size} ({dtype})"
                    found[token] = timed(effort, token, source, _by_events(torch, device, product), _work(size))
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
    return found


def _device_product(torch: Any, device: Any, function: str, dtype: str, size: int) -> Callable[[], Any] | None:
    """Return a product that has run once; None where this torch or this device has not got it."""
    try:
        a, b = (_matrix(torch, device, getattr(torch, dtype), size) for _ in range(2))
        if function == "mm":
            product = partial(torch.mm, a, b, out=torch.empty_like(a))
        elif function == "_scaled_mm":
            # The second matrix lies by columns, as the tensor cores of 8-bit floats want it; their own fast sums.
            one = torch.ones((), device=device)
            kind = {"out_dtype": torch.bfloat16, "use_fast_accum": True}
            product = partial(torch._scaled_mm, a, b.t(), scale_a=one, scale_b=one, **kind)
        else:
            product = partial(torch._int_mm, a, b.t())
        product()
        torch.cuda.synchronize(device)
    except (RuntimeError, AttributeError, TypeError):  # too little memory, a type or a function that is not there
        return None
    return product


def _matrix(torch: Any, device: Any, dtype: Any, size: int) -> Any:
    if dtype is torch.int8:
        return torch.randint(-64, 64, (size, size), device=device, dtype=dtype)
    return torch.randn(size, size, device=device).to(dtype)


def _by_events(torch: Any, device: Any, product: Callable[[], Any]) -> Timer:
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    stream = torch.cuda.current_stream(device)

    def timer() -> tuple[float, float]:
        begin.record(stream)
        product()
        end.record(stream)
        end.synchronize()
        return float(begin.elapsed_time(end)) * 1e-3, 0.0

    return timer


def _work(size: int) -> float:
    return 2.0 * size**3


@contextlib.contextmanager
def _torch_threads(torch: Any, threads: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with torch.inference_mode():
            yield
    finally:
        torch.set_num_threads(before)
