# SPDX-License-Identifier: Apache-2.0
"""Cause: python. A weighted edit distance of each pair of words is worked out cell by cell in plain Python loops.

Draws up an atlas of a dialect: in each village the same words were asked for, and how far apart two villages speak is
the mean distance of their words. From the distances come the neighbours in speech and the groups of villages.
"""

import argparse
import itertools
import random
import time
from dataclasses import dataclass

import numpy as np
import pandas as pd

VOWELS = "aeiouy"
CONSONANTS = "bdfgklmnprstvz"
SHIFTS = {"p": "bf", "b": "pv", "t": "dz", "d": "t", "k": "g", "g": "k", "s": "z", "f": "v", "v": "b", "z": "s"}


@dataclass
class Village:
    name: str
    east: float
    north: float
    words: list


def make_word(source):
    syllables = source.randint(3, 4)
    return "".join(source.choice(CONSONANTS) + source.choice(VOWELS) for _ in range(syllables)) + source.choice("nrst")


def spoken(word, distance, source):
    """The word as it is said so far from where it comes from."""
    sounds = []
    for sound in word:
        if source.random() < 0.25 * distance:
            if sound in VOWELS:
                sound = source.choice(VOWELS)
            elif source.random() < 0.2:
                continue
            else:
                sound = source.choice(SHIFTS.get(sound, sound))
        sounds.append(sound)
    return "".join(sounds)


def make_villages(count, words, source):
    lexicon = [make_word(source) for _ in range(words)]
    villages = []
    for number in range(count):
        east, north = source.random(), source.random()
        villages.append(Village(f"V{number:02d}", east, north, [spoken(w, east + north, source) for w in lexicon]))
    return villages


def sound_cost(one, other):
    if one == other:
        return 0.0
    if one in VOWELS and other in VOWELS:
        return 0.4
    if other in SHIFTS.get(one, ""):
        return 0.5
    return 1.0


def word_distance(one, other):
    """The edit distance with costs by sound, as a share of the longer word."""
    above = [0.8 * column for column in range(len(other) + 1)]
    for row, sound in enumerate(one, start=1):
        current = [0.8 * row]
        for column, heard in enumerate(other, start=1):
            best = above[column - 1] + sound_cost(sound, heard)
            if above[column] + 0.8 < best:
                best = above[column] + 0.8
            if current[-1] + 0.8 < best:
                best = current[-1] + 0.8
            current.append(best)
        above = current
    return above[-1] / max(len(one), len(other))


def compare(villages):
    """One line per pair of villages and word."""
    lines = []
    for one, other in itertools.combinations(villages, 2):
        for number, (left, right) in enumerate(zip(one.words, other.words, strict=True)):
            lines.append((one.name, other.name, number, word_distance(left, right)))
    return pd.DataFrame(lines, columns=["one", "other", "word", "distance"])


def neighbours(frame):
    both = pd.concat([frame, frame.rename(columns={"one": "other", "other": "one"})])
    table = both.pivot_table(index="one", columns="other", values="distance", aggfunc="mean")
    return table.idxmin(axis=1), table


def telling_words(frame, draws, source):
    """The words whose distance follows the whole's most surely, by drawing the pairs anew many times."""
    wide = frame.pivot_table(index=["one", "other"], columns="word", values="distance")
    scores = []
    for _ in range(draws):
        drawn = wide.iloc[source.integers(0, len(wide), len(wide))]
        scores.append(drawn.rank().corrwith(drawn.mean(axis=1).rank()))
    return pd.concat(scores, axis=1).min(axis=1).sort_values(ascending=False)


def main():
    parser = argparse.ArgumentParser(description="draw up an atlas of a dialect")
    parser.add_argument("--villages", type=int, default=64)
    parser.add_argument("--words", type=int, default=110)
    parser.add_argument("--draws", type=int, default=20)
    args = parser.parse_args()

    villages = make_villages(args.villages, args.words, random.Random(3))
    began = time.perf_counter()
    frame = compare(villages)
    nearest, table = neighbours(frame)
    telling = telling_words(frame, args.draws, np.random.default_rng(4))
    took = time.perf_counter() - began
    print(f"closest in speech: {nearest.iloc[0]} to {nearest.index[0]}; widest apart {np.nanmax(table.to_numpy()):.2f}")
    print(f"most telling words: {', '.join(str(number) for number in telling.index[:5])}")
    print(f"{len(frame)} pairs of words in {took:.1f} s")


if __name__ == "__main__":
    main()
