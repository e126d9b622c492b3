# SPDX-License-Identifier: Apache-2.0
"""Steps of pure Python that the demo compares; with --slow its `normalise` does 30 % more work."""

import sys

from regimeter import GPUProfiler

STEPS = 25
UNITS = {"read": 40, "normalise": 100, "attend": 150, "project": 120, "write": 30}


def work(units: int) -> int:
    """Do some work; a unit takes a few microseconds."""
    value = 1
    for _ in range(units * 60):
        value = (value * 1103515245 + 12345) & 0x7FFFFFFF
    return value


def main() -> None:
    """Run all steps in turn."""
    units = dict(UNITS)
    if "--slow" in sys.argv[1:]:
        units["normalise"] = round(1.3 * units["normalise"])
    with GPUProfiler() as profiler:
        for _ in range(STEPS):
            for name, count in units.items():
                with profiler.profile(name, device="cpu"):
                    work(count)


if __name__ == "__main__":
    main()
