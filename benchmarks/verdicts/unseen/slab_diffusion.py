# SPDX-License-Identifier: Apache-2.0
"""Cause: lock. A diffusion grid is shared out unevenly over two threads that meet at a barrier, and the main thread has the thin slab."""

import threading

import numpy as np


class Grid:
    def __init__(self, rows, cols):
        self.now = np.zeros((rows, cols))
        self.now[rows // 2, :] = 100.0
        self.new = self.now.copy()
        self.scratch = np.zeros_like(self.now)

    def relax(self, lo, hi, rounds=4):
        """One explicit step of the rows lo..hi, sharpened `rounds` times."""
        a, out, tmp = self.now, self.new[lo:hi, 1:-1], self.scratch[lo:hi, 1:-1]
        for _ in range(rounds):
            np.add(a[lo - 1 : hi - 1, 1:-1], a[lo + 1 : hi + 1, 1:-1], out=out)
            np.add(a[lo:hi, :-2], a[lo:hi, 2:], out=tmp)
            np.add(out, tmp, out=out)
            np.multiply(out, 0.25, out=out)

    def swap(self):
        self.now, self.new = self.new, self.now


class Slab:
    def __init__(self, grid, lo, hi, meet):
        self.grid, self.lo, self.hi, self.meet = grid, lo, hi, meet

    def advance(self, steps):
        for _ in range(steps):
            self.grid.relax(self.lo, self.hi)
            self.meet.wait()  # the last to arrive swaps the planes


def simulate(rows=1200, cols=1000, steps=150):
    grid = Grid(rows, cols)
    meet = threading.Barrier(2, action=grid.swap)
    border, interior = Slab(grid, 1, 60, meet), Slab(grid, 60, rows - 1, meet)
    helper = threading.Thread(target=interior.advance, args=(steps,))
    helper.start()
    border.advance(steps)
    helper.join()
    return grid.now


if __name__ == "__main__":
    print("heat left", round(float(simulate().sum()), 3))
