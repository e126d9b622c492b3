# SPDX-License-Identifier: Apache-2.0
"""Usual operations of other libraries and shapes, written after the rules and before they were tried on them."""

import array
import asyncio
import base64
import dataclasses
import decimal
import hashlib
import json
import math
import os
import random
import re
import socket
import sqlite3
import tempfile
import threading
import uuid
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .case import COMPUTE, MEMORY, OVERHEAD, Case, Parts, library, of_parts, ramp

NAMES = ("copper", "salt", "timber", "wool", "barley", "amber", "linen", "iron", "honey", "wax", "cloth", "fish")
EACH = "one operation an element or none, on data far beyond all caches"
NEW = "a copy beyond all caches, into pages that are touched for the first time"
CACHED = "tens of operations an element, on data that the second cache holds"
COMPILED = "one call of compiled code that goes over cached data byte by byte or item by item"
STEPS = "some bytecodes or small calls for each tiny operation"
CALLS = "each call of the system does next to nothing"


def case(name: str, label: str, reason: str, make: Callable[[], Parts]) -> Case:
    """Return a case of this set."""
    return of_parts(f"fourth {name}", label, reason, make)


def uniform(*shape: int, dtype: Any = np.float64, seed: int = 51) -> Any:
    """Return random numbers from 0 to 1."""
    return np.random.default_rng(seed).random(shape, dtype=dtype)


def anywhere(count: int, most: int) -> Any:
    """Return random indices below most."""
    return np.random.default_rng(52).integers(0, most, count)


def floats(count: int) -> Any:
    """Return a torch tensor of count float32, each of which was written."""
    return library("torch").from_numpy(ramp(count, np.float32))


def tensor(*shape: int) -> Any:
    """Return a torch tensor of random float32."""
    return library("torch").from_numpy(uniform(*shape, dtype=np.float32))


def words(count: int) -> list[str]:
    """Return random words."""
    return random.Random(53).choices(NAMES, k=count)


def text(count: int) -> str:
    """Return that many random words and numbers."""
    chosen = random.Random(54)
    return " ".join(f"{word} {chosen.randrange(1000)}" for word in words(count))


# Memory


def scaled() -> Parts:
    def scale(data: Any) -> None:
        data *= 0.5

    return scale, ramp(50_000_000)


def arrow_sum() -> Parts:
    arrow, compute = library("pyarrow"), library("pyarrow.compute")
    return compute.sum, arrow.array(ramp(50_000_000))


def memory_cases() -> Iterator[Case]:
    """Yield what the memory limits."""
    count = 40_000_000
    yield case("numpy difference", MEMORY, EACH, lambda: ((lambda a, b: a - b), ramp(count), ramp(count)))
    yield case("numpy scaled in place", MEMORY, EACH, scaled)
    yield case("numpy reversed copy", MEMORY, NEW, lambda: ((lambda x: x[::-1].copy()), ramp(count)))
    yield case("numpy hstack", MEMORY, NEW, lambda: ((lambda a, b: np.hstack((a, b))), ramp(count), ramp(count)))
    yield case("numpy astype float32", MEMORY, EACH, lambda: ((lambda x: x.astype(np.float32)), ramp(count)))
    yield case(
        "numpy sum of columns", MEMORY, EACH, lambda: ((lambda x: x.sum(axis=0)), ramp(51_200_000).reshape(-1, 64))
    )
    yield case(
        "numpy bincount of random places",
        MEMORY,
        "each count is a line of 400 MB that no cache holds",
        lambda: (np.bincount, anywhere(4_000_000, 50_000_000)),
    )
    yield case(
        "numpy xor of integers", MEMORY, EACH, lambda: ((lambda a, b: a ^ b), ramp(count, int), ramp(count, int))
    )
    yield case("torch relu", MEMORY, EACH, lambda: (library("torch").relu, floats(80_000_000)))
    yield case(
        "torch cat", MEMORY, NEW, lambda: ((lambda a, b: library("torch").cat((a, b))), floats(count), floats(count))
    )
    yield case("torch sum", MEMORY, EACH, lambda: ((lambda x: x.sum()), floats(150_000_000)))
    yield case(
        "torch take of random places",
        MEMORY,
        "each element is a line of 400 MB that no cache holds",
        lambda: (library("torch").take, floats(100_000_000), library("torch").from_numpy(anywhere(3_000_000, 10**8))),
    )
    yield case("torch half precision copy", MEMORY, EACH, lambda: ((lambda x: x.half()), floats(80_000_000)))
    yield case("pandas maximum", MEMORY, EACH, lambda: ((lambda s: s.max()), library("pandas").Series(ramp(count))))
    yield case(
        "pandas take of random rows",
        MEMORY,
        "each element is a line of 640 MB that no cache holds",
        lambda: (
            (lambda s, at: s.take(at)),
            library("pandas").Series(ramp(80_000_000)),
            anywhere(3_000_000, 80_000_000),
        ),
    )
    yield case(
        "polars maximum", MEMORY, EACH, lambda: ((lambda s: s.max()), library("polars").Series(ramp(60_000_000)))
    )
    yield case("pyarrow sum", MEMORY, EACH, arrow_sum)
    yield case("bytes joined", MEMORY, NEW, lambda: ((lambda a, b: a + b), b"a" * 200_000_000, b"b" * 200_000_000))
    yield case("array tobytes", MEMORY, NEW, lambda: ((lambda a: a.tobytes()), array.array("d", bytes(320_000_000))))
    yield case(
        "list copied",
        MEMORY,
        "each pointer is copied and each number's count written, in order, over 500 MB",
        lambda: ((lambda found: found.copy()), list(range(1000, 12_001_000))),
    )


