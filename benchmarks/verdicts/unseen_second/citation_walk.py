# SPDX-License-Identifier: Apache-2.0
"""Cause: garbage_collection. A citation graph of several hundred thousand live container objects is kept in memory and every small batch ends with a full gc.collect() that must traverse all of it.

Replays a stream of papers into a citation graph and reports influence scores.
"""

import argparse
import collections
import gc
import logging
import random
import sys

log = logging.getLogger("citations")


class Paper:
    __slots__ = ("ident", "year", "cites", "cited_by", "topics")

    def __init__(self, ident, year, topics):
        self.ident = ident
        self.year = year
        self.cites = []
        self.cited_by = []
        self.topics = topics

    def link(self, other):
        self.cites.append(other)
        other.cited_by.append(self)


class Graph:
    """All papers seen so far, and an index by year."""

    def __init__(self):
        self.papers = []
        self.by_year = collections.defaultdict(list)

    def add(self, paper):
        self.papers.append(paper)
        self.by_year[paper.year].append(paper)

    def __len__(self):
        return len(self.papers)


class Session:
    """Scratch objects of one batch; holds references in both directions."""

    def __init__(self, graph):
        self.graph = graph
        self.entries = []

    def open(self, paper):
        entry = {"paper": paper, "session": self, "score": 0.0}
        self.entries.append(entry)
        return entry


def seed_graph(count, rng):
    graph = Graph()
    for ident in range(count):
        paper = Paper(ident, 1960 + ident * 60 // count, {"main": [ident % 17]})
        for _ in range(2):
            if graph.papers:
                paper.link(graph.papers[rng.randrange(len(graph.papers))])
        graph.add(paper)
    return graph


def influence(paper, depth, damping=0.6):
    if depth == 0 or not paper.cited_by:
        return 1.0
    citing = paper.cited_by[:4]
    return 1.0 + damping * sum(influence(p, depth - 1, damping) for p in citing) / len(citing)


def new_papers(start, size, rng, graph):
    for ident in range(start, start + size):
        paper = Paper(ident, 2021 + rng.randrange(4), {"main": [rng.randrange(17)]})
        for _ in range(3):
            paper.link(graph.papers[rng.randrange(len(graph.papers))])
        yield paper


def release(session):
    """Frees the cycles that a session leaves behind, to keep the footprint flat."""
    session.entries[0]["session"] = session
    del session
    return gc.collect()


def replay(graph, batches, size, rng):
    ranking = collections.Counter()
    freed = 0
    for number in range(batches):
        session = Session(graph)
        for paper in new_papers(len(graph), size, rng, graph):
            graph.add(paper)
            for cited in paper.cites:
                entry = session.open(cited)
                entry["score"] = influence(cited, depth=3)
                ranking[cited.ident] = entry["score"]
        freed += release(session)
        if number % 10 == 0:
            log.info("batch %d: %d papers, best %.3f", number, len(graph), ranking.most_common(1)[0][1])
    return ranking, freed


def main(argv=None):
    parser = argparse.ArgumentParser(description="replay citations")
    parser.add_argument("--papers", type=int, default=130_000)
    parser.add_argument("--batches", type=int, default=55)
    parser.add_argument("--batch-size", type=int, default=60)
    parser.add_argument("--seed", type=int, default=11)
    args = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    rng = random.Random(args.seed)
    graph = seed_graph(args.papers, rng)
    print(f"seeded {len(graph)} papers", flush=True)
    ranking, freed = replay(graph, args.batches, args.batch_size, rng)
    for ident, score in ranking.most_common(5):
        print(f"paper {ident}: {score:.3f}")
    print(f"done, {freed} scratch objects released")
    return 0


if __name__ == "__main__":
    sys.exit(main())
