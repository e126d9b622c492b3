# SPDX-License-Identifier: Apache-2.0
"""Element types and the peaks that go with them: which pipe a tensor is computed in, and how fast that pipe is here."""

import enum
import sys
from typing import Any

from .arguments import arrays_in
from .calls import ceilings_of, check_device
from .work import PIPES

FP16_CAPABILITY, BF16_CAPABILITY, FP8_CAPABILITY = (7, 0), (8, 0), (8, 9)


class Precision(enum.Enum):
    """Arithmetic that work is done in; the values are the names of the pipes of `_core.PIPES`."""

    FP64 = "fp64"
    FP32 = "fp32"
    TF32 = "tf32"
    FP16 = "fp16"
    BF16 = "bf16"
    FP8 = "fp8"
    INT8 = "int8"


def detect_precision(*values: Any) -> Precision | None:
    """Return the arithmetic of the first array among values (tensors, arrays, modules, types), None without one.

    float32 on a CUDA device is TF32 where torch's settings allow tensor cores for it, as autocast's type goes before
    the tensors' own.
    """
    torch: Any = sys.modules.get("torch")
    found = arrays_in(*values)
    names = [str(getattr(value, "name", value)).removeprefix("torch.") for value in values]
    dtype = found[0].dtype if found else next((name for name in names if name in PIPES), None)
    if dtype is None:
        return None
    if torch is not None and found and found[0].library == "torch":
        kind = found[0].device.partition(":")[0]
        if dtype in ("float32", "float16", "bfloat16") and kind in ("cpu", "cuda") and torch.is_autocast_enabled(kind):
            dtype = str(torch.get_autocast_dtype(kind)).removeprefix("torch.")
        if dtype == "float32" and kind == "cuda" and torch.get_float32_matmul_precision() != "highest":
            return Precision.TF32
    pipe = PIPES.get(dtype)
    return None if pipe is None else Precision(pipe)


def get_precision_peak_flops(
    precision: Precision | str, device: str | int = "cpu", *, profiler: Any = None
) -> float | None:
    """Return the measured peak in FLOP/s of a device for a precision, None where it was not measured.

    device: "cpu", "cuda", "cuda:N", or the ordinal of a CUDA device. CUDANotAvailableError for one that is not there.
    """
    name = f"cuda:{device}" if isinstance(device, int) else device
    check_device(name)
    ceilings = ceilings_of(profiler, name)
    found = None if ceilings is None else ceilings.ceilings.get(f"compute_{Precision(precision).value}")
    return None if found is None else found.value


def adjust_flops_for_precision(
    peak_flops: float, precision: Precision | str, device: str | int = "cpu", *, base: Precision | str = "fp32"
) -> float | None:
    """Return a peak in one precision scaled to another, by the ratio that was measured on the device.

    None where one of the two was not measured: types differ by no fixed factor.
    """
    of_base = get_precision_peak_flops(base, device)
    of_other = get_precision_peak_flops(precision, device)
    return None if not of_base or of_other is None else peak_flops * of_other / of_base


def has_tensor_cores(device_id: int = 0, precision: Precision | str | None = None) -> bool:
    """Say whether a CUDA device has tensor cores (for a precision), by its compute capability.

    CUDANotAvailableError without a device.
    """
    check_device(f"cuda:{device_id}")
    capability = tuple(sys.modules["torch"].cuda.get_device_capability(device_id))
    wanted = None if precision is None else Precision(precision)
    if wanted is Precision.FP32:
        return False
    if wanted in (Precision.BF16, Precision.TF32, Precision.FP64):
        return capability >= BF16_CAPABILITY
    return capability >= (FP8_CAPABILITY if wanted is Precision.FP8 else FP16_CAPABILITY)


def get_tensor_core_speedup(precision: Precision | str, device: str | int = "cuda") -> float | None:
    """Return the measured peak of a precision over that of fp32 on a device, None where one was not measured."""
    return adjust_flops_for_precision(1.0, precision, device)