# Compute


def linear() -> Parts:
    torch = library("torch")
    return torch.nn.functional.linear, tensor(256, 512), tensor(512, 512)


def records(count: int) -> list[dict[str, Any]]:
    """Return records of plain values."""
    chosen = random.Random(55)
    return [{"id": place, "name": name, "price": chosen.random()} for place, name in enumerate(words(count))]


def numbers_in_text() -> Parts:
    return re.compile(r"[a-z]+ (\d)\d*[13579]\b").sub, r"\1", text(8000)


def compute_cases() -> Iterator[Case]:
    """Yield what arithmetic, comparisons and branches limit."""
    special, signal, image = library("scipy.special"), library("scipy.signal"), library("scipy.ndimage")
    yield case("numpy cube root", COMPUTE, CACHED, lambda: (np.cbrt, uniform(40_000)))
    yield case(
        "numpy solve", COMPUTE, "n^3 operations on n^2", lambda: (np.linalg.solve, uniform(400, 400), uniform(400))
    )
    yield case("numpy eigvalsh", COMPUTE, "n^3 operations on n^2", lambda: (np.linalg.eigvalsh, uniform(150, 150)))
    yield case("numpy real transform", COMPUTE, "n log n operations", lambda: (np.fft.rfft, uniform(2**15)))
    yield case("numpy sort", COMPUTE, "n log n comparisons", lambda: (np.sort, uniform(60_000)))
    yield case(
        "numpy interpolation",
        COMPUTE,
        "a search among 1000 and some operations for each of 30 k points",
        lambda: (np.interp, uniform(30_000), np.linspace(0, 1, 1000), uniform(1000)),
    )
    yield case("torch erf", COMPUTE, CACHED, lambda: ((lambda x: x.erf()), tensor(60_000)))
    yield case("torch sort", COMPUTE, "n log n comparisons", lambda: (library("torch").sort, tensor(60_000)))
    yield case("torch linear layer", COMPUTE, "512 multiply-adds for each result", linear)
    yield case("scipy gamma function", COMPUTE, CACHED, lambda: (special.gamma, uniform(20_000) * 20 + 0.5))
    yield case(
        "scipy convolution by transforms",
        COMPUTE,
        "three transforms of what the second cache holds",
        lambda: (signal.fftconvolve, uniform(12_000), uniform(9000)),
    )
    yield case("scipy gaussian filter", COMPUTE, CACHED, lambda: (image.gaussian_filter, uniform(200, 200), 4.0))
    yield case(
        "zstandard compression",
        COMPUTE,
        COMPILED,
        lambda: ((lambda data: library("zstandard").compress(data, 12)), text(20_000).encode()),
    )
    yield case("blake2b", COMPUTE, COMPILED, lambda: ((lambda d: hashlib.blake2b(d).digest()), bytes(400_000)))
    yield case("zlib decompression", COMPUTE, COMPILED, lambda: (zlib.decompress, zlib.compress(text(30_000).encode())))
    yield case("re substitution", COMPUTE, COMPILED, numbers_in_text)
    yield case("factorial", COMPUTE, "thousands of long products", lambda: (math.factorial, 6000))
    yield case("orjson loads", COMPUTE, COMPILED, lambda: (library("orjson").loads, json.dumps(records(2000))))
    yield case("base64", COMPUTE, COMPILED, lambda: (base64.b64encode, random.Random(56).randbytes(300_000)))
    yield case("sorted words", COMPUTE, "n log n comparisons", lambda: (sorted, text(8000).split()))


# Overhead


@dataclasses.dataclass
class Item:
    """What a shop has."""

    name: str
    price: float
    sizes: list[int]


def nested(side: int) -> list[list[int]]:
    """Multiply two tables of small numbers."""
    rows = [[(row * column) % 7 for column in range(side)] for row in range(side)]
    return [[sum(rows[i][k] * rows[k][j] for k in range(side)) for j in range(side)] for i in range(side)]


def cleaned(source: str) -> str:
    """Keep letters, one by one."""
    kept = ""
    for letter in source:
        if letter.isalpha():
            kept += letter
    return kept


def matched(lines: list[str]) -> int:
    """Count the lines that begin with a word of five letters."""
    pattern = re.compile(r"[a-z]{5} ")
    return sum(1 for line in lines if pattern.match(line))


def small_products(one: Any) -> Any:
    """Multiply a small matrix by itself again and again."""
    found = one
    for _ in range(300):
        found = found.mm(one).clamp(0, 1)
    return found


