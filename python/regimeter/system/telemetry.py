# SPDX-License-Identifier: Apache-2.0
"""What NVIDIA devices say of themselves: utilisation, memory, power, energy, temperature, clocks, links, errors.

    from regimeter import telemetry

    for name, reading in telemetry.read(0).items():
        print(name, reading.value if reading.known else reading.reason)

One-shot readings through NVML. A recording samples the same metrics by a thread of its own, within a budget.
Values are those of the whole device and of all its processes; docs/gpu/telemetry.md says what each means and what not.
"""

import os
from dataclasses import dataclass
from typing import Any

from .. import _core
from . import gpus

# What reading the set-up of the devices for a recording may take, beside loading the library.
FACTS_LIMIT_MS = 5.0

_facts: tuple[int, dict[str, Any]] | None = None  # process, what was found


@dataclass(frozen=True, slots=True)
class Device:
    """A device of NVML; `ordinal` is what CUDA calls it in this process, None where CUDA does not see it.

    `mapping` says how the ordinal was found, `part` that it is a MIG device. `reason` says why a device cannot be
    read, None where it can.
    """

    ordinal: int | None
    mapping: str
    index: int
    uuid: str | None
    name: str | None
    bus: str | None
    part: bool
    mig_mode: int | None
    gpu_instance: int | None
    compute_instance: int | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Metric:
    """What a metric is: unit, kind (gauge, counter, flags), cost of its call, and what others call it.

    `of_part` says that a MIG device answers for itself; elsewhere the value is that of the whole device.
    """

    name: str
    unit: str
    kind: str
    cost: str
    call: str
    of_part: bool
    dcgm: str
    opentelemetry: str
    opentelemetry_attributes: str
    doc: str


@dataclass(frozen=True, slots=True)
class Reading:
    """One value in the unit of its metric, or None and the reason."""

    value: float | None
    unit: str
    reason: str

    @property
    def known(self) -> bool:
        """True where there is a value."""
        return self.value is not None


def devices() -> list[Device]:
    """Return the devices of this machine, MIG devices after the one that they are a part of.

    UnavailableError where NVML cannot be used, with the reason.
    """
    return [Device(**row) for row in _core.telemetry_devices()]


def metrics() -> dict[str, Metric]:
    """Return every metric by name, whether or not this machine offers it."""
    return {name: Metric(name=name, **row) for name, row in _core.telemetry_metrics().items()}


def read(device: int | str = 0, *, expensive: bool = False) -> dict[str, Reading]:
    """Return what a device says now, by metric.

    `device` is a CUDA ordinal or the UUID of a device or MIG device. With `expensive`, also what holds the driver's
    lock for milliseconds (processes, fans) or waits (PCIe rates, some 20 ms each). UnavailableError where NVML
    cannot be used or has no such device.
    """
    units = {name: row["unit"] for name, row in _core.telemetry_metrics().items()}
    found = _core.telemetry_read(device, expensive)
    return {name: Reading(value, units[name], reason) for name, (value, reason) in found.items()}


def clock_reasons(bits: float) -> list[str]:
    """Return the names of the bits of `clock_reasons` that are set; a bit without a name as ``bit 17``."""
    names = {bit: name for name, (bit, _, _) in _core.clock_reasons().items()}
    number = int(bits)
    return [names.get(bit, f"bit {bit}") for bit in range(number.bit_length()) if number >> bit & 1]


def slowed_by(bits: float) -> list[str]:
    """Return those reasons that keep a loaded device from its full clocks."""
    slows = {name for name, (_, _, yes) in _core.clock_reasons().items() if yes}
    return [name for name in clock_reasons(bits) if name in slows]


def library() -> dict[str, Any]:
    """Return where NVML was found, its version and the driver's, and the functions that it lacks."""
    return _core.telemetry_library()


def facts() -> dict[str, Any]:
    """Return the set-up of the devices that CUDA sees, or ``{"reason": ...}``; asked once in a process.

    For the environment of a recording: identity, driver, power limit, clocks, modes, PCIe link. What a device does
    not tell is under ``unavailable`` with its reason.
    """
    global _facts
    if _facts is None or _facts[0] != os.getpid():
        _facts = (os.getpid(), _read_facts())
    return _facts[1]


def _read_facts() -> dict[str, Any]:
    if not gpus.nvml_possible():
        return {"reason": f"NVML is not there: {gpus.reason()}"}
    try:
        about = library()
        rows = _core.telemetry_facts(FACTS_LIMIT_MS)
    except _core.UnavailableError as error:
        return {"reason": str(error)}
    return {"driver": about["driver"], "nvml": about["version"], "init_ns": about["init_ns"], "devices": rows}
