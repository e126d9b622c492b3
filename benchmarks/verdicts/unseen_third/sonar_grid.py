# SPDX-License-Identifier: Apache-2.0
"""Cause: page_faults. Each ping gets a huge new grid of which one cell per page is written: first touches, no more.

Puts the echoes of a multibeam sonar into a dense grid of the water column, ping by ping, and looks for the bottom. The
echoes are few; the grid is made anew for each ping and thrown away after it.
"""

import argparse
import mmap
import resource
import time

import numpy as np


class WaterColumn:
    """The dense grid of one ping: beams by depth cells, zero where nothing echoed."""

    def __init__(self, beams, cells):
        self.memory = mmap.mmap(-1, beams * cells * 4)
        self.grid = np.frombuffer(self.memory, dtype=np.float32).reshape(beams, cells)

    def close(self):
        del self.grid
        self.memory.close()


def make_echoes(beams, cells, spacing, generator):
    """Which cells of each beam echo (one about every `spacing`), and how loud over the depth."""
    depths = np.arange(spacing // 2, cells, spacing)
    loudness = np.exp(-depths / cells).astype(np.float32)
    bottom = generator.integers(len(depths) // 2, len(depths) - 1, beams)
    return depths, loudness, bottom


def record_ping(column, depths, loudness, bottom):
    """Enters the echoes beam by beam, the bottom's the loudest."""
    for beam, where in enumerate(bottom):
        row = column.grid[beam]
        row[depths] = loudness
        row[depths[where]] = 2.0


def find_bottom(column, depths):
    """The loudest of the cells that echoed, per beam; only a few beams are asked."""
    asked = range(0, len(column.grid), 64)
    return [int(depths[column.grid[beam, depths].argmax()]) for beam in asked]


def main():
    parser = argparse.ArgumentParser(description="grid the echoes of a multibeam sonar")
    parser.add_argument("--pings", type=int, default=12)
    parser.add_argument("--beams", type=int, default=512)
    parser.add_argument("--cells", type=int, default=256 * 1024, help="depth cells per beam")
    parser.add_argument("--spacing", type=int, default=1024, help="cells from echo to echo")
    args = parser.parse_args()

    generator = np.random.default_rng(31)
    depths, loudness, _ = make_echoes(args.beams, args.cells, args.spacing, generator)
    found = []
    began = time.perf_counter()
    for _ in range(args.pings):
        _, _, bottom = make_echoes(args.beams, args.cells, args.spacing, generator)
        column = WaterColumn(args.beams, args.cells)
        record_ping(column, depths, loudness, bottom)
        found.extend(find_bottom(column, depths))
        column.close()
    took = time.perf_counter() - began
    usage = resource.getrusage(resource.RUSAGE_SELF)
    print(f"{args.pings} pings, {args.pings * args.beams * len(depths)} echoes in {took:.1f} s")
    print(f"bottom at cell {np.mean(found):.0f} on average")
    print(f"peak memory {usage.ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
