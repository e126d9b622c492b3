# SPDX-License-Identifier: Apache-2.0
"""What ``regimeter calibrate noise`` runs where no program was given: work of several kinds, each a scope."""

import hashlib
import json
import math
import sys
import zlib
from collections.abc import Callable

from ..profiler import GPUProfiler

ROUNDS = 30
TEXT = json.dumps([{"step": i, "loss": 1.0 / (i + 1), "name": f"layer.{i}"} for i in range(150)])
BYTES = TEXT.encode() * 4
NUMBERS = [(i * 7919) % 10_007 for i in range(2_000)]


def work() -> dict[str, Callable[[], object]]:
    """Return operations of about a millisecond or less, by name."""
    return {
        "noise.sort": lambda: sorted(NUMBERS),
        "noise.sum": lambda: sum(NUMBERS),
        "noise.loop": lambda: [number * number for number in NUMBERS],
        "noise.dict": lambda: {number: number for number in NUMBERS},
        "noise.text": lambda: "".join(map(str, NUMBERS)),
        "noise.json_read": lambda: json.loads(TEXT),
        "noise.json_write": lambda: json.dumps(NUMBERS),
        "noise.hash": lambda: hashlib.sha256(BYTES).digest(),
        "noise.deflate": lambda: zlib.compress(BYTES, 1),
        "noise.crc": lambda: zlib.crc32(BYTES),
        "noise.math": lambda: math.fsum(map(math.sqrt, NUMBERS)),
        "noise.split": lambda: TEXT.split(","),
    }


def main() -> int:
    """Run each operation ROUNDS times."""
    with GPUProfiler() as profiler:
        operations = work()
        for _ in range(ROUNDS):
            for name, call in operations.items():
                with profiler.profile(name, device="cpu"):
                    call()
    return 0


if __name__ == "__main__":
    sys.exit(main())
