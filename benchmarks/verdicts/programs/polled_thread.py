# SPDX-License-Identifier: Apache-2.0
"""Cause: python. A thread scores rows one by one; the main one shows how far it is, twenty times a second."""

import threading
import time

done = 0


def score():
    global done
    best = 0.0
    for row in range(12_000_000):
        best = max(best, (row * 2654435761 % 1000) / 7)
        done = row + 1


thread = threading.Thread(target=score)
thread.start()
while thread.is_alive():
    print(f"\r{done / 120_000:.0f} %", end="")
    time.sleep(0.05)
