# SPDX-License-Identifier: Apache-2.0
"""Matrix products of the installed libraries: what they reach may be more than what loops of ours reach."""

import contextlib
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

from ..system.blas import blas_threads
from ..system.processors import cpu_facts
from .ceiling import Ceiling
from .sampling import Effort, Timer, better, clock, timed

# torch's name of a type -> the flags of processors that compute in it; the others would only be imitated.
NARROW = {"bfloat16": ("amx_bf16", "avx512_bf16"), "float16": ("amx_fp16", "avx512_fp16")}
PIPES = {"float64": "fp64", "float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}
# Ceiling, torch's type, whether single precision may become tf32.
DEVICE_PRODUCTS = (
    ("compute_fp64", "float64", False),
    ("compute_fp32", "float32", False),
    ("compute_tf32", "float32", True),
    ("compute_fp16", "float16", False),
    ("compute_bf16", "bfloat16", False),
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
    """Return what torch.mm (cuBLAS) reaches on a CUDA device, timed by events, in each type that it takes."""
    torch: Any = sys.modules["torch"]
    size = int(effort.value("device_product_size"))
    device = torch.device("cuda", ordinal)
    found = {}
    before = torch.backends.cuda.matmul.allow_tf32
    try:
        with torch.inference_mode():
            for token, dtype, tf32 in DEVICE_PRODUCTS:
                torch.backends.cuda.matmul.allow_tf32 = tf32
                ceiling = _device_product(torch, effort, device, token, getattr(torch, dtype), size)
                if ceiling is not None:
                    found[token] = ceiling
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
    return found


def _device_product(torch: Any, effort: Effort, device: Any, token: str, dtype: Any, size: int) -> Ceiling | None:
    try:
        a, b = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
        out = torch.empty_like(a)
        torch.mm(a, b, out=out)
        torch.cuda.synchronize(device)
    except RuntimeError:  # too little memory, or a type that this device has not
        return None
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    stream = torch.cuda.current_stream(device)

    def timer() -> tuple[float, float]:
        begin.record(stream)
        torch.mm(a, b, out=out)
        end.record(stream)
        end.synchronize()
        return float(begin.elapsed_time(end)) * 1e-3, 0.0

    return timed(effort, token, f"torch.mm {size} x {size} ({str(dtype).removeprefix('torch.')})", timer, _work(size))


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
