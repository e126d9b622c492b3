# SPDX-License-Identifier: Apache-2.0
"""``regimeter telemetry``: what the NVIDIA devices of this machine say now, and why the rest is not available."""

import argparse
import time
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from ..system import quantities, telemetry
from ..system.telemetry import clock_reasons
from ..system.text import amount, count, printable
from .common import as_option, next_step, print_document, whole_number
from .errors import CommandError

if TYPE_CHECKING:
    from ..system.telemetry import Device, Reading
    from .common import Verbs

MOST_SAMPLES = 100_000
SHORTEST_S, LONGEST_S = 0.01, 86_400.0


def add_parser(verbs: "Verbs", common: argparse.ArgumentParser) -> None:
    """Declare the verb."""
    parser = verbs.add_parser("telemetry", parents=[common])
    parser.add_argument("--device", metavar="N", help="CUDA ordinal or UUID (default: every device that CUDA sees)")
    count = whole_number(f"a number from 1 to {MOST_SAMPLES:,}", 1, MOST_SAMPLES)
    parser.add_argument("--count", metavar="N", type=count, default=1, help="readings to take (default: 1)")
    parser.add_argument(
        "--interval", metavar="T", type=_interval, default=1e3, help="time between readings: 500ms, 2s (default: 1s)"
    )
    parser.add_argument(
        "--expensive", action="store_true", help="also what takes the driver milliseconds: processes, fan, PCIe rates"
    )
    parser.set_defaults(run=run)


def _interval(text: str) -> float:
    """Return milliseconds; a number without a unit is milliseconds, as for the memory sampler."""
    return as_option(partial(quantities.seconds, bare="ms", least=SHORTEST_S, most=LONGEST_S), text) * 1e3


def run(arguments: argparse.Namespace) -> int:
    """Read and print; 1 where NVML or the device is not available."""
    chosen = _chosen(arguments.device)
    samples: list[dict[str, Any]] = []
    begin = time.monotonic()
    for number in range(arguments.count):
        time.sleep(max(0.0, begin + number * arguments.interval / 1e3 - time.monotonic()))
        for device in chosen:
            readings = telemetry.read(_key(device), expensive=arguments.expensive)
            if arguments.json:
                samples.append(_sample(device, readings))
            else:
                _print(device, readings, show_reasons=number == 0 and not arguments.quiet)
    if arguments.json:
        rows = [asdict(device) for device in chosen]
        print_document({"format": "regimeter.telemetry", "version": 1, "devices": rows, "samples": samples})
    elif not arguments.quiet:
        print(f"Next: {next_step('doctor')} says what else can be measured here")
    return 0


def _chosen(wanted: str | None) -> "list[Device]":
    found = telemetry.devices()
    if wanted is None:
        seen = [device for device in found if device.ordinal is not None]
        if not seen:
            raise CommandError(f"CUDA sees none of {count(len(found), 'device')}; look at CUDA_VISIBLE_DEVICES")
        return seen
    for device in found:
        if wanted in (str(device.ordinal), device.uuid):
            return [device]
    raise CommandError(f"no device {wanted}; a CUDA ordinal or a whole UUID is expected")


def _key(device: "Device") -> int | str:
    if device.ordinal is not None:
        return device.ordinal
    return device.uuid or ""


def _sample(device: "Device", readings: "dict[str, Reading]") -> dict[str, Any]:
    return {
        "device": _key(device),
        "unix_ns": time.time_ns(),
        "values": {name: reading.value for name, reading in readings.items() if reading.known},
        "unavailable": {name: reading.reason for name, reading in readings.items() if not reading.known},
    }


def _print(device: "Device", readings: "dict[str, Reading]", *, show_reasons: bool) -> None:
    place = "not visible to CUDA" if device.ordinal is None else f"device {device.ordinal} ({device.mapping})"
    print(printable(f"{device.name}, {device.uuid}, {device.bus}: {place}"))
    width = max(len(name) for name in readings)
    for name, reading in readings.items():
        if reading.value is not None:
            print(f"  {name:{width}}  {shown(name, reading.value, reading.unit)}")
    absent = {name: reading.reason for name, reading in readings.items() if not reading.known}
    if show_reasons and absent:
        print("not available:")
        for name, reason in absent.items():
            print(f"  {name:{width}}  {printable(reason)}")


def shown(name: str, value: float, unit: str) -> str:
    """Return a value as text."""
    if unit == "bits":
        return ", ".join(clock_reasons(value)) or "none"
    if unit in ("bytes", "bytes/s"):
        return amount(value) + unit.removeprefix("bytes")
    number = f"{value:,.0f}" if value == int(value) else f"{value:,.3f}"
    return f"{number} {'%' if unit == 'percent' else '°C' if unit == 'celsius' else unit}".rstrip()
