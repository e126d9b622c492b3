# SPDX-License-Identifier: Apache-2.0
"""Where there is no device, say so once; on doubles, say what was not judged."""

import os
import subprocess
import sys

import pytest
from needed import leave_out

from . import hardware
from .evidence import doubles

# In a process of its own: a process that has initialised CUDA cannot fork children that use it.
ASK = "import ctypes, os, sys; sys.exit(ctypes.CDLL(os.environ.get('REGIMETER_LIBCUDA', 'libcuda.so.1')).cuInit(0))"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what needs a device, unless a driver finds one."""
    lacking = [item for item in items if item.get_closest_marker("gpu")]
    if not lacking:
        return
    # Which doubles a file needs is known to one place; without them torch itself would be the real one.
    if doubles.ON and hardware.NOTES not in os.environ:
        raise pytest.UsageError("REGIMETER_DOUBLES=1 is for tests/gpu/suite.py, which gives each file its doubles")
    if subprocess.run([sys.executable, "-c", ASK], capture_output=True, check=False).returncode:
        leave_out(items, lacking, "gpu")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell what was not judged."""
    if not hardware.noted:
        return
    terminalreporter.write_sep("=", f"{len(hardware.noted)} claims were not judged: these are doubles")
    for test, text in hardware.noted:
        terminalreporter.write_line(f"{test.rpartition('/')[2]}: {text}")
