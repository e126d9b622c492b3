# SPDX-License-Identifier: Apache-2.0
"""Cause: processor. Four busy processes beside the program, on its one processor."""

import multiprocessing
import os


def burn():
    while True:
        pass


def work():
    total = 0
    for value in range(6_000_000):
        total += value % 7
    return total


if __name__ == "__main__":
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    context = multiprocessing.get_context("fork")
    others = [context.Process(target=burn, daemon=True) for _ in range(4)]
    for other in others:
        other.start()
    work()
    for other in others:
        other.kill()
