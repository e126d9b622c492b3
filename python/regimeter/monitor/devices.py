# SPDX-License-Identifier: Apache-2.0
"""The GPUs of this machine, as NVML tells of them now."""

from .. import _core
from ..system import gpus, telemetry
from ..workloads.alerts import CHOSEN


def read_devices() -> list[tuple[telemetry.Device, dict[str, telemetry.Reading]]]:
    """Return each device with its readings; none where there is none."""
    if not gpus.nvml_possible():
        return []
    try:
        devices = [device for device in telemetry.devices() if device.reason is None and device.uuid]
        return [(device, telemetry.read(str(device.uuid))) for device in devices]
    except (_core.UnavailableError, ValueError):
        return []


def utilization() -> tuple[float | None, bool | None]:
    """Return the mean utilisation of all devices from 0 to 1, and whether one is slowed down; None: not known."""
    read = [readings for _, readings in read_devices()]
    busy = [one["gpu_utilization_percent"].value for one in read]
    known = [value for value in busy if value is not None]
    bits = [one["clock_reasons"].value for one in read]
    slowed = [bool(set(telemetry.slowed_by(value)) - set(CHOSEN)) for value in bits if value is not None]
    return (sum(known) / len(known) / 100 if known else None), (any(slowed) if slowed else None)
