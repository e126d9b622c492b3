# SPDX-License-Identifier: Apache-2.0
"""Cause: pickling. Whole days of trips, objects with objects in them, go to worker processes and partly come back.

Tries what-if cases on the timetable of a city's buses: a street is closed, the trips behind it are late, and a worker
process follows the lateness from stop to stop. The parent counts which connections to other lines are lost.
"""

import argparse
import multiprocessing
import random
import time
from bisect import bisect_left
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from multiprocessing.connection import wait


@dataclass(slots=True)
class Call:
    stop: int
    arrival: int
    departure: int
    late: int = 0


@dataclass(slots=True)
class Trip:
    line: int
    calls: list = field(default_factory=list)


def make_timetable(lines, trips, calls, stops, source):
    timetable = []
    for line in range(lines):
        route = source.sample(range(stops), calls)
        for number in range(trips):
            clock = 18_000 + number * 64_000 // trips
            trip = Trip(line)
            for stop in route:
                arrival = clock + source.randint(60, 150)
                clock = arrival + source.randint(10, 40)
                trip.calls.append(Call(stop, arrival, clock))
            timetable.append(trip)
    return timetable


def follow(trips, closed, lost):
    """The trips that are late when each call at a closed stop loses so many seconds."""
    hurt = []
    for trip in trips:
        late = 0
        for call in trip.calls:
            late = lost if call.stop in closed else max(0, late - (call.departure - call.arrival) // 2)
            call.late = late
        if any(call.late for call in trip.calls):
            hurt.append(trip)
    return hurt


def worker(connection):
    while (task := connection.recv()) is not None:
        connection.send(follow(*task))


class Connections:
    """When which buses leave a stop; counts the changes that late buses miss."""

    def __init__(self, timetable):
        self.leaving = defaultdict(list)
        for call in sorted((call for trip in timetable for call in trip.calls), key=lambda call: call.departure):
            self.leaving[call.stop].append(call.departure)
        self.missed = Counter()
        self.waited = Counter()

    def add(self, hurt):
        for trip in hurt:
            for call in trip.calls:
                if call.late:
                    departures = self.leaving[call.stop]
                    ready = call.arrival + call.late + 60
                    planned = bisect_left(departures, call.arrival + 60)
                    reached = bisect_left(departures, ready)
                    self.missed[call.stop] += reached - planned
                    if reached < len(departures):
                        self.waited[trip.line] += min(1800, departures[reached] - ready)


def try_cases(timetable, cases, workers, connections):
    waiting = list(reversed(cases))
    crew = {}
    for _ in range(min(workers, len(cases))):
        ours, theirs = multiprocessing.Pipe()
        crew[ours] = multiprocessing.Process(target=worker, args=(theirs,), daemon=True)
        crew[ours].start()
        theirs.close()
        ours.send((timetable, *waiting.pop()))
    while crew:
        for pipe in wait(list(crew)):
            hurt = pipe.recv()
            if waiting:
                pipe.send((timetable, *waiting.pop()))
            else:
                pipe.send(None)
                crew.pop(pipe).join()
            connections.add(hurt)


def main():
    parser = argparse.ArgumentParser(description="try closures on a bus timetable")
    parser.add_argument("--lines", type=int, default=24)
    parser.add_argument("--stops", type=int, default=160, help="of the city; each line calls at 24 of them")
    parser.add_argument("--cases", type=int, default=30)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()

    source = random.Random(23)
    timetable = make_timetable(args.lines, 60, 24, args.stops, source)
    cases = [(source.sample(range(args.stops), 3), 60 * source.randint(4, 9)) for _ in range(args.cases)]
    connections = Connections(timetable)
    began = time.perf_counter()
    try_cases(timetable, cases, args.workers, connections)
    took = time.perf_counter() - began
    print("connections are missed most at:", ", ".join(f"{stop}" for stop, _ in connections.missed.most_common(6)))
    print(f"line {max(connections.waited, key=connections.waited.get)} waits longest")
    print(f"{args.cases} cases, {connections.missed.total()} connections missed, in {took:.1f} s")


if __name__ == "__main__":
    main()
