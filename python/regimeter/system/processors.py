# SPDX-License-Identifier: Apache-2.0
"""The processors of this machine, and how many of them the process may use."""

import functools
import os
import platform

from .cgroup import CGROUPS, cgroup_folders, text_of

_REVISION = ("vendor_id", "cpu family", "model", "stepping", "microcode")


@functools.cache
def cpu_facts() -> dict[str, str]:
    """Return the first processor's lines of /proc/cpuinfo, {} where there is none."""
    found: dict[str, str] = {}
    for line in text_of("/proc/cpuinfo").splitlines():
        key, separator, value = line.partition(":")
        if not separator:
            break
        found[key.strip()] = value.strip()
    return found


def cpu_model() -> str:
    """Return the processor's name, or the architecture where the system does not tell."""
    return cpu_facts().get("model name") or platform.machine()


def cpu_revision() -> str | None:
    """Return vendor, family, model, stepping and microcode, None where the system does not tell."""
    known = [f"{key} {value}" for key in _REVISION if (value := cpu_facts().get(key))]
    return ", ".join(known) or None


def is_virtual() -> bool | None:
    """Return whether a hypervisor runs this machine, as its processor or the kernel says; None where neither tells."""
    flags = cpu_facts().get("flags")
    if text_of("/sys/hypervisor/type").strip():
        return True
    return None if flags is None else "hypervisor" in flags.split()


def allowed_processors() -> list[int]:
    """Return the numbers of the processors that the affinity mask allows."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def usable_processors() -> int:
    """Return how many threads can run at a time: processors of the affinity mask, at most the quota of the cgroup."""
    allowed, quota = len(allowed_processors()), cpu_quota()
    return allowed if quota is None else max(1, min(allowed, int(quota)))


def cpu_quota() -> float | None:
    """Return how many processors' time the cgroup may take, None without a limit."""
    found = []
    for folder in cgroup_folders():
        limit, _, period = text_of(f"{folder}/cpu.max").partition(" ")
        if limit.isdigit() and period.strip().isdigit() and int(period) > 0:
            found.append(int(limit) / int(period))
    old = text_of(f"{CGROUPS}/cpu/cpu.cfs_quota_us").strip(), text_of(f"{CGROUPS}/cpu/cpu.cfs_period_us").strip()
    if all(text.isdigit() and int(text) > 0 for text in old):
        found.append(int(old[0]) / int(old[1]))
    return min(found, default=None)
