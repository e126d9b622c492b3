# SPDX-License-Identifier: Apache-2.0
"""Cause: python. Words are counted in a Python loop."""


def count(lines):
    found = {}
    for line in lines:
        for word in line.split():
            clean = word.strip(".,").lower()
            found[clean] = found.get(clean, 0) + 1
    return found


lines = [f"The row {index} of the file, and its Words." for index in range(120_000)]
for _ in range(5):
    count(lines)
