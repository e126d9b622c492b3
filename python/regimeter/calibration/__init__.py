# SPDX-License-Identifier: Apache-2.0
"""Calibration: what this machine or a device can reach at most, measured once and kept.

    from regimeter.calibration import calibration_for

    found = calibration_for("cpu")
    print(found.ceilings["memory_copy"])

docs/calibration.md says what is measured, how, and when it is measured again.
"""

from .ceiling import Calibration, Ceiling
from .measure import calibrate, calibration_for
from .specs import GPUCalibrator, GPUSpecs, detect_gpu_specs

__all__ = ["Calibration", "Ceiling", "GPUCalibrator", "GPUSpecs", "calibrate", "calibration_for", "detect_gpu_specs"]
