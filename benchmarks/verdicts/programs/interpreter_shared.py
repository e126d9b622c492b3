# SPDX-License-Identifier: Apache-2.0
"""Cause: interpreter_lock. Three more threads run Python all the time."""

import threading

done = threading.Event()


def spin():
    total = 0
    while not done.is_set():
        for value in range(1000):
            total += value * value


for _ in range(3):
    threading.Thread(target=spin, daemon=True).start()
counts = {}
for index in range(4_000_000):
    key = index % 1013
    counts[key] = counts.get(key, 0) + index
done.set()
