# SPDX-License-Identifier: Apache-2.0
"""Cause: child. Worker processes count words; the program looks ten times a second whether they have ended."""

import subprocess
import sys
import time

COUNT = "words = {}\nfor i in range(9_000_000): words[i % 7919] = words.get(i % 7919, 0) + 1"

workers = [subprocess.Popen([sys.executable, "-S", "-c", COUNT]) for _ in range(2)]
while any(worker.poll() is None for worker in workers):
    time.sleep(0.1)
