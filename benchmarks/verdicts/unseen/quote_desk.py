# SPDX-License-Identifier: Apache-2.0
"""Cause: interpreter_lock. A desk prices quotes in its main thread while eight helper threads of a pool search routes in pure Python without a pause."""

import heapq
import random
import threading
from concurrent.futures import ThreadPoolExecutor


def road_map(towns, rng):
    return [[(rng.randrange(towns), rng.uniform(1, 9)) for _ in range(5)] for _ in range(towns)]


def shortest(roads, start):
    far, queue = {start: 0.0}, [(0.0, start)]
    while queue:
        cost, town = heapq.heappop(queue)
        for other, length in roads[town]:
            if cost + length < far.get(other, float("inf")):
                far[other] = cost + length
                heapq.heappush(queue, (cost + length, other))
    return far


def keep_routes_fresh(roads, routes, stop, seed):
    rng = random.Random(seed)
    while not stop.is_set():
        start = rng.randrange(len(roads))
        routes[start] = shortest(roads, start)


class QuoteDesk:
    def __init__(self, routes):
        self.routes = routes
        self.carriers = {
            name: [1.0 + grade * zone for zone in range(40)]
            for name, grade in zip(("van", "rail", "bike", "ship"), (2e-2, 1e-2, 5e-2, 5e-3))
        }

    def price(self, quote):
        start, parcels = quote
        known = self.routes.get(start, {})
        return min(
            sum(weight * tariff[zone] + known.get(town, 10.0) for town, zone, weight in parcels)
            for tariff in self.carriers.values()
        )


def main(quotes=32, parcels=30_000, helpers=8):
    rng = random.Random(5)
    roads, routes, stop = road_map(600, rng), {}, threading.Event()
    book = [
        (rng.randrange(600), [(rng.randrange(600), rng.randrange(40), rng.random()) for _ in range(parcels)])
        for _ in range(4)
    ]
    desk, total = QuoteDesk(routes), 0.0
    with ThreadPoolExecutor(helpers) as pool:
        for seed in range(helpers):
            pool.submit(keep_routes_fresh, roads, routes, stop, seed)
        for number in range(quotes):
            total += desk.price(book[number % len(book)])
        stop.set()
    print(f"{quotes} quotes, {total:.0f} in all, {len(routes)} routes known")


if __name__ == "__main__":
    main()
