# SPDX-License-Identifier: Apache-2.0
"""Where NVIDIA's run-time compiler is, for tests that need the real one."""

import os
import sysconfig
from pathlib import Path

FOLDERS = ["nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"]
NAMES = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"]


def find() -> Path | None:
    """Return the library of ``REGIMETER_LIBNVRTC``, else that of pip's wheel, None when there is none."""
    named = os.environ.get("REGIMETER_LIBNVRTC")
    if named:
        return Path(named) if Path(named).exists() else None
    site = Path(sysconfig.get_paths()["purelib"])
    found = (site / folder / name for folder in FOLDERS for name in NAMES)
    return next((path for path in found if path.exists()), None)
