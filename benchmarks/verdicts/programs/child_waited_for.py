# SPDX-License-Identifier: Apache-2.0
"""Cause: child. The work is done by a program that is waited for."""

import subprocess
import sys

for _ in range(12):
    subprocess.run([sys.executable, "-S", "-c", "import time; time.sleep(0.2)"], check=True)
