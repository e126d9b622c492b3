# SPDX-License-Identifier: Apache-2.0
"""Whether a GPU can turn up in this process: the one rule for the recorder, telemetry, tests and calibration.

A GPU is possible where a driver has made one of its control files, or where the user has named a library. Nothing of a
vendor is loaded to find out.
"""

import os
from collections.abc import Mapping
from typing import Any

# The control files of drivers: of NVIDIA, of NVIDIA on Tegra, of whichever GPU Windows lends to WSL, and of AMD.
NVIDIA, TEGRA, WSL, AMD = "/dev/nvidiactl", "/dev/nvmap", "/dev/dxg", "/dev/kfd"
DRIVERS = {NVIDIA: "an NVIDIA driver", TEGRA: "NVIDIA's Tegra driver", WSL: "a GPU driver of WSL", AMD: "an AMD driver"}
# Variables that name a library of a vendor, or say `off`.
EVENT_LIBRARIES = ("REGIMETER_LIBCUDA", "REGIMETER_LIBHIP")
NVML_LIBRARY = "REGIMETER_LIBNVML"


def driver_files() -> list[str]:
    """Return the control files that are there."""
    return [path for path in DRIVERS if os.path.exists(path)]


def possible() -> bool:
    """Say whether a GPU can turn up: a driver is on this machine, or a library was named."""
    return any(map(_named, EVENT_LIBRARIES)) or bool(driver_files())


def absent() -> bool:
    """Say whether there is no GPU for certain: no driver, and nobody names a library of a vendor."""
    return not possible() and not _named(NVML_LIBRARY)


def _named(variable: str) -> bool:
    return os.environ.get(variable, "off") != "off"


def nvml_possible() -> bool:
    """Say whether looking for NVML is worth it: a driver other than AMD's is there, or the user says where NVML is.

    A variable that says `off` counts, because NVML then has the better reason.
    """
    return bool(os.environ.get(NVML_LIBRARY)) or any(path != AMD for path in driver_files())


def reason() -> str:
    """Say which driver this machine has, or that it has none."""
    found = driver_files()
    if found:
        return f"{DRIVERS[found[0]]} is on this machine"
    return f"no GPU driver on this machine ({', '.join(DRIVERS)} are absent)"


def ordinal_of(device_id: Any) -> int:
    """Return the ordinal of a device; TypeError for what is no int, ValueError for a number that can be none."""
    if isinstance(device_id, bool) or not hasattr(device_id, "__index__"):
        raise TypeError(f"device_id must be an int, the ordinal of a device, not {type(device_id).__name__}")
    ordinal = int(device_id.__index__())
    if not 0 <= ordinal < 2**15:
        raise ValueError(f"device_id is the ordinal of a device as CUDA counts them, from 0, not {ordinal}")
    return ordinal


def missing(ordinal: int, found: Mapping[str, Any]) -> str:
    """Say why nothing can be measured of the device of that ordinal, "" for no reason.

    found: the devices of the environment. Where none is known, the first one is not missed.
    """
    rows = found.get("devices", ())
    if not rows:
        why = found.get("reason", "there is none")
        return f"device_id {ordinal}: no device is known here: {why}" if ordinal else ""
    ordinals = sorted(row["ordinal"] for row in rows if row.get("ordinal") is not None)
    if ordinal in ordinals:
        return ""
    seen = ", ".join(map(str, ordinals)) or "none"
    return f"device_id {ordinal}: CUDA sees no such device here (it sees: {seen}), so nothing is measured of it"
