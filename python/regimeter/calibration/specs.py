# SPDX-License-Identifier: Apache-2.0
"""What a device is said to reach, and what it does reach of that: `detect_gpu_specs`, `GPUCalibrator`."""

from dataclasses import dataclass
from typing import Any

from .. import _core
from ..system import libraries
from .ceiling import Calibration
from .device import peaks_of
from .measure import calibration_for, parse
from .sampling import Progress
from .store import policy


@dataclass(frozen=True, slots=True)
class GPUSpecs:
    """Peaks of a device in 1e12 operations/s and GB/s, None where nobody states them; `source` says who does.

    source: ``datasheet`` (dense, the row of exactly this name), ``derived`` (from clocks, cores and the width of the
    memory bus; no tensor cores) or ``none``. peak_fp16_tflops is that of tensor cores where the device has them.
    """

    name: str
    compute_capability: tuple[int, int]
    peak_fp32_tflops: float | None
    peak_fp16_tflops: float | None
    peak_tensor_tflops: float | None
    memory_bandwidth_gbps: float | None
    total_memory_gb: float
    device_id: int
    source: str


def detect_gpu_specs(device_id: int = 0) -> GPUSpecs:
    """Return the specifications of a CUDA device. UnavailableError where there is none of this number."""
    libraries.search_wheels()
    about = _core.device_about(device_id)
    peaks = peaks_of(about)
    operations = {pipe: value / 1e12 for pipe, value in peaks["operations"].items()}
    tensor = [operations[pipe] for pipe in ("fp16", "bf16", "tf32") if pipe in operations]
    bandwidth = peaks["bytes_per_s"]
    return GPUSpecs(
        about["name"],
        divmod(about["capability"], 10),
        operations.get("fp32"),
        operations.get("fp16"),
        max(tensor, default=None),
        None if bandwidth is None else bandwidth / 1e9,
        about["memory_bytes"] / 1e9,
        device_id,
        peaks["source"],
    )


class GPUCalibrator:
    """Measured ceilings as parts of the datasheet's: the figures of `run_calibration` under their public names."""

    def __init__(self, device: int | str = 0, *, quick: bool = True) -> None:
        """Name the device by its number, ``"cuda:N"`` or ``"cpu"``; nothing is measured yet."""
        self.device = parse(f"cuda:{device}" if isinstance(device, int) else device)
        self.quick = quick

    def run_calibration(self, force: bool = False, progress: Progress | None = None) -> dict[str, Any]:
        """Measure, or take what is kept, and return parts of 1; None where there is no datasheet.

        max_bandwidth_util: the better of copy and triad over the printed bandwidth. max_flops_util: single precision
        over its printed peak. bandwidth_threshold, flops_threshold: `roof_share` of these, from where on an operation
        is bound by the one or the other. reasons: why a figure is None, by its name. UnavailableError where the
        device cannot be used.
        """
        found = calibration_for(self.device, quick=self.quick, force=force, progress=progress)
        bandwidth, why_bandwidth = _part(found, ("memory_copy", "memory_triad"), found.peaks.get("bytes_per_s"))
        flops, why_flops = _part(found, ("compute_fp32",), found.peaks.get("operations", {}).get("fp32"))
        share = policy()["roof_share"]
        reasons = {
            **dict.fromkeys(("bandwidth_threshold", "max_bandwidth_util"), why_bandwidth),
            **dict.fromkeys(("flops_threshold", "max_flops_util"), why_flops),
        }
        return {
            "bandwidth_threshold": None if bandwidth is None else share * bandwidth,
            "flops_threshold": None if flops is None else share * flops,
            "max_bandwidth_util": bandwidth,
            "max_flops_util": flops,
            "reasons": {name: why for name, why in reasons.items() if why},
        }


def _part(found: Calibration, tokens: tuple[str, ...], peak: float | None) -> tuple[float | None, str]:
    if found.peaks.get("source") != "datasheet" or not peak:
        return None, f"there is no datasheet of {found.name} here"
    values = [value for token in tokens if (value := found.ceilings[token].value) is not None]
    return (max(values) / peak, "") if values else (None, found.ceilings[tokens[0]].reason)
