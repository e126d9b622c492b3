# SPDX-License-Identifier: Apache-2.0
"""Measuring a CUDA device: kernels of the core, torch's matrix products, and what was going on meanwhile."""

import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .. import _core
from ..system import gpus, telemetry
from .ceiling import Calibration, Ceiling, missing
from .dispatch import dispatch_costs
from .products import device_products
from .sampling import Effort, better, read

# Part -> its weight in the time of a calibration.
WEIGHTS = {"memory": 2, "compute": 3, "launch": 1, "transfer": 4, "products": 3}
STATE = ("clock_sm_mhz", "clock_memory_mhz", "power_instant_watts", "temperature_gpu_celsius", "clock_reasons")
SLOWED = "clock_reasons"


# --- measuring ------------------------------------------------------------------------------------------------


def calibrate_device(ordinal: int, effort: Effort, identity: Mapping[str, Any], *, strict: bool) -> Calibration:
    """Measure a device. UnavailableError where it cannot be used, or with `strict` where another process uses it."""
    about = _core.device_about(ordinal)
    warnings, before = [], _state(ordinal)
    others = _others(before)
    if others:
        text = f"{others} on {about['name']} while it was measured: its ceilings may be low"
        if strict:
            raise _core.UnavailableError(f"calibration: {others} on {about['name']}; try again when they have ended")
        warnings.append(f"shared: {text}")
    found, gaps, during = _measure(ordinal, effort)
    if gaps:
        warnings.append(f"{gaps} timings may hold time in which the device waited for the host")
    slowed = sorted({reason for state in (before, during) for reason in _slowed(state)})
    if slowed:
        warnings.append(f"clocks were held back: {', '.join(slowed)}")
    peaks = peaks_of(about)
    ceilings = {token: found.get(token) or missing(token, "not measured on a device") for token in _core.CEILINGS}
    ceilings = judge(ceilings, peaks, effort.policy)
    suspects = [token for token, ceiling in ceilings.items() if ceiling.suspect]
    if suspects:
        warnings.append(f"outside of what the {peaks['source']} figures allow: {', '.join(suspects)}")
    return Calibration(
        f"cuda:{ordinal}", about["name"], 1, ceilings, ceilings, dict(identity), time.time(), effort.quick, 0.0,
        tuple(warnings), {"before": before, "during": during, "shared": bool(others)}, peaks,
    )  # fmt: skip


def _measure(ordinal: int, effort: Effort) -> tuple[dict[str, Ceiling], int, dict[str, Any]]:
    found: dict[str, Ceiling] = {}
    total, done, gaps = sum(WEIGHTS.values()), 0.0, 0
    state: dict[str, Any] = {}
    for part in _core.DEVICE_PARTS:
        effort.tell(part, done / total)
        figures, waited = _measure_part(part, ordinal, effort)
        found |= read(figures)
        gaps += waited
        done += WEIGHTS[part]
        if part == "compute":
            state = _state(ordinal)  # right after the heaviest load
    effort.tell("matrix products", done / total)
    if _torch_sees(ordinal):
        for token, other in device_products(effort, ordinal).items():
            found[token] = better(found.get(token), other) or other
        found |= dispatch_costs(effort, f"cuda:{ordinal}")
    else:
        found["dispatch_torch"] = missing("dispatch_torch", "the program has not imported a torch that sees the device")
    return found, gaps, state


def _measure_part(part: str, ordinal: int, effort: Effort) -> tuple[Any, int]:
    try:
        return _core.measure_device(part, ordinal, effort.quick, dict(effort.policy))
    except _core.Error as error:
        if "CUDA_ERROR_OUT_OF_MEMORY" not in str(error):
            raise
        raise _core.Error(f"{error}: free memory of the device, which may be other processes', and try again") from None


def _torch_sees(ordinal: int) -> bool:
    torch: Any = sys.modules.get("torch")
    try:
        return torch is not None and torch.cuda.is_available() and ordinal < torch.cuda.device_count()
    except Exception:  # a torch without CUDA fails in its own ways
        return False


# --- what to doubt --------------------------------------------------------------------------------------------


def _state(ordinal: int) -> dict[str, Any]:
    if not gpus.nvml_possible():
        return {}
    try:
        found = telemetry.read(ordinal, expensive=True)
    except _core.UnavailableError as error:
        return {"reason": str(error)}
    names = (*STATE, "compute_processes")
    return {name: found[name].value for name in names if name in found and found[name].known}


def _others(state: Mapping[str, Any]) -> str:
    """Say how many other processes compute on the device; '' where none does or nobody knows."""
    count = int(state.get("compute_processes") or 0) - int(_own_context())
    return "" if count < 1 else f"{count} other process{'es' if count > 1 else ''} computed"


def _own_context() -> bool:
    torch: Any = sys.modules.get("torch")
    try:
        return bool(torch is not None and torch.cuda.is_initialized())
    except Exception:  # a torch without CUDA fails in its own ways
        return False


def _slowed(state: Mapping[str, Any]) -> list[str]:
    bits = state.get(SLOWED)
    return telemetry.slowed_by(bits) if bits else []


def peaks_of(about: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the maker prints for a device of exactly that name, else what its attributes amount to.

    source: ``datasheet``, ``derived`` (two words a clock of the memory bus, a multiply-add a core and clock) or
    ``none``.
    """
    sheet = _core.datasheets().get(about["name"])
    if sheet is not None:
        return {"source": "datasheet", "bytes_per_s": sheet["bytes_per_s"], "operations": sheet["peaks"]}
    bandwidth, fp32 = about["derived_bytes_per_s"] or None, about["derived_fp32"] or None
    operations = {} if fp32 is None else {"fp32": fp32}
    return {"source": "derived" if bandwidth or fp32 else "none", "bytes_per_s": bandwidth, "operations": operations}


def judge(ceilings: Mapping[str, Ceiling], peaks: Mapping[str, Any], policy: Mapping[str, float]) -> dict[str, Ceiling]:
    """Return the ceilings, those outside of the window of their peak marked as suspects."""
    limits = {f"compute_{pipe}": value for pipe, value in peaks["operations"].items()}
    for token in ("memory_copy", "memory_triad", "memory_read", "memory_fill"):
        limits[token] = peaks["bytes_per_s"]
    found = dict(ceilings)
    for token, peak in limits.items():
        value = ceilings[token].value
        if peak and value is not None and not policy["sane_low"] <= value / peak <= policy["sane_high"]:
            found[token] = replace(ceilings[token], suspect=True)
    return found
