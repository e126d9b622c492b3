# SPDX-License-Identifier: Apache-2.0
"""The libraries that stand before malloc in a program, and how they get there.

One watches what a program allocates; the other is a heap whose calls cost the same whatever was allocated before, for
programs whose instructions are counted.

The program's variable is put back at its start (`regimeter/bootstrap/sitecustomize.py`).
"""

import sys
from collections.abc import Mapping
from pathlib import Path

NATIVE = Path(__file__).parents[1] / "native"
LIBRARY, STEADY = NATIVE / "libregimeter_heap.so", NATIVE / "libregimeter_steady.so"
VARIABLE, KEPT = "LD_PRELOAD", "REGIMETER_RECORD_LD_PRELOAD"


def reason() -> str:
    """Return why allocations of programs cannot be watched here, "" where they can."""
    if not LIBRARY.exists():
        return f"this build for {sys.platform} has no {LIBRARY.name}"
    return ""


def variables(environment: Mapping[str, str], library: Path = LIBRARY) -> dict[str, str]:
    """Return what a program's environment needs; the library goes behind those that the program loads first itself."""
    before = environment.get(VARIABLE, "")
    return {VARIABLE: ":".join(filter(None, (before, str(library)))), KEPT: before}
