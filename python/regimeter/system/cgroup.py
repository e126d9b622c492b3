# SPDX-License-Identifier: Apache-2.0
"""The control group of this process: limits of each folder from its own up to the root hold."""

import itertools

CGROUPS = "/sys/fs/cgroup"
PART, MOST = 1 << 13, 1 << 20  # characters of a file: read at a time, and altogether


def cgroup_folders() -> list[str]:
    """Return the folders of this process's cgroup and of those around it, the root first; [] without cgroups v2."""
    for line in text_of("/proc/self/cgroup").splitlines():
        number, _, path = line.partition("::")
        if number == "0" and path.startswith("/") and ".." not in path:
            parts = [part for part in path.split("/") if part]
            return ["/".join([CGROUPS, *parts[:depth]]) for depth in range(len(parts) + 1)]
    return []


def throttling_folders() -> list[str]:
    """Return the folders of `cgroup_folders` that count how long their limit of processor time held back."""
    return [folder for folder in cgroup_folders() if "throttled_usec " in text_of(f"{folder}/cpu.stat")]


def number_of(path: str) -> int | None:
    """Return the number in a file of the group, None where there is no file or no limit."""
    text = text_of(path).strip()
    return int(text) if text.isdigit() else None


def text_of(path: str) -> str:
    """Return the first megabyte of a file of the system, '' where it cannot be read.

    In parts: room for all of it at once would show in the memory of a program that is recorded.
    """
    try:
        with open(path, buffering=PART, encoding="utf-8", errors="replace") as file:
            return "".join(itertools.islice(iter(lambda: file.read(PART), ""), MOST // PART))
    except OSError:
        return ""
