# SPDX-License-Identifier: Apache-2.0
"""What a run was recorded on: machine, process and libraries, as a JSON-ready dictionary.

Nothing is imported for this: a library is described when the program has already loaded it.
"""

import json
import os
import platform
import sys
from collections.abc import Mapping
from typing import Any

from . import _core

NVIDIA_CONTROL = "/dev/nvidiactl"
AMD_CONTROL = "/dev/kfd"
# Files that a driver makes: of NVIDIA (also on Tegra and under WSL) and of AMD.
CONTROLS = (NVIDIA_CONTROL, "/dev/nvmap", "/dev/dxg", AMD_CONTROL)
LIBRARY_VARIABLES = ("REGIMETER_LIBCUDA", "REGIMETER_LIBHIP")
NOT_IN_USE = "the device was not in use in this thread when the scope began"
# Libraries whose version is part of the environment when they are loaded.
LIBRARIES = ("numpy", "torch", "cupy", "jax", "triton")


def describe() -> dict[str, Any]:
    """Return the environment of this process."""
    return {
        "host": platform.node(),
        "platform": platform.platform(),
        "python": platform.python_version(),
        "executable": sys.executable,
        "command": list(sys.orig_argv),
        "directory": _working_directory(),
        "pid": os.getpid(),
        "cpu": cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": total_memory(),
        "process_memory": process_memory(),
        "device": device_timing(None, asked=True),
        "gpus": gpus(),
        "libraries": loaded_libraries(),
    }


def _working_directory() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # removed under the process
        return None


def cpu_model() -> str:
    """Return the processor's name, or the architecture where the system does not tell."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                key, _, value = line.partition(":")
                if key.strip() == "model name":
                    return value.strip()
    except OSError:
        pass
    return platform.machine()


def total_memory() -> int | None:
    """Return the machine's memory in bytes, None where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None


def process_memory() -> dict[str, int]:
    """Return resident set, its peak and what malloc holds, in bytes, as far as the system tells."""
    return {name: value for name, value in _core.host_memory().items() if name != "malloc_known" and value >= 0}


def device_timing(state: Mapping[str, Any] | None, *, asked: bool) -> dict[str, Any]:
    """Describe device timing from the counters of a profiler; None where it is off, asked for or not."""
    if state is None:
        return {"available": False, "reason": device_reason() if asked else "device_timing is off"}
    counts = {name: value for name, value in state.items() if name != "reason"}
    why = state["reason"]
    return {
        "available": bool(state["begun"]) and not why,
        "reason": f"{why}; {device_reason()}" if why else NOT_IN_USE,
        **counts,
    }


def device_possible() -> bool:
    """Say whether a GPU can turn up in this process: its driver is on the machine, or a library was named."""
    named = any(os.environ.get(name, "off") != "off" for name in LIBRARY_VARIABLES)
    return named or any(os.path.exists(path) for path in CONTROLS)


def device_reason() -> str:
    """Say what this machine has for device timing."""
    if os.path.exists(NVIDIA_CONTROL):
        return "an NVIDIA driver is on this machine"
    if os.path.exists(AMD_CONTROL):
        return "an AMD driver is on this machine"
    return f"no GPU driver on this machine ({NVIDIA_CONTROL} and {AMD_CONTROL} are absent)"


def gpus() -> dict[str, Any]:
    """Return identity and set-up of the NVIDIA devices, or the reason why they are not known; asked once a process."""
    from . import telemetry

    return telemetry.facts()


def loaded_libraries() -> dict[str, str]:
    """Return the versions of the known libraries that the program has imported."""
    found = {}
    for name in LIBRARIES:
        version = getattr(sys.modules.get(name), "__version__", None)
        if version is not None:
            found[name] = str(version)
    return found


def encode(environment: Mapping[str, Any]) -> str:
    """Return the environment as JSON text; what JSON cannot hold becomes text."""
    return json.dumps(environment, default=str, ensure_ascii=False).encode("utf-8", "replace").decode("utf-8")
