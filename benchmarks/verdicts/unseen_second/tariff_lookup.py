# SPDX-License-Identifier: Apache-2.0
"""Cause: lock. The refresher thread holds the one index lock during its whole rebuild (a sort and cumulative sums that release the GIL) and lets go for only some milliseconds, so the four pricing threads spend most of the run waiting for that lock.

Prices shipments against a tariff index that a refresher keeps up to date.
"""

import argparse
import logging
import queue
import sys
import threading
from dataclasses import dataclass, field

import numpy as np

log = logging.getLogger("tariff")


@dataclass
class Shipment:
    number: int
    weights: np.ndarray
    zone: int


@dataclass
class Totals:
    priced: int = 0
    amount: float = 0.0
    guard: threading.Lock = field(default_factory=threading.Lock)

    def add(self, amount):
        with self.guard:
            self.priced += 1
            self.amount += amount
            return self.priced


class TariffIndex:
    """Sorted weight breaks with a price curve; swapped by the refresher."""

    def __init__(self, breaks, seed):
        self.lock = threading.Lock()
        self.rng = np.random.default_rng(seed)
        self.raw = self.rng.random(breaks)
        self.version = 0
        self._build()

    def _build(self):
        ordered = np.sort(self.raw)
        curve = np.cumsum(ordered)
        self.breaks, self.curve = ordered, curve / curve[-1]
        self.version += 1

    def refresh(self):
        with self.lock:
            shift = self.rng.random()
            self.raw = np.mod(self.raw + shift, 1.0)
            self._build()

    def price(self, weights):
        with self.lock:
            at = np.searchsorted(self.breaks, weights).clip(max=len(self.curve) - 1)
            return self.curve[at]


class Refresher(threading.Thread):
    def __init__(self, index, pause):
        super().__init__(name="refresher", daemon=True)
        self.index = index
        self.pause = pause
        self.stopping = threading.Event()

    def run(self):
        while not self.stopping.wait(self.pause):
            self.index.refresh()

    def stop(self):
        self.stopping.set()
        self.join()


class Pricer(threading.Thread):
    def __init__(self, number, index, inbox, totals, every):
        super().__init__(name=f"pricer-{number}")
        self.index, self.inbox, self.totals, self.every = index, inbox, totals, every

    def run(self):
        while True:
            shipment = self.inbox.get()
            if shipment is None:
                return
            prices = self.index.price(shipment.weights)
            amount = float(self.surcharge(prices, shipment.zone).sum())
            done = self.totals.add(amount)
            if done % self.every == 0:
                log.info("%d shipments priced, index version %d", done, self.index.version)

    @staticmethod
    def surcharge(prices, zone):
        factors = np.array([1.0, 1.12, 1.3, 1.55])
        return np.round(prices * factors[zone] + 0.02, 4)


def make_shipments(count, parcels, seed):
    rng = np.random.default_rng(seed)
    for number in range(count):
        yield Shipment(number, rng.random(parcels), int(rng.integers(0, 4)))


def main(argv=None):
    parser = argparse.ArgumentParser(description="price shipments")
    parser.add_argument("--breaks", type=int, default=4_000_000)
    parser.add_argument("--shipments", type=int, default=2000)
    parser.add_argument("--parcels", type=int, default=300)
    parser.add_argument("--pricers", type=int, default=4)
    parser.add_argument("--pause", type=float, default=0.005, help="seconds between refreshes")
    parser.add_argument("--seed", type=int, default=3)
    args = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(threadName)s %(message)s")

    index = TariffIndex(args.breaks, args.seed)
    inbox = queue.Queue()
    for shipment in make_shipments(args.shipments, args.parcels, args.seed):
        inbox.put(shipment)
    totals = Totals()
    refresher = Refresher(index, args.pause)
    pricers = [Pricer(n, index, inbox, totals, args.shipments // 6) for n in range(args.pricers)]
    for _ in pricers:
        inbox.put(None)
    refresher.start()
    for thread in pricers:
        thread.start()
    for thread in pricers:
        thread.join()
    refresher.stop()
    print(f"{totals.priced} shipments, total {totals.amount:.2f}, index version {index.version}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
