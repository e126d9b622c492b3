# SPDX-License-Identifier: Apache-2.0
"""Whether a GPU can turn up in this process: the one rule for the recorder, telemetry, tests and calibration.

A GPU is possible where a driver has made one of its control files, or where the user has named a library. Nothing of a
vendor is loaded to find out.
"""

import os

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
