# SPDX-License-Identifier: Apache-2.0
"""What a calibration of the host holds for, and what the process may use of the machine."""

import os
import platform
import sys
from typing import Any

from .. import _core
from ..environment import cpu_model, total_memory
from .ceiling import VERSION

CGROUPS = "/sys/fs/cgroup"
_CPU_KEYS = ("vendor_id", "cpu family", "model", "stepping", "microcode")


def host_identity() -> dict[str, Any]:
    """Return what the ceilings of the host depend on, as JSON values: any difference makes a kept one worthless."""
    import numpy as np

    facts = cpu_facts()
    return {
        "device": "cpu",
        "format": VERSION,
        "regimeter": _core.__version__,
        "cpu": cpu_model(),
        **{name.replace(" ", "_"): facts.get(name) for name in _CPU_KEYS},
        "cores": sorted(os.sched_getaffinity(0)),
        "threads": threads(),
        "caches": [row["bytes"] for row in _core.host_caches()],
        "memory_bytes": total_memory(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "blas": blas(),
        "torch": library_version("torch"),
    }


def library_version(name: str) -> str | None:
    """Return the version of a library that the program has imported, None where it has not."""
    version = getattr(sys.modules.get(name), "__version__", None)
    return None if version is None else str(version)


def cpu_facts() -> dict[str, str]:
    """Return the first processor's lines of /proc/cpuinfo, {} where there is none."""
    found: dict[str, str] = {}
    for line in _text("/proc/cpuinfo").splitlines():
        key, separator, value = line.partition(":")
        if not separator:
            break
        found[key.strip()] = value.strip()
    return found


def blas() -> str | None:
    """Return name and version of NumPy's BLAS, None where it does not tell."""
    import numpy as np

    try:
        config: Any = np.show_config(mode="dicts")
        row = config["Build Dependencies"]["blas"]
        return f"{row['name']} {row['version']}"
    except (KeyError, TypeError):
        return None


# --- what may be used -----------------------------------------------------------------------------------------


def threads() -> int:
    """Return how many threads can run at a time: processors of the affinity mask, at most the quota of the cgroup."""
    allowed = len(os.sched_getaffinity(0))
    quota = cpu_quota()
    return allowed if quota is None else max(1, min(allowed, int(quota)))


def cpu_quota() -> float | None:
    """Return how many processors' time the cgroup may take, None without a limit."""
    found = []
    for folder in _cgroup_folders():
        limit, _, period = _text(f"{folder}/cpu.max").partition(" ")
        if limit.isdigit() and period.strip().isdigit() and int(period) > 0:
            found.append(int(limit) / int(period))
    old = _text(f"{CGROUPS}/cpu/cpu.cfs_quota_us").strip(), _text(f"{CGROUPS}/cpu/cpu.cfs_period_us").strip()
    if all(text.isdigit() and int(text) > 0 for text in old):
        found.append(int(old[0]) / int(old[1]))
    return min(found, default=None)


def free_memory() -> int:
    """Return the bytes that can be had without pushing others out: of the machine, and of the cgroup."""
    found = [total_memory() or 0]
    lines = _text("/proc/meminfo").splitlines()
    found += [int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:")]
    for folder in _cgroup_folders():
        limit, used = _text(f"{folder}/memory.max").strip(), _text(f"{folder}/memory.current").strip()
        if limit.isdigit() and used.isdigit():
            found.append(max(0, int(limit) - int(used)))
    return min(found)


def _cgroup_folders() -> list[str]:
    """Return the folders of this process's cgroup and of those around it; limits of each hold."""
    for line in _text("/proc/self/cgroup").splitlines():
        number, _, path = line.partition("::")
        if number == "0" and path.startswith("/") and ".." not in path:
            parts = [part for part in path.split("/") if part]
            return ["/".join([CGROUPS, *parts[:depth]]) for depth in range(len(parts) + 1)]
    return []


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(1 << 20)
    except OSError:
        return ""
