# SPDX-License-Identifier: Apache-2.0
"""The memory of this machine, of the control group and of the process, in bytes."""

import os

from .. import _core
from . import peak
from .cgroup import cgroup_folders, number_of, text_of
from .descriptors import Kept


def total_memory() -> int | None:
    """Return the machine's memory, None where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None


def available_memory() -> int | None:
    """Return what the machine can still give without pushing others out, None where the system does not tell."""
    for line in text_of("/proc/meminfo").splitlines():
        field, _, value = line.partition(":")
        if field == "MemAvailable" and value.split()[0].isdigit():
            return int(value.split()[0]) * 1024
    return None


def memory_limits() -> tuple[int | None, int | None]:
    """Return total and available memory: of the machine, or of a control group around the process that allows less."""
    total, available = total_memory(), available_memory()
    for folder in cgroup_folders():
        limit, used = number_of(f"{folder}/memory.max"), number_of(f"{folder}/memory.current")
        if limit is None:
            continue
        total = limit if total is None else min(total, limit)
        if used is not None:
            left = max(0, limit - used)
            available = left if available is None else min(available, left)
    return total, available


def process_memory() -> dict[str, int]:
    """Return resident set, its peak and what malloc holds, as far as the system tells."""
    found = {name: value for name, value in _core.host_memory().items() if name != "malloc_known" and value >= 0}
    most = peak.peak()
    return found if most is None else found | {"resident_peak": max(most, found.get("resident", 0))}


class Resident:
    """Reads the resident set of a process."""

    def __init__(self, pid: int) -> None:
        """Open what the system says of the process."""
        self._page = os.sysconf("SC_PAGE_SIZE")
        self._last = 0
        self._file = Kept(f"/proc/{pid}/statm")

    def read(self) -> int:
        """Return the bytes; after the end of the process, the last value."""
        try:
            pages = int(self._file.read().split()[1])
        except (OSError, IndexError):
            return self._last
        if pages:  # a process that is ending has none any more
            self._last = pages * self._page
        return self._last
