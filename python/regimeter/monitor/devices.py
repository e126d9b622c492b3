# SPDX-License-Identifier: Apache-2.0
"""The GPUs of this machine, as NVML tells of them now."""

from .. import _core
from ..system import gpus, telemetry
from ..workloads.alerts import CHOSEN

Read = list[tuple[telemetry.Device, dict[str, telemetry.Reading]]]


def read_devices() -> Read:
    """Return each device with its readings; none where there is none."""
    if not gpus.nvml_possible():
        return []
    try:
        devices = [device for device in telemetry.devices() if device.reason is None and device.uuid]
        return [(device, telemetry.read(str(device.uuid))) for device in devices]
    except (_core.UnavailableError, ValueError):
        return []


def utilization(read: Read) -> tuple[float | None, bool | None]:
    """Return the mean utilisation of all devices from 0 to 1, and whether one is slowed down; None: not known."""
    busy = [readings["gpu_utilization_percent"].value for _, readings in read]
    known = [value for value in busy if value is not None]
    slowed = [bool(by) for _, readings in read if (by := slowed_by(readings)) is not None]
    return (sum(known) / len(known) / 100 if known else None), (any(slowed) if slowed else None)


def slowed_by(readings: dict[str, telemetry.Reading]) -> list[str] | None:
    """Return what slows a device down that nobody chose; None where it does not say."""
    bits = readings["clock_reasons"].value
    return None if bits is None else [name for name in telemetry.slowed_by(bits) if name not in CHOSEN]
