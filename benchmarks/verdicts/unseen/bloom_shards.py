# SPDX-License-Identifier: Apache-2.0
"""Cause: page_faults. Every partition of a log gets a new, large and thinly filled NumPy table, of which nearly each write meets an untouched page."""

import time

import numpy as np

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


class Sketch:
    """A table of one-byte marks, big enough for collisions to be rare."""

    BITS = 26

    def __init__(self):
        self.marks = np.zeros(1 << self.BITS, dtype=np.uint8)

    def insert(self, keys):
        """Returns how many of the keys were not there yet."""
        where = (keys * MULTIPLIER) >> np.uint64(64 - self.BITS)
        fresh = int((self.marks[where] == 0).sum())
        self.marks[where] = 1
        return fresh


def partitions(per_partition=12_000):
    """User numbers as the log has them: most come more than once in a year."""
    rng = np.random.default_rng(11)
    users = rng.integers(0, 1 << 62, 400_000, dtype=np.uint64)
    at = 0
    while True:
        at = (at + per_partition) % (users.size - per_partition)
        yield users[at : at + per_partition]


def count_visitors(seconds):
    end = time.monotonic() + seconds
    total = days = 0
    for keys in partitions():
        total += Sketch().insert(keys)
        days += 1
        if time.monotonic() >= end:
            return total, days


if __name__ == "__main__":
    total, days = count_visitors(5.0)
    print(f"{total} visitors in {days} partitions")
