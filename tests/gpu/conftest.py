# SPDX-License-Identifier: Apache-2.0
"""Where there is no device, say so once."""

import subprocess
import sys

import pytest
from needed import leave_out

# In a process of its own: a process that has initialised CUDA cannot fork children that use it.
ASK = "import ctypes, sys; sys.exit(ctypes.CDLL('libcuda.so.1').cuInit(0))"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what needs a device, unless a driver finds one."""
    lacking = [item for item in items if item.get_closest_marker("gpu")]
    if lacking and subprocess.run([sys.executable, "-c", ASK], capture_output=True, check=False).returncode:
        leave_out(items, lacking, "gpu")
