# SPDX-License-Identifier: Apache-2.0
"""Cause: native. lzma packs and unpacks the records in C without the interpreter's lock; all else is little.

Puts a network's earthquake records into a vault: each station's day is made into differences of samples, split into
byte planes, packed, and sealed with a digest. At the end some records are taken out again and compared.
"""

import argparse
import hashlib
import lzma
import struct
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass
class Sealed:
    station: str
    offset: int
    length: int
    samples: int
    digest: str


def record(source, samples):
    """A day of one station: noise with microseisms, and a few quakes that ring out."""
    when = np.arange(samples)
    trace = 40 * np.sin(when / 37) + np.cumsum(source.normal(0, 3, samples))
    for start in source.integers(0, samples, 3):
        tail = when[start:] - start
        trace[start:] += 2000 * np.exp(-tail / 900) * np.sin(tail / 6)
    return trace.round().astype(np.int32)


def to_planes(trace):
    """Differences, each in zigzag form, with all low bytes first and all high bytes last."""
    steps = np.diff(trace, prepend=np.int32(0))
    zigzag = ((steps << 1) ^ (steps >> 31)).astype("<u4")
    return zigzag.view(np.uint8).reshape(-1, 4).T.tobytes()


def from_planes(planes):
    zigzag = np.frombuffer(planes, np.uint8).reshape(4, -1).T.copy().view("<u4").ravel()
    steps = (zigzag >> 1).astype(np.int32) ^ -(zigzag & 1).astype(np.int32)
    return np.cumsum(steps, dtype=np.int32)


def largest_run(trace, level):
    """The longest time that the ground moved more than the level, in samples."""
    longest = run = 0
    for sample in trace[::4].tolist():
        if abs(sample) > level:
            run += 4
            longest = max(longest, run)
        else:
            run = 0
    return longest


class Vault:
    HEAD = struct.Struct("<4sIQ")

    def __init__(self, path, preset):
        self.path = path
        self.preset = preset
        self.entries = []

    def put(self, station, trace):
        planes = to_planes(trace)
        packed = lzma.compress(planes, format=lzma.FORMAT_XZ, preset=self.preset)
        with self.path.open("ab") as vault:
            offset = vault.tell()
            vault.write(self.HEAD.pack(b"QUAK", len(trace), len(packed)) + packed)
        digest = hashlib.sha256(planes).hexdigest()
        self.entries.append(Sealed(station, offset, len(packed), len(trace), digest))

    def take(self, entry):
        with self.path.open("rb") as vault:
            vault.seek(entry.offset)
            mark, samples, length = self.HEAD.unpack(vault.read(self.HEAD.size))
            planes = lzma.decompress(vault.read(length))
        if mark != b"QUAK" or samples != entry.samples or hashlib.sha256(planes).hexdigest() != entry.digest:
            raise ValueError(f"the record of {entry.station} is damaged")
        return from_planes(planes)


def main():
    parser = argparse.ArgumentParser(description="fill a vault of earthquake records")
    parser.add_argument("--stations", type=int, default=32)
    parser.add_argument("--samples", type=int, default=400_000, help="per station")
    parser.add_argument("--preset", type=int, default=4)
    parser.add_argument("--check", type=int, default=4, help="compare each n-th record")
    args = parser.parse_args()

    source = np.random.default_rng(13)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="seismic_vault_") as folder:
        vault = Vault(Path(folder) / "records.vault", args.preset)
        shaken = {}
        for number in range(args.stations):
            station = f"ST{number:02d}"
            trace = record(source, args.samples)
            shaken[station] = largest_run(trace, 1500)
            vault.put(station, trace)
            if number % args.check == 0 and not np.array_equal(vault.take(vault.entries[-1]), trace):
                raise ValueError(f"the record of {station} came back changed")
        size = vault.path.stat().st_size
    took = time.perf_counter() - began
    whole = 4 * args.samples * args.stations
    most = max(shaken, key=shaken.get)
    print(f"{whole / 1e6:.0f} MB into {size / 1e6:.1f} MB; {most} was shaken longest, {shaken[most]} samples")
    print(f"{args.stations} records in {took:.1f} s")


if __name__ == "__main__":
    main()
