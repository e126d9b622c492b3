# SPDX-License-Identifier: Apache-2.0
"""The library that stands before malloc in a program whose allocations are watched, and how it gets there.

The program's variable is put back at its start (`regimeter/bootstrap/sitecustomize.py`).
"""

import sys
from collections.abc import Mapping
from pathlib import Path

LIBRARY = Path(__file__).parents[1] / "native" / "libregimeter_heap.so"
VARIABLE, KEPT = "LD_PRELOAD", "REGIMETER_RECORD_LD_PRELOAD"


def reason() -> str:
    """Return why allocations of programs cannot be watched here, "" where they can."""
    if not LIBRARY.exists():
        return f"this build for {sys.platform} has no {LIBRARY.name}"
    return ""


def variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what a program's environment needs; the library goes behind those that the program loads first itself."""
    before = environment.get(VARIABLE, "")
    return {VARIABLE: ":".join(filter(None, (before, str(LIBRARY)))), KEPT: before}
