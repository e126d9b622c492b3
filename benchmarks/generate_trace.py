# SPDX-License-Identifier: Apache-2.0
"""Long traces: a real one repeated, later each time, with ids that stay consistent within a copy and differ between.

``python benchmarks/generate_trace.py TRACE OUTPUT --bytes 500M`` (or --spans N). Times, correlations, ids of operators,
arrows and Python calls and numbers of steps are shifted; every other byte is that of the original. Some 200 MB/s.
"""

import argparse
import gzip
import json
import os
import re
import sys
from pathlib import Path
from typing import BinaryIO

import numpy as np

IDS = (
    b"correlation|External id|external id|id|Python id|Python parent id|Sequence number|"
    b"wait_on_cuda_event_record_corr_id"
)
SHIFTED = re.compile(rb'"ts": ?(-?\d+)|"(?:' + IDS + rb')": ?(\d+)|ProfilerStep#(\d+)')
UNITS = {"K": 10**3, "M": 10**6, "G": 10**9}


def amount(text: str) -> int:
    """Return 500M as a number."""
    return int(float(text[:-1]) * UNITS[text[-1]]) if text[-1] in UNITS else int(text)


class Repeater:
    """The events of a trace as a template with a number in each place that changes from copy to copy."""

    def __init__(self, text: bytes) -> None:
        opening = text.index(b"[", max(text.find(b'"traceEvents"'), 0))
        # Latin-1 keeps the places of bytes.
        _, closing = json.JSONDecoder().raw_decode(text.decode("latin-1"), opening)
        begin, end = text.index(b"{", opening), text.rindex(b"}", opening, closing) + 1
        self.head, body, self.tail = text[:begin], text[begin:end], text[end:]
        pieces, numbers, kinds, at = [], [], [], 0
        for match in SHIFTED.finditer(body):
            kind = match.lastindex or 0
            pieces += [body[at : match.start(kind)].replace(b"%", b"%%"), b"%d"]
            numbers.append(int(match[kind]))
            kinds.append(kind)
            at = match.end(kind)
        pieces.append(body[at:].replace(b"%", b"%%"))
        self.template = b"".join(pieces)
        self.numbers, kind = np.array(numbers, dtype=np.int64), np.array(kinds)
        self.spans = len(re.findall(rb'"ph": ?"X"', body))
        times, ids, steps = (self.numbers[kind == k] for k in (1, 2, 3))
        period = int(times.max() - times.min()) + 1000
        self.shift = np.select([kind == 1, (kind == 2) & (self.numbers > 0), kind == 3], [
            period,
            int(ids.max(initial=0)) + 1,
            int(steps.max(initial=0) - steps.min(initial=0)) + 1,
        ])  # fmt: skip
        self.bytes = len(body) + 2

    def copy(self, number: int) -> bytes:
        """Return the events of one copy."""
        return self.template % tuple((self.numbers + number * self.shift).tolist())

    def write(self, file: BinaryIO, copies: int) -> None:
        """Write a document of that many copies."""
        file.write(self.head)
        for number in range(copies):
            file.write(b",\n" if number else b"")
            file.write(self.copy(number))
        file.write(self.tail)


def read_text(path: Path) -> bytes:
    """Return the text of a trace."""
    data = path.read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def generate(source: Path, target: Path, *, size: int = 0, spans: int = 0) -> int:
    """Write a trace of about that many bytes or spans; return the number of copies."""
    repeater = Repeater(read_text(source))
    copies = max(1, round(spans / repeater.spans) if spans else round(size / repeater.bytes))
    with open(target, "wb") as file:
        repeater.write(file, copies)
    return copies


def main() -> int:
    """Generate a trace."""
    parser = argparse.ArgumentParser(description="repeat a trace")
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--bytes", type=amount, default=0)
    parser.add_argument("--spans", type=amount, default=0)
    options = parser.parse_args()
    copies = generate(options.source, options.target, size=options.bytes, spans=options.spans)
    print(f"{options.target}: {copies} copies, {os.path.getsize(options.target):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
