# SPDX-License-Identifier: Apache-2.0
"""Cause: lock. Eight lanes share one scale behind one lock, so each of their threads waits for the seven others' turns.

Simulates the control room of a quarry: every lane's thread weighs its lorries on the single weighbridge, whose serial
line carries one exchange at a time, and writes the tickets.
"""

import argparse
import random
import statistics
import threading
import time
from dataclasses import dataclass, field


@dataclass
class Ticket:
    lane: int
    lorry: int
    gross_kg: float
    net_kg: float


class Scale:
    """The one scale of the yard; an exchange takes a few telegrams on a slow line."""

    def __init__(self, turnaround, seed):
        self.turnaround = turnaround
        self.noise = random.Random(seed)
        self.exchange = threading.Lock()
        self.exchanges = 0

    def weigh(self, true_kg):
        with self.exchange:
            time.sleep(self.turnaround)
            self.exchanges += 1
            return round(true_kg + self.noise.gauss(0, 8), -1)


@dataclass
class Office:
    """Collects the tickets of all lanes."""

    tickets: list = field(default_factory=list)

    def file(self, ticket):
        self.tickets.append(ticket)

    def summary(self):
        by_lane = {}
        for ticket in self.tickets:
            by_lane.setdefault(ticket.lane, []).append(ticket.net_kg)
        return by_lane


class Lane(threading.Thread):
    def __init__(self, number, lorries, scale, office):
        super().__init__(name=f"lane-{number}")
        self.number = number
        self.lorries = lorries
        self.scale = scale
        self.office = office
        self.load = random.Random(1000 + number)
        self.failure = None

    def run(self):
        try:
            for lorry in range(self.lorries):
                self.pass_lorry(lorry)
        except Exception as error:
            self.failure = error

    def pass_lorry(self, lorry):
        tare = self.load.uniform(11_000, 14_000)
        cargo = self.load.uniform(15_000, 26_000)
        empty = self.scale.weigh(tare)
        full = self.scale.weigh(tare + cargo)
        self.office.file(Ticket(self.number, lorry, full, full - empty))


def main():
    parser = argparse.ArgumentParser(description="weigh the lorries of a quarry")
    parser.add_argument("--lanes", type=int, default=8)
    parser.add_argument("--lorries", type=int, default=9, help="lorries per lane")
    parser.add_argument("--turnaround", type=float, default=0.045, help="seconds per exchange with the scale")
    args = parser.parse_args()

    scale = Scale(args.turnaround, seed=7)
    office = Office()
    lanes = [Lane(number, args.lorries, scale, office) for number in range(args.lanes)]
    began = time.perf_counter()
    for lane in lanes:
        lane.start()
    for lane in lanes:
        lane.join()
        if lane.failure is not None:
            raise lane.failure
    took = time.perf_counter() - began

    for number, nets in sorted(office.summary().items()):
        print(f"lane {number}: {len(nets)} lorries, mean net {statistics.mean(nets) / 1000:.2f} t")
    print(f"{scale.exchanges} exchanges in {took:.1f} s")


if __name__ == "__main__":
    main()