def picked(values: Any) -> float:
    """Add elements of an array one by one."""
    total = 0.0
    for place in range(len(values)):
        total += values[place]
    return total


def rows_of(frame: Any) -> float:
    """Go through a table row by row."""
    return sum(row["a"] * row["b"] for _, row in frame.iterrows())


def prices(found: list[str]) -> decimal.Decimal:
    """Add prices."""
    total = decimal.Decimal(0)
    for price in found:
        total += decimal.Decimal(price) * 2
    return total


def rows_in_memory() -> Parts:
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT)")
    connection.executemany("INSERT INTO item VALUES (?, ?)", enumerate(words(1000)))

    def ask(count: int) -> int:
        return sum(
            len(connection.execute("SELECT name FROM item WHERE id = ?", (at,)).fetchone()[0]) for at in range(count)
        )

    return ask, 500


def stats() -> Parts:
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name) / "one"
    path.write_text("1")
    return (lambda _, where: [os.stat(where).st_size for _ in range(3000)]), folder, str(path)


def listed() -> Parts:
    folder = tempfile.TemporaryDirectory()
    return (lambda where: [os.listdir(where.name) for _ in range(1500)]), folder


def lines_flushed() -> Parts:
    folder = tempfile.TemporaryDirectory()

    def write(where: Any) -> None:
        with open(Path(where.name) / "log", "w") as log:
            for place in range(3000):
                log.write(f"{place}\n")
                log.flush()

    return write, folder


def piped() -> Parts:
    read, write = os.pipe()

    def send(count: int) -> int:
        total = 0
        for _ in range(count):
            os.write(write, b"x")
            total += len(os.read(read, 8))
        return total

    return send, 4000


def datagrams() -> Parts:
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)

    def send(near: Any, far: Any) -> int:
        total = 0
        for _ in range(2000):
            near.send(b"hello")
            total += len(far.recv(16))
        return total

    return send, one, other


def joined() -> Parts:
    def wait() -> None:
        timer = threading.Timer(0.02, int)
        timer.start()
        timer.join()

    return (wait,)


def tasks() -> Parts:
    async def one(place: int) -> int:
        await asyncio.sleep(0)
        return place

    async def every() -> int:
        return sum(await asyncio.gather(*(one(place) for place in range(400))))

    return ((lambda: asyncio.run(every())),)


def overhead_cases() -> Iterator[Case]:
    """Yield what calls, steps of Python, the system and waits limit."""
    yield case("Python product of small tables", OVERHEAD, STEPS, lambda: (nested, 40))
    yield case("Python letters one by one", OVERHEAD, STEPS, lambda: (cleaned, text(3000)))
    yield case(
        "dataclasses asdict",
        OVERHEAD,
        STEPS,
        lambda: ((lambda found: [dataclasses.asdict(one) for one in found]), [Item("salt", 1.5, [1, 2])] * 500),
    )
    yield case(
        "json dumps of small records one by one",
        OVERHEAD,
        STEPS,
        lambda: ((lambda found: [json.dumps(one) for one in found]), records(800)),
    )
    yield case("re match of short lines", OVERHEAD, STEPS, lambda: (matched, [f"{word} 1" for word in words(8000)]))
    yield case("torch small products in a loop", OVERHEAD, STEPS, lambda: (small_products, tensor(8, 8)))
    yield case("numpy elements one by one", OVERHEAD, STEPS, lambda: (picked, uniform(30_000)))
    yield case(
        "pandas iterrows",
        OVERHEAD,
        STEPS,
        lambda: (rows_of, library("pandas").DataFrame({"a": uniform(400), "b": uniform(400)})),
    )
    yield case("decimal prices", OVERHEAD, STEPS, lambda: (prices, [f"{place}.99" for place in range(8000)]))
    yield case(
        "uuid4 again and again", OVERHEAD, STEPS, lambda: ((lambda n: [str(uuid.uuid4()) for _ in range(n)]), 2000)
    )
    yield case("sqlite rows one by one in memory", OVERHEAD, STEPS, rows_in_memory)
    yield case("asyncio tasks that do nothing", OVERHEAD, STEPS, tasks)
    yield case("numpy mean of ten", OVERHEAD, "the call itself is the time", lambda: (np.mean, uniform(10)))
    yield case(
        "torch softmax of four",
        OVERHEAD,
        "the call itself is the time",
        lambda: (library("torch").softmax, tensor(4), 0),
    )
    yield case("os stat again and again", OVERHEAD, CALLS, stats)
    yield case("os listdir of an empty folder", OVERHEAD, CALLS, listed)
    yield case("lines flushed one by one", OVERHEAD, CALLS, lines_flushed)
    yield case("bytes through a pipe", OVERHEAD, CALLS, piped)
    yield case("datagrams between two sockets", OVERHEAD, CALLS, datagrams)
    yield case("timer that is joined", OVERHEAD, "waits", joined)


def cases() -> Iterator[Case]:
    """Yield sixty operations."""
    yield from memory_cases()
    yield from compute_cases()
    yield from overhead_cases()
