# SPDX-License-Identifier: Apache-2.0
"""A small CPU program whose operations can be made to do exactly so much more work.

python work.py [OPERATION=PERCENT ...]
"""

import sys

from regimeter import GPUProfiler

OPERATIONS = 20
SAMPLES = 15
UNITS = 200  # of work in an operation: 1 % is two of them


def unit(value: int) -> int:
    """Do a unit of work, a few microseconds."""
    for _ in range(12):
        value = (value * 1103515245 + 12345) & 0x7FFFFFFF
    return value


def main() -> None:
    """Run all operations in turn, again and again."""
    more = dict(word.split("=") for word in sys.argv[1:])
    units = {f"op{i:02d}": round(UNITS * (1 + float(more.get(f"op{i:02d}", 0)) / 100)) for i in range(OPERATIONS)}
    value = 1
    with GPUProfiler() as profiler:
        for _ in range(SAMPLES):
            for name, count in units.items():
                with profiler.profile(name, device="cpu"):
                    for _ in range(count):
                        value = unit(value)


if __name__ == "__main__":
    main()
