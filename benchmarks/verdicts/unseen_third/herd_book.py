# SPDX-License-Identifier: Apache-2.0
"""Cause: garbage_collection. Each small import ends with gc.collect(), which walks the whole pedigree in memory.

Keeps the herd book of a cattle breed as linked objects, imports calvings in batches and reports the inbreeding of the
calves. Someone once added a collection after every batch "to keep memory flat".
"""

import argparse
import gc
import random
import time


class Animal:
    """One animal, linked to its parents and its offspring."""

    def __init__(self, number, year, sire=None, dam=None):
        self.number = number
        self.year = year
        self.sire = sire
        self.dam = dam
        self.offspring = []
        self.marks = {}
        if sire is not None:
            sire.offspring.append(self)
        if dam is not None:
            dam.offspring.append(self)


class HerdBook:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.animals = []

    def found(self, founders, year):
        for _ in range(founders):
            self.animals.append(Animal(len(self.animals), year))

    def pick_parents(self, window):
        """A sire of the few fashionable ones and any dam, both of the last animals entered."""
        first = max(0, len(self.animals) - window)
        sire = self.animals[first + self.random.randrange(min(window, len(self.animals)) // 20)]
        dam = self.animals[self.random.randrange(first, len(self.animals))]
        return sire, dam

    def calve(self, count, year, window):
        calves = []
        for _ in range(count):
            sire, dam = self.pick_parents(window)
            calf = Animal(len(self.animals), year, sire, dam)
            calf.marks["registered"] = (year, "herd book")
            self.animals.append(calf)
            calves.append(calf)
        return calves


def ancestors(animal, depth):
    """Numbers of all ancestors within so many generations."""
    found = set()
    level = [animal]
    for _ in range(depth):
        level = [parent for one in level for parent in (one.sire, one.dam) if parent is not None]
        found.update(parent.number for parent in level)
    return found


def shares_ancestor(calf, depth=4):
    return bool(ancestors(calf.sire, depth) & ancestors(calf.dam, depth))


def import_batch(book, year, size, window):
    calves = book.calve(size, year, window)
    related = sum(shares_ancestor(calf) for calf in calves)
    gc.collect()  # keeps memory flat
    return related


def main():
    parser = argparse.ArgumentParser(description="import calvings into a herd book")
    parser.add_argument("--herd", type=int, default=220_000, help="animals already in the book")
    parser.add_argument("--batches", type=int, default=30)
    parser.add_argument("--batch-size", type=int, default=50)
    args = parser.parse_args()

    began = time.perf_counter()
    book = HerdBook(seed=3)
    book.found(args.herd // 20, year=1990)
    for year in range(1991, 2021):
        book.calve((args.herd - len(book.animals)) // (2021 - year), year, window=args.herd // 10)
    print(f"loaded {len(book.animals)} animals in {time.perf_counter() - began:.1f} s")

    began = time.perf_counter()
    related = sum(import_batch(book, 2021, args.batch_size, args.herd // 10) for _ in range(args.batches))
    calves = args.batches * args.batch_size
    print(f"imported {calves} calves in {time.perf_counter() - began:.1f} s")
    print(f"{100 * related / calves:.1f} % of the calves have parents with a common ancestor")
    busiest = max(book.animals, key=lambda animal: len(animal.offspring))
    print(f"most used sire: {busiest.number}, {len(busiest.offspring)} offspring")


if __name__ == "__main__":
    main()
