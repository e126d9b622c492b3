# SPDX-License-Identifier: Apache-2.0
"""Cause: page_faults. Every swath allocates a brand-new zeroed 96 MiB canvas, reads and writes one value per 4 KiB page of it and drops it at once, so the allocator returns it to the kernel and all its pages are faulted in and cleared for the first time again and again.

Splats drone point returns on a survey canvas and keeps column statistics.
"""

import argparse
import logging
import sys
from dataclasses import dataclass

import numpy as np
import torch

log = logging.getLogger("mosaic")


@dataclass(frozen=True)
class Survey:
    rows: int
    columns: int
    swaths: int
    seed: int

    @property
    def cells(self):
        return self.rows * self.columns


@dataclass
class Summary:
    swaths: int = 0
    peak: float = 0.0
    mass: float = 0.0

    def update(self, peak, mass):
        self.swaths += 1
        self.peak = max(self.peak, peak)
        self.mass += mass


class Sensor:
    """Delivers one return per footprint; footprints are 1024 cells apart."""

    footprint = 1024

    def __init__(self, survey):
        self.survey = survey
        self.rng = np.random.default_rng(survey.seed)
        self.heights = torch.from_numpy(self.rng.gamma(2.0, 3.0, survey.cells // self.footprint).astype(np.float32))

    def swath(self, number):
        offset = (number * 131) % self.footprint
        count = len(self.heights)
        stop = offset + (count - 1) * self.footprint + 1
        return slice(offset, stop, self.footprint), self.heights


class Canvas:
    def __init__(self, survey):
        self.grid = torch.zeros(survey.cells, dtype=torch.float32)

    def splat(self, where, heights):
        self.grid[where] += heights
        return self

    def probe(self, where):
        seen = self.grid[where]
        return float(seen.max()), float(seen.sum())


def process(sensor, survey, number):
    where, heights = sensor.swath(number)
    canvas = Canvas(survey).splat(where, heights)
    return canvas.probe(where)


def parse(argv):
    parser = argparse.ArgumentParser(description="survey mosaics")
    parser.add_argument("--rows", type=int, default=6144)
    parser.add_argument("--columns", type=int, default=4096)
    parser.add_argument("--swaths", type=int, default=140)
    parser.add_argument("--seed", type=int, default=5)
    args = parser.parse_args(argv)
    return Survey(args.rows, args.columns, args.swaths, args.seed)


def main(argv=None):
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    survey = parse(argv)
    torch.set_num_threads(1)
    sensor = Sensor(survey)
    summary = Summary()
    log.info("canvas of %.0f MB, %d returns a swath", survey.cells * 4 / 1e6, len(sensor.heights))
    for number in range(survey.swaths):
        peak, mass = process(sensor, survey, number)
        summary.update(peak, mass)
        if number % 30 == 0:
            print(f"swath {number}: peak {peak:.2f}", flush=True)
    print(f"{summary.swaths} swaths, peak {summary.peak:.2f}, mass {summary.mass:.0f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
